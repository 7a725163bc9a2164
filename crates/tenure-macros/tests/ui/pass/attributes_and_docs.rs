//! Documentation, lints and other attributes stay where they are.

#![deny(warnings, missing_docs, unused_must_use, clippy::pedantic)]

use tenure::{Client, Error, Memory};

/// A shelf.
pub struct Shelf;

impl Shelf {
    /// Puts something on it.
    ///
    /// # Errors
    ///
    /// If the shelf is in use.
    #[inline]
    #[must_use = "say where it stands"]
    #[tenure::locked(key = "shelf:{thing}")]
    #[allow(unused_variables, clippy::unused_self)]
    pub async fn put(&self, thing: &str, #[cfg(any())] absent: u8, #[allow(unused)] mark: u8) -> Result<u32, Error> {
        #![allow(unused_assignments)]
        let unused = 3;
        Ok(7)
    }

    /// Looks at it.
    ///
    /// # Errors
    ///
    /// If the shelf is in use.
    #[doc(alias = "see")]
    #[tenure::locked(key = "shelf")]
    #[cfg(not(any()))]
    pub(crate) fn look() -> Result<(), Error> {
        Ok(())
    }

    /// Not there at all.
    #[cfg(any())]
    #[tenure::locked(key = "shelf")]
    pub async fn absent() -> Missing {}
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    tenure::set_client(Client::new(Memory::new())?)?;
    assert_eq!(Shelf.put("a", 1).await?, 7);
    std::thread::spawn(Shelf::look).join().ok().transpose()?;
    Ok(())
}
