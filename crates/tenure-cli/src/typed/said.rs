//! What clap says of an error, and the pieces that a sentence is made of.

use clap::error::{ContextKind, ContextValue};

/// A rule and the option that does not keep to it.
pub(super) fn option(rule: &str, error: &clap::Error) -> String {
    about(rule, "option", Some(name(one(error, ContextKind::InvalidArg)).to_owned()))
}

/// A rule, and what does not keep to it if that may be shown.
pub(super) fn about(rule: &str, name: &str, value: Option<String>) -> String {
    value.map_or_else(|| rule.to_owned(), |value| format!("{rule}: {name}=`{value}`"))
}

/// The name in what clap calls an argument, such as `--lease <D>`.
pub(super) fn name(argument: &str) -> &str {
    argument.split(' ').next().unwrap_or_default()
}

/// `a, b or c`
pub(super) fn or<T: AsRef<str>>(choices: &[T]) -> String {
    let choices: Vec<_> = choices.iter().map(AsRef::as_ref).collect();
    match choices.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        choices => choices.concat(),
    }
}

/// What clap says of the error, if it is one thing; nothing if not.
pub(super) fn one(error: &clap::Error, kind: ContextKind) -> &str {
    match error.get(kind) {
        Some(ContextValue::String(text)) => text,
        _ => "",
    }
}

/// What clap says of the error, however many things that are.
pub(super) fn all(error: &clap::Error, kind: ContextKind) -> Vec<&str> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text],
        Some(ContextValue::Strings(texts)) => texts.iter().map(String::as_str).collect(),
        _ => Vec::new(),
    }
}
