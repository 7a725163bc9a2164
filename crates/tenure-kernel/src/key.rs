//! The name of what is contended for.

use std::fmt;
use std::sync::Arc;

/// The name of a lock, checked once and cheap to clone.
///
/// Any text of 1 to 1024 bytes is a key; it is used as it was typed.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(Arc<str>);

impl Key {
    /// The longest key, in bytes.
    pub const MAX_BYTES: usize = 1024;

    /// Checks a name.
    ///
    /// # Errors
    ///
    /// [`InvalidKey`] if the name is empty or longer than [`Key::MAX_BYTES`].
    ///
    /// ```
    /// use tenure_kernel::Key;
    ///
    /// assert!(Key::new("order:pay").is_ok());
    /// assert!(Key::new("").is_err());
    /// ```
    pub fn new(name: &str) -> Result<Self, InvalidKey> {
        match name.len() {
            0 => Err(InvalidKey::Empty),
            bytes if bytes > Self::MAX_BYTES => {
                Err(InvalidKey::TooLong { bytes, start: name.chars().take(40).collect() })
            }
            _ => Ok(Self(name.into())),
        }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({:?})", &*self.0)
    }
}

/// Why a name is not a key.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidKey {
    /// There is nothing to contend for.
    Empty,
    /// More bytes than [`Key::MAX_BYTES`].
    TooLong {
        /// How many it has.
        bytes: usize,
        /// How it begins, to find it by.
        start: String,
    },
}

impl fmt::Display for InvalidKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => {
                f.write_str("a lock's key must not be empty: name what is contended for, such as `order:42`")
            }
            Self::TooLong { bytes, start } => write!(
                f,
                "a lock's key may have {} bytes at most: shorten or hash it: it has {bytes} and begins `{start}`",
                Key::MAX_BYTES
            ),
        }
    }
}

impl std::error::Error for InvalidKey {}
