//! The latch: shut until it was counted down so often.

use crate::acquire::{Patience, Wait};
use crate::event::WaitEnd;
use crate::inner::Inner;
use crate::length::{Length, Spoken};
use crate::supply::{checked, turned_down};
use crate::wakeups::{Topic, Watch};
use crate::{Error, ErrorKind, Moment, Options, StoreError, StoreErrorKind};
use std::sync::Arc;
use std::time::Duration;
use tenure_kernel::{Claim, Counting, Key, Kind, Operation, Outcome, Token};

/// However sure we are to be woken, we also look by ourselves this often.
const SAFETY_POLL: Duration = Duration::from_secs(1);
/// The most bytes that an id may have.
const LONGEST_ID: usize = 256;

/// A count that others wait for to reach zero. Cheap to clone; holds nothing by itself.
///
/// A latch that is not there is open: who waits for one that was never set, or was deleted, does not wait. One that is set
/// again once it has been open is shut anew; those who waited before then need not wait for that.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tenure_core::Error> {
/// use tenure_core::{Client, Memory};
///
/// let client = Client::new(Memory::new())?;
/// let warmed_up = client.latch("warmed-up")?;
/// warmed_up.try_set(2).await?;
/// warmed_up.down().await?;
/// let last = async { warmed_up.down_once("shard-2").await };
/// let (waited, left) = tokio::join!(warmed_up.wait(), last);
/// assert_eq!((waited?, left?), ((), 0));
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Latch {
    client: Arc<Inner>,
    key: Key,
}

impl Latch {
    pub(crate) fn new(client: &Arc<Inner>, key: Key) -> Self {
        Self { client: Arc::clone(client), key }
    }

    /// The key, with the client's prefix.
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// Shuts the latch, to be counted down so often, unless it is shut; whether it did.
    ///
    /// # Errors
    ///
    /// As [`down`](Latch::down).
    pub async fn try_set(&self, count: u32) -> Result<bool, Error> {
        let count = checked("count", count, 1)?;
        Ok(self.change(Counting::Begin(count), Twice::Never).await?.was == 0)
    }

    /// Shuts the latch, to be counted down so often, whatever it was before. Those who wait go on waiting.
    ///
    /// # Errors
    ///
    /// As [`down`](Latch::down).
    pub async fn set(&self, count: u32) -> Result<(), Error> {
        let count = checked("count", count, 1)?;
        self.change(Counting::Set(count), Twice::Never).await.map(drop)
    }

    /// Counts down by one; how often it is still to be counted down.
    ///
    /// # Errors
    ///
    /// As [`count`](Latch::count), and [`Unknown`](ErrorKind::Unknown) if the store did not answer: it may have been counted
    /// down or not, and [`down_once`](Latch::down_once) can be tried again.
    pub async fn down(&self) -> Result<u32, Error> {
        Ok(self.change(Counting::Down(None), Twice::Never).await?.count)
    }

    /// Counts down by one, unless it was with this id since it was set: whoever is not sure whether it did can do it again.
    /// Redis forgets ids a day after the last one. Ids count since the latch was last set: where it is set again and again, put
    /// the round into the id, or one that was tried again late counts in the round after its own.
    ///
    /// # Errors
    ///
    /// As [`count`](Latch::count), and [`Invalid`](ErrorKind::Invalid) for an id that is empty or longer than 256 bytes.
    pub async fn down_once(&self, id: &str) -> Result<u32, Error> {
        if id.is_empty() || id.len() > LONGEST_ID || id.chars().any(char::is_control) {
            return Err(Error::invalid(format!(
                "choose an id of 1 to {LONGEST_ID} bytes without control characters: it has {} bytes",
                id.len()
            )));
        }
        Ok(self.change(Counting::Down(Some(Claim::found(id))), Twice::Well).await?.count)
    }

    /// How often the latch is still to be counted down: not at all, if it is open.
    ///
    /// # Errors
    ///
    /// [`Unavailable`](ErrorKind::Unavailable), [`Denied`](ErrorKind::Denied), or [`Conflict`](ErrorKind::Conflict) if the
    /// key is in use for something else.
    pub async fn count(&self) -> Result<u32, Error> {
        Ok(self.change(Counting::Look, Twice::Well).await?.count)
    }

    /// Away with the latch: nobody waits for it any more. Whether it was shut.
    ///
    /// # Errors
    ///
    /// As [`down`](Latch::down).
    pub async fn delete(&self) -> Result<bool, Error> {
        Ok(self.change(Counting::Delete, Twice::Never).await?.was > 0)
    }

    async fn change(&self, counting: Counting, twice: Twice) -> Result<tenure_kernel::Latch, Error> {
        let shared = &self.client.shared;
        shared.begin()?;
        let (operation, within) = (Operation::Count(counting), self.client.answer_within);
        let answer = match twice {
            Twice::Well => shared.ask(Kind::Latch, &self.key, &operation, within).await,
            Twice::Never => shared.apply(Kind::Latch, &self.key, &operation, within).await,
        };
        match answer {
            Ok(Outcome::Latch(latch)) => Ok(latch),
            Ok(other) => Err(turned_down(&self.key, &other)),
            Err(error) if error.kind == StoreErrorKind::Unanswered && twice == Twice::Never => Err(Error::new(
                ErrorKind::Unknown,
                format!("the latch may or may not have been changed, look and try again: {error}"),
            )
            .about(&self.key)),
            Err(error) => Err(Error::from_store(Some(&self.key), error)),
        }
    }

