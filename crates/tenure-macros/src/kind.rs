//! The argument `kind`: what is taken.

use crate::names::nearest;
use crate::value;
use proc_macro2::{Ident, TokenStream};
use quote::quote_spanned;
use syn::{Error, Expr, Lit};

const LOCKS: [(&str, &str); 6] = [
    ("reentrant", "Reentrant"),
    ("simple", "Simple"),
    ("fair", "Fair"),
    ("read", "Read"),
    ("write", "Write"),
    ("fenced", "Fenced"),
];
/// The most permits that a semaphore has.
const MOST: u32 = i32::MAX.unsigned_abs();

/// What is taken.
pub(crate) enum Kind {
    /// A lock, by the name of its kind in the library.
    Lock(Ident),
    /// One of so many permits.
    Semaphore(Ident, Box<Expr>),
}

impl Kind {
    pub(crate) fn of(expr: &Expr) -> syn::Result<Self> {
        if let Some(name) = value::word(expr) {
            if name == "semaphore" {
                return Err(Error::new(name.span(), "write how many run at a time, such as `semaphore(3)`"));
            }
            let known = LOCKS.iter().find(|(known, _)| name == known);
            return match known {
                Some((_, variant)) => Ok(Self::Lock(Ident::new(variant, value::ours(name.span())))),
                None => Err(unknown(name)),
            };
        }
        if let Expr::Call(call) = value::bare(expr)
            && let Some(name) = value::word(&call.func)
        {
            let mut counts = call.args.iter();
            return match (name == "semaphore", counts.next(), counts.next()) {
                (true, Some(count), None) => Self::semaphore(name, count),
                (true, ..) => Err(Error::new(name.span(), "write how many run at a time, such as `semaphore(3)`")),
                (false, ..) if LOCKS.iter().any(|(known, _)| name == known) => {
                    Err(Error::new_spanned(call, format!("this kind takes no number, write `kind = {name}`")))
                }
                (false, ..) => Err(unknown(name)),
            };
        }
        Err(Error::new_spanned(expr, format!("write a kind's name, {}; another is a policy's", list())))
    }

    fn semaphore(name: &Ident, count: &Expr) -> syn::Result<Self> {
        if let Some(Lit::Int(number)) = value::literal(count)
            && !number.base10_parse().is_ok_and(|permits: u32| (1..=MOST).contains(&permits))
        {
            let rule = format!("choose from 1 to {MOST} for how many run at a time");
            return Err(Error::new(number.span(), format!("{rule}: semaphore({number})")));
        }
        Ok(Self::Semaphore(name.clone(), Box::new(count.clone())))
    }

    /// An expression of type `tenure::Sort`.
    pub(crate) fn tokens(&self) -> TokenStream {
        match self {
            Self::Lock(variant) => {
                quote_spanned!(variant.span()=> ::tenure::Sort::Lock(::tenure::Kind::#variant))
            }
            Self::Semaphore(name, count) => {
                quote_spanned!(value::ours(name.span())=> ::tenure::Sort::Semaphore(#count))
            }
        }
    }
}

fn unknown(name: &Ident) -> Error {
    let written = name.to_string();
    let known: Vec<&str> = LOCKS.iter().map(|(known, _)| *known).chain(["semaphore"]).collect();
    let message = match nearest(&written.to_lowercase(), &known) {
        Some("semaphore") => format!("no such kind, did you mean `semaphore(3)`: kind=`{written}`"),
        Some(near) => format!("no such kind, did you mean `{near}`: kind=`{written}`"),
        None => format!("no such kind, choose from {}: kind=`{written}`", list()),
    };
    Error::new(name.span(), message)
}

fn list() -> String {
    let names: Vec<&str> = LOCKS.iter().map(|(known, _)| *known).collect();
    names.join(", ") + " or semaphore(3)"
}
