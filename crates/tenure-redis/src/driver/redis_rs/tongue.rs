//! Whether a server speaks TLS where we do not, or the other way round. Neither end would ever say so: one waits for
//! more, or hangs up.

use redis::ConnectionAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What everybody who speaks Redis's language answers, whoever asks.
const PING: &[u8] = b"PING\r\n";

/// What everybody who speaks TLS answers, if only by an alert: the shortest greeting of TLS 1.2, with one suite of ciphers
/// and 32 bytes that need not be random, as nothing comes of it.
const HELLO: &[u8] =
    b"\x16\x03\x01\x00\x2D\x01\x00\x00\x29\x03\x03TenureTenureTenureTenureTenureTe\x00\x00\x02\xC0\x2F\x01\x00";

/// What to do about it, if asking the other way is understood.
pub(super) async fn mistaken(addr: &ConnectionAddr, within: Duration) -> Option<&'static str> {
    let (host, port, asked, hint) = match addr {
        ConnectionAddr::Tcp(host, port) => {
            (host, *port, HELLO, "redis speaks TLS here, write `rediss://` instead of `redis://`")
        }
        ConnectionAddr::TcpTls { host, port, .. } => {
            (host, *port, PING, "redis does not speak TLS here, write `redis://` instead of `rediss://`")
        }
        _ => return None,
    };
    let first = tokio::time::timeout(within, first_byte(host, port, asked)).await.ok()?.ok()?;
    let is_understood = match addr {
        // An alert, or a handshake that goes on.
        ConnectionAddr::Tcp(..) => matches!(first, 0x15 | 0x16),
        _ => matches!(first, b'+' | b'-'),
    };
    is_understood.then_some(hint)
}

async fn first_byte(host: &str, port: u16, asked: &[u8]) -> std::io::Result<u8> {
    let mut stream = TcpStream::connect((host, port)).await?;
    stream.write_all(asked).await?;
    stream.read_u8().await
}
