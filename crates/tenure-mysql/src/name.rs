//! How a key is named in the tables.

use sha2::{Digest, Sha256};
use tenure_core::Key;

/// The longest name: an index on it must fit every row format.
pub(crate) const LONGEST: usize = 255;
/// What a hashed name begins with. No text does in UTF-8, so that none is taken for a hash.
const HASHED: u8 = 0xff;

/// The name of a key: its bytes, which are compared as they are, or a hash of them if there are too many.
pub(crate) fn name(key: &Key) -> Vec<u8> {
    let bytes = key.as_str().as_bytes();
    if bytes.len() <= LONGEST {
        return bytes.to_vec();
    }
    let mut name = vec![HASHED];
    name.extend(Sha256::digest(bytes));
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_as_different_as_keys() {
        let key = |text: &str| Key::new(text).unwrap();
        let long = "x".repeat(LONGEST + 1);
        let names = ["a", "A", "a ", "ä", &long[1..], &long, &format!("{long}x")].map(|text| name(&key(text)));
        for (at, one) in names.iter().enumerate() {
            assert!(one.len() <= LONGEST);
            assert!(names[at + 1..].iter().all(|other| other != one), "{at}");
        }
    }
}
