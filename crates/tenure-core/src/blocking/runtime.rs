//! The one runtime of all blocking callers, and the way into it.

use crate::origin::Origin;
use crate::{Error, ErrorKind};
use std::future::{Future, pending};
use std::panic::catch_unwind;
use std::sync::{Mutex, PoisonError};
use std::thread;
use tokio::runtime::{Builder, Handle};
use tokio_util::sync::CancellationToken;

/// Blocks the calling thread until the future is done.
#[track_caller]
pub(crate) fn wait_for<T>(future: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    assert!(
        !drives_tasks(),
        "tenure::blocking was called from async code, which it would block: use the async API, or call it inside \
         `tokio::task::spawn_blocking`"
    );
    runtime()?.block_on(future)
}

/// The same, unless the token is cancelled first: none then, and the future is dropped.
#[track_caller]
pub(super) fn wait_unless<T>(
    token: &CancellationToken,
    future: impl Future<Output = Result<T, Error>>,
) -> Result<Option<T>, Error> {
    wait_for(async { token.run_until_cancelled(future).await.transpose() })
}

/// The same where it is allowed. A thread that drives tasks drops the future instead, and so does one for which there is no runtime.
pub(super) fn wait_if_allowed<T>(future: impl Future<Output = T>) -> Option<T> {
    if drives_tasks() { None } else { runtime().ok().map(|runtime| runtime.block_on(future)) }
}

/// Whether this thread drives async tasks.
fn drives_tasks() -> bool {
    // Tokio tells by a panic alone. Threads that know of no runtime are spared the question: they drive nothing.
    Handle::try_current().is_ok() && catch_unwind(|| drop(tokio::sync::Mutex::new(()).blocking_lock())).is_err()
}

/// The runtime, started by the first caller of a process: a fork leaves its thread behind.
fn runtime() -> Result<Handle, Error> {
    static RUNTIME: Mutex<Option<(Origin, Handle)>> = Mutex::new(None);
    let mut runtime = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, handle)) = runtime.as_ref().filter(|(origin, _)| origin.is_here()) {
        return Ok(handle.clone());
    }
    let handle = start()?;
    *runtime = Some((Origin::here(), handle.clone()));
    Ok(handle)
}

/// Callers run their own futures, but what these wait for, timers and sockets, is heard on the runtime's own thread, and so
/// are the tasks that they spawn: without it nobody would be woken.
fn start() -> Result<Handle, Error> {
    let failed = |error: std::io::Error| {
        Error::new(
            ErrorKind::Unavailable,
            format!("could not start a thread for blocking callers, use fewer threads or raise the limit: {error}"),
        )
    };
    let runtime = Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let handle = runtime.handle().clone();
    let drive = move || runtime.block_on(pending::<()>());
    thread::Builder::new().name("tenure-blocking".into()).spawn(drive).map_err(failed)?;
    Ok(handle)
}
