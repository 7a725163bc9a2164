//! Text that cannot be read as what it should be.

use crate::Error;
use std::fmt;

/// Why a text could not be read, and what to write instead.
///
/// ```
/// use tenure_core::Sort;
///
/// let error = "semaphore:none".parse::<Sort>().unwrap_err();
/// assert_eq!(error.rule(), "write how many run at a time, such as `semaphore:3`");
/// assert_eq!(error.to_string(), format!("{}: kind=`semaphore:none`", error.rule()));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    rule: &'static str,
    what: String,
    text: String,
}

impl Unreadable {
    /// How much of a text is shown.
    const WIDEST: usize = 100;

    pub(crate) fn new(rule: &'static str, what: &str, text: &str) -> Self {
        Self { rule, what: what.to_owned(), text: text.chars().take(Self::WIDEST).collect() }
    }

    /// Where it is called something else.
    pub(crate) fn named(self, what: &str) -> Self {
        Self { what: what.to_owned(), ..self }
    }

    /// What to write, without what was written: for those who do not show that, or show it in their own way.
    pub fn rule(&self) -> &'static str {
        self.rule
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}=`{}`", self.rule, self.what, self.text.escape_debug())
    }
}

impl std::error::Error for Unreadable {}

impl From<Unreadable> for Error {
    fn from(error: Unreadable) -> Self {
        Self::invalid(error.to_string())
    }
}
