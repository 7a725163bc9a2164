//! A lock's handle, whatever its kind.

use crate::acquire::{Contended, Patience, acquire};
use crate::event::What;
use crate::guard::Guard;
use crate::inner::Inner;
use crate::{Card, Error, Moment, Options, Owner};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tenure_kernel::{Claim, Holder, Key, Kind, Operation, Outcome, Sight, Vote, Waiting};

/// After a wait has timed out, how long to ask who the holder is; the wait's bound must not be outstayed by much.
pub(crate) const ASK_WHO: Duration = Duration::from_millis(100);

/// A lock that one holder at a time can have, on one key. Cheap to clone; holds nothing by itself.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tenure_core::Error> {
/// use tenure_core::{Client, Memory};
///
/// let client = Client::new(Memory::new())?;
/// let lock = client.lock("order:pay")?;
/// let guard = lock.lock().await?;
/// assert!(lock.try_lock().await?.is_none());
/// guard.release().await?;
/// assert!(lock.try_lock().await?.is_some());
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Lock {
    client: Arc<Inner>,
    kind: Kind,
    key: Key,
}

/// A held lock as anybody can see it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Held {
    /// The lock.
    pub key: Key,
    /// As what it is held.
    pub kind: Kind,
    /// Who is in, outermost first; never empty. A hundred are named at the most: of those who hold together, those whose
    /// leases last longest.
    pub holders: Vec<HeldBy>,
    /// How many more are in, who are not named.
    pub more: u32,
    /// How many wait for it, where the store knows.
    pub waiters: Option<u32>,
    /// The first of those who stand in line, a hundred at the most, if the kind of lock [has one](Kind::has_line).
    pub line: Vec<InLine>,
    /// What each server says, in the order of the URL, where a majority of several keeps the lock.
    pub votes: Vec<Vote>,
}

/// One of those who stand in line for a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InLine {
    /// Its claim, as what it wants the lock, and for how long it has waited.
    pub waiting: Waiting,
    /// Where it lives, if it left its card.
    pub card: Option<Card>,
}

/// One of those who hold a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HeldBy {
    /// Its claim, how often it is in, with which token and for how much longer.
    pub holder: Holder,
    /// Where it lives, if it left its card.
    pub card: Option<Card>,
}

impl Held {
    /// The outermost holder.
    pub fn holder(&self) -> &Holder {
        &self.holders[0].holder
    }

    /// Where the outermost holder lives, if it left its card.
    pub fn card(&self) -> Option<&Card> {
        self.holders[0].card.as_ref()
    }

    /// Puts names to what a store sees; a card is good to know, never worth failing for. `None` if nobody holds it.
    pub(crate) async fn of(client: &Inner, key: Key, sight: Sight, cards: &mut Cards) -> Option<Self> {
        let sight = sight.shortened();
        let mut holders = Vec::with_capacity(sight.holders.len());
        for holder in sight.holders {
            let card = cards.of(client, &holder.claim).await;
            holders.push(HeldBy { holder, card });
        }
        let mut line = Vec::with_capacity(sight.line.len());
        for waiting in sight.line {
            let card = cards.of(client, &waiting.claim).await;
            line.push(InLine { waiting, card });
        }
        let Sight { kind, more, waiters, votes, .. } = sight;
        (!holders.is_empty()).then_some(Self { key, kind, holders, more, waiters, line, votes })
    }
}

/// The cards that were looked up already.
#[derive(Default)]
pub(crate) struct Cards(HashMap<String, Option<Card>>);

impl Cards {
    async fn of(&mut self, client: &Inner, claim: &Claim) -> Option<Card> {
        let id = claim.client();
        if let Some(known) = self.0.get(id) {
            return known.clone();
        }
        let card = client.shared.backend.look_up(id, client.answer_within).await.ok().flatten();
        self.0.insert(id.to_owned(), card.clone());
        card
    }
}

impl Lock {
    pub(crate) fn new(client: &Arc<Inner>, kind: Kind, key: Key) -> Self {
        Self { client: Arc::clone(client), kind, key }
    }

    /// Whether an owner holds it by this client.
    pub(crate) fn is_held_by(&self, owner: &Owner) -> bool {
        self.client.holds(&self.key, owner)
    }

    pub(crate) fn client(&self) -> &Arc<Inner> {
        &self.client
    }

