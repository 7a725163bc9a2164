//! The two directions of a connection, each with a reader and a writer.

use std::collections::VecDeque;
use std::future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::sync::watch;
use tokio::time::Instant;

use super::resp::{Framer, ReplyKind, is_subscription, reply_kind};
use super::rules::{Direction, Gate, Rules, Verdict};
use super::shared::{OpenConnection, Shared};
use super::traps::{Plan, Snare};

/// A frame on its way. Readers never wait for writers: the proxy sees all that is sent, and
/// when, whatever it then does with it.
pub(super) struct Arrival {
    bytes: Vec<u8>,
    at: Instant,
    snare: Option<Snare>,
}

/// What the four parts of a connection share.
pub(super) struct Lanes {
    shared: Arc<Shared>,
    rules: watch::Receiver<Rules>,
    generation: u64,
    awaited: Mutex<Awaited>,
    /// Bytes were discarded. TCP never goes on after a hole, so neither does this connection.
    lossy: AtomicBool,
    late_request: AtomicBool,
}

/// The replies that the server owes, to tell which one belongs to a trapped request.
#[derive(Default)]
struct Awaited {
    answers: VecDeque<Option<Snare>>,
    confirmations: VecDeque<Snare>,
    subscribed: bool,
}

impl Lanes {
    pub(super) fn new(shared: Arc<Shared>, rules: watch::Receiver<Rules>, generation: u64) -> Self {
        Self {
            shared,
            rules,
            generation,
            awaited: Mutex::default(),
            lossy: AtomicBool::new(false),
            late_request: AtomicBool::new(false),
        }
    }

    /// Whether the server has yet to answer a request that a trap held up.
    pub(super) fn has_request_under_way(&self) -> bool {
        self.late_request.load(Ordering::Relaxed)
    }

    /// To be called when the server closed its side: nothing more arrives there, and the traps
    /// that wait for an answer wait in vain.
    pub(super) fn server_is_gone(&self) {
        self.late_request.store(false, Ordering::Relaxed);
        *self.awaited() = Awaited::default();
    }

    /// Completes when a rule ends this connection: it is cut or reset, or the line is whole again
    /// after bytes were lost on it.
    pub(super) async fn severed(&self) {
        let mut rules = self.rules.clone();
        let ended = rules
            .wait_for(|rules| {
                let healed = self.lossy.load(Ordering::Relaxed) && !rules.discards();
                rules.generation != self.generation || healed
            })
            .await
            .is_ok();
        if !ended {
            // The proxy is going away and takes this connection with it.
            future::pending::<()>().await;
        }
    }

    /// Client to proxy. Dropping `requests` at the end tells the writer.
    pub(super) async fn read_requests(
        &self,
        client: &mut OwnedReadHalf,
        requests: UnboundedSender<Arrival>,
        open: OpenConnection,
    ) {
        read_frames(client, |bytes| {
            self.shared.saw_request(&bytes);
            forward(&requests, bytes, None);
        })
        .await;
        drop(open);
    }

    /// Proxy to server, which is where traps are sprung.
    pub(super) async fn write_requests(&self, mut requests: UnboundedReceiver<Arrival>, mut server: OwnedWriteHalf) {
        let mut gate = self.gate(Direction::Requests);
        while let Some(request) = requests.recv().await {
            if gate.pass(request.at).await == Verdict::Discard {
                self.lossy.store(true, Ordering::Relaxed);
                continue;
            }
            self.stay_if_lossy().await;
            let snare = self.shared.traps().spring(&request.bytes);
            if let Some(snare) = &snare
                && snare.plan() == Plan::HoldRequest
            {
                self.late_request.store(true, Ordering::Relaxed);
                snare.caught();
                snare.released().await;
            }
            self.await_reply(&request.bytes, snare);
            if server.write_all(&request.bytes).await.is_err() {
                // The reader of this dead socket ends the connection.
                return;
            }
        }
        gate.pass_end().await;
        // A server that is gone needs no telling.
        let _ = server.shutdown().await;
    }

