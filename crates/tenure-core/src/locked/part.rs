//! A part of a key, encoded so that two lists of parts never make one key.

use std::fmt::{self, Display, Write};

/// A part of a key. What could be taken for the text between two parts is written as in a URL: `%`, the separators
/// `: / | , ; #`, braces, white space and control characters.
pub(super) struct Part<T>(pub(super) T);

impl<T: Display> Display for Part<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Encoder(f), "{}", self.0)
    }
}

struct Encoder<'a, 'b>(&'a mut fmt::Formatter<'b>);

impl Write for Encoder<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text;
        while let Some(at) = rest.find(must_be_encoded) {
            let (plain, encoded) = rest.split_at(at);
            self.0.write_str(plain)?;
            let end = encoded.chars().next().map_or(0, char::len_utf8);
            let (encoded, after) = encoded.split_at(end);
            for byte in encoded.bytes() {
                write!(self.0, "%{byte:02X}")?;
            }
            rest = after;
        }
        self.0.write_str(rest)
    }
}

fn must_be_encoded(character: char) -> bool {
    matches!(character, '%' | ':' | '/' | '|' | ',' | ';' | '#' | '{' | '}')
        || character.is_whitespace()
        || character.is_control()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn different_parts_make_different_keys(one in "[a:%3A/ ü]{0,6}", other in "[a:%3A/ ü]{0,6}", third in "[a:%3A/ ü]{0,6}", fourth in "[a:%3A/ ü]{0,6}") {
            let key = |a: &str, b: &str| format!("{}x:{}", Part(a), Part(b));
            prop_assert_eq!(key(&one, &other) == key(&third, &fourth), (one, other) == (third, fourth));
        }
    }

    #[test]
    fn what_is_plain_stays_as_it_is() {
        assert_eq!(format!("{}:{}", Part("a:b"), Part("c")), "a%3Ab:c");
        assert_eq!(Part("PROD_001-a.b@c~é").to_string(), "PROD_001-a.b@c~é");
        assert_eq!(Part(-42).to_string(), "-42");
        assert_eq!(Part("a{b} \u{2003}\n").to_string(), "a%7Bb%7D%20%E2%80%83%0A");
    }
}
