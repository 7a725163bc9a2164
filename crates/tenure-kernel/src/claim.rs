//! The identity of one acquisition.

use std::fmt;
use std::sync::Arc;

/// One acquisition of one lock: an id that is fresh every time, for machines to tell holders apart.
///
/// Tenure's own claims read `<client id>:<number>`. A claim found in a store may also have been written by another
/// library; it is then whatever that library wrote, and is only ever compared.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Claim(Arc<str>);

impl Claim {
    /// The claim with this number among those of one client.
    ///
    /// ```
    /// let claim = tenure_kernel::Claim::new("a0b1", 7);
    /// assert_eq!(claim.as_str(), "a0b1:7");
    /// assert_eq!(claim.client(), "a0b1");
    /// ```
    pub fn new(client: &str, number: u64) -> Self {
        Self(format!("{client}:{number}").into())
    }

    /// The claim with this number, of a client that stands under others. It says so, because a store may have to treat
    /// it differently from one that takes a lock for itself.
    ///
    /// ```
    /// let claim = tenure_kernel::Claim::nested("a0b1", 7);
    /// assert!(claim.is_nested() && claim.as_str() == "a0b1:7^");
    /// ```
    pub fn nested(client: &str, number: u64) -> Self {
        Self(format!("{client}:{number}^").into())
    }

    /// Whether the claim was made to stand under others.
    pub fn is_nested(&self) -> bool {
        self.0.ends_with('^')
    }

    /// A claim as it was found in a store.
    pub fn found(text: &str) -> Self {
        Self(text.into())
    }

    /// The claim as the store writes it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The claim's number among those of its client. None if another library made it.
    ///
    /// ```
    /// use tenure_kernel::Claim;
    ///
    /// assert_eq!(Claim::new("a0b1", 7).number(), Some(7));
    /// ```
    pub fn number(&self) -> Option<u64> {
        let (_, number) = self.0.split_once(':')?;
        number.strip_suffix('^').unwrap_or(number).parse().ok()
    }

    /// The client that made the claim: all before the first colon.
    pub fn client(&self) -> &str {
        self.0.split_once(':').map_or(&*self.0, |(client, _)| client)
    }
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Claim({})", self.0)
    }
}
