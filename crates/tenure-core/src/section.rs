//! Sections: work that runs under a lock from its first step to its last, and inside of which the lock is gone into again.

use crate::acquire::{Asker, Contended, Demand, Patience, Whose, acquire_for, obtain, own};
use crate::event::What;
use crate::guard::Guard;
use crate::inner::Inner;
use crate::length::Length;
use crate::lock::Lock;
use crate::scope::{self, Entered};
use crate::{Client, Error, ErrorKind, Options, Owner, Sort};
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use tenure_kernel::{Key, Kind, Want};

/// A section that was entered, until it is left. Dropping it releases the lock.
///
/// Work that runs inside of one is pinned after the section was entered, in the same function: variables are dropped last to
/// first, so that work which is dropped in the middle is gone before the lock is released.
pub(crate) struct Section {
    guard: Guard,
    owner: Owner,
    around: Option<Arc<Entered>>,
}

impl Section {
    /// Takes the lock, or goes in again if the section is inside another that has it. The owner is the one that the options
    /// name, or in whose scope the caller is, or a new one.
    pub(crate) async fn enter(client: &Arc<Inner>, (sort, key): (Sort, Key), options: &Options) -> Result<Self, Error> {
        client.check(options)?;
        let owner = options.section_owner().unwrap_or_default();
        let patience = Patience::of(options, client.shared.clock.now());
        let whose = Whose { owner: Some(owner.clone()), section: true };
        let (kind, entered) = match sort {
            Sort::Lock(kind) => (kind, acquire_for(client, (kind, &key), options, patience, whose).await?),
            Sort::Semaphore(of) => (Kind::Semaphore, take(client, &key, of, options, patience, whose).await?),
        };
        match entered {
            Ok(guard) => Ok(Self { guard, owner, around: scope::around() }),
            // Boxed, as all that is rare, so that a lock that is free takes little room.
            Err(contended) => Err(Box::pin(Lock::new(client, kind, key).timed_out(contended)).await),
        }
    }

    pub(crate) fn guard(&self) -> &Guard {
        &self.guard
    }

    pub(crate) fn into_guard(self) -> Guard {
        self.guard
    }

    fn entered(&self) -> Entered {
        self.guard.entered(self.around.clone())
    }

    /// Runs the work for as long as the lock is held.
    ///
    /// The work is pinned where it comes from: every function that it is moved through would make room for it twice, and
    /// sections lie within each other.
    pub(crate) async fn run<T>(&self, work: Pin<&mut impl Future<Output = T>>) -> Result<T, Error> {
        scope::inside(self.entered(), self.owner.clone(), self.guard.run(work)).await
    }

    /// Runs the work to its end, whatever becomes of the lock.
    pub(crate) async fn finish<T>(&self, work: Pin<&mut impl Future<Output = T>>) -> T {
        scope::inside(self.entered(), self.owner.clone(), work).await
    }

    /// Does the work on this thread.
    pub(crate) fn finish_blocking<T>(&self, work: impl FnOnce(&Guard) -> T) -> T {
        scope::inside_blocking(self.entered(), self.owner.clone(), || work(&self.guard))
    }

    /// The work is done: gives the lock back. An error if it was not held throughout.
    pub(crate) async fn leave(self) -> Result<(), Error> {
        let guard = self.guard;
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
    let around = whose.owner.as_ref().map(|owner| scope::enclosing(client, key, owner)).unwrap_or_default();
    if let Some(hold) = around.iter().find(|hold| !hold.is_over()) {
        // It has a permit already; with none left it would wait for itself.
        return Err(own(key, hold.kind));
    }
    let demand = Some(Demand { want: Want::Some(1), of: Some(of) });
    let _attempt = client.shared.attempt()?;
    let asker = Asker { whose, under: Vec::new(), demand };
    obtain(client, (Kind::Semaphore, key), options, patience, asker).await
}

impl Guard {
    /// Says so if the section took a good part of its lease.
    fn hint(&self) {
        let Some((held, lease)) = self.held_for().filter(|(held, lease)| *held > *lease / 3) else { return };
        let entered = self.entered(None);
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
    /// # Panics
    ///
    /// On a tokio runtime without [timers](tokio::runtime::Builder::enable_time).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the work and releases the lock.
    #[allow(clippy::manual_async_fn, reason = "an async fn would make room for the work three times")]
    pub fn run<F: Future>(&self, work: F) -> impl Future<Output = Result<F::Output, Error>> + use<'_, F> {
        async move {
            let section = self.enter(&self.client().options).await?;
            let value = section.run(pin!(work)).await?;
            section.leave().await.map(|()| value)
        }
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
    #[allow(clippy::manual_async_fn, reason = "as above")]
    pub fn run_with<F: Future>(
        &self,
        options: Options,
        work: F,
    ) -> impl Future<Output = Result<F::Output, Error>> + use<'_, F> {
        async move {
            let section = self.enter(&options).await?;
            let value = section.run(pin!(work)).await?;
            section.leave().await.map(|()| value)
        }
    }

    async fn enter(&self, options: &Options) -> Result<Section, Error> {
        Section::enter(self.client(), (Sort::Lock(self.kind()), self.key().clone()), options).await
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
        let section = Section::enter(self.inner(), lock, &options).await?;
        // Called inside of the section too: what a closure does before it returns a future is part of the work.
        let value = section.run(pin!(async { work(&section.guard).await })).await?;
        section.leave().await.map(|()| value)
    }
}
