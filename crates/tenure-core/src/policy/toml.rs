//! Policies from TOML.

use super::Policy;
use super::fields::Fields;
use crate::Error;

impl Policy {
    /// Reads a policy that is written in TOML.
    ///
    /// ```
    /// use tenure_core::{ErrorKind, Kind, Policy, Sort};
    ///
    /// let policy = Policy::from_toml(
    ///     r#"
    ///     prefix = "stock:"
    ///     kind = "fair"
    ///     lease = "6s"
    ///     wait = "10s"
    ///     "#,
    /// )?;
    /// assert_eq!(policy.get_kind(), Sort::Lock(Kind::Fair));
    ///
    /// let error = Policy::from_toml("lease = '6s'\nwait = 10").unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Invalid);
    /// assert!(error.to_string().contains("line 2"));
    /// # Ok::<(), tenure_core::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Invalid`](crate::ErrorKind::Invalid) for what cannot be read, naming the line; for names that no field has; and for a
    /// policy that [makes no sense](Policy::check).
    pub fn from_toml(text: &str) -> Result<Self, Error> {
        let fields: Fields = ::toml::from_str(text).map_err(|error| told(text, &error))?;
        fields.onto(Self::new())
    }
}

fn told(text: &str, error: &::toml::de::Error) -> Error {
    let begins = error.span().and_then(|span| text.get(..span.start));
    let place = begins.map_or_else(|| "it".to_owned(), |before| format!("line {}", before.matches('\n').count() + 1));
    let why = error.message().lines().map(str::trim).collect::<Vec<_>>().join(", ");
    Error::invalid(format!("the policy cannot be read, correct {place}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, Options, Retry, Sort};
    use proptest::prelude::*;
    use std::time::Duration;

    const fn secs(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }

    #[test]
    fn every_field_is_read() {
        let text = r#"
            # How stock is taken.
            prefix = "stock:"
            kind = "semaphore:3"
            enabled = false
            lease = "6s"
            renew = true
            renew_every = "2s"
            wait = "10s"
            retry = "linear(100ms, tries=10)"
            max_hold = "1m"
            at_least = "1s"
            warn_after = "30s"
            warn_waiting_after = "5s"
        "#;
        let options = Options::new()
            .lease(secs(6))
            .renew_every(secs(2))
            .wait(secs(10))
            .retry(Retry::linear(Duration::from_millis(100)).times(10))
            .max_hold(secs(60))
            .at_least(secs(1))
            .warn_after(secs(30))
            .warn_waiting_after(secs(5));
        let expected = Policy::new().prefix("stock:").kind(Sort::Semaphore(3)).enabled(false).options(options);
        assert_eq!(Policy::from_toml(text).unwrap(), expected);
        assert_eq!(Policy::from_toml("").unwrap(), Policy::new());
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (text, expected) in [
            (
                "prefix = 'a'\nleese = '5s'",
                "the policy cannot be read, correct line 2: unknown field `leese`, expected one of `prefix`, `kind`, \
                 `enabled`, `lease`, `renew`, `renew_every`, `wait`, `retry`, `max_hold`, `at_least`, `warn_after`, \
                 `warn_waiting_after`",
            ),
            (
                "\n\nlease = '5'",
                "the policy cannot be read, correct line 3: write a length of time such as `30s`, `5m` or `1h30m`: length=`5`",
            ),
            (
                "lease = 5",
                "the policy cannot be read, correct line 1: invalid type: integer `5`, expected a length of time such as \
                 \"30s\"",
            ),
            (
                "enabled = 'no'",
                "the policy cannot be read, correct line 1: invalid type: string \"no\", expected a boolean",
            ),
            (
                "retry = 'fixed'",
                "the policy cannot be read, correct line 1: write a retry such as `fixed(100ms)`, `linear(100ms, tries=10)` \
                 or `exponential(60ms, max=2s, tries=100)`: retry=`fixed`",
            ),
            (
                "kind = 'latch'",
                "the policy cannot be read, correct line 1: unknown kind, choose reentrant, simple, fair, read, write, fenced \
                 or semaphore:N, N of which run at a time: kind=`latch`",
            ),
            ("lease = '5s'\nlease = '6s'", "the policy cannot be read, correct line 2: duplicate key"),
            ("warn_waiting_after = '0s'", "choose warn_waiting_after from 1ms to 366d: warn_waiting_after=0s"),
            (
                "renew = false\nrenew_every = '2s'",
                "a lock that is not renewed has no renew_every, leave one of the two out: renew=false renew_every=2s",
            ),
            (
                "at_least = '61s'\nmax_hold = '1m'",
                "choose an at_least no longer than the max_hold: at_least=1m 1s max_hold=1m",
            ),
        ] {
            assert_eq!(Policy::from_toml(text).unwrap_err().to_string(), expected);
        }
        for text in ["lease", "lease = ", "= 5", "[", "[policy]\nlease = '5s'", "\u{0}", "lease = \"5s", "{}"] {
            let told = Policy::from_toml(text).unwrap_err().to_string();
            assert!(told.starts_with("the policy cannot be read, correct line 1: ") && !told.contains('\n'), "{told}");
        }
    }

    /// Policies that make sense.
    fn any_policy() -> impl Strategy<Value = Policy> {
        let sort = prop_oneof![
            prop::sample::select(Sort::LOCKS).prop_map(Sort::Lock),
            (1..=1000u32).prop_map(Sort::Semaphore),
        ];
        let retry = prop_oneof![
            Just(None),
            (1..1000u64, any::<Option<u32>>()).prop_map(|(millis, times)| {
                let retry = Retry::exponential(Duration::from_millis(millis));
                Some(times.map_or(retry, |times| retry.times(times)))
            }),
        ];
        let renew = prop_oneof![Just(None), Just(Some(0)), (10..90u32).prop_map(Some)];
        let lengths = (100..86_400_000u64, prop::option::of(2000..9000u64), prop::option::of(1..9000u64), 1..20_000u64);
        (".*", sort, any::<bool>(), retry, renew, lengths).prop_map(
            |(prefix, kind, enabled, retry, renew, (lease, wait, at_least, warn_waiting_after))| {
                let mut options = Options::new().lease(Duration::from_millis(lease));
                options = match (renew, options.lease / 100) {
                    (None, _) => options,
                    (Some(0), _) => options.no_renew(),
                    (Some(parts), part) => options.renew_every((part * parts).max(Duration::from_millis(10))),
                };
                options.retry = retry;
                options.wait = wait.map(Duration::from_millis);
                options.at_least = at_least.map(Duration::from_millis);
                options.warn_waiting_after = Duration::from_millis(warn_waiting_after);
                Policy::new().prefix(prefix).kind(kind).enabled(enabled).options(options)
            },
        )
    }

    proptest! {
        #[test]
        fn every_policy_is_read_as_it_was_written(policy in any_policy()) {
            policy.check().unwrap();
            let text = ::toml::to_string(&policy).unwrap();
            prop_assert_eq!(Policy::from_toml(&text).unwrap(), policy.clone());
            let text = serde_json::to_string(&policy).unwrap();
            prop_assert_eq!(serde_json::from_str::<Policy>(&text).unwrap(), policy);
        }

        #[test]
        fn no_text_is_too_strange(text in ".*") {
            let _ = Policy::from_toml(&text);
        }
    }

    #[test]
    fn a_policy_is_written_as_people_would() {
        assert_eq!(
            ::toml::to_string(&Policy::seed().kind(Sort::Lock(Kind::Simple))).unwrap(),
            "prefix = \"lock:\"\nkind = \"simple\"\nenabled = true\nlease = \"5s\"\nrenew = true\n\
             retry = \"linear(100ms, tries=10)\"\n",
        );
    }
}
