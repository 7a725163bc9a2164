//! The semaphore whose permits have names.

use crate::acquire::{Asker, Demand, Patience, Whose, obtain};
use crate::inner::Inner;
use crate::lock::{Held, Lock};
use crate::supply::{checked, supply, turned_down};
use crate::{Error, ErrorKind, Loss, Options, StoreErrorKind};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
use tenure_kernel::{Claim, Key, Kind, Operation, Outcome, Supplying, Want};

/// The most permits that are taken at once.
const MOST_AT_ONCE: u32 = 1000;
/// To give permits back is tried this often, if no answer comes.
const ATTEMPTS: u32 = 3;

/// The name of a permit: 32 hexadecimal digits.
///
/// Whoever knows it can renew the permit or give it back, in another process or another language.
///
/// ```
/// use tenure_core::PermitId;
///
/// let id: PermitId = "00112233445566778899AABBCCDDEEFF".parse()?;
/// assert_eq!(id.to_string(), "00112233445566778899aabbccddeeff");
/// assert!("permit 7".parse::<PermitId>().is_err());
/// # Ok::<(), tenure_core::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PermitId(Claim);

impl PermitId {
    fn fresh() -> Self {
        Self(Claim::found(&uuid::Uuid::new_v4().simple().to_string()))
    }

    /// The name as it is written.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl FromStr for PermitId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        if text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Ok(Self(Claim::found(&text.to_ascii_lowercase())));
        }
        let text: String = text.chars().take(100).collect();
        Err(Error::invalid(format!("a permit's name has 32 hexadecimal digits: name=`{}`", text.escape_debug())))
    }
}

impl fmt::Display for PermitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for PermitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PermitId({})", self.as_str())
    }
}

/// So many permits, each with a name and a lease of its own. Cheap to clone; holds nothing by itself.
///
/// Nobody looks after these permits: each ends with its lease unless it is [renewed](Permits::renew) by name, by whoever
/// it was passed on to. Where one process takes and gives back, a [`Semaphore`](crate::Semaphore) does more.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tenure_core::Error> {
/// use std::time::Duration;
/// use tenure_core::{Client, Memory, PermitId};
///
/// let client = Client::new(Memory::new())?;
/// let seats = client.permits("seats")?.of(40)?;
/// let seat: PermitId = seats.acquire(Duration::from_secs(600)).await?;
///
/// // Some requests later, perhaps in another process:
/// seats.renew(&seat, Duration::from_secs(600)).await?;
/// seats.release(&seat).await?;
/// assert_eq!(seats.available().await?, 40);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Permits {
    client: Arc<Inner>,
    key: Key,
    of: Option<u32>,
}

impl Permits {
    pub(crate) fn new(client: &Arc<Inner>, key: Key) -> Self {
        Self { client: Arc::clone(client), key, of: None }
    }

    /// The key, with the client's prefix.
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// How many permits there are, should nobody have said so yet: the first to ask makes them. Whoever does not say waits
    /// until somebody has.
    ///
    /// # Errors
    ///
    /// [`Invalid`](ErrorKind::Invalid) for more than a semaphore can have.
    pub fn of(mut self, permits: u32) -> Result<Self, Error> {
        self.of = Some(checked("permits", permits, 0)?);
        Ok(self)
    }

    /// Waits for a permit.
    ///
    /// # Errors
    ///
    /// As [`acquire_with`](Permits::acquire_with).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future gives up the place among this client's waiters and leaves nothing behind in the store.
    pub async fn acquire(&self, lease: Duration) -> Result<PermitId, Error> {
        let mut ids = self.acquire_many(1, lease).await?;
        Ok(ids.swap_remove(0))
    }

    /// Waits for so many permits, and takes all of them at one moment.
    ///
    /// # Errors
    ///
    /// As [`acquire_with`](Permits::acquire_with).
    ///
    /// # Cancel safety
    ///
    /// As [`acquire`](Permits::acquire).
    pub async fn acquire_many(&self, permits: u32, lease: Duration) -> Result<Vec<PermitId>, Error> {
        self.acquire_with(permits, self.terms(lease)).await
    }

    /// Waits for a permit for so long at the most, everything included.
    ///
    /// # Errors
    ///
    /// As [`acquire_with`](Permits::acquire_with).
    ///
    /// # Cancel safety
    ///
    /// As [`acquire`](Permits::acquire).
    pub async fn acquire_timeout(&self, lease: Duration, wait: Duration) -> Result<PermitId, Error> {
        let mut ids = self.acquire_with(1, self.terms(lease).wait(wait)).await?;
        Ok(ids.swap_remove(0))
    }

