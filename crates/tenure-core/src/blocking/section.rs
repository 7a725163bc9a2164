//! Sections, for threads.

use super::in_place::InPlace;
use super::owner::for_this_thread;
use super::runtime::wait_for;
use super::{Client, Lock};
use crate::section::Section;
use crate::{Error, Guard, Key, Kind, Options, Sort, process};

impl Lock {
    /// Does work under the lock, as [`Lock::run`](crate::Lock::run): waits for the lock, does the work, and releases it.
    /// Inside of the work, [`current`](crate::current) is the guard, and this thread goes in again.
    ///
    /// Nobody can stop a thread in the middle of its work. Where that matters, ask the current guard to
    /// [`check`](crate::Current::check) before a step that must not be taken unlocked.
    ///
    /// ```
    /// use tenure_core::{Client, Memory};
    ///
    /// let lock = Client::new(Memory::new())?.blocking().lock("stock:42")?;
    /// let left = lock.run(|| lock.run(|| 7))??;
    /// assert_eq!(left, 7);
    /// # Ok::<(), tenure_core::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`lock`](Lock::lock), and then the work was not begun; [`Lost`](crate::ErrorKind::Lost) if the lock was lost before
    /// the work was done.
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn run<T>(&self, work: impl FnOnce() -> T) -> Result<T, Error> {
        self.run_with(self.defaults(), work)
    }

    /// Does work under the lock, with other options.
    ///
    /// # Errors
    ///
    /// As [`run`](Lock::run).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn run_with<T>(&self, options: Options, work: impl FnOnce() -> T) -> Result<T, Error> {
        run(self.0.client(), (self.kind(), self.key()), options, |_| work())
    }
}

impl Client {
    /// Does work under the re-entrant lock on a key, as [`Lock::run`], and shows it the guard.
    ///
    /// # Errors
    ///
    /// As [`Lock::run`].
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn with_lock<T>(&self, key: &str, options: Options, work: impl FnOnce(&Guard) -> T) -> Result<T, Error> {
        let client = self.as_async();
        run(client.inner(), (Kind::Reentrant, &client.key(key)?), options, work)
    }

    /// Does work in which `#[locked]` functions of this thread that name no client use this one.
    pub fn scope<T>(&self, work: impl FnOnce() -> T) -> T {
        process::scope_blocking(self.as_async().clone(), work)
    }
}

#[track_caller]
fn run<T>(
    client: &std::sync::Arc<crate::inner::Inner>,
    (kind, key): (Kind, &Key),
    options: Options,
    work: impl FnOnce(&Guard) -> T,
) -> Result<T, Error> {
    let (lock, options) =
        ((Sort::Lock(kind), key.clone()), for_this_thread(options, |thread| client.holds(key, thread)));
    let section = InPlace::new(wait_for(Section::enter(client, lock, &options))?);
    let value = section.finish_blocking(work);
    wait_for(section.take().leave()).map(|()| value)
}
