//! A policy as it is written, field by field.

use super::Policy;
use crate::length::Length;
use crate::options::Renew;
use crate::{Error, Retry, Sort, Unreadable};
use std::borrow::Cow;
use std::time::Duration;

/// What is written of a policy. What is not written is left as it was.
#[derive(Debug, Default, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(::serde::Serialize, ::serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename = "Policy", deny_unknown_fields))]
pub(super) struct Fields {
    prefix: Option<Cow<'static, str>>,
    kind: Option<Sort>,
    enabled: Option<bool>,
    lease: Option<Length>,
    renew: Option<bool>,
    renew_every: Option<Length>,
    wait: Option<Length>,
    retry: Option<Retry>,
    max_hold: Option<Length>,
    at_least: Option<Length>,
    warn_after: Option<Length>,
    warn_waiting_after: Option<Length>,
}

impl Fields {
    pub(super) const NAMES: [&str; 12] = [
        "prefix",
        "kind",
        "enabled",
        "lease",
        "renew",
        "renew_every",
        "wait",
        "retry",
        "max_hold",
        "at_least",
        "warn_after",
        "warn_waiting_after",
    ];

    /// Reads a field; whether there is one of that name.
    pub(super) fn read(&mut self, name: &str, text: &str) -> Result<bool, Unreadable> {
        match name {
            "prefix" => self.prefix = Some(text.to_owned().into()),
            "kind" => self.kind = Some(text.parse()?),
            "enabled" => self.enabled = Some(truth(name, text)?),
            "lease" => self.lease = Some(text.parse()?),
            "renew" => self.renew = Some(truth(name, text)?),
            "renew_every" => self.renew_every = Some(text.parse()?),
            "wait" => self.wait = Some(text.parse()?),
            "retry" => self.retry = Some(text.parse()?),
            "max_hold" => self.max_hold = Some(text.parse()?),
            "at_least" => self.at_least = Some(text.parse()?),
            "warn_after" => self.warn_after = Some(text.parse()?),
            "warn_waiting_after" => self.warn_waiting_after = Some(text.parse()?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Writes them over those of a policy, and checks what comes of it.
    pub(super) fn onto(self, mut policy: Policy) -> Result<Policy, Error> {
        if let (Some(false), Some(interval)) = (self.renew, self.renew_every) {
            return Err(Error::invalid(format!(
                "a lock that is not renewed has no renew_every, leave one of the two out: renew=false renew_every={interval}"
            )));
        }
        policy.prefix = self.prefix.unwrap_or(policy.prefix);
        policy.kind = self.kind.unwrap_or(policy.kind);
        policy.enabled = self.enabled.unwrap_or(policy.enabled);
        let options = &mut policy.options;
        options.lease = self.lease.map_or(options.lease, |lease| lease.0);
        options.renew = match (self.renew, self.renew_every) {
            (Some(false), _) => Renew::Never,
            (_, Some(interval)) => Renew::Every(interval.0),
            (Some(true), None) if options.renew == Renew::Never => Renew::EveryThird,
            _ => options.renew,
        };
        // Whoever asks for one attempt has done with the retries that were there.
        if self.wait == Some(Length(Duration::ZERO)) {
            options.retry = None;
        }
        options.retry = self.retry.or(options.retry);
        let written = |field: Option<Length>, before| field.map(|length| length.0).or(before);
        options.wait = written(self.wait, options.wait);
        options.max_hold = written(self.max_hold, options.max_hold);
        options.at_least = written(self.at_least, options.at_least).filter(|least| !least.is_zero());
        options.warn_after = written(self.warn_after, options.warn_after);
        options.warn_waiting_after = self.warn_waiting_after.map_or(options.warn_waiting_after, |length| length.0);
        policy.check()?;
        Ok(policy)
    }
}

#[cfg(feature = "serde")]
impl From<&Policy> for Fields {
    fn from(Policy { prefix, kind, enabled, options }: &Policy) -> Self {
        Self {
            prefix: Some(prefix.clone()),
            kind: Some(*kind),
            enabled: Some(*enabled),
            lease: Some(Length(options.lease)),
            renew: Some(options.renew != Renew::Never),
            renew_every: if let Renew::Every(interval) = options.renew { Some(Length(interval)) } else { None },
            wait: options.wait.map(Length),
            retry: options.retry,
            max_hold: options.max_hold.map(Length),
            at_least: options.at_least.map(Length),
            warn_after: options.warn_after.map(Length),
            // As it would be if nobody had said so.
            warn_waiting_after: Some(Length(options.warn_waiting_after))
                .filter(|length| length.0 != crate::Options::LONG_WAIT),
        }
    }
}

fn truth(name: &str, text: &str) -> Result<bool, Unreadable> {
    text.parse().map_err(|_| Unreadable::new("write `true` or `false`", name, text))
}
