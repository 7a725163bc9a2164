//! The task that accepts connections and carries out what the test orders.

use std::convert::Infallible;
use std::future;
use std::mem;
use std::net::SocketAddr;
use std::sync::{Arc, mpsc as std_mpsc};

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};

use super::connection::{Link, serve};
use super::rules::Rules;
use super::shared::Shared;
use crate::servers::port::shareable_socket;

/// A change of the rules, and where to say that it is in force.
pub(super) struct Order {
    pub(super) change: Box<dyn FnOnce(&mut Rules) + Send>,
    pub(super) in_force: std_mpsc::Sender<()>,
}

/// The accepting side of a proxy.
pub(super) struct Acceptor {
    addr: SocketAddr,
    upstream: SocketAddr,
    shared: Arc<Shared>,
    rules: watch::Sender<Rules>,
    /// None while new connections are refused.
    listener: Option<TcpListener>,
    clients: Clients,
}

/// The client sides of one generation of connections: each holds a clone of `open`, so `closed`
/// ends when the last one is gone.
struct Clients {
    open: mpsc::Sender<Infallible>,
    closed: mpsc::Receiver<Infallible>,
}

impl Acceptor {
    /// Listens on `addr`. To be called inside the proxy's runtime.
    pub(super) fn new(addr: SocketAddr, upstream: SocketAddr, shared: Arc<Shared>) -> Self {
        Self {
            addr,
            upstream,
            shared,
            rules: watch::Sender::new(Rules::default()),
            listener: Some(listen(addr)),
            clients: Clients::new(),
        }
    }

    /// Serves until the other end of `orders` is dropped.
    pub(super) async fn run(mut self, mut orders: mpsc::UnboundedReceiver<Order>) {
        loop {
            tokio::select! {
                order = orders.recv() => match order {
                    Some(order) => self.obey(order).await,
                    None => return,
                },
                client = accept(self.listener.as_ref()) => self.begin(client),
            }
        }
    }

    fn begin(&self, client: TcpStream) {
        let link = Link {
            shared: Arc::clone(&self.shared),
            rules: self.rules.subscribe(),
            generation: self.rules.borrow().generation,
            open: self.shared.opened(),
            client_side: self.clients.open.clone(),
        };
        tokio::spawn(serve(client, self.upstream, link));
    }

    async fn obey(&mut self, order: Order) {
        let before = *self.rules.borrow();
        self.rules.send_modify(order.change);
        let now = *self.rules.borrow();
        let closes = now.generation != before.generation;
        if now.cut {
            self.listener = None;
        } else if before.cut || closes {
            // Closing the old listener resets the clients that nobody has accepted yet. The new
            // one is there first, so that nobody is refused in between.
            self.listener = Some(listen(self.addr));
        }
        if closes {
            mem::replace(&mut self.clients, Clients::new()).all_closed().await;
        }
        // A test that no longer waits for the order has been killed.
        let _ = order.in_force.send(());
    }
}

impl Clients {
    fn new() -> Self {
        let (open, closed) = mpsc::channel(1);
        Self { open, closed }
    }

    async fn all_closed(self) {
        let Self { open, mut closed } = self;
        drop(open);
        closed.recv().await;
    }
}

async fn accept(listener: Option<&TcpListener>) -> TcpStream {
    loop {
        match listener {
            None => future::pending().await,
            // An error is the news of a client that left before it was accepted.
            Some(listener) => {
                if let Ok((client, _)) = listener.accept().await {
                    return client;
                }
            }
        }
    }
}

fn listen(addr: SocketAddr) -> TcpListener {
    shareable_socket(addr)
        .and_then(|socket| socket.listen(1024))
        .unwrap_or_else(|error| panic!("the proxy cannot listen on {addr}, which it reserved: {error}"))
}
