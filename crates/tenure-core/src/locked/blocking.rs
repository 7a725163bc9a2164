//! The same for plain functions.

use super::{Ended, Parts, Site, enter_with};
use crate::blocking::{InPlace, for_this_thread, wait_for};
use crate::inner::Inner;
use crate::{Client, Error, Policy};
use tenure_kernel::Key;

/// A section that was entered, or one whose lock is switched off.
#[must_use = "a section that is not run releases its lock at once"]
pub struct Section(super::Section);

/// Takes the lock for a function's body.
///
/// # Errors
///
/// As [`Lock::lock_with`](crate::blocking::Lock::lock_with); nothing of the body may be run then.
///
/// # Panics
///
/// In [async code](crate::blocking#async-code).
#[track_caller]
pub fn enter(
    site: &'static Site,
    client: Result<Client, Error>,
    policy: &Policy,
    key: Parts,
) -> Result<Section, Error> {
    if !policy.is_enabled() {
        // Without a lock there is nothing to wait for, and async code may go on as well.
        site.runs_unlocked();
        return Ok(Section(super::Section(None)));
    }
    let options =
        |client: &Inner, key: &Key| for_this_thread(policy.get_options().clone(), |thread| client.holds(key, thread));
    wait_for(enter_with(site, client, policy, key, options)).map(Section)
}

impl Section {
    /// Runs the body to its end, whatever becomes of the lock, and releases.
    pub fn finish<T>(self, body: impl FnOnce() -> T) -> Ended<T> {
        match self.0.0 {
            Some(section) => {
                let section = InPlace::new(section);
                let value = section.finish_blocking(|_| body());
                Ended::new(value, wait_for(section.take().leave()))
            }
            None => Ended::new(body(), Ok(())),
        }
    }
}

impl crate::blocking::Client {
    /// Does work under what a policy says, as [`Client::run`](crate::Client::run).
    ///
    /// # Errors
    ///
    /// As [`Lock::run`](crate::blocking::Lock::run), and [`Invalid`](crate::ErrorKind::Invalid) for a policy that makes no
    /// sense.
    ///
    /// # Panics
    ///
    /// In [async code](crate::blocking#async-code).
    #[track_caller]
    pub fn run<T>(&self, policy: &Policy, key: &str, work: impl FnOnce() -> T) -> Result<T, Error> {
        static SITE: Site = Site::new("blocking::Client::run");
        let section = enter(&SITE, Ok(self.as_async().clone()), policy, key.into())?;
        section.finish(work).into_result()
    }
}
