//! What a policy must not say: more than can be done, or what can never come about.

use super::Policy;
use crate::Error;
use crate::length::Length;
use crate::options::Renew;
use tenure_kernel::Key;

impl Policy {
    /// Refuses a policy that makes no sense.
    ///
    /// That is one whose options make none, and one that promises what cannot come about: a renewal, a retry or an alarm
    /// for which there is no time. Nobody looks at a policy again once it is in place.
    ///
    /// # Errors
    ///
    /// [`Invalid`](crate::ErrorKind::Invalid), naming the values that disagree.
    pub fn check(&self) -> Result<(), Error> {
        self.kind.check()?;
        if self.prefix.len() >= Key::MAX_BYTES {
            return Err(Error::invalid(format!("choose a shorter prefix: it has {} bytes", self.prefix.len())));
        }
        self.options.check()?;
        let told = self.retries().or_else(|| self.renewals()).or_else(|| self.alarms());
        told.map_or(Ok(()), |told| Err(Error::invalid(told)))
    }

    /// What is wrong with the retries.
    fn retries(&self) -> Option<String> {
        let retry = self.options.retry?;
        if self.once() {
            return Some(format!("one attempt has no retries, leave one of the two out: wait=0s retry={retry}"));
        }
        let [interval, max] = [retry.interval(), retry.longest()].map(Length);
        if max < interval {
            return Some(format!(
                "choose a max of the retry no shorter than its interval: interval={interval} max={max}"
            ));
        }
        let wait = self.options.wait.filter(|wait| retry.soonest().is_some_and(|soonest| *wait <= soonest))?;
        let wait = Length(wait);
        Some(format!("no retry would come within the wait, wait longer or ask again sooner: wait={wait} retry={retry}"))
    }

    /// What is wrong with the renewals.
    fn renewals(&self) -> Option<String> {
        let Renew::Every(interval) = self.options.renew else { return None };
        let most = self.options.max_hold.filter(|most| *most <= self.options.lease)?;
        let [interval, most, lease] = [interval, most, self.options.lease].map(Length);
        Some(format!(
            "a lock that is held no longer than its lease is not renewed, leave renew_every out or choose a longer max_hold: \
             renew_every={interval} max_hold={most} lease={lease}"
        ))
    }

    /// What is wrong with the alarm.
    fn alarms(&self) -> Option<String> {
        let warn_after = self.options.warn_after?;
        let told = "the alarm would never be raised, choose a shorter warn_after: warn_after";
        let alarm = Length(warn_after);
        if let Some(most) = self.options.max_hold.filter(|most| *most <= warn_after) {
            return Some(format!("{told}={alarm} max_hold={}", Length(most)));
        }
        let ends_by_itself = self.options.renew == Renew::Never && self.options.lease <= warn_after;
        ends_by_itself.then(|| format!("{told}={alarm} lease={} renew=false", Length(self.options.lease)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ErrorKind, Kind, Options, Retry, Sort};
    use std::time::Duration;

    const fn secs(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }

    fn options(change: impl FnOnce(Options) -> Options) -> Policy {
        Policy::new().map(change)
    }

    #[test]
    fn what_makes_sense_is_let_through() {
        let fixed = Retry::fixed(secs(1));
        for policy in [
            Policy::new(),
            Policy::seed(),
            Policy::new().kind(Sort::Semaphore(3)).map(|options| options.at_least(secs(1))),
            options(|options| options.wait(Duration::ZERO)),
            options(|options| options.retry(fixed).wait(secs(2))),
            // Nothing is to be tried again.
            options(|options| options.retry(fixed.times(0)).wait(secs(1))),
            options(|options| options.max_hold(secs(5))),
            options(|options| options.max_hold(secs(60)).no_renew()),
            options(|options| options.max_hold(secs(60)).renew_every(secs(2)).warn_after(secs(59)).at_least(secs(60))),
            options(|options| options.warn_after(secs(29)).no_renew()),
            options(|options| options.warn_after(secs(31))),
        ] {
            policy.check().unwrap_or_else(|error| panic!("{error}: {policy:?}"));
        }
    }

    #[test]
    fn what_disagrees_is_named() {
        for (policy, told) in [
            (
                Policy::new().kind(Sort::Semaphore(0)),
                "write how many run at a time, such as `semaphore:3`: kind=`semaphore:0`",
            ),
            (
                Policy::new().kind(Sort::Lock(Kind::Latch)),
                "unknown kind, choose reentrant, simple, fair, read, write, fenced or semaphore:N, N of which run at a \
                 time: kind=`latch`",
            ),
            (Policy::new().prefix("k".repeat(1024)), "choose a shorter prefix: it has 1024 bytes"),
            (options(|options| options.lease(Duration::ZERO)), "choose lease from 100ms to 24h: lease=0s"),
            (
                options(|options| options.lease(secs(5)).renew_every(secs(5))),
                "choose a renew_every from 10ms to nine tenths of the lease, a third of it is usual: renew_every=5s lease=5s",
            ),
            (
                options(|options| options.at_least(secs(61)).max_hold(secs(60))),
                "choose an at_least no longer than the max_hold: at_least=1m 1s max_hold=1m",
            ),
            (
                options(|options| options.wait(Duration::ZERO).retry(Retry::fixed(secs(1)).times(3))),
                "one attempt has no retries, leave one of the two out: wait=0s retry=fixed(1s, tries=3)",
            ),
            (
                options(|options| options.wait(secs(1)).retry(Retry::linear(secs(1)))),
                "no retry would come within the wait, wait longer or ask again sooner: wait=1s retry=linear(1s)",
            ),
            (
                options(|options| options.retry(Retry::exponential(secs(3)))),
                "choose a max of the retry no shorter than its interval: interval=3s max=2s",
            ),
            (
                options(|options| options.lease(secs(10)).renew_every(secs(2)).max_hold(secs(5))),
                "a lock that is held no longer than its lease is not renewed, leave renew_every out or choose a longer \
                 max_hold: renew_every=2s max_hold=5s lease=10s",
            ),
            (
                options(|options| options.warn_after(secs(60)).max_hold(secs(60))),
                "the alarm would never be raised, choose a shorter warn_after: warn_after=1m max_hold=1m",
            ),
            (
                options(|options| options.warn_after(secs(30)).no_renew()),
                "the alarm would never be raised, choose a shorter warn_after: warn_after=30s lease=30s renew=false",
            ),
        ] {
            let error = policy.check().unwrap_err();
            assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Invalid, told));
        }
    }
}
