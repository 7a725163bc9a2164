//! What Java answers: a value, or the exception that it threw.

use std::fmt::{self, Debug, Display, Formatter};
use std::str::FromStr;

/// What came of a command.
pub type Answer<T> = Result<T, Exception>;

/// An exception that was thrown in Java.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exception {
    /// Its class, by its full name.
    pub class: String,
    /// Its message.
    pub message: String,
}

impl Display for Exception {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.class, self.message)
    }
}

impl std::error::Error for Exception {}

/// The value in an answer's text, `ok <value>`, or the exception in `error <class> <message>`.
pub(super) fn read<T>(text: &str, value: impl FnOnce(&str) -> Option<T>) -> Answer<T> {
    let (verdict, rest) = text.split_once(' ').unwrap_or((text, ""));
    match verdict {
        "ok" => Ok(value(rest).unwrap_or_else(|| panic!("the driver gave an answer to something else: {text}"))),
        "error" => {
            let (class, message) = rest.split_once(' ').unwrap_or((rest, ""));
            Err(Exception { class: class.to_owned(), message: message.to_owned() })
        }
        _ => panic!("the driver gave no answer that is known here: {text}"),
    }
}

/// An answer that says nothing but that it was done.
pub(super) fn done(text: &str) -> Answer<()> {
    read(text, |rest| rest.is_empty().then_some(()))
}

/// An answer that is one value.
pub(super) fn value<T: FromStr>(text: &str) -> Answer<T> {
    read(text, |rest| rest.parse().ok())
}
