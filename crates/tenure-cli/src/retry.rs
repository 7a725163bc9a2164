//! When to ask again, as people type it.

use tenure::{Retry, Unreadable};

/// A retry policy that was typed. Whether it is a sensible one, its reader knows.
pub(crate) fn any(text: &str) -> Result<Retry, &'static str> {
    text.parse().map_err(|error: Unreadable| error.rule())
}