    /// Waits for so many permits, with other options. Of these, lease, wait and retry have a meaning here.
    ///
    /// # Errors
    ///
    /// As [`Lock::lock_with`], and [`Conflict`](ErrorKind::Conflict) at once for more permits than there are.
    ///
    /// # Cancel safety
    ///
    /// As [`acquire`](Permits::acquire).
    pub async fn acquire_with(&self, permits: u32, options: Options) -> Result<Vec<PermitId>, Error> {
        let patience = Patience::of(&options, self.client.shared.clock.now());
        match self.take(permits, &options, patience).await? {
            Ok(ids) => Ok(ids),
            Err(contended) => Err(Box::pin(self.as_lock().timed_out(contended)).await),
        }
    }

    /// One attempt: the permit, or none if there is none to be had now.
    ///
    /// # Errors
    ///
    /// As [`acquire_with`](Permits::acquire_with), but never a time-out.
    ///
    /// # Cancel safety
    ///
    /// As [`acquire`](Permits::acquire).
    pub async fn try_acquire(&self, lease: Duration) -> Result<Option<PermitId>, Error> {
        Ok(self.try_acquire_many(1, lease).await?.map(|mut ids| ids.swap_remove(0)))
    }

    /// One attempt at so many permits.
    ///
    /// # Errors
    ///
    /// As [`try_acquire`](Permits::try_acquire).
    ///
    /// # Cancel safety
    ///
    /// As [`acquire`](Permits::acquire).
    pub async fn try_acquire_many(&self, permits: u32, lease: Duration) -> Result<Option<Vec<PermitId>>, Error> {
        Ok(self.take(permits, &self.terms(lease), Patience::Once).await?.ok())
    }

    /// Nobody renews them, whatever the client's options say.
    fn terms(&self, lease: Duration) -> Options {
        self.client.options.clone().lease(lease).no_renew()
    }

    async fn take(
        &self,
        permits: u32,
        options: &Options,
        patience: Patience,
    ) -> Result<Result<Vec<PermitId>, crate::acquire::Contended>, Error> {
        options.check()?;
        options.refuse_lineage()?;
        if !(1..=MOST_AT_ONCE).contains(&permits) {
            return Err(Error::invalid(format!("choose permits from 1 to {MOST_AT_ONCE}: permits={permits}")));
        }
        let ids: Vec<PermitId> = (0..permits).map(|_| PermitId::fresh()).collect();
        let want = Want::Named(ids.iter().map(|id| id.0.clone()).collect());
        let asker = Asker {
            whose: Whose { owner: None, section: false },
            under: Vec::new(),
            demand: Some(Demand { want, of: self.of }),
        };
        let _attempt = self.client.shared.attempt()?;
        let taken = obtain(&self.client, (Kind::Permits, &self.key), options, patience, asker).await?;
        Ok(taken.map(|guard| {
            guard.let_go();
            ids
        }))
    }

    /// Makes a permit last for so long from now on, if it would end before that.
    ///
    /// # Errors
    ///
    /// [`Lost`](ErrorKind::Lost) if it has ended or was given back; otherwise as [`available`](Permits::available).
    pub async fn renew(&self, id: &PermitId, lease: Duration) -> Result<(), Error> {
        self.terms(lease).check()?;
        self.client.shared.begin()?;
        let operation = Operation::Renew { claim: id.0.clone(), lease };
        match self.client.shared.ask(Kind::Permits, &self.key, &operation, self.client.answer_within).await {
            Ok(Outcome::Renewed) => Ok(()),
            Ok(Outcome::NotHeld) => Err(self.gone(&[id])),
            Ok(other) => Err(turned_down(&self.key, &other)),
            Err(error) => Err(Error::from_store(Some(&self.key), error)),
        }
    }

    /// Gives a permit back.
    ///
    /// # Errors
    ///
    /// As [`release_many`](Permits::release_many).
    pub async fn release(&self, id: &PermitId) -> Result<(), Error> {
        self.release_many(std::slice::from_ref(id)).await
    }

