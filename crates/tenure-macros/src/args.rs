//! The arguments of the attribute.

use crate::key::{self, Key};
use crate::kind::Kind;
use crate::length::{Bounds, Length};
use crate::names;
use crate::retry::Retry;
use crate::value;
use proc_macro2::{Ident, Span, TokenStream};
use std::time::Duration;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Error, Expr, ExprPath, Lit, LitBool, LitStr, Token};

/// What was said.
#[derive(Default)]
pub(crate) struct Args {
    /// `None` only while the others are still read.
    key: Option<Key>,
    prefix: Option<String>,
    pub(crate) kind: Option<Kind>,
    pub(crate) lease: Option<Length>,
    pub(crate) renew: Option<LitBool>,
    pub(crate) wait: Option<Length>,
    pub(crate) retry: Option<Retry>,
    pub(crate) max_hold: Option<Length>,
    pub(crate) at_least: Option<Length>,
    pub(crate) warn_after: Option<Length>,
    pub(crate) warn_waiting_after: Option<Length>,
    pub(crate) client: Option<Expr>,
    pub(crate) enabled: Option<Expr>,
    pub(crate) policy: Option<Expr>,
    pub(crate) fallback: Option<ExprPath>,
    /// `skip`, by which a busy lock is no error.
    pub(crate) on_busy: Option<Ident>,
    /// `cancel` or `finish`.
    pub(crate) on_lost: Option<Ident>,
}

/// One `name = value`.
struct Said {
    name: Ident,
    value: Expr,
}

impl Parse for Said {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        if input.peek(LitStr) {
            let text: LitStr = input.parse()?;
            return Err(Error::new(text.span(), format!("say what it is, such as `key = {:?}`", text.value())));
        }
        let name = input.call(Ident::parse_any)?;
        if !input.peek(Token![=]) || input.peek(Token![==]) {
            return Err(Error::new(name.span(), format!("an argument has a value: write `{name} = …`")));
        }
        input.parse::<Token![=]>()?;
        Ok(Self { name, value: input.parse()? })
    }
}

impl Args {
    /// Reads what stands between the attribute's brackets, and says all that is wrong with it at once.
    pub(crate) fn read(tokens: TokenStream) -> syn::Result<Self> {
        let all = Punctuated::<Said, Token![,]>::parse_terminated.parse2(tokens)?;
        let mut args = Self::default();
        let mut errors = Vec::new();
        let mut names: Vec<&Ident> = Vec::new();
        for Said { name, value } in &all {
            errors.extend(if names.contains(&name) {
                Some(Error::new(name.span(), format!("said twice, leave one out: `{name}`")))
            } else {
                args.add(name, value.clone()).err()
            });
            names.push(name);
        }
        errors.extend(args.check().err());
        let errors = errors.into_iter().reduce(|mut all, error| {
            all.combine(error);
            all
        });
        match errors {
            Some(errors) => Err(errors),
            None if args.key.is_none() => {
                Err(Error::new(Span::call_site(), "the lock has no key: write `key = \"stock:{product_id}\"`"))
            }
            None => Ok(args),
        }
    }

    fn add(&mut self, name: &Ident, value: Expr) -> syn::Result<()> {
        match name.to_string().as_str() {
            "key" => self.key = Some(Key::of(&value)?),
            "prefix" => self.prefix = Some(key::prefix_of(&value)?),
            "kind" => self.kind = Some(Kind::of(&value)?),
            "lease" => self.lease = Some(Length::of(value, &Bounds::LEASE)?),
            "renew" => self.renew = Some(renew_of(&value)?),
            "wait" => self.wait = Some(Length::of(value, &Bounds::WAIT)?),
            "retry" => self.retry = Some(Retry::of(&value)?),
            "max_hold" => self.max_hold = Some(Length::of(value, &Bounds::MAX_HOLD)?),
            "at_least" => self.at_least = Some(Length::of(value, &Bounds::AT_LEAST)?),
            "warn_after" => self.warn_after = Some(Length::of(value, &Bounds::WARN_AFTER)?),
            "warn_waiting_after" => {
                self.warn_waiting_after = Some(Length::of(value, &Bounds::WARN_WAITING_AFTER)?);
            }
            "client" => self.client = Some(value),
            "enabled" => self.enabled = Some(value),
            "policy" => self.policy = Some(value),
            "fallback" => self.fallback = Some(fallback_of(&value)?),
            "on_busy" => self.on_busy = Some(on_busy_of(&value)?),
            "on_lost" => self.on_lost = Some(on_lost_of(&value)?),
            _ => return Err(names::unknown(name)),
        }
        Ok(())
    }

