//! A log subscriber that hangs, as one does that writes to a full pipe.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::task::spawn_blocking;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};

/// However busy the machine is.
pub(crate) const SOON: Duration = Duration::from_secs(20);

static STATE: Mutex<State> = Mutex::new(State::Open);
static CHANGED: Condvar = Condvar::new();
/// A process has one subscriber, so its tests take turns.
static TURN: tokio::sync::Mutex<u32> = tokio::sync::Mutex::const_new(0);

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Lines are written.
    Open,
    /// The next warning hangs, in this turn.
    Shut(u32),
    /// A thread hangs in it.
    Stuck(u32),
}

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn wait_while(unwanted: State) {
    let waited = CHANGED.wait_timeout_while(state(), SOON * 3, |state| *state == unwanted);
    let (state, waited) = waited.unwrap_or_else(PoisonError::into_inner);
    drop(state);
    assert!(!waited.timed_out(), "it takes too long");
}

fn set(changed: State) {
    *state() = changed;
    CHANGED.notify_all();
}

struct Stuck;

impl<S: Subscriber> Layer<S> for Stuck {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let now = *state();
        if let State::Shut(turn) | State::Stuck(turn) = now
            && *event.metadata().level() <= Level::WARN
        {
            set(State::Stuck(turn));
            wait_while(State::Stuck(turn));
        }
    }
}

/// From now on, a thread that logs a warning hangs until this is dropped.
pub(crate) struct StuckLog(tokio::sync::MutexGuard<'static, u32>);

impl StuckLog {
    pub(crate) async fn start() -> Self {
        let mut turn = TURN.lock().await;
        *turn += 1;
        // The first test sets it for all.
        let _ = tracing::subscriber::set_global_default(tracing_subscriber::registry().with(Stuck));
        set(State::Shut(*turn));
        Self(turn)
    }

    /// Returns when a thread hangs.
    pub(crate) async fn stuck(&self) {
        let turn = *self.0;
        spawn_blocking(move || wait_while(State::Shut(turn))).await.unwrap();
    }
}

impl Drop for StuckLog {
    fn drop(&mut self) {
        set(State::Open);
    }
}
