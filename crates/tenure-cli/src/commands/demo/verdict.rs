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

    /// Whether no token was in the wrong place; without a lock there is none.
    fn rising(&self) -> bool {
        self.tokens.iter().all(|tokens| tokens.is_sorted_by(|one, next| one < next))
    }

    /// What it comes to.
    fn sentence(&self) -> String {
        let Self { items, sold, left, .. } = self;
        match (&self.tokens, self.is_right()) {
            (Some(_), true) => "right: every item was sold once".to_owned(),
            (Some(_), false) => "wrong: the lock did not do what it is there for, see above".to_owned(),
            (None, true) => "right, but by luck: without the lock nothing keeps buyers apart".to_owned(),
            (None, false) => format!("wrong: without the lock {sold} were sold of {items}, with {left} still in stock"),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = |duration: Duration| format!("{} ms", duration.as_millis());
        writeln!(f, "  sold {} of {}, left {}, refused {}", self.sold, self.items, self.left, self.refused)?;
        writeln!(f, "  took {}, longest wait {}", millis(self.took), millis(self.longest_wait))?;
        match self.overlaps {
            0 => writeln!(f, "  no two buyers were in the section at the same time")?,
            overlaps => writeln!(f, "  {overlaps} buyers came into the section while another was in it")?,
        }
        match (&self.tokens, self.rising()) {
            (None, _) => writeln!(f, "  no tokens, for want of a lock")?,
            (Some(tokens), true) => writeln!(f, "  {} tokens, each larger than the one before", tokens.len())?,
            (Some(_), false) => writeln!(f, "  a token was not larger than the one before")?,
        }
        f.write_str(&self.sentence())
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
    }

    #[test]
    fn the_verdict_says_what_is_wrong_and_who_is_to_blame() {
        let bare = || Verdict { tokens: None, ..verdict() };
        for (verdict, expected) in [
            (verdict(), "right: every item was sold once"),
            (Verdict { overlaps: 1, ..verdict() }, "wrong: the lock did not do what it is there for, see above"),
            (bare(), "right, but by luck: without the lock nothing keeps buyers apart"),
            (
                Verdict { sold: 5, left: 1, overlaps: 4, ..bare() },
                "wrong: without the lock 5 were sold of 2, with 1 still in stock",
            ),
        ] {
            let said = verdict.to_string();
            assert_eq!(said.lines().last(), Some(expected), "{said}");
        }
    }
}
