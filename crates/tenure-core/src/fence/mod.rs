//! Guarded writes: what makes a fencing token worth something.
//!
//! A process can be paused between its last look at the lock and its write, for longer than any lease. No lock can stop
//! that write. What is written to can, if it keeps the newest [token](crate::Guard::token) that it has seen and refuses
//! older ones:
//!
//! > **A write is done only if its token is not older than the newest one seen for the resource.**
//!
//! Equal tokens are one holder's, who may write more than once. There are three forms:
//!
//! | What you write to | |
//! |---|---|
//! | Redis | [`redis`]: the words of a command to send with any driver |
//! | MySQL, MariaDB, PostgreSQL, SQLite | [`sql`]: texts and the order of their parameters |
//! | anything else | [`FenceGate`]: runs the write while the gate is held |
//!
//! * The check and the write must be one step, by which all who write go: one unguarded writer undoes it.
//! * Who decides by what it reads leaves its token first, by a guarded write that changes nothing, and reads then: from
//!   there on nobody older changes what was read.
//! * A token orders the holders of *one* lock. Guard a resource by the tokens of one key, never of several.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tenure_core::Error> {
//! use std::time::Duration;
//! use tenure_core::fence::FenceGate;
//! use tenure_core::{Client, ErrorKind, ManualClock, Memory, Options};
//!
//! let clock = ManualClock::new();
//! let store = Memory::with_clock(clock.clone());
//! let (one, other) = (Client::new(store.clone())?, Client::new(store)?);
//! let (gate, mut balance) = (FenceGate::new(), 100);
//!
//! let first = one.lock("account:7")?.lock_with(Options::new().no_renew()).await?;
//! let late = balance - 70; // decided, and then paused
//! clock.advance(Duration::from_secs(31));
//!
//! let second = other.lock("account:7")?.lock().await?;
//! gate.pass("account:7", second.token())?; // before it reads
//! gate.guard("account:7", second.token(), || balance -= 50)?;
//!
//! let refused = gate.guard("account:7", first.token(), || balance = late).unwrap_err();
//! assert_eq!(tenure_core::Error::from(refused).kind(), ErrorKind::Lost);
//! assert_eq!(balance, 50);
//! # Ok(()) }
//! ```

mod files;
mod gate;
pub mod redis;
pub mod sql;

pub use gate::FenceGate;

use crate::{Error, ErrorKind, Token};
use std::path::PathBuf;
use std::{fmt, io};

/// Why a guarded write was not done. Becomes an [`Error`] by `?`: [`Lost`](ErrorKind::Lost) if it came too late,
/// [`Unavailable`](ErrorKind::Unavailable) if nobody can tell.
#[derive(Debug)]
#[non_exhaustive]
pub enum Refused {
    /// A later holder has been here. Stop what the lock protects: trying again cannot help.
    Late {
        /// What the write came with.
        token: Token,
        /// What has been seen, if the resource tells.
        newest: Option<Token>,
    },
    /// The gate's file cannot be used, so that nobody can tell. The write was not done; it may be tried again.
    Shut {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        error: io::Error,
    },
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Late { token, newest } => {
                write!(f, "a later holder has been here, stop what the lock protects: token={token}")?;
                newest.map_or(Ok(()), |newest| write!(f, " newest={newest}"))
            }
            Self::Shut { path, error } => write!(
                f,
                "the gate's file cannot be used, check it and its directory: path=`{}` error=`{error}`",
                path.display()
            ),
        }
    }
}

impl std::error::Error for Refused {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Late { .. } => None,
            Self::Shut { error, .. } => Some(error),
        }
    }
}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Self {
        let kind = match refused {
            Refused::Late { .. } => ErrorKind::Lost,
            Refused::Shut { .. } => ErrorKind::Unavailable,
        };
        Self::new(kind, refused.to_string())
    }
}

/// The token as every store holds it exactly: scripts count in doubles, and SQL's integers have a sign.
fn exact(token: Token) -> Result<i64, Error> {
    i64::try_from(token).ok().filter(|token| *token < 1 << 53).ok_or_else(|| {
        Error::invalid(format!("a fencing token is below 2^53, pass on what guard.token() gives: token={token}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_what_to_do() {
        let late = Refused::Late { token: 5, newest: Some(7) };
        assert_eq!(late.to_string(), "a later holder has been here, stop what the lock protects: token=5 newest=7");
        assert_eq!(Error::from(late).kind(), ErrorKind::Lost);
        let shut = Refused::Shut { path: "fences/a".into(), error: io::Error::other("damaged") };
        assert!(shut.to_string().ends_with("path=`fences/a` error=`damaged`"));
        assert_eq!(Error::from(shut).kind(), ErrorKind::Unavailable);
    }

    #[test]
    fn tokens_are_exact_or_refused() {
        assert_eq!(exact((1 << 53) - 1).unwrap(), (1 << 53) - 1);
        for token in [1 << 53, u64::MAX] {
            assert_eq!(exact(token).unwrap_err().kind(), ErrorKind::Invalid);
        }
    }
}