    /// Whether the lock is asked for once, and not waited for.
    pub(crate) fn is_once(&self) -> bool {
        matches!(self.wait.as_ref().and_then(Length::known), Some((Duration::ZERO, _)))
    }

    /// Refuses arguments that disagree.
    fn check(&self) -> syn::Result<()> {
        let known = [&self.at_least, &self.max_hold, &self.wait, &self.warn_after, &self.lease];
        let known = known.map(|length| length.as_ref().and_then(Length::known));
        let [at_least, max_hold, wait, warn_after, lease] = known;
        let unrenewed = self.renew.as_ref().is_some_and(|renew| !renew.value);
        for (limit, name) in [(max_hold, "max_hold"), (lease.filter(|_| unrenewed), "lease")] {
            if let (Some((after, said)), Some((most, limit))) = (warn_after, limit)
                && most <= after
            {
                let rule = "the alarm would never be raised, choose a shorter warn_after";
                let values = format!("warn_after={:?} {name}={:?}", said.value(), limit.value());
                return Err(Error::new(said.span(), format!("{rule}: {values}")));
            }
        }
        if let Some(retry) = &self.retry {
            retry.check(wait)?;
        }
        if let (Some((least, said)), Some((most, limit))) = (at_least, max_hold)
            && least > most
        {
            let rule = "choose an at_least no longer than the max_hold";
            let values = format!("at_least={:?} max_hold={:?}", said.value(), limit.value());
            return Err(Error::new(said.span(), format!("{rule}: {values}")));
        }
        if let (Some((Duration::ZERO, _)), Some(retry)) = (wait, &self.retry) {
            let rule = "a wait of nothing is one attempt: leave the retry out, or wait";
            return Err(Error::new(retry.span(), rule));
        }
        if let (Some(LitBool { value: true, span }), Some(_)) = (&self.renew, &self.policy) {
            return Err(Error::new(*span, "whether a policy's lease is renewed is the policy's: say it there"));
        }
        if let Some(key) = &self.key {
            key.check_length(self.prefix_of_key())?;
        }
        Ok(())
    }

    /// What the key begins with before the policy's prefix comes to it.
    fn prefix_of_key(&self) -> &str {
        match (&self.prefix, &self.policy) {
            (Some(prefix), None) => prefix,
            // One key is one lock, whoever takes it: nothing is put before it that nobody asked for.
            (_, Some(_)) | (None, None) => "",
        }
    }

    /// The prefix, if it is said in the place of a policy's.
    pub(crate) fn prefix_of_policy(&self) -> Option<&str> {
        self.policy.as_ref().and(self.prefix.as_deref())
    }

    /// An expression that makes the `Parts` of the key.
    pub(crate) fn key_tokens(&self) -> TokenStream {
        self.key.as_ref().map(|key| key.tokens(self.prefix_of_key())).unwrap_or_default()
    }
}

fn renew_of(expr: &Expr) -> syn::Result<LitBool> {
    match value::literal(expr) {
        Some(Lit::Bool(renew)) => Ok(renew.clone()),
        _ => Err(Error::new_spanned(
            expr,
            "write `renew = false` to let the lease end by itself; what is decided at run time is a policy's",
        )),
    }
}

fn fallback_of(expr: &Expr) -> syn::Result<ExprPath> {
    match value::bare(expr) {
        Expr::Path(path) => Ok(path.clone()),
        _ => Err(Error::new_spanned(
            expr,
            "a fallback is the path of a function with the same arguments, such as `Self::when_busy`",
        )),
    }
}

fn on_busy_of(expr: &Expr) -> syn::Result<Ident> {
    match value::word(expr) {
        Some(word) if word == "skip" => Ok(word.clone()),
        _ => Err(Error::new_spanned(expr, "write `on_busy = skip`, or leave it out to have a busy lock as an error")),
    }
}

fn on_lost_of(expr: &Expr) -> syn::Result<Ident> {
    match value::word(expr) {
        Some(word) if word == "cancel" || word == "finish" => Ok(word.clone()),
        _ => Err(Error::new_spanned(
            expr,
            "write `on_lost = cancel`, which drops the body, or `on_lost = finish`, which lets it run to its end",
        )),
    }
}