    /// Waits until the latch is open.
    ///
    /// While the store is down it goes on waiting, if the store has answered before.
    ///
    /// # Errors
    ///
    /// As [`count`](Latch::count).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future has no effect.
    pub async fn wait(&self) -> Result<(), Error> {
        self.wait_until(Patience::Endless).await
    }

    /// Waits until the latch is open, for so long at the most. A wait of nothing looks once.
    ///
    /// # Errors
    ///
    /// [`Timeout`](ErrorKind::Timeout) if it was not open in time; otherwise as [`count`](Latch::count).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future has no effect.
    pub async fn wait_timeout(&self, wait: Duration) -> Result<(), Error> {
        if wait > Options::MAX_WAIT {
            let most = Length(Options::MAX_WAIT);
            return Err(Error::invalid(format!("choose a wait of no more than {most}: wait={}", Length(wait))));
        }
        self.wait_until(Patience::within(wait, self.client.shared.clock.now())).await
    }

    async fn wait_until(&self, patience: Patience) -> Result<(), Error> {
        let shared = &self.client.shared;
        let _attempt = shared.attempt()?;
        let (options, began) = (Options::new(), shared.clock.now());
        let mut wait = Wait::new(&self.client, (Kind::Latch, &self.key), &options, None, began);
        let outcome = self.wait_for_count(patience, Waiting::new(began), &mut wait).await;
        wait.ends(WaitEnd::of(&outcome));
        outcome?
    }

    /// Waits until it is open, or says that it was not in time.
    async fn wait_for_count(
        &self,
        patience: Patience,
        mut waiting: Waiting,
        wait: &mut Wait<'_>,
    ) -> Result<Result<(), Error>, Error> {
        let shared = &self.client.shared;
        let mut watch: Option<Watch> = None;
        loop {
            shared.begin()?;
            let heard = watch.as_ref().map(Watch::epoch);
            if self.look(&mut waiting, patience, wait).await? {
                return Ok(Ok(()));
            }
            if matches!(patience, Patience::Once) {
                return self.gave_up(&waiting).map(Err);
            }
            if waiting.answered {
                wait.begin_unknown();
            }
            let look_again = shared.clock.now().plus(SAFETY_POLL);
            let called = async {
                tokio::select! {
                    () = self.client.hub.news(&mut watch, Topic::of(Kind::Latch, &self.key), heard) => true,
                    () = shared.clock.sleep_until(look_again) => true,
                    () = patience.end(shared) => false,
                }
            };
            if !wait.endure(called).await {
                return self.gave_up(&waiting).map(Err);
            }
        }
    }

    /// Looks whether the latch is open. A store that is silent is put up with while there is patience.
    async fn look(&self, waiting: &mut Waiting, patience: Patience, wait: &mut Wait<'_>) -> Result<bool, Error> {
        let shared = &self.client.shared;
        let look = Operation::Count(Counting::Wait(waiting.round));
        let within = self.client.answer_within.min(patience.left(shared.clock.now()));
        let answer = shared.ask(Kind::Latch, &self.key, &look, within).await;
        if matches!(&answer, Err(error) if error.is_transient()) && !matches!(patience, Patience::Once) {
            wait.begin_unanswered();
        }
        match answer {
            Ok(Outcome::Latch(latch)) => {
                (waiting.silence, waiting.count, waiting.answered) = (None, latch.count, true);
                // Open by now, or so in between, and shut once more.
                let another = matches!((waiting.round, latch.round), (Some(first), Some(now)) if first != now);
                waiting.round = waiting.round.or(latch.round);
                Ok(latch.count == 0 || another)
            }
            Ok(other) => Err(turned_down(&self.key, &other)),
            // A last look that had no time left to be answered says nothing of the store.
            Err(error) if error.is_transient() && waiting.answered && within < self.client.answer_within => Ok(false),
            Err(error) if error.is_transient() && !patience.is_worn_out(&self.client, waiting.began) => {
                waiting.silence = Some(error);
                Ok(false)
            }
            Err(error) => Err(Error::from_store(Some(&self.key), error)),
        }
    }

    /// It was not open in time, unless the store was silent or the client was closed.
    fn gave_up(&self, waiting: &Waiting) -> Result<Error, Error> {
        self.client.shared.begin()?;
        if let Some(error) = &waiting.silence {
            return Err(Error::from_store(Some(&self.key), error.clone()));
        }
        let waited = self.client.shared.clock.now().since(waiting.began);
        Ok(Error::new(
            ErrorKind::Timeout,
            format!(
                "the latch was not open in time, try again later or wait longer: waited={} still to count={}",
                Spoken(waited),
                waiting.count
            ),
        )
        .about(&self.key))
    }
}

/// Whether a change may be asked for twice.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Twice {
    /// It does what it does once, and the answer is the same.
    Well,
    Never,
}

/// One who waits.
struct Waiting {
    began: Moment,
    /// Which time the latch was shut when we came.
    round: Option<Token>,
    count: u32,
    /// Whether the store has answered.
    answered: bool,
    /// Why the store's last answer is missing, if it is.
    silence: Option<StoreError>,
}

impl Waiting {
    fn new(began: Moment) -> Self {
        Self { began, round: None, count: 0, answered: false, silence: None }
    }
}

impl std::fmt::Debug for Latch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Latch").field("key", &self.key).finish_non_exhaustive()
    }
}
