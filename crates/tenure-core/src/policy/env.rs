//! Policies from the environment.

use super::Policy;
use super::fields::Fields;
use crate::Error;
use std::ffi::OsString;

/// The command `tenure` has variables of its own that begin so.
const SHARED: &str = "TENURE_";

impl Policy {
    /// The default policy with what the environment says of it, as
    /// [`override_from_env`](Policy::override_from_env).
    ///
    /// ```
    /// // STOCK_LOCK_LEASE=6s STOCK_LOCK_RETRY='linear(100ms, tries=10)' ./shop
    /// let policy = tenure_core::Policy::from_env("STOCK_LOCK_")?;
    /// # Ok::<(), tenure_core::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`override_from_env`](Policy::override_from_env).
    pub fn from_env(prefix: &str) -> Result<Self, Error> {
        Self::new().override_from_env(prefix)
    }

    /// This policy with what the environment says otherwise: the variables that begin with `prefix` and go on with the name of
    /// a field in capitals, such as `STOCK_LOCK_MAX_HOLD` with the prefix `STOCK_LOCK_`. One that is empty is as good as none.
    ///
    /// `WAIT=0s` takes a retry away that was there before, and `RENEW=false` a `renew_every`.
    ///
    /// ```
    /// let policy = tenure_core::Policy::seed().override_from_env("STOCK_LOCK_")?;
    /// # Ok::<(), tenure_core::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Invalid`](crate::ErrorKind::Invalid) for what cannot be read, for a policy that [makes no sense](Policy::check), and
    /// for other variables that begin with `prefix`, since they are most likely mistyped: choose one that nothing else has.
    /// Others are let be only if `prefix` is `TENURE_`, which they share with those of the command `tenure`.
    pub fn override_from_env(self, prefix: &str) -> Result<Self, Error> {
        self.override_from(prefix, std::env::vars_os())
    }

