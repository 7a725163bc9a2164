//! The terms on which a lock is taken and a command is stopped, checked before anything is sent.

use crate::cli::Run;
use crate::commands::check_key;
use crate::exit::Failure;
use std::env::VarError;
use std::path::Path;
use std::time::Duration;
use tenure::{Length, Options, Policy, Sort};

/// What follows from the command line.
#[derive(Debug)]
pub(super) struct Terms {
    /// The locks, with the policy's prefix.
    pub(super) keys: Vec<String>,
    pub(super) kind: Sort,
    pub(super) options: Options,
    /// Whether to give up at once.
    pub(super) once: bool,
    /// For whom the `tenure run` that runs us holds its lock.
    pub(super) owner: Option<String>,
    /// Between SIGTERM and SIGKILL.
    pub(super) grace: Duration,
    /// Between SIGKILL and the lease's end: killing takes a moment.
    pub(super) slack: Duration,
    /// Whether the lock is taken at all.
    pub(super) enabled: bool,
}

impl Terms {
    pub(super) fn of(args: &Run) -> Result<Self, Failure> {
        args.keys.iter().try_for_each(|key| check_key(key))?;
        let policy = typed_over(args.policy.as_deref().map_or(Ok(Policy::new()), read)?, args);
        policy.check()?;
        let keys: Vec<_> = args.keys.iter().map(|key| format!("{}{key}", policy.get_prefix())).collect();
        keys.iter().try_for_each(|key| check_key(key))?;
        let mut options = policy.get_options().clone();
        let owner = owner()?;
        // Permits are taken beside those that the one who runs us has.
        if let (Some(owner), Sort::Lock(_)) = (&owner, policy.get_kind()) {
            options = options.under(owner);
        }
        // A lock that may be held for less than its lease ends with that.
        let lease = options.get_max_hold().map_or(options.get_lease(), |max_hold| max_hold.min(options.get_lease()));
        let grace = args.kill_after.unwrap_or(lease / 4);
        if grace > lease / 3 {
            return Err(Failure::invalid(format!(
                "choose a --kill-after of a third of the lease (or of --max-hold, if that is shorter) at most: \
                 kill-after={} lease={}",
                Length(grace),
                Length(lease)
            )));
        }
        let slack = (lease / 20).clamp(Duration::from_millis(5), Duration::from_millis(250));
        Ok(Self {
            keys,
            kind: policy.get_kind(),
            options,
            once: policy.once(),
            owner,
            grace,
            slack,
            enabled: policy.is_enabled(),
        })
    }

    /// How long to wait for the lock and for the store, if somebody said.
    pub(super) fn wait(&self) -> Option<Duration> {
        self.options.get_wait().filter(|_| !self.once)
    }
}

/// The policy in a file.
fn read(file: &Path) -> Result<Policy, Failure> {
    let text = std::fs::read_to_string(file).map_err(|error| {
        Failure::invalid(format!(
            "could not read the policy, check its name and your rights to it: policy=`{}`: {error}",
            file.display()
        ))
    })?;
    Policy::from_toml(&text).map_err(|error| Failure::invalid(format!("{error} policy=`{}`", file.display())))
}

/// What is typed goes before what a policy says.
fn typed_over(policy: Policy, args: &Run) -> Policy {
    let kind = args.kind.unwrap_or(policy.get_kind());
    policy.kind(kind).map(|mut options| {
        if let Some(lease) = args.lease {
            options = options.lease(lease);
        }
        if args.no_renew {
            options = options.no_renew();
        }
        if let Some(wait) = args.wait.or(args.no_wait.then_some(Duration::ZERO)) {
            // One attempt has done with the policy's retries.
            options = if wait.is_zero() { tenure::locked::once(options) } else { options }.wait(wait);
        }
        if let Some(retry) = args.retry {
            options = options.retry(retry);
        }
        if let Some(max_hold) = args.max_hold {
            options = options.max_hold(max_hold);
        }
        if let Some(at_least) = args.at_least {
            options = options.at_least(at_least);
        }
        options
    })
}

/// The owner for whom a `tenure run` that runs us holds its lock.
fn owner() -> Result<Option<String>, Failure> {
    match std::env::var("TENURE_OWNER") {
        Ok(owner) if owner.is_empty() => Ok(None),
        Ok(owner) if owner.split('/').all(|claim| claim.contains(':')) => Ok(Some(owner)),
        Err(VarError::NotPresent) => Ok(None),
        _ => Err(Failure::invalid("TENURE_OWNER is not what `tenure run` made it, unset it or leave it as it was")),
    }
}
