//! The guard of a set: the witness of all its leases.

use crate::event::Loss;
use crate::guard::{Guard, Release};
use crate::hold::Standing;
use crate::{Error, ErrorKind};
use futures_util::future::{join_all, select_all, try_join_all};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};
use tenure_kernel::{Key, Token};
use tokio_util::sync::CancellationToken;

/// Several held locks. It is valid until it is released or one of them is [lost](MultiGuard::lost), whichever comes first;
/// each is renewed as the lock of a [`Guard`] is.
///
/// Dropping it releases all of them in the background, as dropping a [`Guard`] does. [`release`](MultiGuard::release) does
/// it here and now and says what happened.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tenure_core::Error> {
/// use tenure_core::{Client, Memory, Release};
///
/// let client = Client::new(Memory::new())?;
/// let guard = client.multi(["from", "to"])?.lock().await?;
/// let tokens: Vec<u64> = guard.tokens().map(|(_, token)| token).collect();
/// let moved = guard.run(async { tokens.len() }).await?;
/// assert_eq!(moved, 2);
/// assert_eq!(guard.release().await?, Release::Released);
/// # Ok(()) }
/// ```
#[must_use = "a guard that is not kept releases its locks at once"]
#[clippy::has_significant_drop]
pub struct MultiGuard {
    guards: Vec<Guard>,
    lost: CancellationToken,
}

/// One guard is a set too.
impl From<Guard> for MultiGuard {
    fn from(guard: Guard) -> Self {
        Self::new(vec![guard])
    }
}

impl MultiGuard {
    /// There is one guard at the least.
    pub(super) fn new(guards: Vec<Guard>) -> Self {
        let lost = CancellationToken::new();
        for guard in &guards {
            guard.cancels(&lost);
        }
        Self { guards, lost }
    }

    /// The guard of each lock, in the order of the keys.
    pub fn guards(&self) -> &[Guard] {
        &self.guards
    }

    /// The keys, in order.
    pub fn keys(&self) -> impl Iterator<Item = &Key> {
        self.guards.iter().map(Guard::key)
    }

    /// Every key with its fencing token, in the order of the keys. Each token is for what is written under that key: they
    /// do not rise with each other.
    pub fn tokens(&self) -> impl Iterator<Item = (&Key, Token)> {
        self.guards.iter().map(|guard| (guard.key(), guard.token()))
    }

    /// The fencing token of a key, with its client's prefix; none if it is not in the set. Of one key of several clients it is
    /// that of the first, see [`guards`](MultiGuard::guards).
    pub fn token_of(&self, key: &str) -> Option<Token> {
        self.guards.iter().find(|guard| guard.key().as_str() == key).map(Guard::token)
    }

    /// What a program that is run while the locks are held needs in order to [go in too](crate::Options::under), into any of
    /// them.
    pub fn lineage(&self) -> String {
        let mut claims: Vec<String> = Vec::new();
        for guard in &self.guards {
            for claim in guard.lineage().split('/') {
                if !claims.iter().any(|known| known == claim) {
                    claims.push(claim.to_owned());
                }
            }
        }
        claims.join("/")
    }

    /// How long all leases surely still run: the least of them; zero once one is over.
    pub fn remaining(&self) -> Duration {
        self.guards.iter().map(Guard::remaining).min().unwrap_or_default()
    }

    /// When the first of the leases ends unless it is renewed; as [`Guard::deadline`].
    pub fn deadline(&self) -> Instant {
        Instant::now() + self.remaining()
    }

    /// How the guard stands now: as the one of its locks that stands worst.
    pub fn standing(&self) -> Standing {
        let mut worst = Standing::Held;
        for guard in &self.guards {
            match guard.standing() {
                Standing::Held => {}
                Standing::Jeopardy => worst = Standing::Jeopardy,
                lost @ Standing::Lost(_) => return lost,
            }
        }
        worst
    }

    /// Whether all leases surely still run.
    pub fn is_held(&self) -> bool {
        self.guards.iter().all(Guard::is_held)
    }

    /// To be asked before every step that must not be taken unlocked.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Lost`] once one of the leases is over; it names the key.
    pub fn check(&self) -> Result<(), Error> {
        self.guards.iter().try_for_each(Guard::check)
    }

    /// Resolves when one of the locks is lost, and says which, as [`Guard::lost`] does.
    ///
    /// # Panics
    ///
    /// On a tokio runtime without [timers](tokio::runtime::Builder::enable_time).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future has no effect.
    pub async fn lost(&self) -> (&Key, Loss) {
        let losses = self.guards.iter().map(|guard| Box::pin(async move { (guard.key(), guard.lost().await) }));
        select_all(losses).await.0
    }

