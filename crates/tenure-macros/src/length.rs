//! Lengths of time: a text that is read here, or an expression.

use crate::value;
use proc_macro2::{Literal, TokenStream};
use quote::{quote, quote_spanned};
use std::time::Duration;
use syn::{Error, Expr, Lit, LitStr};

/// A length of time.
pub(crate) enum Length {
    /// Written as a text, and read.
    Said(Duration, LitStr),
    /// An expression of type `Duration`.
    Given(Expr),
}

/// What a length may be, where it is known while compiling.
pub(crate) struct Bounds {
    /// What it is called.
    name: &'static str,
    /// The bounds in words.
    words: &'static str,
    least: Duration,
    most: Duration,
}

const HOUR: u64 = 60 * 60;
const DAY: u64 = 24 * HOUR;

impl Bounds {
    pub(crate) const LEASE: Self =
        Self { name: "lease", words: "100ms to 24h", least: Duration::from_millis(100), most: hours(24) };
    pub(crate) const WAIT: Self =
        Self { name: "wait", words: "0s, which is one attempt, to 366d", least: Duration::ZERO, most: days(366) };
    pub(crate) const MAX_HOLD: Self =
        Self { name: "max_hold", words: "100ms to 366d", least: Duration::from_millis(100), most: days(366) };
    pub(crate) const AT_LEAST: Self =
        Self { name: "at_least", words: "0s, which is none, to 24h", least: Duration::ZERO, most: hours(24) };
    pub(crate) const WARN_AFTER: Self =
        Self { name: "warn_after", words: "1ms to 366d", least: Duration::from_millis(1), most: days(366) };
    pub(crate) const WARN_WAITING_AFTER: Self = Self { name: "warn_waiting_after", ..Self::WARN_AFTER };
    pub(crate) const INTERVAL: Self =
        Self { name: "interval", words: "1ms to 24h", least: Duration::from_millis(1), most: hours(24) };
    pub(crate) const MAX: Self =
        Self { name: "max", words: "1ms upwards", least: Duration::from_millis(1), most: Duration::MAX };
}

const fn hours(count: u64) -> Duration {
    Duration::from_secs(count * HOUR)
}

const fn days(count: u64) -> Duration {
    Duration::from_secs(count * DAY)
}

impl Length {
    pub(crate) fn of(expr: Expr, bounds: &Bounds) -> syn::Result<Self> {
        let name = bounds.name;
        match value::literal(&expr) {
            None => Ok(Self::Given(expr)),
            Some(Lit::Str(text)) => {
                let said = text.value();
                let length = humantime::parse_duration(&said).map_err(|_| {
                    let rule = "not a length of time, write one such as \"5s\", \"100ms\" or \"1h 30m\"";
                    Error::new(text.span(), format!("{rule}: {name}={said:?}"))
                })?;
                if (bounds.least..=bounds.most).contains(&length) {
                    Ok(Self::Said(length, text.clone()))
                } else {
                    Err(Error::new(text.span(), format!("choose {name} from {}: {name}={said:?}", bounds.words)))
                }
            }
            Some(Lit::Int(number)) => Err(Error::new(
                number.span(),
                format!("a number has no unit, write a length such as \"5s\" or \"500ms\": {name}={number}"),
            )),
            Some(other) => Err(Error::new(
                other.span(),
                format!("write a length such as \"5s\", or an expression of type `Duration`, for `{name}`"),
            )),
        }
    }

    /// The length, if it is known already, and how it was written.
    pub(crate) fn known(&self) -> Option<(Duration, &LitStr)> {
        match self {
            Self::Said(length, text) => Some((*length, text)),
            Self::Given(_) => None,
        }
    }

    /// An expression of type `Duration`.
    pub(crate) fn tokens(&self) -> TokenStream {
        let (length, span) = match self {
            Self::Given(expr) => return quote!(#expr),
            Self::Said(length, text) => (*length, value::ours(text.span())),
        };
        let (secs, nanos) = (length.as_secs(), length.subsec_nanos());
        let whole_millis = u64::try_from(length.as_millis()).ok().filter(|_| nanos % 1_000_000 == 0);
        let number = Literal::u64_unsuffixed;
        match (nanos, whole_millis.map(number), number(secs)) {
            (0, _, secs) => quote_spanned!(span=> ::core::time::Duration::from_secs(#secs)),
            (_, Some(millis), _) => quote_spanned!(span=> ::core::time::Duration::from_millis(#millis)),
            (nanos, None, secs) => {
                let nanos = number(nanos.into());
                quote_spanned!(span=> ::core::time::Duration::new(#secs, #nanos))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::parse_quote;

    #[test]
    fn texts_are_read_here() {
        for (text, expected) in [
            ("0s", "from_secs(0)"),
            ("1h 30m", "from_secs(5400)"),
            ("1500ms", "from_millis(1500)"),
            ("1500us", "new(0,1500000)"),
        ] {
            let length =
                Length::of(parse_quote!(#text), &Bounds::WAIT).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(length.tokens().to_string().replace(' ', ""), format!("::core::time::Duration::{expected}"));
        }
    }

    #[test]
    fn expressions_stay_as_they_are() {
        let length = Length::of(parse_quote!(self.patience() * 2), &Bounds::WAIT).unwrap();
        assert!(length.known().is_none());
        assert_eq!(length.tokens().to_string(), quote!(self.patience() * 2).to_string());
    }

    #[test]
    fn bounds_are_as_their_words_say() {
        let (meaning, plain) = ([Bounds::WAIT, Bounds::AT_LEAST], [Bounds::LEASE, Bounds::MAX_HOLD]);
        for bounds in meaning.into_iter().chain(plain).chain([Bounds::WARN_AFTER, Bounds::INTERVAL]) {
            let (least, most) = bounds.words.split_once(" to ").expect("two bounds");
            let least = least.split(',').next().expect("a bound, and perhaps what it means");
            let read = [least, most].map(|bound| humantime::parse_duration(bound).expect("a length"));
            assert_eq!(read, [bounds.least, bounds.most], "{}", bounds.name);
        }
    }
}
