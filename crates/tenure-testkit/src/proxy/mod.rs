//! `FaultProxy`: a TCP proxy that breaks the network between a client and a Redis server.

mod acceptor;
mod connection;
mod handles;
mod lanes;
mod resp;
mod rules;
mod shared;
mod traps;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod trap_tests;

use std::net::SocketAddr;
use std::sync::{Arc, mpsc as std_mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio::sync::mpsc::{self, UnboundedSender};

pub use self::handles::{DroppedReply, Held};

use self::acceptor::{Acceptor, Order};
use self::handles::Watcher;
use self::rules::{Flow, Rules};
use self::shared::Shared;
use self::traps::Plan;
use crate::servers::port::ReservedPort;

/// A TCP proxy on a port of 127.0.0.1, with a thread and a runtime of its own, so that a test
/// that blocks its runtime does not block the network.
///
/// Every control is in force when it returns, on current and future connections: what reaches
/// the proxy afterwards is treated by the new rule. Faults add up until [`heal`](Self::heal).
///
/// Both directions are cut into RESP values, so requests and replies are held, dropped and
/// matched whole. A stream that is not RESP (TLS, say) is treated piece by piece as it arrives;
/// traps then work as long as one request at a time is under way on a connection.
pub struct FaultProxy {
    addr: SocketAddr,
    shared: Arc<Shared>,
    runtime: Handle,
    /// None once the proxy is being dropped.
    orders: Option<UnboundedSender<Order>>,
    thread: Option<JoinHandle<()>>,
    _port: ReservedPort,
}

impl FaultProxy {
    /// Starts a proxy for the server at `upstream`.
    pub fn start(upstream: SocketAddr) -> Self {
        let port = ReservedPort::take();
        let addr = port.addr();
        let shared = Arc::new(Shared::default());
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime can be made: raise the limit of open files (ulimit -n)");
        let handle = runtime.handle().clone();
        let acceptor = {
            let _inside = runtime.enter();
            Acceptor::new(addr, upstream, Arc::clone(&shared))
        };
        let (orders, received) = mpsc::unbounded_channel();
        let thread = thread::Builder::new()
            .name(format!("fault-proxy-{}", addr.port()))
            .spawn(move || runtime.block_on(acceptor.run(received)))
            .expect("a thread can be started: raise the limit of processes (ulimit -u)");
        Self { addr, shared, runtime: handle, orders: Some(orders), thread: Some(thread), _port: port }
    }

    /// Where clients connect.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// `redis://127.0.0.1:port`.
    pub fn url(&self) -> String {
        format!("redis://{}", self.addr)
    }

    /// Closes every connection by a reset and refuses new ones until [`heal`](Self::heal).
    pub fn cut(&self) {
        self.order(|rules| {
            rules.cut = true;
            rules.generation += 1;
        });
    }

    /// Closes every current connection by a reset; new ones are served.
    pub fn reset(&self) {
        self.order(|rules| rules.generation += 1);
    }

    /// Holds what is sent in both directions, and the news of closed connections with it.
    /// Connections are accepted. [`heal`](Self::heal) delivers everything.
    pub fn hang(&self) {
        self.order(|rules| {
            rules.requests.flow = Flow::Hold;
            rules.replies.flow = Flow::Hold;
        });
    }

    /// [`hang`](Self::hang) for the direction to the server only.
    pub fn hang_requests(&self) {
        self.order(|rules| rules.requests.flow = Flow::Hold);
    }

    /// [`hang`](Self::hang) for the direction to the client only.
    pub fn hang_replies(&self) {
        self.order(|rules| rules.replies.flow = Flow::Hold);
    }

    /// Discards what is sent to the server: a partition. A connection that lost something is
    /// reset by [`heal`](Self::heal), as TCP never delivers a stream with a hole in it.
    pub fn drop_requests(&self) {
        self.order(|rules| rules.requests.flow = Flow::Discard);
    }

    /// [`drop_requests`](Self::drop_requests) for the other direction: requests are served by
    /// the server, and the client never hears of it.
    pub fn drop_replies(&self) {
        self.order(|rules| rules.replies.flow = Flow::Discard);
    }

    /// Delivers everything so much later, in both directions: a round trip takes twice as long.
    pub fn delay(&self, by: Duration) {
        self.order(move |rules| {
            rules.requests.delay = by;
            rules.replies.delay = by;
        });
    }

    /// [`delay`](Self::delay) for the direction to the server only.
    pub fn delay_requests(&self, by: Duration) {
        self.order(move |rules| rules.requests.delay = by);
    }

    /// [`delay`](Self::delay) for the direction to the client only.
    pub fn delay_replies(&self, by: Duration) {
        self.order(move |rules| rules.replies.delay = by);
    }

    /// Removes published messages from what the server sends; everything else passes.
    pub fn drop_messages(&self) {
        self.order(|rules| rules.drop_messages = true);
    }

    /// Ends every fault above and delivers what was held. Traps, which wait for one request,
    /// stay set.
    pub fn heal(&self) {
        self.order(|rules| {
            *rules = Rules { generation: rules.generation, ..Rules::default() };
        });
    }

    /// Sets a trap: the next request that contains `needle` goes to the server, and when the
    /// server has answered, so that it was applied, the answer is discarded and the connection
    /// closed.
    ///
    /// Needles are compared byte by byte with whole requests; `""` is in all of them. Of several
    /// traps that one request would spring, the oldest gets it.
    pub fn drop_reply_after(&self, needle: &str) -> DroppedReply {
        DroppedReply::new(self.trap(needle, Plan::DropReply))
    }

    /// Sets a trap: the next request that contains `needle` is held, and all later ones of its
    /// connection behind it, until the handle is released: a request that arrives late. It
    /// arrives even if the client has closed the connection meanwhile, or
    /// [`reset`](Self::reset) or [`cut`](Self::cut) did.
    pub fn hold_request(&self, needle: &str) -> Held {
        self.held(needle, Plan::HoldRequest)
    }

    /// Sets a trap: the next request that contains `needle` goes to the server, and the answer,
    /// with all that follows it on its connection, is held until the handle is released.
    pub fn pause_before_reply(&self, needle: &str) -> Held {
        self.held(needle, Plan::HoldReply)
    }

    /// The number of connections that clients have open now.
    pub fn connections(&self) -> usize {
        self.shared.open()
    }

    /// The number of connections accepted so far.
    pub fn accepted(&self) -> usize {
        self.shared.accepted()
    }

    /// The number of requests containing `needle` that clients have sent so far, delivered or
    /// not. The proxy remembers every request for this, so it is no tool for long benchmarks.
    pub fn requests_seen(&self, needle: &str) -> usize {
        self.shared.requests_seen(needle.as_bytes())
    }

    fn held(&self, needle: &str, plan: Plan) -> Held {
        Held::new(self.trap(needle, plan), Arc::clone(self.shared.traps()))
    }

    fn trap(&self, needle: &str, plan: Plan) -> Watcher {
        Watcher {
            progress: self.shared.traps().set(needle.as_bytes(), plan),
            needle: needle.to_owned(),
            runtime: self.runtime.clone(),
        }
    }

    fn order(&self, change: impl FnOnce(&mut Rules) + Send + 'static) {
        let (in_force, done) = std_mpsc::channel();
        let change = Box::new(change);
        if let Some(orders) = &self.orders {
            // Should the proxy's thread have died, the line below says so.
            let _ = orders.send(Order { change, in_force });
        }
        done.recv().expect("the proxy's thread has panicked: see its message above");
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the proxy's thread has been printed; a second one here would abort.
            let _ = thread.join();
        }
    }
}
