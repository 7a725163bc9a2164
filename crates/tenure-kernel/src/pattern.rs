//! Which keys a listing is about.

/// A pattern over keys: `*` stands for any run of characters, `?` for one; everything else for itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(Vec<Piece>);

/// What a pattern is made of, for stores that have patterns of their own to put it into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    /// This character, whatever it means elsewhere.
    Exactly(char),
    /// Any one character.
    One,
    /// Any run of characters.
    Any,
}

impl Pattern {
    /// Every text is a pattern.
    pub fn new(text: &str) -> Self {
        Self::behind("", text)
    }

    /// A pattern for what follows a prefix. The prefix stands for itself, whatever it is made of.
    ///
    /// ```
    /// use tenure_kernel::Pattern;
    ///
    /// let pattern = Pattern::behind("what?:", "order:*");
    /// assert!(pattern.matches("what?:order:42"));
    /// assert!(!pattern.matches("whats:order:42"));
    /// ```
    pub fn behind(prefix: &str, text: &str) -> Self {
        let pieces = text.chars().map(|c| match c {
            '*' => Piece::Any,
            '?' => Piece::One,
            _ => Piece::Exactly(c),
        });
        Self(prefix.chars().map(Piece::Exactly).chain(pieces).collect())
    }

    /// What it is made of.
    pub fn pieces(&self) -> &[Piece] {
        &self.0
    }

    /// Whether a key's name is one of those meant.
    ///
    /// ```
    /// use tenure_kernel::Pattern;
    ///
    /// assert!(Pattern::new("order:*").matches("order:42"));
    /// assert!(Pattern::new("order:?").matches("order:4"));
    /// assert!(!Pattern::new("order:?").matches("order:42"));
    /// ```
    pub fn matches(&self, name: &str) -> bool {
        let pattern = self.pieces();
        let name: Vec<char> = name.chars().collect();
        let (mut p, mut n) = (0, 0);
        // The last star seen and how much of the name it has taken: on a mismatch it takes one more.
        let mut star: Option<(usize, usize)> = None;
        while n < name.len() {
            match pattern.get(p) {
                Some(Piece::Any) => {
                    star = Some((p, n));
                    p += 1;
                }
                Some(piece) if *piece == Piece::One || *piece == Piece::Exactly(name[n]) => {
                    p += 1;
                    n += 1;
                }
                _ => {
                    let Some((at, taken)) = star else { return false };
                    star = Some((at, taken + 1));
                    p = at + 1;
                    n = taken + 1;
                }
            }
        }
        pattern[p..].iter().all(|piece| *piece == Piece::Any)
    }
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    #[test]
    fn stars_take_what_they_must() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("*", "anything", true),
            ("", "", true),
            ("", "a", false),
            ("a*c", "abbc", true),
            ("a*c", "abcbc", true),
            ("a*c", "abcb", false),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b*", "xxbxxaxx", false),
            ("[ab]", "a", false),
            ("[ab]", "[ab]", true),
            ("é?", "éü", true),
        ] {
            assert_eq!(Pattern::new(pattern).matches(name), expected, "{pattern} on {name}");
        }
    }
}
