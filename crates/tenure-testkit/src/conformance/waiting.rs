//! Waiting for what must happen, never for time to pass.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use std::time::{Duration, Instant};
use tenure_core::{Event, Events, What};

/// Longer than anything takes that works, on a machine that has other things to do as well.
const SOON: Duration = Duration::from_secs(8);
/// How often a condition is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(3);

/// What a future gives, which must come soon.
#[track_caller]
pub(super) fn soon<F: Future>(what: &str, future: F) -> impl Future<Output = F::Output> {
    within(SOON, what, future)
}

/// What a future gives, which must come within this time.
#[track_caller]
pub(super) fn within<F: Future>(limit: Duration, what: &str, future: F) -> impl Future<Output = F::Output> {
    // The caller is read here: inside the future it would be the runtime.
    let caller = std::panic::Location::caller();
    async move {
        let outcome = tokio::time::timeout(limit, future).await;
        outcome.unwrap_or_else(|_| panic!("did not happen within {limit:?}: {what} ({caller})"))
    }
}

/// Looks until a condition holds, which must be soon.
#[track_caller]
pub(super) fn eventually(what: &str, condition: impl AsyncFnMut() -> bool) -> impl Future<Output = ()> {
    eventually_within(SOON, what, condition)
}

/// Looks until a condition holds, which must be within this time.
#[track_caller]
pub(super) fn eventually_within(
    limit: Duration,
    what: &str,
    mut condition: impl AsyncFnMut() -> bool,
) -> impl Future<Output = ()> {
    let caller = std::panic::Location::caller();
    async move {
        let began = Instant::now();
        while !condition().await {
            assert!(began.elapsed() < limit, "was not so within {limit:?}: {what} ({caller})");
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

/// The next event that is wanted, which must come soon; others are passed over.
#[track_caller]
pub(super) fn heard(events: &mut Events, what: &str, wanted: impl Fn(&What) -> bool) -> impl Future<Output = Event> {
    let next = async move {
        loop {
            let event = events.next().await.expect("the client lives");
            if wanted(&event.what) {
                return event;
            }
        }
    };
    soon(what, next)
}

/// Polls a future once, and says whether it waits.
pub(super) async fn waits<F: Future + Unpin>(future: &mut F) -> bool {
    poll_fn(|context| Poll::Ready(Pin::new(&mut *future).poll(context).is_pending())).await
}
