//! Futures that are dropped after so many polls.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

/// How long it takes until what was sent has been answered, and nobody was there to hear of it.
const LATER: Duration = Duration::from_millis(20);

/// When a future is dropped after its last poll.
#[derive(Debug, Clone, Copy)]
enum Dropped {
    /// Before anybody else runs: what it wanted to send may never leave.
    AtOnce,
    /// When what it sent has been answered, and it was not polled again to hear of it.
    Later,
}

/// So many polls, and then it is dropped.
#[derive(Clone, Copy)]
pub(super) struct Cut {
    polls: usize,
    dropped: Dropped,
}

impl Cut {
    /// Polls a future so often, each time it asks for it, and drops it. What it came to, if it was done by then.
    pub(super) async fn off<F: Future>(self, future: F) -> Option<F::Output> {
        let mut future = pin!(future);
        let mut left = self.polls;
        let output = poll_fn(|context| {
            if left == 0 {
                return Poll::Ready(None);
            }
            left -= 1;
            match future.as_mut().poll(context) {
                Poll::Ready(output) => Poll::Ready(Some(output)),
                Poll::Pending if left == 0 => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            }
        })
        .await;
        if output.is_none() && matches!(self.dropped, Dropped::Later) {
            tokio::time::sleep(LATER).await;
        }
        output
    }
}

/// Cuts something off later and later, until it says that it was done before.
pub(super) async fn sweep(what: &str, mut is_done: impl AsyncFnMut(Cut) -> bool) {
    for dropped in [Dropped::AtOnce, Dropped::Later] {
        for polls in 0.. {
            eprintln!("{what}: {polls} polls, dropped {dropped:?}");
            if is_done(Cut { polls, dropped }).await {
                break;
            }
        }
    }
}
