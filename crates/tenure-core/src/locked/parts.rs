//! A key that is made of parts.

use super::part::Part;
use crate::Error;
use std::fmt::{self, Write};
use tenure_kernel::InvalidKey;

/// The text of a key, piece by piece: its prefix, texts and parts, which are encoded so that two lists of them never make
/// one key.
#[derive(Debug)]
#[must_use = "a key that is not used locks nothing"]
pub struct Parts {
    key: String,
    /// Where the prefix ends.
    begins: usize,
    /// The first part that is empty.
    empty: Option<&'static str>,
}

impl Parts {
    /// A key of which there is a prefix as yet, with room for so many bytes.
    pub fn new(prefix: &str, room: usize) -> Self {
        let mut key = String::with_capacity(room);
        key.push_str(prefix);
        Self { key, begins: prefix.len(), empty: None }
    }

    /// Adds a text.
    pub fn text(mut self, text: &str) -> Self {
        self.key.push_str(text);
        self
    }

    /// Adds a part, of which this was written.
    pub fn part(mut self, written: &'static str, part: fmt::Arguments<'_>) -> Self {
        let before = self.key.len();
        self.add(format_args!("{}", Part(part)));
        if self.key.len() == before {
            self.empty.get_or_insert(written);
        }
        self
    }

    /// Adds a part as it is, which may be empty.
    pub fn raw(mut self, part: fmt::Arguments<'_>) -> Self {
        self.add(part);
        self
    }

    fn add(&mut self, part: fmt::Arguments<'_>) {
        self.key.write_fmt(part).expect("what is shown can be written to a text");
    }

    /// The key behind another prefix.
    pub(super) fn behind(self, prefix: &str) -> Result<String, Error> {
        if let Some(part) = self.empty {
            let as_it_is = part.trim_end_matches('}');
            return Err(Error::invalid(format!(
                "a part of the key is empty, and one lock would stand for all that have none: give it a value, or write \
                 `{as_it_is}:raw}}` if that is meant: part=`{part}` key=`{}{}`",
                prefix.escape_debug(),
                self.key.escape_debug()
            )));
        }
        // An empty name is a mistake even where a prefix would make a key of it.
        if self.key.len() == self.begins {
            return Err(InvalidKey::Empty.into());
        }
        Ok(if prefix.is_empty() { self.key } else { format!("{prefix}{}", self.key) })
    }
}

/// A key that has no parts.
impl From<&str> for Parts {
    fn from(key: &str) -> Self {
        Self { key: key.to_owned(), begins: 0, empty: None }
    }
}
