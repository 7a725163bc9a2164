//! Sections: work that runs under a lock from its first step to its last, and inside of which the lock is gone into again.

use crate::acquire::{Asker, Contended, Demand, Patience, Whose, acquire_for, obtain, own};
use crate::event::What;
use crate::guard::Guard;
use crate::inner::Inner;
use crate::length::Length;
use crate::lock::Lock;
use crate::{Client, Error, ErrorKind, Options, Owner, Sort, scope};
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use tenure_kernel::{Key, Kind, Want};

/// A section that was entered and has not begun. Dropping it releases the lock.
pub(crate) struct Section {
    guard: Guard,
    owner: Owner,
}

/// How to enter.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Tries {
    /// One attempt.
    Once,
    /// As the options say.
    AsSaid,
}

impl Section {
    /// Takes the lock, or goes in again if the section is inside another that has it. The owner is the one that the options
    /// name, or in whose scope the caller is, or a new one.
    pub(crate) async fn enter(
        client: &Arc<Inner>,
        (sort, key): (Sort, Key),
        options: &Options,
        tries: Tries,
    ) -> Result<Self, Error> {
        options.check()?;
        let owner = options.section_owner().unwrap_or_default();
        let patience = match tries {
            Tries::Once => Patience::Once,
            Tries::AsSaid => Patience::of(options, client.shared.clock.now()),
        };
        let whose = Whose { owner: Some(owner.clone()), section: true };
        let (kind, entered) = match sort {
            Sort::Lock(kind) => (kind, acquire_for(client, (kind, &key), options, patience, whose).await?),
            Sort::Semaphore(of) => (Kind::Semaphore, take(client, &key, of, options, patience, whose).await?),
        };
        match entered {
            Ok(guard) => {
                scope::settle(&guard.entered());
                Ok(Self { guard, owner })
            }
            // Boxed, as all that is rare, so that a lock that is free takes little room.
            Err(contended) => Err(Box::pin(Lock::new(client, kind, key).timed_out(contended)).await),
        }
    }

    /// Runs the work for as long as the lock is held, and releases.
    ///
    /// The work is pinned where it comes from: every function that it is moved through would make room for it twice, and
    /// sections lie within each other.
    pub(crate) async fn run<T>(self, work: Pin<&mut impl Future<Output = T>>) -> Result<T, Error> {
        let Self { guard, owner } = self;
        let done = scope::inside(guard.entered(), owner, guard.run(work)).await;
        match done {
            Ok(value) => leave(guard).await.map(|()| value),
            // The guard's drop does what is left to do.
            Err(lost) => Err(lost),
        }
    }

    /// Runs the work to its end, whatever becomes of the lock, and releases. Says whether the lock was held throughout.
    pub(crate) async fn finish<T>(self, work: Pin<&mut impl Future<Output = T>>) -> (T, Result<(), Error>) {
        let Self { guard, owner } = self;
        let value = scope::inside(guard.entered(), owner, work).await;
        (value, leave(guard).await)
    }

    /// Does the work on this thread, and says the same; the caller has the lock released.
    pub(crate) fn finish_blocking<T>(
        self,
        work: impl FnOnce(&Guard) -> T,
    ) -> (T, impl Future<Output = Result<(), Error>>) {
        let value = scope::inside_blocking(self.guard.entered(), || work(&self.guard));
        (value, leave(self.guard))
    }
}

/// Takes one of so many permits.
async fn take(
    client: &Arc<Inner>,
    key: &Key,
    of: u32,
    options: &Options,
    patience: Patience,
    whose: Whose,
) -> Result<Result<Guard, Contended>, Error> {
    options.refuse_lineage()?;
    let owner = whose.owner.as_ref();
    if let Some((hold, _)) = owner.and_then(|owner| scope::enclosing(client, key, owner).pop()) {
        // It has a permit already; with none left it would wait for itself.
        return Err(own(key, hold.kind));
    }
    let demand = Some(Demand { want: Want::Some(1), of: Some(of) });
    let _attempt = client.shared.attempt()?;
    let asker = Asker { whose, under: Vec::new(), demand };
    obtain(client, (Kind::Semaphore, key), options, patience, asker).await
}