    /// The key, with the client's prefix.
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// The kind.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Waits for the lock with the client's default options.
    ///
    /// # Errors
    ///
    /// As [`lock_with`](Lock::lock_with).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future gives up the place among this client's waiters and leaves nothing behind in the store.
    pub async fn lock(&self) -> Result<Guard, Error> {
        self.wait(&self.client.options).await
    }

    /// Waits for the lock for so long at the most, everything included.
    ///
    /// # Errors
    ///
    /// [`Timeout`](crate::ErrorKind::Timeout), naming the holder, if the lock was not free in time; otherwise as
    /// [`lock_with`](Lock::lock_with).
    ///
    /// # Cancel safety
    ///
    /// As [`lock`](Lock::lock).
    pub async fn lock_timeout(&self, wait: Duration) -> Result<Guard, Error> {
        self.lock_with(self.client.options.clone().wait(wait)).await
    }

    /// Waits for the lock.
    ///
    /// While the store is down, a bounded wait goes on trying until its bound, and one without a bound goes on for
    /// ever if the store has answered before; if it never did, the call fails when the client's `connect_within` has
    /// passed.
    ///
    /// # Errors
    ///
    /// * [`Timeout`](crate::ErrorKind::Timeout) when the wait or the retries are used up; it names the holder.
    /// * [`Unavailable`](crate::ErrorKind::Unavailable) if the store did not answer, or the client was closed.
    /// * [`Invalid`](crate::ErrorKind::Invalid) for options that make no sense; nothing was sent.
    /// * [`Conflict`](crate::ErrorKind::Conflict) if the key is in use for something that is not this kind of lock.
    /// * [`Denied`](crate::ErrorKind::Denied) if the store does not let us.
    ///
    /// # Cancel safety
    ///
    /// As [`lock`](Lock::lock).
    pub async fn lock_with(&self, options: Options) -> Result<Guard, Error> {
        self.wait(&options).await
    }

    async fn wait(&self, options: &Options) -> Result<Guard, Error> {
        match acquire(&self.client, (self.kind, &self.key), options, |now| Patience::of(options, now)).await? {
            Ok(guard) => Ok(guard),
            // Boxed, as all that is rare, so that a lock that is free takes little room.
            Err(contended) => Err(Box::pin(self.timed_out(contended)).await),
        }
    }

    /// The error of a wait that has ended. Whoever waited does not wait for much longer to learn more: for all questions together
    /// there is one short time.
    pub(crate) async fn timed_out(&self, Contended { holder, waited, votes }: Contended) -> Error {
        let shared = &self.client.shared;
        let until = shared.clock.now().plus(ASK_WHO);
        let left = || until.since(shared.clock.now());
        let (holder, votes) = match holder {
            Some(holder) => (Some(holder), votes),
            // We never came to ask: others of this client were before us in line.
            None => match shared.apply(self.kind, &self.key, &Operation::Inspect, left()).await {
                Ok(Outcome::Seen(Some(sight))) => (sight.holders.into_iter().next(), sight.votes),
                // They were before us because the store is silent.
                Err(error) if error.is_transient() && !self.was_busy(waited) => {
                    return Error::from_store(Some(&self.key), error);
                }
                _ => (None, votes),
            },
        };
        let card = match &holder {
            Some(holder) => shared.backend.look_up(holder.claim.client(), left()).await.ok().flatten(),
            None => None,
        };
        let votes = if votes.is_empty() {
            shared.backend.votes(self.kind, &self.key, left()).await.unwrap_or_default()
        } else {
            votes
        };
        Error::timeout((self.kind, &self.key), waited, (holder, card), votes)
    }

    /// Whether the store has told anybody of this client's that the lock is busy while we waited.
    fn was_busy(&self, waited: Duration) -> bool {
        let shared = &self.client.shared;
        let began = shared.clock.now().since_zero().saturating_sub(waited + ASK_WHO);
        shared.busy.was_seen_since(&self.key, Moment::at(began))
    }

    /// One attempt: the guard, or none if somebody else holds the lock.
    ///
    /// # Errors
    ///
    /// As [`lock_with`](Lock::lock_with), but never a time-out: being contended is an answer.
    ///
    /// # Cancel safety
    ///
    /// As [`lock`](Lock::lock).
    pub async fn try_lock(&self) -> Result<Option<Guard>, Error> {
        self.try_lock_with(self.client.options.clone()).await
    }

