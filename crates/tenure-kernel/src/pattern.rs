//! Which keys a listing is about.

/// A pattern over keys: `*` stands for any run of characters, `?` for one; everything else for itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    /// Every text is a pattern.
    pub fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The pattern as typed.
    pub fn as_str(&self) -> &str {
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
        let pattern: Vec<char> = self.0.chars().collect();
        let name: Vec<char> = name.chars().collect();
        let (mut p, mut n) = (0, 0);
        // The last star seen and how much of the name it has taken: on a mismatch it takes one more.
        let mut star: Option<(usize, usize)> = None;
        while n < name.len() {
            if pattern.get(p) == Some(&'*') {
                star = Some((p, n));
                p += 1;
            } else if pattern.get(p).is_some_and(|&c| c == '?' || c == name[n]) {
                p += 1;
                n += 1;
            } else if let Some((at, taken)) = star {
                star = Some((at, taken + 1));
                p = at + 1;
                n = taken + 1;
            } else {
                return false;
            }
        }
        pattern[p..].iter().all(|&c| c == '*')
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
