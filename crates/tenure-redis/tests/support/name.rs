//! A name for a server, as DNS or a virtual address gives one: it leads new connections to wherever it points, and
//! leaves the old ones where they are.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use tenure_testkit::RedisServer;

/// The name itself; its threads end with the test's process.
pub(crate) struct Name {
    addr: SocketAddr,
    leads_to: Arc<Mutex<SocketAddr>>,
}

impl Name {
    pub(crate) fn of(server: &RedisServer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let leads_to = Arc::new(Mutex::new(server.addr()));
        let target = Arc::clone(&leads_to);
        thread::spawn(move || {
            for client in listener.incoming() {
                let to = *target.lock().unwrap();
                // A server that is down is one that hangs up.
                if let (Ok(client), Ok(server)) = (client, TcpStream::connect(to)) {
                    carry(&client, &server);
                    carry(&server, &client);
                }
            }
        });
        Self { addr, leads_to }
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://{}", self.addr)
    }

    /// From now on it leads there.
    pub(crate) fn point_at(&self, server: &RedisServer) {
        *self.leads_to.lock().unwrap() = server.addr();
    }
}

/// Passes on what one side says until it hangs up.
fn carry(from: &TcpStream, to: &TcpStream) {
    let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
    // Nobody is to wait for a small packet to become a big one.
    to.set_nodelay(true).unwrap();
    thread::spawn(move || {
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    });
}
