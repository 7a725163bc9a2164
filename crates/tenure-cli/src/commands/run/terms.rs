//! The terms on which a lock is taken and a command is stopped, checked before anything is sent.

use crate::cli::Run;
use crate::exit::Failure;
use std::env::VarError;
use std::time::Duration;
use tenure::{Options, Sort};

/// What follows from the command line.
#[derive(Debug)]
pub(super) struct Terms {
    pub(super) options: Options,
    /// For whom the `tenure run` that runs us holds its lock.
    pub(super) owner: Option<String>,
    /// Between SIGTERM and SIGKILL.
    pub(super) grace: Duration,
    /// Between SIGKILL and the lease's end: killing takes a moment.
    pub(super) slack: Duration,
}

impl Terms {
    pub(super) fn of(args: &Run) -> Result<Self, Failure> {
        let lease = args.lease;
        let mut options = Options::new().lease(lease);
        if args.no_renew {
            options = options.no_renew();
        }
        if let Some(wait) = args.wait {
            options = options.wait(wait);
        }
        if let Some(max_hold) = args.max_hold {
            options = options.max_hold(max_hold);
        }
        if let Some(at_least) = args.at_least.filter(|at_least| !at_least.is_zero()) {
            options = options.at_least(at_least);
        }
        let owner = owner()?;
        // Permits are taken beside those that the one who runs us has.
        if let (Some(owner), Sort::Lock(_)) = (&owner, args.kind) {
            options = options.under(owner);
        }
        // A lock that may be held for less than its lease ends with that.
        let lease = args.max_hold.map_or(lease, |max_hold| max_hold.min(lease));
        let grace = args.kill_after.unwrap_or(lease / 4);
        if grace > lease / 3 {
            return Err(Failure::invalid(format!(
                "choose a --kill-after of a third of the lease (or of --max-hold, if that is shorter) at most: \
                 kill-after={} lease={}",
                humantime::format_duration(grace),
                humantime::format_duration(lease)
            )));
        }
        let slack = (lease / 20).clamp(Duration::from_millis(5), Duration::from_millis(250));
        Ok(Self { options, owner, grace, slack })
    }
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
