//! The faults in force, and how each direction of a connection obeys them.

use std::future;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// The faults in force on all connections of one proxy.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rules {
    /// New connections are refused.
    pub(super) cut: bool,
    /// Connections accepted under an earlier number are to be closed.
    pub(super) generation: u64,
    pub(super) requests: Lane,
    pub(super) replies: Lane,
    pub(super) drop_messages: bool,
}

/// The treatment of one direction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lane {
    pub(super) flow: Flow,
    pub(super) delay: Duration,
}

/// What happens to the bytes of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Flow {
    #[default]
    Pass,
    Hold,
    Discard,
}

/// Names a direction.
#[derive(Clone, Copy, Debug)]
pub(super) enum Direction {
    Requests,
    Replies,
}

/// What became of something that waited at a [`Gate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Deliver,
    Discard,
}

impl Rules {
    /// Whether bytes are being lost in either direction.
    pub(super) fn discards(&self) -> bool {
        self.requests.flow == Flow::Discard || self.replies.flow == Flow::Discard
    }

    fn lane(&self, direction: Direction) -> Lane {
        match direction {
            Direction::Requests => self.requests,
            Direction::Replies => self.replies,
        }
    }
}

/// The point of one direction of one connection at which the rules are applied.
pub(super) struct Gate {
    rules: watch::Receiver<Rules>,
    direction: Direction,
}

impl Gate {
    pub(super) fn new(rules: watch::Receiver<Rules>, direction: Direction) -> Self {
        Self { rules, direction }
    }

    /// Waits until the rules have decided about bytes that came in at `arrived`.
    pub(super) async fn pass(&mut self, arrived: Instant) -> Verdict {
        loop {
            let lane = self.rules.borrow_and_update().lane(self.direction);
            let due = arrived + lane.delay;
            match lane.flow {
                Flow::Hold => self.changed().await,
                _ if due > Instant::now() => {
                    tokio::select! {
                        () = sleep_until(due) => {}
                        () = self.changed() => {}
                    }
                }
                Flow::Pass => return Verdict::Deliver,
                Flow::Discard => return Verdict::Discard,
            }
        }
    }

    /// Waits until the end of the stream may be told: a line that swallows bytes swallows that
    /// news as well.
    pub(super) async fn pass_end(&mut self) {
        let arrived = Instant::now();
        while self.pass(arrived).await == Verdict::Discard {
            self.changed().await;
        }
    }

    async fn changed(&mut self) {
        if self.rules.changed().await.is_err() {
            // The proxy is going away and takes this connection with it.
            future::pending::<()>().await;
        }
    }
}
