//! The one runtime of all blocking callers, and the way into it.

use crate::origin::Origin;
use crate::per_process::{PerProcess, too_many_forks};
use crate::{Error, ErrorKind};
use std::cell::Cell;
use std::future::{Future, pending};
use std::panic::catch_unwind;
use std::task::{Context, Poll, Waker};
use std::thread;
use tokio::runtime::{Builder, Handle};
use tokio::task::coop;
use tokio_util::sync::CancellationToken;

/// A task is told to yield after 128 steps; more is a margin.
const MOST_STEPS: u8 = u8::MAX;

thread_local! {
    /// Made after a thread's first wait, and so after what tokio keeps for this thread. Thread-locals are dropped last to first:
    /// while this one is there, so are tokio's.
    static WAITED: Waited = const { Waited };
    static ENDS: Cell<bool> = const { Cell::new(false) };
}

struct Waited;

impl Drop for Waited {
    fn drop(&mut self) {
        ENDS.set(true);
    }
}

/// Whether this thread ends, so that what is dropped comes out of its thread-locals, and tokio can wait for nothing here.
pub(super) fn is_ending() -> bool {
    ENDS.get() || Handle::try_current().is_err_and(|error| error.is_thread_local_destroyed())
}

/// Blocks the calling thread until the future is done.
#[track_caller]
pub(crate) fn wait_for<T>(future: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    assert!(
        !drives_tasks(),
        "tenure::blocking was called from async code, which it would block: use the async API, or call it inside \
         `tokio::task::spawn_blocking`"
    );
    if is_ending() {
        let message =
            "this thread ends, and can wait for nothing any more: call this before its thread-locals are dropped";
        return Err(Error::new(ErrorKind::Unavailable, message));
    }
    let done = runtime()?.block_on(future);
    WAITED.with(|_| ());
    done
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
    // Threads that know of no runtime are spared the question: they drive nothing. Of tasks that are never told to yield (those in
    // `unconstrained`, for instance) tokio tells by a panic alone, of which the application's panic hook hears.
    Handle::try_current().is_ok()
        && (is_to_yield() || catch_unwind(|| drop(tokio::sync::Mutex::new(()).blocking_lock())).is_err())
}

/// Whether this thread is inside of a task that is told to yield when it has done enough, as tasks are and blocking threads are not.
/// What a task may still do is left as it is.
fn is_to_yield() -> bool {
    let mut context = Context::from_waker(Waker::noop());
    let Poll::Ready(_gives_all_back) = coop::poll_proceed(&mut context) else { return true };
    (0..MOST_STEPS).any(|_| coop::poll_proceed(&mut context).map(|step| step.made_progress()).is_pending())
}

/// The runtime, started by the first caller of a process: a fork leaves its thread behind.
fn runtime() -> Result<Handle, Error> {
    static RUNTIME: PerProcess<(Origin, Handle)> = PerProcess::new();
    let mut runtime = RUNTIME.lock().ok_or_else(too_many_forks)?;
    if let Some((_, handle)) = runtime.as_ref().filter(|(origin, _)| origin.is_here()) {
        return Ok(handle.clone());
    }
    let handle = start()?;
    // What was there is the parent's, and is left alone.
    std::mem::forget(runtime.replace((Origin::here(), handle.clone())));
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
