//! The client that is used where none is named: the one in scope, or the process's.

use crate::per_process::{PerProcess, too_many_forks};
use crate::{Client, Error};
use std::future::Future;

static PROCESS: PerProcess<Client> = PerProcess::new();

tokio::task_local! {
    /// Also that of a thread that runs no task: the innermost is the one that counts, be it a task's or a thread's.
    static SCOPE: Client;
}

/// Makes a client the one that `#[locked]` functions of this process use, unless they name another or are called in the
/// [scope](Client::scope) of another. To be called once, where the process starts: when the thread that has called it ends, it
/// waits for the releases of dropped guards ([`flush_within`](crate::Builder::flush_within)).
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tenure_core::Error> {
/// use tenure_core::{Client, Memory};
///
/// tenure_core::set_client(Client::new(Memory::new())?)?;
/// assert!(tenure_core::set_client(Client::new(Memory::new())?).is_err());
/// # Ok(()) }
/// ```
///
/// # Errors
///
/// [`Invalid`](crate::ErrorKind::Invalid) if there is one already: it stays. After a fork, the child sets its own.
pub fn set_client(client: Client) -> Result<(), Error> {
    let mut process = PROCESS.lock().ok_or_else(too_many_forks)?;
    // One that was set before a fork is the parent's.
    if process.as_ref().is_some_and(|client| client.inner().shared.origin.is_here()) {
        return Err(Error::invalid(
            "this process has a client already: set it once, and use `Client::scope` or `client = …` for others",
        ));
    }
    // It lives for as long as the process, so no last handle of it ever goes.
    client.inner().flush.at_thread_end();
    *process = Some(client);
    Ok(())
}

fn of_process() -> Option<Client> {
    PROCESS.lock()?.clone()
}

/// The client to use where none is named.
pub(crate) fn client() -> Result<Client, Error> {
    SCOPE.try_with(Clone::clone).ok().or_else(of_process).ok_or_else(|| {
        Error::invalid(
            "there is no client to lock with: call `tenure::set_client` where the process starts, run this in \
             `client.scope(…)`, or name one with `client = …`",
        )
    })
}

impl Client {
    /// Runs a future in which `#[locked]` functions that name no client use this one. A task made by `spawn` does not
    /// inherit it.
    pub fn scope<F: Future>(&self, future: F) -> impl Future<Output = F::Output> + use<F> {
        SCOPE.scope(self.clone(), future)
    }
}

/// Calls a function in which `#[locked]` functions of this thread that name no client use this one.
pub(crate) fn scope_blocking<T>(client: Client, work: impl FnOnce() -> T) -> T {
    SCOPE.sync_scope(client, work)
}
