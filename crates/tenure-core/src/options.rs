//! How a lock is to be taken.

use crate::entry::Terms;
use crate::length::Length;
use crate::{Error, Owner, Place, Retry};
use std::sync::Arc;
use std::time::Duration;
use tenure_kernel::Claim;

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
    pub(crate) warn_waiting_after: Duration,
    pub(crate) max_hold: Option<Duration>,
    pub(crate) at_least: Option<Duration>,
    pub(crate) owner: Ownership,
    pub(crate) under: Option<Arc<str>>,
    pub(crate) place: Option<Place>,
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

    /// How long a wait lasts before the log is warned of it, unless said.
    pub const LONG_WAIT: Duration = Duration::from_secs(10);

    /// The longest lineage: some fifty programs, each run by the one before.
    pub const MAX_LINEAGE: usize = 4096;

    /// A lease of 30 s, renewed every 10 s; wait for ever.
    pub const fn new() -> Self {
        Self {
            lease: Self::LEASE,
            renew: Renew::EveryThird,
            wait: None,
            retry: None,
            warn_after: None,
            warn_waiting_after: Self::LONG_WAIT,
            max_hold: None,
            at_least: None,
            owner: Ownership::Fresh,
            under: None,
            place: None,
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

    /// How long to wait for the lock, all told: for ever unless said. A wait of nothing is one attempt, without
    /// [retries](Options::retry).
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

    /// Warns in the log (by `tracing`) when the wait has lasted this long: 10 s unless said. The warning names the holder and what
    /// is held here, for two who wait for each other wait for ever.
    #[must_use]
    pub const fn warn_waiting_after(mut self, waited: Duration) -> Self {
        self.warn_waiting_after = waited;
        self
    }

    /// The longest the lock is held: the watchdog stops there, and the guard is lost. For work that must not go on for
    /// ever however well its process does.
    #[must_use]
    pub const fn max_hold(mut self, held: Duration) -> Self {
        self.max_hold = Some(held);
        self
    }

    /// The shortest the lock is taken: a release before that leaves it taken until then. For work that is to be done
    /// once, by whichever of several machines comes first, although their clocks differ. Nothing is as if left out.
    #[must_use]
    pub const fn at_least(mut self, taken: Duration) -> Self {
        self.at_least = if taken.is_zero() { None } else { Some(taken) };
        self
    }

    /// Takes the lock as one that stands under others, as a program does that is run by a holder of the lock:
    /// `lineage` is what that holder's [`Guard::lineage`](crate::Guard::lineage) said. It goes in beside those above
    /// it, with their token; two of their programs exclude each other.
    #[must_use]
    pub fn under(mut self, lineage: &str) -> Self {
        self.under = Some(lineage.into());
        self
    }

    /// Shows in this place where we stand while we wait, if the kind of lock [has a line](crate::Kind::has_line).
    #[must_use]
    pub fn place(mut self, place: &Place) -> Self {
        self.place = Some(place.clone());
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

    /// How long the store keeps the lock without hearing from us.
    pub const fn get_lease(&self) -> Duration {
        self.lease
    }

    /// How long to wait for the lock, if not for ever.
    pub const fn get_wait(&self) -> Option<Duration> {
        self.wait
    }

    /// The longest the lock is held, if not for ever.
    pub const fn get_max_hold(&self) -> Option<Duration> {
        self.max_hold
    }

    /// Those of a guard with these terms, but for how long it is kept taken.
    pub(crate) fn of(terms: Terms) -> Self {
        let Terms { lease, renew_every, warn_after, warn_waiting_after, max_hold, .. } = terms;
        let renew = renew_every.map_or(Renew::Never, Renew::Every);
        Self { lease, renew, warn_after, warn_waiting_after, max_hold, ..Self::new() }
    }

    /// For how long the store is asked: no longer than the lock may be held.
    pub(crate) fn span(&self) -> Duration {
        self.max_hold.map_or(self.lease, |most| most.min(self.lease))
    }

    /// How often to renew, if at all.
    pub(crate) fn renewal(&self) -> Option<Duration> {
        match self.renew {
            // There is nothing to renew for.
            _ if self.max_hold.is_some_and(|most| most <= self.lease) => None,
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

    /// Whom a section takes the lock for, if that was said or the task is in somebody's scope.
    pub(crate) fn section_owner(&self) -> Option<Owner> {
        match &self.owner {
            Ownership::Given(owner) => Some(owner.clone()),
            Ownership::Fresh | Ownership::Ambient => Owner::current(),
        }
    }

    /// Nobody takes permits under another, for there are several.
    pub(crate) fn refuse_lineage(&self) -> Result<(), Error> {
        match self.under {
            None => Ok(()),
            Some(_) => Err(Error::invalid("permits are not taken under others: leave the lineage out")),
        }
    }

    /// The claims to stand under, outermost first.
    pub(crate) fn lineage(&self) -> Result<Vec<Claim>, Error> {
        let Some(lineage) = &self.under else { return Ok(Vec::new()) };
        let is_claim = |part: &str| part.contains(':') && part.bytes().all(|b| b.is_ascii_graphic());
        let parts: Vec<&str> = lineage.split('/').collect();
        if lineage.len() > Self::MAX_LINEAGE || !parts.iter().all(|part| is_claim(part)) {
            return Err(Error::invalid(format!(
                "a lineage is what `Guard::lineage` said, or is left out: lineage=`{}`",
                lineage.chars().take(100).collect::<String>().escape_debug()
            )));
        }
        Ok(parts.into_iter().map(Claim::found).collect())
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        let within = |what: &str, value: Duration, least: Duration, most: Duration| {
            if (least..=most).contains(&value) {
                Ok(())
            } else {
                let [least, most, value] = [least, most, value].map(Length);
                Err(Error::invalid(format!("choose {what} from {least} to {most}: {what}={value}")))
            }
        };
        within("lease", self.lease, Self::MIN_LEASE, Self::MAX_LEASE)?;
        if let Renew::Every(interval) = self.renew
            && (interval > self.lease.mul_f64(0.9) || interval < Duration::from_millis(10))
        {
            // A guard counts on a little less than its lease: what comes later than that comes too late.
            return Err(Error::invalid(format!(
                "choose a renew_every from 10ms to nine tenths of the lease, a third of it is usual: \
                 renew_every={} lease={}",
                Length(interval),
                Length(self.lease)
            )));
        }
        if let Some(wait) = self.wait {
            within("wait", wait, Duration::ZERO, Self::MAX_WAIT)?;
        }
        if let Some(warn_after) = self.warn_after {
            within("warn_after", warn_after, Duration::from_millis(1), Self::MAX_WAIT)?;
        }
        within("warn_waiting_after", self.warn_waiting_after, Duration::from_millis(1), Self::MAX_WAIT)?;
        if let Some(most) = self.max_hold {
            within("max_hold", most, Self::MIN_LEASE, Self::MAX_WAIT)?;
        }
        if let Some(least) = self.at_least {
            within("at_least", least, Duration::ZERO, Self::MAX_LEASE)?;
            if let Some(most) = self.max_hold.filter(|most| *most < least) {
                return Err(Error::invalid(format!(
                    "choose an at_least no longer than the max_hold: at_least={} max_hold={}",
                    Length(least),
                    Length(most)
                )));
            }
        }
        self.lineage()?;
        if let Some(retry) = &self.retry {
            within("retry interval", retry.interval(), Duration::from_millis(1), Self::MAX_LEASE)?;
            if retry.longest() < Duration::from_millis(1) {
                return Err(Error::invalid("choose a max of the retry of 1ms or more"));
            }
        }
        Ok(())
    }
}

impl Default for Options {
    fn default() -> Self {
        Self::new()
    }
}