    /// One attempt with other options.
    ///
    /// # Errors
    ///
    /// As [`try_lock`](Lock::try_lock).
    ///
    /// # Cancel safety
    ///
    /// As [`lock`](Lock::lock).
    pub async fn try_lock_with(&self, options: Options) -> Result<Option<Guard>, Error> {
        Ok(acquire(&self.client, (self.kind, &self.key), &options, |_| Patience::Once).await?.ok())
    }

    /// Whether anybody holds the lock.
    ///
    /// # Errors
    ///
    /// As [`inspect`](Lock::inspect).
    pub async fn is_locked(&self) -> Result<bool, Error> {
        Ok(self.look().await?.is_some())
    }

    /// Who holds the lock.
    ///
    /// # Errors
    ///
    /// [`Unavailable`](crate::ErrorKind::Unavailable), [`Denied`](crate::ErrorKind::Denied) or
    /// [`Conflict`](crate::ErrorKind::Conflict), as [`lock_with`](Lock::lock_with).
    pub async fn inspect(&self) -> Result<Option<Held>, Error> {
        let Some(sight) = self.look().await? else { return Ok(None) };
        Ok(Held::of(&self.client, self.key.clone(), sight, &mut Cards::default()).await)
    }

    /// What each server says of the lock, in the order of the URL, where a majority of several keeps it: also of one that is
    /// free, and also while so many are silent that [`inspect`](Lock::inspect) fails. Nothing where the store is one place.
    ///
    /// # Errors
    ///
    /// As [`inspect`](Lock::inspect).
    pub async fn votes(&self) -> Result<Vec<Vote>, Error> {
        self.client.shared.begin()?;
        let asked = self.client.shared.backend.votes(self.kind, &self.key, self.client.answer_within).await;
        asked.map_err(|error| Error::from_store(Some(&self.key), error))
    }

    async fn look(&self) -> Result<Option<Sight>, Error> {
        self.client.shared.begin()?;
        match self.client.shared.ask(self.kind, &self.key, &Operation::Inspect, self.client.answer_within).await {
            Ok(Outcome::Seen(sight)) => Ok(sight),
            Ok(other) => Err(self.nonsense(&other)),
            Err(error) => Err(Error::from_store(Some(&self.key), error)),
        }
    }

    /// Frees the lock over its holders' heads, whatever its kind, and says who they were. The holder is told at once where
    /// the store can push it, otherwise at its next renewal; until then it may go on working. Its token is older than the
    /// next.
    ///
    /// # Errors
    ///
    /// As [`inspect`](Lock::inspect), and [`Unknown`](crate::ErrorKind::Unknown) if the store did not answer.
    pub async fn force_release(&self) -> Result<Option<Held>, Error> {
        let shared = &self.client.shared;
        shared.begin()?;
        // Whoever is put out may be gone, with its card, before we could ask for it.
        let mut cards = Cards::default();
        if let Ok(Some(sight)) = self.look().await {
            for holder in &sight.holders {
                cards.of(&self.client, &holder.claim).await;
            }
        }
        // Not asked twice: the second answer would be that nobody holds the lock.
        match shared.apply(self.kind, &self.key, &Operation::ForceRelease, self.client.answer_within).await {
            Ok(Outcome::Forced(None)) => Ok(None),
            Ok(Outcome::Forced(Some(sight))) => {
                let sight = sight.shortened();
                if sight.more > 0 {
                    tracing::warn!(key = %self.key, holders = sight.more, "lock released by force, from so many besides");
                }
                for holder in &sight.holders {
                    tracing::warn!(key = %self.key, claim = %holder.claim, "lock released by force");
                    shared.say_of((sight.kind, &self.key), &holder.claim, || What::Forced { holder: holder.clone() });
                }
                Ok(Held::of(&self.client, self.key.clone(), sight, &mut cards).await)
            }
            Ok(other) => Err(self.nonsense(&other)),
            Err(error) if error.kind == crate::StoreErrorKind::Unanswered => Err(Error::new(
                crate::ErrorKind::Unknown,
                format!("the lock may or may not have been released by force, look and try again: {error}"),
            )
            .about(&self.key)),
            Err(error) => Err(Error::from_store(Some(&self.key), error)),
        }
    }

    fn nonsense(&self, outcome: &Outcome) -> Error {
        Error::new(crate::ErrorKind::Unexpected, format!("the store gave an answer that makes no sense: {outcome:?}"))
            .about(&self.key)
    }
}

impl std::fmt::Debug for Lock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let store = &self.client.shared.address;
        f.debug_struct("Lock").field("key", &self.key).field("store", store).finish_non_exhaustive()
    }
}
