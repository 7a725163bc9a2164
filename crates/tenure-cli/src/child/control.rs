//! The socket between us and a helper, which finds it as its standard input.

use rustix::io::fcntl_dupfd_cloexec;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};
use std::io::{self, IoSlice, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::time::Duration;
use tenure::Moment;
use tokio::io::AsyncReadExt;

/// What a helper says when it may be counted on.
const READY: u8 = b'r';

/// Our end, and the helper's standard input.
pub(super) fn pair() -> io::Result<(tokio::net::UnixStream, Stdio)> {
    let (ours, theirs) = UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    Ok((tokio::net::UnixStream::from_std(ours)?, OwnedFd::from(theirs).into()))
}

/// Waits until the helper may be counted on.
pub(super) async fn ready(control: &mut tokio::net::UnixStream) -> io::Result<()> {
    match control.read_u8().await {
        Ok(READY) => Ok(()),
        Ok(_) => Err(io::Error::other("the helper process said something else")),
        Err(error) => Err(io::Error::other(format!("the helper process did not start: {error}"))),
    }
}

/// Lets the helper go if it is before `until`, with the standard input that it is to have.
pub(super) fn go(control: &tokio::net::UnixStream, until: Moment, stdin: impl AsFd) -> io::Result<()> {
    let fds = [stdin.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ancillary.push(SendAncillaryMessage::ScmRights(&fds));
    // A few bytes on a socket that nothing was sent on before: there is room.
    sendmsg(control, &[IoSlice::new(&to_bytes(until))], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// The helper's end. An error if nobody handed it to us.
pub(super) fn theirs() -> io::Result<UnixStream> {
    // A copy that no other program inherits.
    let control = UnixStream::from(fcntl_dupfd_cloexec(io::stdin(), 3)?);
    control.peer_addr()?;
    Ok(control)
}

/// Tells that the helper may be counted on.
pub(super) fn say_ready(control: &mut UnixStream) -> io::Result<()> {
    control.write_all(&[READY])
}

/// Waits to be let go: until when, and the standard input to have from then on. None if the other side is gone.
pub(super) fn wait_to_go(control: &UnixStream) -> io::Result<Option<(Moment, OwnedFd)>> {
    let mut until = [0; size_of::<u64>()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    recvmsg(control, &mut [IoSliceMut::new(&mut until)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let mut stdin = None;
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(fds) = message {
            stdin = fds.last();
        }
    }
    Ok(stdin.map(|stdin| (from_bytes(until), stdin)))
}

/// A moment as it goes over the socket.
pub(super) fn to_bytes(moment: Moment) -> [u8; 8] {
    u64::try_from(moment.since_zero().as_nanos()).unwrap_or(u64::MAX).to_be_bytes()
}

/// The moment that came over the socket.
pub(super) fn from_bytes(bytes: [u8; 8]) -> Moment {
    Moment::at(Duration::from_nanos(u64::from_be_bytes(bytes)))
}
