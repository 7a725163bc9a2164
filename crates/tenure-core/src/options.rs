//! How a lock is to be taken.

use crate::{Error, Owner, Retry};
use std::time::Duration;

/// How a lock is to be taken. Everything has a default, so most callers need none of it.
///
/// A lease is a length, and the watchdog renews it for as long as the guard lives; [`no_renew`](Options::no_renew)
/// lets it end by itself instead.
///
/// ```
/// use std::time::Duration;
/// use tenure_core::Options;
///
/// let short_and_final = Options::new().lease(Duration::from_secs(10)).no_renew();
/// let patient = Options::new().wait(Duration::from_secs(5)).warn_after(Duration::from_secs(60));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    pub(crate) lease: Duration,
    pub(crate) renew: Renew,
    pub(crate) wait: Option<Duration>,
    pub(crate) retry: Option<Retry>,
    pub(crate) warn_after: Option<Duration>,
    pub(crate) owner: Ownership,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Renew {
    EveryThird,
    Every(Duration),
    Never,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Ownership {
    /// Nobody in particular: re-entry only by `guard.reenter()`.
    Fresh,
    /// The owner whose scope the task is in.
    Ambient,
    Given(Owner),
}

impl Options {
    /// The default lease.
    pub const LEASE: Duration = Duration::from_secs(30);
    /// The shortest lease: below it, the network and the scheduler decide, not the lock.
    pub const MIN_LEASE: Duration = Duration::from_millis(100);
    /// The longest lease: a crashed holder blocks everyone for as long.
    pub const MAX_LEASE: Duration = Duration::from_secs(24 * 60 * 60);
    /// The longest wait that can be asked for; to wait for ever, ask for none.
    pub const MAX_WAIT: Duration = Duration::from_secs(366 * 24 * 60 * 60);

    /// A lease of 30 s, renewed every 10 s; wait for ever.
    pub const fn new() -> Self {
        Self {
            lease: Self::LEASE,
            renew: Renew::EveryThird,
            wait: None,
            retry: None,
            warn_after: None,
            owner: Ownership::Fresh,
        }
    }

    /// How long the store keeps the lock without hearing from us: 30 s unless said.
    #[must_use]
    pub const fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    /// Lets the lease end by itself.
    #[must_use]
    pub const fn no_renew(mut self) -> Self {
        self.renew = Renew::Never;
        self
    }

    /// How often the watchdog renews: every third of the lease unless said.
    #[must_use]
    pub const fn renew_every(mut self, interval: Duration) -> Self {
        self.renew = Renew::Every(interval);
        self
    }

    /// How long to wait for the lock, all told: for ever unless said.
    #[must_use]
    pub const fn wait(mut self, wait: Duration) -> Self {
        self.wait = Some(wait);
        self
    }

    /// Asks again by this policy instead of being woken; when its retries are used up, the wait is over.
    #[must_use]
    pub const fn retry(mut self, policy: Retry) -> Self {
        self.retry = Some(policy);
        self
    }

    /// Raises the safety alarm when the lock is still held after this long.
    #[must_use]
    pub const fn warn_after(mut self, held: Duration) -> Self {
        self.warn_after = Some(held);
        self
    }

    /// Takes the lock for this owner: if it already holds it in this process, goes in again.
    #[must_use]
    pub fn owner(mut self, owner: Owner) -> Self {
        self.owner = Ownership::Given(owner);
        self
    }

    /// Takes the lock for the owner whose [scope](Owner::scope) the task is in.
    #[must_use]
    pub fn reentrant(mut self) -> Self {
        self.owner = Ownership::Ambient;
        self
    }

    /// How often to renew, if at all.
    pub(crate) fn renewal(&self) -> Option<Duration> {
        match self.renew {
            Renew::EveryThird => Some(self.lease / 3),
            Renew::Every(interval) => Some(interval),
            Renew::Never => None,
        }
    }

    /// Whom to take the lock for, if for anybody in particular.
    pub(crate) fn resolve_owner(&self) -> Result<Option<Owner>, Error> {
        match &self.owner {
            Ownership::Fresh => Ok(None),
            Ownership::Given(owner) => Ok(Some(owner.clone())),
            Ownership::Ambient => Owner::current().map(Some).ok_or_else(|| {
                Error::invalid(
                    "re-entry was asked for outside an owner's scope: run the task in `Owner::new().scope(…)`, or name \
                     the owner with `Options::owner`",
                )
            }),
        }
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        let within = |what: &str, value: Duration, least: Duration, most: Duration| {
            if (least..=most).contains(&value) {
                Ok(())
            } else {
                Err(Error::invalid(format!("choose a {what} from {least:?} to {most:?}: {what}={value:?}")))
            }
        };
        within("lease", self.lease, Self::MIN_LEASE, Self::MAX_LEASE)?;
        if let Renew::Every(interval) = self.renew
            && (interval >= self.lease || interval < Duration::from_millis(10))
        {
            return Err(Error::invalid(format!(
                "choose a renew_every from 10ms to below the lease, a third of it is usual: renew_every={interval:?} \
                 lease={:?}",
                self.lease
            )));
        }
        if let Some(wait) = self.wait {
            if wait.is_zero() {
                return Err(Error::invalid("a wait of nothing is one attempt: call `try_lock` for that: wait=0ns"));
            }
            within("wait", wait, Duration::from_nanos(1), Self::MAX_WAIT)?;
        }
        if let Some(warn_after) = self.warn_after {
            within("warn_after", warn_after, Duration::from_millis(1), Self::MAX_WAIT)?;
        }
        if let Some(retry) = &self.retry {
            within("retry interval", retry.interval(), Duration::from_millis(1), Self::MAX_LEASE)?;
            within("retry cap", retry.longest(), Duration::from_millis(1), Duration::MAX)?;
        }
        Ok(())
    }
}

impl Default for Options {
    fn default() -> Self {
        Self::new()
    }
}
