//! How the kinds that have a line are laid out on the server.

/// How the fair and the read-write lock are laid out on the server. Exclusion does not depend on it: whoever uses the one
/// waits for those who use the other. Order does, and so does sharing the lock to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Layout {
    /// Our own: the server's time, `O(log n)`, order among Tenure's clients.
    #[default]
    Tenure,
    /// Redisson's, for those who share such locks with Java services: one line for all, and readers of both together.
    Redisson,
}

impl Layout {
    /// The layout of this name.
    pub(crate) fn of(name: &str) -> Option<Self> {
        match name {
            "tenure" => Some(Self::Tenure),
            "redisson" => Some(Self::Redisson),
            _ => None,
        }
    }
}
