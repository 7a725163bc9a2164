//! What this backend needs of a Redis client library, and nothing more: the terms, apart from whoever keeps them.
//!
//! The rest of the crate knows connections and their failures by these traits only. Commands and replies are redis-rs'
//! [`Cmd`] and [`Value`], as plain data.

mod redis_rs;

pub(crate) use redis_rs::RedisRs;

use redis::{Cmd, Value};
use std::time::Duration;
use tenure_core::{StoreError, StoreErrorKind};

/// Opens connections to one server.
///
/// # Contract
///
/// These are the terms of all three traits. `tests/suite/driver.rs` shows that they are kept, by what can be seen from
/// outside; `tests/suite/fault_runtimes.rs` is about runtimes, and `tests/input.rs` about secrets.
///
/// * **Nothing is sent twice.** A driver repeats no request by itself, and reconnects nothing: a new connection is only
///   opened when it is asked for.
/// * **Bounds are kept.** Whatever takes a `within` has an answer or has failed when it is over, however many others
///   wait on the same connection.
/// * **What went unanswered may have been applied**, and is told apart from what was refused.
/// * **An answer reaches whoever asked for it, or nobody.** Dropping a request's future, or giving it up in time, shifts
///   nobody else's answer.
/// * **A dead connection says so**, at once and to everyone who waits on it or comes later.
/// * **A connection lives on the runtime it was opened on**, and depends on no other.
/// * **Errors keep the server's code and words**, and never quote what we sent to be let in.
pub(crate) trait Driver: Send + Sync + 'static {
    type Link: Link;
    type Ear: Ear;

    /// Where the server is, and which of its databases is used, without user or password.
    fn address(&self) -> String;

    /// Opens a connection for commands, greeting included. If that fails, nothing was done: it is
    /// [`Unreachable`](StoreErrorKind::Unreachable) if it may go better later, and never
    /// [`Unanswered`](StoreErrorKind::Unanswered).
    fn open(&self, within: Duration) -> impl Future<Output = Result<Self::Link, StoreError>> + Send;

    /// What is wrong with how the server is spoken to, and what to do, if asking it otherwise can tell. For one who could
    /// not be reached.
    fn mistaken(&self, within: Duration) -> impl Future<Output = Option<&'static str>> + Send;

    /// Opens a connection for subscriptions; fails as [`open`](Driver::open) does.
    fn listen(&self, within: Duration) -> impl Future<Output = Result<Self::Ear, StoreError>> + Send;
}

/// A connection for commands. Its clones are one connection, which all tasks of a runtime share.
pub(crate) trait Link: Clone + Send + Sync + 'static {
    /// Sends one command and waits for its answer.
    fn send(&mut self, command: &Cmd, within: Duration) -> impl Future<Output = Answer> + Send;

    /// Sends several at once, not as a transaction, and waits for all their answers, which come in the same order.
    fn send_all(
        &mut self,
        commands: Vec<Cmd>,
        within: Duration,
    ) -> impl Future<Output = Result<Vec<Answer>, Failure>> + Send;
}

/// A connection for subscriptions, and nothing else. After a failure it is of no more use.
pub(crate) trait Ear: Send + 'static {
    /// Listens to more channels; when this returns, no message on them is missed.
    fn subscribe(
        &mut self,
        channels: &[String],
        within: Duration,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Listens to fewer.
    fn unsubscribe(
        &mut self,
        channels: &[String],
        within: Duration,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Makes sure that somebody is still there.
    fn ping(&mut self, within: Duration) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// The next message; none when the connection is gone. Dropping the future loses no message.
    fn hear(&mut self) -> impl Future<Output = Option<Message>> + Send;
}

/// One thing heard.
pub(crate) struct Message {
    pub(crate) channel: String,
    pub(crate) payload: Vec<u8>,
}

/// What became of a request.
pub(crate) type Answer = Result<Value, Failure>;

/// Why a request has no answer that could be read.
#[derive(Debug)]
pub(crate) enum Failure {
    /// No answer in time. It may have been applied; the connection may be slow or dead.
    Late,
    /// The connection is dead: another one has to be opened. It may have been applied.
    Dead(StoreError),
    /// The server does not know the script of this hash. Nothing was done.
    NoScript,
    /// The server is a replica, and writes nothing: another connection may lead to the primary. Nothing was done.
    Replica(StoreError),
    /// The server said no.
    Refused(StoreError),
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Late => crate::error::unanswered(),
            Failure::Dead(error) | Failure::Replica(error) | Failure::Refused(error) => error,
            Failure::NoScript => {
                StoreError::new(StoreErrorKind::Unexpected, "redis does not know a script that it was just told")
            }
        }
    }
}
