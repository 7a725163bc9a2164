//! A policy: all that is decided of a section before it is run, as data.

use crate::{Error, Options, Retry, Sort};
use std::borrow::Cow;
use std::time::Duration;
use tenure_kernel::{Key, Kind};

/// How a section of a program is locked: what its keys begin with, what is taken, with which [`Options`], and whether at all.
///
/// Making one takes no memory, so that a policy can be written where it is used.
///
/// ```
/// use std::time::Duration;
/// use tenure_core::{Kind, Options, Policy, Sort};
///
/// let policy = Policy::new()
///     .prefix("stock:")
///     .kind(Sort::Lock(Kind::Fair))
///     .options(Options::new().lease(Duration::from_secs(6)).wait(Duration::from_secs(10)));
/// policy.check()?;
/// let once = policy.map(|options| options.wait(Duration::ZERO));
/// once.check()?;
/// # Ok::<(), tenure_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    pub(crate) prefix: Cow<'static, str>,
    pub(crate) kind: Sort,
    pub(crate) enabled: bool,
    pub(crate) options: Options,
}

impl Policy {
    /// No prefix, the re-entrant lock, the default options.
    pub const fn new() -> Self {
        Self { prefix: Cow::Borrowed(""), kind: Sort::Lock(Kind::Reentrant), enabled: true, options: Options::new() }
    }

    /// The defaults of the annotation that many Spring services carry: keys that begin with `lock:`, a lease of 5 s, and 10
    /// retries, 100 ms apart and a little.
    pub const fn seed() -> Self {
        let retry = Retry::linear(Duration::from_millis(100)).times(10);
        let options = Options::new().lease(Duration::from_secs(5)).retry(retry);
        Self { prefix: Cow::Borrowed("lock:"), kind: Sort::Lock(Kind::Reentrant), enabled: true, options }
    }

    /// What the keys begin with: nothing unless said.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<Cow<'static, str>>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// What is taken: the re-entrant lock unless said.
    #[must_use]
    pub const fn kind(mut self, kind: Sort) -> Self {
        self.kind = kind;
        self
    }

    /// Whether anything is taken: if not, sections run without their lock.
    #[must_use]
    pub const fn enabled(mut self, enabled: bool) -> Self {
        self.enabled = enabled;
        self
    }

    /// How it is taken. Here a [wait](Options::wait) of nothing means one attempt.
    #[must_use]
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Changes how it is taken.
    #[must_use]
    pub fn map(mut self, change: impl FnOnce(Options) -> Options) -> Self {
        self.options = change(self.options);
        self
    }

    /// What the keys begin with.
    pub fn get_prefix(&self) -> &str {
        &self.prefix
    }

    /// What is taken.
    pub const fn get_kind(&self) -> Sort {
        self.kind
    }

    /// Whether anything is taken.
    pub const fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// How it is taken.
    pub const fn get_options(&self) -> &Options {
        &self.options
    }

    /// Whether the lock is asked for once, and not waited for.
    pub(crate) fn once(&self) -> bool {
        self.options.wait.is_some_and(|wait| wait.is_zero())
    }

    /// The options to acquire with: those of one attempt have no wait in them.
    pub(crate) fn terms(&self) -> Options {
        let mut options = self.options.clone();
        options.wait = options.wait.filter(|wait| !wait.is_zero());
        options
    }

    /// Refuses a policy that makes no sense.
    ///
    /// # Errors
    ///
    /// [`Invalid`](crate::ErrorKind::Invalid), naming the values that disagree.
    pub fn check(&self) -> Result<(), Error> {
        self.kind.check()?;
        if self.prefix.len() >= Key::MAX_BYTES {
            return Err(Error::invalid(format!("choose a shorter prefix: it has {} bytes", self.prefix.len())));
        }
        if self.once() && self.options.retry.is_some() {
            return Err(Error::invalid("a wait of nothing is one attempt, leave the retry out or wait: wait=0s"));
        }
        self.terms().check()
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::new()
    }
}