    /// A token that is cancelled when one of the locks is lost, to hand to work that runs elsewhere.
    pub fn cancellation_token(&self) -> CancellationToken {
        self.lost.clone()
    }

    /// Runs work for as long as all locks are held: when one is lost, the work is dropped and never polled again, as by
    /// [`Guard::run`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Lost`] if a lock was lost before the work was done; it names the key.
    ///
    /// # Panics
    ///
    /// On a tokio runtime without [timers](tokio::runtime::Builder::enable_time).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the work; the guard stays.
    pub async fn run<F: Future>(&self, work: F) -> Result<F::Output, Error> {
        let mut lost = pin!(self.lost());
        let mut work = pin!(work);
        poll_fn(move |context| {
            // The clock is asked before every poll of the work: a late wake-up must not let it run on.
            if let Err(error) = self.check() {
                return Poll::Ready(Err(error));
            }
            if let Poll::Ready((key, why)) = lost.as_mut().poll(context) {
                return Poll::Ready(Err(Error::lost(key, why)));
            }
            work.as_mut().poll(context).map(Ok)
        })
        .await
    }

    /// Makes all leases last their full length from now on, as [`Guard::renew`] does.
    ///
    /// # Errors
    ///
    /// As [`Guard::renew`], of the first that could not be renewed.
    ///
    /// # Cancel safety
    ///
    /// As [`Guard::renew`].
    pub async fn renew(&self) -> Result<(), Error> {
        try_join_all(self.guards.iter().map(Guard::renew)).await.map(drop)
    }

    /// Takes back what [`at_least`](crate::Options::at_least) has asked for, as [`Guard::waive_at_least`] does, for each lock.
    pub fn waive_at_least(&self) {
        for guard in self.guards() {
            guard.waive_at_least();
        }
    }

    /// Gives all locks back, also if one of them fails, and says what happened: [`Released`](Release::Released) if all of
    /// them are free, otherwise how it went with the one that is least so.
    ///
    /// # Errors
    ///
    /// As [`Guard::release`], naming the key: [`ErrorKind::Lost`] if one was not ours any more, and if none is lost,
    /// [`ErrorKind::Unknown`] if the store did not answer.
    ///
    /// # Cancel safety
    ///
    /// A release that was cancelled is finished by the janitor.
    pub async fn release(self) -> Result<Release, Error> {
        let locks: Vec<(Key, Token)> = self.tokens().map(|(key, token)| (key.clone(), token)).collect();
        let released = join_all(self.guards.into_iter().map(Guard::release)).await;
        // Two clients that lead to one lock have one token there: the first to leave leaves the other in.
        let mut free: Vec<&(Key, Token)> = Vec::new();
        for (lock, release) in locks.iter().zip(&released) {
            if matches!(release, Ok(Release::Released | Release::Kept(_))) {
                free.push(lock);
            }
        }
        let mut worst = Ok(Release::Released);
        for (lock, release) in locks.iter().zip(released) {
            let left = matches!(release, Ok(Release::Left)) && free.contains(&lock);
            if !left && weight(&release) > weight(&worst) {
                worst = release;
            }
        }
        worst
    }
}

/// How much a release matters to one who hears of a single one.
fn weight(release: &Result<Release, Error>) -> (u32, u128) {
    match release {
        Ok(Release::Released) => (0, 0),
        Ok(Release::Kept(length)) => (1, length.as_millis()),
        Ok(Release::Left) => (2, 0),
        Ok(Release::StillHeld(count)) => (3, (*count).into()),
        Err(error) => match error.kind() {
            ErrorKind::Lost => (6, 0),
            ErrorKind::Unknown => (5, 0),
            _ => (4, 0),
        },
    }
}

impl std::fmt::Debug for MultiGuard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(&self.guards).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guards_of_sets_go_anywhere() {
        fn goes_anywhere<T: Send + Sync + 'static>() {}
        goes_anywhere::<MultiGuard>();
        goes_anywhere::<crate::MultiLock>();
    }

    #[test]
    fn the_worst_release_is_the_one_that_is_told() {
        let lost = || Err(Error::new(ErrorKind::Lost, ""));
        let unknown = || Err(Error::new(ErrorKind::Unknown, ""));
        let kept = |seconds| Ok(Release::Kept(Duration::from_secs(seconds)));
        let rising = [
            Ok(Release::Released),
            kept(1),
            kept(2),
            Ok(Release::Left),
            Ok(Release::StillHeld(1)),
            Ok(Release::StillHeld(2)),
            unknown(),
            lost(),
        ];
        assert!(rising.windows(2).all(|pair| weight(&pair[0]) < weight(&pair[1])));
    }
}