    /// Server to proxy. Dropping `replies` at the end tells the writer.
    pub(super) async fn read_replies(&self, mut server: OwnedReadHalf, replies: UnboundedSender<Arrival>) {
        read_frames(&mut server, |bytes| {
            let (kind, mut snare) = self.match_reply(&bytes);
            if kind == ReplyKind::Message && self.rules.borrow().drop_messages {
                return;
            }
            if let Some(answered) = snare.take() {
                match answered.plan() {
                    Plan::HoldRequest => {
                        self.late_request.store(false, Ordering::Relaxed);
                        answered.done();
                    }
                    Plan::HoldReply => {
                        answered.caught();
                        snare = Some(answered);
                    }
                    Plan::DropReply => snare = Some(answered),
                }
            }
            forward(&replies, bytes, snare);
        })
        .await;
    }

    /// Proxy to client. Completes when the client has everything up to the end of the server's
    /// stream, or when a trap that drops a reply is due.
    pub(super) async fn write_replies(
        &self,
        mut replies: UnboundedReceiver<Arrival>,
        client: &mut OwnedWriteHalf,
    ) -> Option<Snare> {
        let mut gate = self.gate(Direction::Replies);
        while let Some(reply) = replies.recv().await {
            if let Some(snare) = &reply.snare {
                if snare.plan() == Plan::DropReply {
                    return reply.snare;
                }
                snare.released().await;
            }
            if gate.pass(reply.at).await == Verdict::Discard {
                self.lossy.store(true, Ordering::Relaxed);
                continue;
            }
            self.stay_if_lossy().await;
            // A client that left early misses its replies; its requests still go to the server.
            let _ = client.write_all(&reply.bytes).await;
            if let Some(snare) = reply.snare {
                snare.done();
            }
        }
        gate.pass_end().await;
        None
    }

    /// Keeps the first bytes after a hole from being delivered; `severed` ends the connection.
    async fn stay_if_lossy(&self) {
        if self.lossy.load(Ordering::Relaxed) {
            future::pending::<()>().await;
        }
    }

    fn await_reply(&self, request: &[u8], snare: Option<Snare>) {
        let mut awaited = self.awaited();
        if is_subscription(request) {
            awaited.subscribed = true;
            awaited.confirmations.extend(snare);
        } else {
            awaited.answers.push_back(snare);
        }
    }

    fn match_reply(&self, reply: &[u8]) -> (ReplyKind, Option<Snare>) {
        let mut awaited = self.awaited();
        let kind = reply_kind(reply, awaited.subscribed);
        let snare = match kind {
            ReplyKind::Answer => awaited.answers.pop_front().flatten(),
            ReplyKind::Confirmation => awaited.confirmations.pop_front(),
            ReplyKind::Message | ReplyKind::Push => None,
        };
        (kind, snare)
    }

    fn gate(&self, direction: Direction) -> Gate {
        Gate::new(self.rules.clone(), direction)
    }

    fn awaited(&self) -> MutexGuard<'_, Awaited> {
        self.awaited.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn forward(lane: &UnboundedSender<Arrival>, bytes: Vec<u8>, snare: Option<Snare>) {
    // The writer is gone only when its socket is.
    let _ = lane.send(Arrival { bytes, at: Instant::now(), snare });
}

/// Reads whole frames until the stream ends, in whatever way.
async fn read_frames(stream: &mut OwnedReadHalf, mut on_frame: impl FnMut(Vec<u8>)) {
    let mut framer = Framer::new();
    let mut chunk = vec![0; 16 * 1024];
    while let Ok(length @ 1..) = stream.read(&mut chunk).await {
        framer.push(&chunk[..length]);
        while let Some(frame) = framer.next_frame() {
            on_frame(frame);
        }
    }
}
