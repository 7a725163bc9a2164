//! How one who waits for a lock is called.

use crate::inner::Inner;
use crate::queue::{Turn, Word};
use crate::wakeups::{Expected, Topic, Watch};
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;
use tenure_kernel::{Busy, Claim, Key, Kind};

/// However sure we are to be called, we also look by ourselves this often. It keeps a place in line as well.
const SAFETY_POLL: Duration = Duration::from_secs(1);
/// Never look again sooner than this, whatever the store says remains: no busy loop, ever.
const BREATH: Duration = Duration::from_millis(2);
/// So many of a line look when something ends by itself, or when one who calls nobody leaves. The others need not.
const NEAR: u32 = 8;

/// How one who waits for a lock is called.
pub(super) enum Way {
    /// Not at all: it looks when it said it would.
    Alone,
    /// It has its client's turn to listen for the lock.
    Turn(Turn),
    /// It stands in line, and is called by its claim unless it polls.
    Line {
        polls: bool,
        expected: Option<Expected>,
        /// For what those say who do not call.
        watch: Option<Watch>,
    },
}

/// What had been heard when the lock was asked for: what comes later is news.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Heard {
    /// Of the lock, if we could hear it.
    pub(super) all: Option<u64>,
    /// Of our own claim.
    own: u64,
}

impl Heard {
    pub(super) fn all(epoch: u64) -> Self {
        Self { all: Some(epoch), own: 0 }
    }
}

impl Way {
    pub(super) fn line(polls: bool) -> Self {
        Self::Line { polls, expected: None, watch: None }
    }

    /// For how long it may be silent: whoever stands in line says often enough that it still does, for the line waits for
    /// it when its turn comes.
    pub(super) fn silence(&self) -> Duration {
        match self {
            Self::Line { .. } => SAFETY_POLL,
            Self::Alone | Self::Turn(_) => Duration::MAX,
        }
    }

    /// Sees to it that a call will be heard. What has been heard so far, to be read before the lock is asked.
    pub(super) fn listen(&mut self, client: &Arc<Inner>, claim: &Claim) -> Heard {
        match self {
            Self::Alone | Self::Line { polls: true, .. } => Heard::default(),
            Self::Turn(turn) => Heard { all: turn.watch.as_ref().map(Watch::epoch), own: 0 },
            Self::Line { expected, watch, .. } => {
                if expected.as_ref().is_none_or(|expected| expected.claim() != claim) {
                    *expected = Some(client.hub.expect(claim));
                }
                let own = expected.as_ref().map_or(0, Expected::epoch);
                Heard { all: watch.as_ref().map(Watch::epoch), own }
            }
        }
    }

    /// What the last to have the turn left for us.
    pub(super) fn word(&mut self) -> Option<Box<Word>> {
        match self {
            Self::Turn(turn) => turn.word.take(),
            _ => None,
        }
    }

    /// Until we are called, or may have been.
    pub(super) async fn called(
        &mut self,
        client: &Arc<Inner>,
        (kind, key): (Kind, &Key),
        busy: Option<&Busy>,
        heard: Heard,
    ) {
        match self {
            Self::Alone => pending().await,
            Self::Turn(turn) => client.hub.news(&mut turn.watch, Topic::of(kind, key), heard.all).await,
            Self::Line { expected, watch, .. } => {
                let Some(expected) = expected else { return };
                if client.shared.backend.calls_apart(kind) {
                    expected.listen_apart(Topic::of(kind, key));
                }
                let hears_all = listens_to_all(kind, expected.claim(), busy);
                // Where nobody is called, those whose turn may be next hear of this client's own releases at least.
                if !hears_all && (client.shared.is_told() || !is_near(busy)) {
                    return expected.called(heard.own).await;
                }
                tokio::select! {
                    () = expected.called(heard.own) => {}
                    () = client.hub.news(watch, Topic::of(kind, key), heard.all) => {}
                }
            }
        }
    }
}

/// Whether one who stands in line has to hear what is said to everyone: those who read are let in together, a claim under
/// others goes in past the line, and a holder of another library calls nobody by name. Of a semaphore, nobody knows whether
/// another library has permits, and whoever comes first listens for all.
fn listens_to_all(kind: Kind, claim: &Claim, busy: Option<&Busy>) -> bool {
    let stranger = busy.and_then(|busy| busy.holder.as_ref()).is_some_and(|holder| holder.token.is_none());
    let is_next = busy.is_some_and(|busy| busy.ahead == Some(0));
    kind == Kind::Read || claim.is_nested() || (stranger && is_near(busy)) || (kind == Kind::Semaphore && is_next)
}

fn is_near(busy: Option<&Busy>) -> bool {
    busy.and_then(|busy| busy.ahead).is_none_or(|ahead| ahead < NEAR)
}

/// How long to wait for a call before looking again.
pub(super) fn poll(busy: Option<&Busy>) -> Duration {
    let again = busy.and_then(|busy| busy.again).filter(|_| is_near(busy));
    // The lease is counted in whole milliseconds: one more makes sure that it is over.
    again.map_or(SAFETY_POLL, |left| (left + Duration::from_millis(1)).clamp(BREATH, SAFETY_POLL))
}
