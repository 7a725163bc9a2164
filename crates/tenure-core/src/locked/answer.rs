//! What a function returns when its body was not run, or not to its end.

use crate::{Error, ErrorKind};
use std::future::Future;

/// A return type that can say that the lock was not obtained.
#[diagnostic::on_unimplemented(
    message = "a `#[locked]` function that returns `{Self}` cannot tell its caller that the lock was not obtained",
    label = "cannot hold a `tenure::Error`",
    note = "return a `Result` whose error type is `From<tenure::Error>`, or write `fallback = path::to::function`"
)]
pub trait Tells {
    /// The body was not run, because of this.
    fn tell(error: Error) -> Self;
}

impl<T, E: From<Error>> Tells for Result<T, E> {
    fn tell(error: Error) -> Self {
        Err(error.into())
    }
}

/// A return type that can say that the lock was lost before the body was done.
#[diagnostic::on_unimplemented(
    message = "a `#[locked]` function that returns `{Self}` cannot tell its caller that the lock was lost",
    label = "cannot hold a `tenure::Error`",
    note = "return a `Result` whose error type is `From<tenure::Error>`, or write `on_lost = finish` to let the body run \
            to its end without the lock"
)]
pub trait TellsLoss {
    /// The body was dropped, because of this.
    fn tell_loss(error: Error) -> Self;
}

impl<T, E: From<Error>> TellsLoss for Result<T, E> {
    fn tell_loss(error: Error) -> Self {
        Err(error.into())
    }
}

/// What a plain function may return. A future is one in two ways, so that the compiler does not know which is meant: what it
/// does would be done after the function has returned, and its lock was released.
pub trait IsNoFuture<How> {
    /// It is none.
    const CHECKED: () = ();
}

impl<T: ?Sized> IsNoFuture<()> for T {}

/// The other way, named for those who read of it in an error.
#[derive(Debug)]
pub struct MakeTheFunctionAsync;

impl<T: ?Sized + Future> IsNoFuture<MakeTheFunctionAsync> for T {}

/// A return type that can say that there was nothing to do.
#[diagnostic::on_unimplemented(
    message = "a `#[locked]` function that returns `{Self}` cannot be skipped when its lock is busy",
    label = "has no value for \"skipped\"",
    note = "return `()`, `Option<_>`, `Result<(), _>` or `Result<Option<_>, _>`, or write `fallback = path::to::function` \
            instead of `on_busy = skip`"
)]
pub trait Skips {
    /// The body was not run, because somebody else has the lock.
    fn skip() -> Self;
}

impl Skips for () {
    fn skip() -> Self {}
}

impl<T> Skips for Option<T> {
    fn skip() -> Self {
        None
    }
}

impl<T: Skips, E> Skips for Result<T, E> {
    fn skip() -> Self {
        Ok(T::skip())
    }
}

/// Whether somebody else has the lock: nothing else is "busy", a store that fails least of all.
pub fn is_busy(error: &Error) -> bool {
    error.kind() == ErrorKind::Timeout
}

/// A body that ran to its end, and whether the lock was held throughout.
#[derive(Debug)]
pub struct Ended<T> {
    value: T,
    held: Result<(), Error>,
}

impl<T> Ended<T> {
    pub(super) fn new(value: T, held: Result<(), Error>) -> Self {
        Self { value, held }
    }

    /// What the body returned, if the lock was held throughout.
    pub(super) fn into_result(self) -> Result<T, Error> {
        self.held.map(|()| self.value)
    }
}

impl<T, E: From<Error>> Ended<Result<T, E>> {
    /// What the body returned, or that the lock was lost.
    ///
    /// # Errors
    ///
    /// The body's own, or [`Lost`](ErrorKind::Lost).
    pub fn give(self) -> Result<T, E> {
        self.held?;
        self.value
    }
}

/// A body whose return type cannot say that the lock was lost.
pub trait GiveAnyway {
    /// What it returns.
    type Value;

    /// What the body returned. A loss is in the log.
    fn give(self) -> Self::Value;
}

impl<T> GiveAnyway for Ended<T> {
    type Value = T;

    fn give(self) -> T {
        if let Err(error) = self.held {
            tracing::error!(%error, "a locked function ran on without its lock, and could not tell its caller");
        }
        self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost() -> Result<(), Error> {
        Err(Error::new(ErrorKind::Lost, "lost"))
    }

    #[test]
    fn a_loss_is_told_where_it_can_be() {
        assert_eq!(Ended::new(Ok::<_, Error>(7), lost()).give().unwrap_err().kind(), ErrorKind::Lost);
        assert_eq!(Ended::new(Ok::<_, Error>(7), Ok(())).give().unwrap(), 7);
        assert_eq!(Ended::new(7, lost()).give(), 7);
        assert_eq!(Ended::new(Err::<u8, _>("own"), lost()).give(), Err("own"));
    }

    #[test]
    fn what_is_skipped_has_nothing_to_say() {
        assert_eq!(<Result<Option<u8>, Error> as Skips>::skip().unwrap(), None);
        <Result<(), Error> as Skips>::skip().unwrap();
        assert_eq!(<Option<u8> as Skips>::skip(), None);
    }
}
