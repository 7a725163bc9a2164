//! One proxied connection: how it begins, and the ways in which it ends.

use std::convert::Infallible;
use std::future;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};

use super::lanes::Lanes;
use super::rules::Rules;
use super::shared::{OpenConnection, Shared};
use super::traps::Snare;

/// What a new connection gets from the proxy that accepted it.
pub(super) struct Link {
    pub(super) shared: Arc<Shared>,
    pub(super) rules: watch::Receiver<Rules>,
    pub(super) generation: u64,
    pub(super) open: OpenConnection,
    /// Dropped when the client's side is closed, which `reset` and `cut` wait for.
    pub(super) client_side: mpsc::Sender<Infallible>,
}

enum Ending {
    /// By a rule.
    Severed,
    /// By the server, or by the trap that is to be told.
    Closed(Option<Snare>),
}

/// Carries one client's connection to `upstream` until either side or a rule ends it.
pub(super) async fn serve(client: TcpStream, upstream: SocketAddr, link: Link) {
    let (open, client_side) = (link.open, link.client_side);
    let lanes = Lanes::new(link.shared, link.rules, link.generation);
    let connected = tokio::select! {
        () = lanes.severed() => None,
        connected = TcpStream::connect(upstream) => connected.ok(),
    };
    let Some(server) = connected else {
        abort(&client);
        return;
    };
    for stream in [&client, &server] {
        // Only a socket that is already dead refuses, and reading from it will tell.
        let _ = stream.set_nodelay(true);
    }
    let (mut from_client, mut to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let (request_in, request_out) = mpsc::unbounded_channel();
    let (reply_in, reply_out) = mpsc::unbounded_channel();
    let server_side = async {
        tokio::join!(lanes.write_requests(request_out, to_server), lanes.read_replies(from_server, reply_in),);
        lanes.server_is_gone();
    };
    tokio::pin!(server_side);
    let ending = tokio::select! {
        biased;
        () = lanes.severed() => Ending::Severed,
        snare = lanes.write_replies(reply_out, &mut to_client) => Ending::Closed(snare),
        never = async {
            tokio::join!(
                lanes.read_requests(&mut from_client, request_in, open),
                &mut server_side,
            );
            // All that is left to end is what the client has yet to be sent.
            future::pending::<Infallible>().await
        } => match never {},
    };
    match ending {
        Ending::Severed => {
            abort(from_client.as_ref());
            to_client.forget();
            drop((from_client, client_side));
            // What a trap holds is on its way: it arrives although its sender is gone.
            if lanes.has_request_under_way() {
                server_side.await;
            }
        }
        Ending::Closed(snare) => {
            drop((from_client, to_client));
            if let Some(snare) = snare {
                snare.done();
            }
        }
    }
}

/// Makes the coming close of `stream` a reset.
fn abort(stream: &TcpStream) {
    // Only a socket that is already dead refuses.
    let _ = stream.set_zero_linger();
}
