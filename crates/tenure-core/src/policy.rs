//! A policy: all that is decided of a section before it is run, as data.

mod check;
mod env;
mod fields;
#[cfg(feature = "serde")]
mod serde;
#[cfg(feature = "toml")]
mod toml;

use crate::{Options, Retry, Sort};
use std::borrow::Cow;
use std::time::Duration;
use tenure_kernel::Kind;

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
/// let impatient = policy.map(|options| options.wait(Duration::ZERO));
/// assert!(impatient.once());
/// # Ok::<(), tenure_core::Error>(())
/// ```
///
/// It is also read from the [environment](Policy::from_env), with the feature `toml` from TOML, and with the feature `serde`
/// from whatever serde reads, by these names. What is left out has its default.
///
/// | | | Default |
/// |---|---|---|
/// | `prefix` | what keys begin with | nothing |
/// | `kind` | `reentrant`, `simple`, `fair`, `read`, `write`, `fenced` or `semaphore:3` | `reentrant` |
/// | `enabled` | `false` runs sections without their lock | `true` |
/// | `lease` | [how long](Options::lease) the store keeps the lock without hearing from us | `30s` |
/// | `renew` | `false` lets the lease [end by itself](Options::no_renew) | `true` |
/// | `renew_every` | [how often](Options::renew_every) the lease is renewed | a third of it |
/// | `wait` | [how long](Options::wait) to wait for the lock; `0s` is one attempt | for ever |
/// | `retry` | asks again [by this policy](Options::retry): `linear(100ms, tries=10)` | woken |
/// | `max_hold` | [the longest](Options::max_hold) the lock is held | for ever |
/// | `at_least` | [the shortest](Options::at_least) the lock is taken | `0s` |
/// | `warn_after` | [raises the alarm](Options::warn_after) if the lock is still held then | never |
/// | `warn_waiting_after` | [warns in the log](Options::warn_waiting_after) of a wait that lasts so long | `10s` |
///
/// Owners, lineages and places, which options have as well, are not data, and are neither read nor written.
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

    /// How it is taken.
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
    pub fn once(&self) -> bool {
        self.options.wait.is_some_and(|wait| wait.is_zero())
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_made_where_it_is_used() {
        const POLICY: Policy = Policy::new().kind(Sort::Semaphore(3)).enabled(false);
        assert_eq!(POLICY.get_kind(), Sort::Semaphore(3));
        assert!(!POLICY.is_enabled());
        assert!(matches!(POLICY.prefix("stock:").prefix, Cow::Borrowed("stock:")));
    }

    #[test]
    fn a_wait_of_nothing_is_one_attempt() {
        assert!(!Policy::seed().once());
        assert!(Policy::new().map(|options| options.wait(Duration::ZERO)).once());
    }
}
