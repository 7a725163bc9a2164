//! What `#[locked]` functions are made of. Not for hands: [`Lock::run`](crate::Lock::run),
//! [`Client::with_lock`](crate::Client::with_lock) and [`blocking`](crate::blocking) are.

mod answer;
pub mod blocking;
mod part;
mod parts;

pub use self::answer::{Ended, GiveAnyway, IsNoFuture, MakeTheFunctionAsync, Skips, Tells, TellsLoss, is_busy};
pub use self::parts::Parts;

use crate::inner::Inner;
use crate::section;
use crate::{Client, Error, Options, Policy};
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tenure_kernel::Key;

static UNLOCKED: AtomicU64 = AtomicU64::new(0);

/// How often, in this process, a `#[locked]` function whose lock was switched off ran its body without one.
///
/// The switch is `enabled = …` of the attribute, or `enabled` of its [`Policy`]. The first such run of every function is
/// logged as well.
pub fn unlocked_runs() -> u64 {
    UNLOCKED.load(Ordering::Relaxed)
}

/// A function that has the attribute.
#[derive(Debug)]
pub struct Site {
    name: &'static str,
    told: AtomicBool,
}

impl Site {
    /// The function of this name.
    pub const fn new(name: &'static str) -> Self {
        Self { name, told: AtomicBool::new(false) }
    }

    /// Its fallback is called, because of this: a lock that is busy is to be expected, all else is not.
    pub fn falls_back(&self, error: &Error) {
        if is_busy(error) {
            tracing::debug!(function = self.name, %error, "its lock is busy, and its fallback is called");
        } else {
            tracing::warn!(function = self.name, %error, "its lock could not be asked for, and its fallback is called");
        }
    }

    /// It runs without its lock, because that was switched off.
    fn runs_unlocked(&self) {
        UNLOCKED.fetch_add(1, Ordering::Relaxed);
        if !self.told.swap(true, Ordering::Relaxed) {
            tracing::warn!(function = self.name, "its lock is switched off: it runs without, from now on and unsaid");
        }
    }
}

/// The client to use where none is named.
///
/// # Errors
///
/// [`Invalid`](crate::ErrorKind::Invalid) if there is none.
pub fn client() -> Result<Client, Error> {
    crate::process::client()
}

/// The client that was named.
///
/// # Errors
///
/// None: so that it looks like [`client`].
pub fn of(client: &Client) -> Result<Client, Error> {
    Ok(client.clone())
}

/// The policy where none is named: the client's own options.
pub fn policy(client: &Result<Client, Error>) -> Policy {
    let policy = Policy::new();
    match client {
        Ok(client) => policy.options(client.inner().options.clone()),
        Err(_) => policy,
    }
}

/// The policy that was named, to be changed.
pub fn like(policy: &Policy) -> Policy {
    policy.clone()
}

/// One attempt, whatever was said of retries before.
pub fn once(mut options: Options) -> Options {
    options.retry = None;
    options
}

/// Makes these arguments the body's, which drops them before the lock is released, also if it does not use them.
pub const fn inside<T: ?Sized>(_arguments: &T) {}

/// A section that was entered, or one whose lock is switched off.
#[must_use = "a section that is not run releases its lock at once"]
pub struct Section(Option<section::Section>);

/// Takes the lock for a function's body.
///
/// # Errors
///
/// As [`Lock::lock_with`](crate::Lock::lock_with); nothing of the body may be run then.
///
/// # Cancel safety
///
/// As [`Lock::lock`](crate::Lock::lock).
pub async fn enter(
    site: &'static Site,
    client: Result<Client, Error>,
    policy: &Policy,
    key: Parts,
) -> Result<Section, Error> {
    enter_with(site, client, policy, key, |_, _| policy.get_options().clone()).await
}

/// The same, with the policy's options as the caller has changed them.
async fn enter_with(
    site: &'static Site,
    client: Result<Client, Error>,
    policy: &Policy,
    key: Parts,
    options: impl FnOnce(&Inner, &Key) -> Options,
) -> Result<Section, Error> {
    if !policy.is_enabled() {
        site.runs_unlocked();
        return Ok(Section(None));
    }
    policy.check()?;
    let client = client?;
    let lock = (policy.get_kind(), client.key(&key.behind(policy.get_prefix())?)?);
    let options = options(client.inner(), &lock.1);
    let section = section::Section::enter(client.inner(), lock, &options).await?;
    Ok(Section(Some(section)))
}

impl Section {
    /// Runs the body for as long as the lock is held, and releases. The body is pinned after the section was entered, and so
    /// dropped before it.
    ///
    /// # Errors
    ///
    /// [`Lost`](crate::ErrorKind::Lost) if the lock was lost before the body was done.
    ///
    /// # Cancel safety
    ///
    /// As [`Lock::run`](crate::Lock::run).
    pub async fn run<F: Future>(&mut self, body: Pin<&mut F>) -> Result<F::Output, Error> {
        let value = match &self.0 {
            Some(section) => section.run(body).await?,
            None => body.await,
        };
        self.leave().await.map(|()| value)
    }

    /// Runs the body to its end, whatever becomes of the lock, and releases.
    ///
    /// # Cancel safety
    ///
    /// As [`Lock::run`](crate::Lock::run).
    pub async fn finish<F: Future>(&mut self, body: Pin<&mut F>) -> Ended<F::Output> {
        let value = match &self.0 {
            Some(section) => section.finish(body).await,
            None => body.await,
        };
        Ended::new(value, self.leave().await)
    }

    async fn leave(&mut self) -> Result<(), Error> {
        match self.0.take() {
            Some(section) => section.leave().await,
            None => Ok(()),
        }
    }
}

impl Client {
    /// Runs work under what a policy says, on a key that begins with the policy's prefix, as [`Lock::run`](crate::Lock::run)
    /// does. If the policy is switched off, the work runs without a lock, which is [counted](unlocked_runs).
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tenure_core::Error> {
    /// use std::time::Duration;
    /// use tenure_core::{Client, Memory, Options, Policy};
    ///
    /// let client = Client::new(Memory::new())?;
    /// let policy = Policy::new().prefix("stock:").options(Options::new().lease(Duration::from_secs(6)));
    /// let key = client.run(&policy, "42", async { tenure_core::current().map(|guard| guard.key().clone()) }).await?;
    /// assert_eq!(key.expect("a section").as_str(), "stock:42");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Lock::run`](crate::Lock::run), and [`Invalid`](crate::ErrorKind::Invalid) for a policy that makes no sense and for
    /// an empty key: a prefix alone is none.
    ///
    /// # Cancel safety
    ///
    /// As [`Lock::run`](crate::Lock::run).
    pub async fn run<F: Future>(&self, policy: &Policy, key: &str, work: F) -> Result<F::Output, Error> {
        static SITE: Site = Site::new("Client::run");
        let mut section = enter(&SITE, of(self), policy, key.into()).await?;
        section.run(pin!(work)).await
    }
}