    /// Gives permits back: all of them, or none if one of them has ended or was given back before.
    ///
    /// # Errors
    ///
    /// [`Lost`](ErrorKind::Lost) if one of them is not taken any more, [`Unknown`](ErrorKind::Unknown) if the store did not
    /// answer: their leases end them at the latest. Otherwise as [`available`](Permits::available).
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, they may have been given back or not.
    pub async fn release_many(&self, ids: &[PermitId]) -> Result<(), Error> {
        let shared = &self.client.shared;
        shared.begin()?;
        let mut names: Vec<Claim> = ids.iter().map(|id| id.0.clone()).collect();
        names.sort();
        names.dedup();
        if names.is_empty() {
            return Ok(());
        }
        if names.len() > MOST_AT_ONCE as usize {
            return Err(Error::invalid(format!(
                "give back {MOST_AT_ONCE} permits at once at most: permits={}",
                names.len()
            )));
        }
        let operation = Operation::GiveBack { ids: names, all: true, cancel: None };
        let mut unanswered = None;
        for _ in 0..ATTEMPTS {
            match shared.apply(Kind::Permits, &self.key, &operation, self.client.answer_within).await {
                Ok(Outcome::GivenBack(_)) => return Ok(()),
                // One that was not answered may have done it.
                Ok(Outcome::NotHeld) if unanswered.is_some() && ids.len() == 1 => return Ok(()),
                // Or one of them had ended before: there is no telling.
                Ok(Outcome::NotHeld) if unanswered.is_some() => break,
                Ok(Outcome::NotHeld) => return Err(self.gone(&ids.iter().collect::<Vec<_>>())),
                Ok(other) => return Err(turned_down(&self.key, &other)),
                Err(error) if error.kind == StoreErrorKind::Unanswered => unanswered = Some(error),
                Err(error) => return Err(Error::from_store(Some(&self.key), error)),
            }
        }
        let error = unanswered.map_or_else(String::new, |error| error.to_string());
        Err(Error::new(
            ErrorKind::Unknown,
            format!("the permits may or may not have been given back, their leases end them at the latest: {error}"),
        )
        .about(&self.key))
    }

    fn gone(&self, ids: &[&PermitId]) -> Error {
        let names: Vec<&str> = ids.iter().take(5).map(|id| id.as_str()).collect();
        let what = if ids.len() == 1 { "the permit is" } else { "one of the permits is" };
        Error::new(
            ErrorKind::Lost,
            format!("{what} not taken any more, {}, take another: permits={}", Loss::Gone, names.join(" ")),
        )
        .about(&self.key)
    }

    /// How many permits are to be had now; fewer than none, if there were made to be fewer than are taken.
    ///
    /// # Errors
    ///
    /// [`Unavailable`](ErrorKind::Unavailable), [`Denied`](ErrorKind::Denied), or [`Conflict`](ErrorKind::Conflict) if the
    /// key is in use for something else.
    pub async fn available(&self) -> Result<i64, Error> {
        Ok(self.supply(Supplying::Look).await?.available)
    }

    /// How many permits there are, with those that are taken. None if nobody has said yet.
    ///
    /// # Errors
    ///
    /// As [`available`](Permits::available).
    pub async fn permits(&self) -> Result<Option<i64>, Error> {
        Ok(self.supply(Supplying::Look).await?.total)
    }

    /// Lets there be so many permits, unless somebody said so before; whether this was the first.
    ///
    /// # Errors
    ///
    /// As [`available`](Permits::available), and [`Unknown`](ErrorKind::Unknown) if the store did not answer.
    pub async fn try_set_permits(&self, permits: u32) -> Result<bool, Error> {
        let permits = checked("permits", permits, 0)?;
        Ok(self.supply(Supplying::Begin(permits)).await?.was.is_none())
    }

    /// Lets there be so many permits. Those that are taken stay taken: if there are then too few, the next ones to be given
    /// back go to nobody.
    ///
    /// # Errors
    ///
    /// As [`try_set_permits`](Permits::try_set_permits).
    pub async fn set_permits(&self, permits: u32) -> Result<(), Error> {
        let permits = checked("permits", permits, 0)?;
        self.supply(Supplying::Set(permits)).await.map(drop)
    }

    /// So many permits more, or fewer.
    ///
    /// # Errors
    ///
    /// As [`try_set_permits`](Permits::try_set_permits).
    pub async fn add_permits(&self, permits: i32) -> Result<(), Error> {
        self.supply(Supplying::Add(i64::from(permits))).await.map(drop)
    }

    async fn supply(&self, supplying: Supplying) -> Result<tenure_kernel::Supply, Error> {
        supply(&self.client, (Kind::Permits, &self.key), supplying).await
    }

    /// Which permits are taken, and for how much longer; none if none is.
    ///
    /// # Errors
    ///
    /// As [`available`](Permits::available).
    pub async fn inspect(&self) -> Result<Option<Held>, Error> {
        self.as_lock().inspect().await
    }

    fn as_lock(&self) -> Lock {
        Lock::new(&self.client, Kind::Permits, self.key.clone())
    }
}

impl fmt::Debug for Permits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permits").field("key", &self.key).field("of", &self.of).finish_non_exhaustive()
    }
}
