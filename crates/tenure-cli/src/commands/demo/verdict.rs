//! The verdict: what was sold, and whether the lock kept its promises.

use serde::{Serialize, Serializer};
use std::fmt;
use std::time::Duration;

/// How a sale went.
#[derive(Serialize)]
pub(crate) struct Verdict {
    pub(crate) items: u32,
    pub(crate) sold: u32,
    pub(crate) refused: u32,
    pub(crate) left: u32,
    #[serde(rename = "took_ms", serialize_with = "millis")]
    pub(crate) took: Duration,
    #[serde(rename = "longest_wait_ms", serialize_with = "millis")]
    pub(crate) longest_wait: Duration,
    pub(crate) overlaps: u32,
    /// In the order in which their holders came in; none if there was no lock.
    pub(crate) tokens: Option<Vec<u64>>,
}

fn millis<S: Serializer>(length: &Duration, to: S) -> Result<S::Ok, S::Error> {
    length.as_millis().serialize(to)
}

impl Verdict {
    /// Whether every item was sold once, one buyer at a time, under tokens that only grew.
    pub(crate) fn is_right(&self) -> bool {
        self.left == 0 && self.sold == self.items && self.overlaps == 0 && self.rising()
    }

    fn rising(&self) -> bool {
        self.tokens.as_ref().is_some_and(|tokens| tokens.is_sorted_by(|one, next| one < next))
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = |duration: Duration| format!("{} ms", duration.as_millis());
        writeln!(f, "  sold {} of {}, left {}, refused {}", self.sold, self.items, self.left, self.refused)?;
        writeln!(f, "  took {}, longest wait {}", millis(self.took), millis(self.longest_wait))?;
        match self.overlaps {
            0 => writeln!(f, "  no two sections overlapped")?,
            overlaps => writeln!(f, "  {overlaps} sections overlapped with another")?,
        }
        match (&self.tokens, self.rising()) {
            (None, _) => writeln!(f, "  no tokens without a lock")?,
            (Some(tokens), true) => writeln!(f, "  {} tokens, each larger than the one before", tokens.len())?,
            (Some(_), false) => writeln!(f, "  a token was not larger than the one before")?,
        }
        if self.is_right() {
            write!(f, "right: every item was sold once")
        } else if self.sold > self.items {
            write!(f, "wrong: {} more were sold than there were", self.sold - self.items)
        } else {
            write!(f, "wrong: see above")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict() -> Verdict {
        Verdict {
            items: 2,
            sold: 2,
            refused: 1,
            left: 0,
            took: Duration::ZERO,
            longest_wait: Duration::ZERO,
            overlaps: 0,
            tokens: Some(vec![3, 5, 6]),
        }
    }

    #[test]
    fn a_sale_is_right_only_if_everything_is() {
        assert!(verdict().is_right());
        assert!(!Verdict { left: 1, ..verdict() }.is_right());
        assert!(!Verdict { sold: 3, ..verdict() }.is_right());
        assert!(!Verdict { overlaps: 1, ..verdict() }.is_right());
        assert!(!Verdict { tokens: Some(vec![3, 3, 6]), ..verdict() }.is_right());
        assert!(!Verdict { tokens: None, ..verdict() }.is_right());
    }

    #[test]
    fn an_oversold_stock_is_called_so() {
        let said = Verdict { sold: 5, left: 1, ..verdict() }.to_string();
        assert!(said.contains("sold 5 of 2, left 1"), "{said}");
        assert!(said.ends_with("wrong: 3 more were sold than there were"), "{said}");
    }
}