/// The work is done: gives the lock back. An error if it was not held throughout.
async fn leave(guard: Guard) -> Result<(), Error> {
    guard.hint();
    let key = guard.key().clone();
    match guard.release().await {
        Ok(_) => Ok(()),
        Err(lost) if lost.kind() == ErrorKind::Lost => Err(lost),
        Err(error) => {
            // The section was alone until its end: what it did stands.
            tracing::warn!(%key, %error, "a section ended well, its release did not");
            Ok(())
        }
    }
}

impl Guard {
    /// Says so if the section took a good part of its lease.
    fn hint(&self) {
        let Some((held, lease)) = self.held_for().filter(|(held, lease)| *held > *lease / 3) else { return };
        let entered = self.entered();
        let shared = &entered.client.shared;
        shared.say(&entered.hold, || What::Long { held, lease });
        if shared.may_hint() {
            tracing::info!(
                key = %self.key(), held = %Length(held), lease = %Length(lease),
                "this section took more than a third of its lease, choose one three to five times as long as it takes",
            );
        }
    }
}

impl Lock {
    /// Runs work under the lock: waits for it, runs the work for as long as it is held, and releases it. No step of the work
    /// is taken without the lock; when the lock is lost, the work is dropped and never polled again.
    ///
    /// Inside of the work, [`current`](crate::current) is the guard, and whoever runs more work under the same lock goes in
    /// again instead of waiting for itself. Of several branches that do so at once (`join!`), one at a time is in.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tenure_core::Error> {
    /// use tenure_core::{Client, Memory};
    ///
    /// let lock = Client::new(Memory::new())?.lock("stock:42")?;
    /// let left = lock.run(async {
    ///     let left = lock.run(async { 7 }).await?;
    ///     Ok::<_, tenure_core::Error>(left - 1)
    /// });
    /// assert_eq!(left.await??, 6);
    /// assert!(!lock.is_locked().await?);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`lock`](Lock::lock), and then the work was not begun; [`Lost`](crate::ErrorKind::Lost) if the lock was lost before
    /// the work was done, or while its last step was taken.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the work and releases the lock.
    pub async fn run<F: Future>(&self, work: F) -> Result<F::Output, Error> {
        let work = pin!(work);
        self.enter(&self.client().options).await?.run(work).await
    }

    /// Runs work under the lock, with other options.
    ///
    /// # Errors
    ///
    /// As [`run`](Lock::run).
    ///
    /// # Cancel safety
    ///
    /// As [`run`](Lock::run).
    pub async fn run_with<F: Future>(&self, options: Options, work: F) -> Result<F::Output, Error> {
        let work = pin!(work);
        self.enter(&options).await?.run(work).await
    }

    async fn enter(&self, options: &Options) -> Result<Section, Error> {
        Section::enter(self.client(), (Sort::Lock(self.kind()), self.key().clone()), options, Tries::AsSaid).await
    }
}

impl Client {
    /// Runs work under the re-entrant lock on a key, as [`Lock::run`], and shows it the guard.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tenure_core::Error> {
    /// use std::time::Duration;
    /// use tenure_core::{Client, Memory, Options};
    ///
    /// let client = Client::new(Memory::new())?;
    /// let options = Options::new().lease(Duration::from_secs(10)).wait(Duration::from_secs(5));
    /// let token = client.with_lock("order:pay", options, async |guard| guard.token()).await?;
    /// assert!(token > 0);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Lock::run`].
    ///
    /// # Cancel safety
    ///
    /// As [`Lock::run`].
    pub async fn with_lock<T>(
        &self,
        key: &str,
        options: Options,
        work: impl AsyncFnOnce(&Guard) -> T,
    ) -> Result<T, Error> {
        let lock = (Sort::Lock(Kind::Reentrant), self.key(key)?);
        let Section { guard, owner } = Section::enter(self.inner(), lock, &options, Tries::AsSaid).await?;
        let done = {
            let work = pin!(work(&guard));
            scope::inside(guard.entered(), owner, guard.run(work)).await
        };
        match done {
            Ok(value) => leave(guard).await.map(|()| value),
            Err(lost) => Err(lost),
        }
    }
}
