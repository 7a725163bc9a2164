//! The argument `retry`: when to ask again, instead of being woken.

use crate::length::{Bounds, Length};
use crate::names::nearest;
use crate::value;
use proc_macro2::{Ident, TokenStream};
use quote::{quote, quote_spanned};
use std::time::Duration;
use syn::{Error, Expr, ExprAssign, LitStr};

const FORMS: &str = "fixed(\"100ms\", tries = 10), linear(\"100ms\", tries = 10) or \
                     exponential(\"60ms\", max = \"2s\", tries = 100)";

/// How far exponential pauses grow unless said.
const LONGEST: Duration = Duration::from_secs(2);

/// Asks again after a pause, and another, until it has tried often enough.
pub(crate) struct Retry {
    growth: Ident,
    interval: Length,
    max: Option<Length>,
    tries: Option<Expr>,
}

impl Retry {
    pub(crate) fn of(expr: &Expr) -> syn::Result<Self> {
        let refuse = || Error::new_spanned(expr, format!("write a retry as {FORMS}"));
        let Expr::Call(call) = value::bare(expr) else { return Err(refuse()) };
        let Some(growth) = value::word(&call.func) else { return Err(refuse()) };
        if !["fixed", "linear", "exponential"].iter().any(|known| growth == known) {
            return Err(Error::new(growth.span(), format!("no such retry, write {FORMS}: `{growth}`")));
        }
        let mut written = call.args.iter();
        let interval = match written.next() {
            Some(Expr::Assign(named)) => {
                return Err(Error::new_spanned(
                    named,
                    format!("the interval comes first and has no name, such as {growth}(\"100ms\", tries = 10)"),
                ));
            }
            Some(interval) => Length::of(interval.clone(), &Bounds::INTERVAL)?,
            None => {
                return Err(Error::new(growth.span(), format!("a retry has an interval, write {growth}(\"100ms\")")));
            }
        };
        let mut retry = Self { growth: growth.clone(), interval, max: None, tries: None };
        for argument in written {
            retry.add(argument)?;
        }
        Ok(retry)
    }

    /// `max = …` or `tries = …`.
    fn add(&mut self, argument: &Expr) -> syn::Result<()> {
        let named = match argument {
            Expr::Assign(ExprAssign { left, right, .. }) => value::word(left).map(|name| (name, right)),
            _ => None,
        };
        let Some((name, said)) = named else {
            let rule = "after the interval come names, such as `tries = 10` or `max = \"2s\"`";
            return Err(Error::new_spanned(argument, rule));
        };
        let twice = || Error::new(name.span(), format!("said twice, leave one out: `{name}`"));
        match name.to_string().as_str() {
            "max" if self.growth != "exponential" => Err(Error::new(
                name.span(),
                format!("only exponential pauses grow, leave `max` out or write exponential: `{}`", self.growth),
            )),
            "max" => match self.max.replace(Length::of((**said).clone(), &Bounds::MAX)?) {
                Some(_) => Err(twice()),
                None => Ok(()),
            },
            "tries" => match self.tries.replace((**said).clone()) {
                Some(_) => Err(twice()),
                None => Ok(()),
            },
            other => {
                let meant = match other {
                    "cap" | "limit" => Some("max"),
                    "times" | "retries" => Some("tries"),
                    _ => nearest(other, &["max", "tries"]),
                };
                let rule = match meant {
                    Some(meant) => format!("a retry has no such argument, did you mean `{meant}`"),
                    None => "a retry has an interval, `max` and `tries`".to_owned(),
                };
                Err(Error::new(name.span(), format!("{rule}: `{name}`")))
            }
        }
    }

    /// Refuses pauses that are longer than the longest, or than the wait.
    pub(crate) fn check(&self, wait: Option<(Duration, &LitStr)>) -> syn::Result<()> {
        let Some((interval, said)) = self.interval.known() else { return Ok(()) };
        if self.growth == "exponential" {
            let (max, how) = match &self.max {
                None => (LONGEST, "\"2s\", unless said".to_owned()),
                Some(max) => match max.known() {
                    Some((max, said)) => (max, format!("{:?}", said.value())),
                    None => (Duration::MAX, String::new()),
                },
            };
            if max < interval {
                let rule = "choose a max of the retry no shorter than its interval";
                return Err(Error::new(said.span(), format!("{rule}: interval={:?} max={how}", said.value())));
            }
        }
        match wait {
            Some((wait, text)) if !wait.is_zero() && self.tries.is_none() && wait <= interval => {
                let rule = "no retry would come within the wait, wait longer or ask again sooner";
                Err(Error::new(said.span(), format!("{rule}: wait={:?} interval={:?}", text.value(), said.value())))
            }
            _ => Ok(()),
        }
    }

    /// Where it was written.
    pub(crate) fn span(&self) -> proc_macro2::Span {
        self.growth.span()
    }

    /// An expression of type `tenure::Retry`.
    pub(crate) fn tokens(&self) -> TokenStream {
        let Self { growth, interval, max, tries } = self;
        let span = value::ours(growth.span());
        let growth = Ident::new(&growth.to_string(), span);
        let interval = interval.tokens();
        let max = max.as_ref().map(Length::tokens).map(|max| quote!(.cap(#max)));
        let tries = tries.as_ref().map(|tries| quote!(.times(#tries)));
        quote_spanned!(span=> ::tenure::Retry::#growth(#interval) #max #tries)
    }
}