    fn override_from(
        self,
        prefix: &str,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Self, Error> {
        if prefix.is_empty() {
            return Err(Error::invalid("choose what the variables of a policy begin with, such as `STOCK_LOCK_`"));
        }
        let mut fields = Fields::default();
        for (variable, value) in variables {
            let variable = variable.to_string_lossy();
            let Some(name) = variable.strip_prefix(prefix) else { continue };
            if value.is_empty() {
                continue;
            }
            let field = Fields::NAMES.into_iter().find(|field| field.to_ascii_uppercase() == name);
            let Some(field) = field else {
                if prefix == SHARED {
                    continue;
                }
                let names = Fields::NAMES.map(str::to_ascii_uppercase).join(", ");
                return Err(Error::invalid(format!(
                    "unknown variable, what begins with `{prefix}` goes on with one of {names}: variable=`{}`",
                    variable.escape_debug()
                )));
            };
            let Some(text) = value.to_str() else {
                return Err(Error::invalid(format!("write this variable in UTF-8: variable=`{variable}`")));
            };
            fields.read(field, text).map_err(|error| error.named(&variable))?;
        }
        fields.onto(self)
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

    fn overridden(policy: Policy, prefix: &str, variables: &[(&str, &str)]) -> Result<Policy, String> {
        let variables = variables.iter().map(|(variable, value)| (variable.into(), value.into()));
        policy.override_from(prefix, variables).map_err(|error| {
            assert_eq!(error.kind(), ErrorKind::Invalid);
            error.to_string()
        })
    }

    fn read(variables: &[(&str, &str)]) -> Result<Policy, String> {
        overridden(Policy::new(), "L_", variables)
    }

    #[test]
    fn every_field_is_read() {
        let read = read(&[
            ("L_PREFIX", "stock:"),
            ("L_KIND", "fair"),
            ("L_ENABLED", "false"),
            ("L_LEASE", "6s"),
            ("L_RENEW", "true"),
            ("L_RENEW_EVERY", "2s"),
            ("L_WAIT", "10s"),
            ("L_RETRY", "exponential(60ms, max=2s, tries=100)"),
            ("L_MAX_HOLD", "1m"),
            ("L_AT_LEAST", "1s"),
            ("L_WARN_AFTER", "30s"),
            ("L_WARN_WAITING_AFTER", "5s"),
            ("PATH", "/bin"),
            ("LEASE", "never read"),
        ]);
        let options = Options::new()
            .lease(secs(6))
            .renew_every(secs(2))
            .wait(secs(10))
            .retry(Retry::exponential(Duration::from_millis(60)).times(100))
            .max_hold(secs(60))
            .at_least(secs(1))
            .warn_after(secs(30))
            .warn_waiting_after(secs(5));
        let expected = Policy::new().prefix("stock:").kind(Sort::Lock(Kind::Fair)).enabled(false).options(options);
        assert_eq!(read, Ok(expected));
    }

    #[test]
    fn what_is_not_there_is_left_as_it_was() {
        assert_eq!(read(&[]), Ok(Policy::new()));
        assert_eq!(read(&[("L_LEASE", ""), ("L_NONSENSE", "")]), Ok(Policy::new()));
        let read = overridden(Policy::seed(), "L_", &[("L_LEASE", "7s")]);
        assert_eq!(read, Ok(Policy::seed().map(|options| options.lease(secs(7)))));
    }

    #[test]
    fn what_is_said_later_goes_before() {
        let before = Policy::seed().map(|options| options.renew_every(secs(2)));
        let read = overridden(before.clone(), "L_", &[("L_WAIT", "0s"), ("L_RENEW", "false")]);
        let expected = Options::new().lease(secs(5)).no_renew().wait(Duration::ZERO);
        assert_eq!(read, Ok(Policy::seed().options(expected)));
        assert_eq!(overridden(before.clone(), "L_", &[("L_RENEW", "true")]), Ok(before));
        let final_one = Policy::new().map(Options::no_renew);
        assert_eq!(overridden(final_one, "L_", &[("L_RENEW", "true")]), Ok(Policy::new()));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (variables, told) in [
            (&[("L_LEASE", "5")][..], "write a length of time such as `30s`, `5m` or `1h30m`: L_LEASE=`5`"),
            (&[("L_ENABLED", "yes")], "write `true` or `false`: L_ENABLED=`yes`"),
            (
                &[("L_KIND", "semaphore")],
                "unknown kind, choose reentrant, simple, fair, read, write, fenced or \
              semaphore:N, N of which run at a time: L_KIND=`semaphore`",
            ),
            (
                &[("L_RETRY", "fixed(1s, tries=x)")],
                "write how often to try again once and as a whole number, as in `linear(100ms, tries=10)`: \
                 L_RETRY=`fixed(1s, tries=x)`",
            ),
            (
                &[("L_LEESE", "5s")],
                "unknown variable, what begins with `L_` goes on with one of PREFIX, KIND, ENABLED, LEASE, RENEW, \
                 RENEW_EVERY, WAIT, RETRY, MAX_HOLD, AT_LEAST, WARN_AFTER, WARN_WAITING_AFTER: variable=`L_LEESE`",
            ),
            (
                &[("L_RENEW", "false"), ("L_RENEW_EVERY", "2s")],
                "a lock that is not renewed has no renew_every, leave one of the two out: renew=false renew_every=2s",
            ),
            (
                &[("L_WAIT", "0s"), ("L_RETRY", "fixed(1s)")],
                "one attempt has no retries, leave one of the two out: wait=0s retry=fixed(1s)",
            ),
            (&[("L_LEASE", "1ms")], "choose lease from 100ms to 24h: lease=1ms"),
        ] {
            assert_eq!(read(variables), Err(told.to_owned()));
        }
        let told = overridden(Policy::new(), "", &[]).unwrap_err();
        assert_eq!(told, "choose what the variables of a policy begin with, such as `STOCK_LOCK_`");
    }

    #[test]
    #[cfg(unix)]
    fn what_is_not_text_is_refused() {
        use std::os::unix::ffi::OsStringExt;
        let odd = ("L_KIND".into(), OsString::from_vec(vec![0xff]));
        let told = Policy::new().override_from("L_", [odd]).unwrap_err().to_string();
        assert_eq!(told, "write this variable in UTF-8: variable=`L_KIND`");
        let odd = (OsString::from_vec(b"L_\xff".to_vec()), "5s".into());
        assert!(Policy::new().override_from("L_", [odd]).is_err());
    }

    #[test]
    fn the_commands_own_variables_are_let_be() {
        let variables = [("TENURE_URL", "redis://db1"), ("TENURE_TOKEN", "7"), ("TENURE_LEASE", "5s")];
        let read = overridden(Policy::new(), "TENURE_", &variables);
        assert_eq!(read, Ok(Policy::new().map(|options| options.lease(secs(5)))));
    }

    #[test]
    fn the_environment_is_read() {
        // No test sets a variable: others look into the environment meanwhile.
        assert_eq!(Policy::from_env("TENURE_NO_SUCH_VARIABLE_").unwrap(), Policy::new());
    }
}
