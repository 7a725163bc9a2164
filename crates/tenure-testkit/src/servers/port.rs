//! A port of 127.0.0.1 kept reserved while the server that uses it comes and goes.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use tokio::net::TcpSocket;

/// A bound socket that never listens. Listeners with `SO_REUSEADDR` may share its port, and the
/// kernel gives the port to nobody else, neither to a `bind` of port 0 nor to an outgoing
/// connection. So a server that is down cannot lose its port, and a client that keeps dialling
/// it cannot be handed that very port and connect to itself.
pub(crate) struct ReservedPort {
    addr: SocketAddr,
    _socket: TcpSocket,
}

impl ReservedPort {
    pub(crate) fn take() -> Self {
        let socket = shareable_socket(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
            .expect("127.0.0.1 has no free port left: close some test servers");
        let addr = socket.local_addr().expect("a bound socket knows its address");
        Self { addr, _socket: socket }
    }

    pub(crate) fn addr(&self) -> SocketAddr {
        self.addr
    }
}

/// A socket bound to `addr` that lets other sockets of this kit bind to the same address.
pub(crate) fn shareable_socket(addr: SocketAddr) -> io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    // `SO_REUSEADDR` lets one listener join a reservation; replacing a listener without a
    // moment of refusal needs two at once, which is what `SO_REUSEPORT` allows.
    socket.set_reuseport(true)?;
    socket.bind(addr)?;
    Ok(socket)
}
