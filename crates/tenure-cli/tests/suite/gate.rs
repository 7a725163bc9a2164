//! The command is let go only while there is time: `tenure __exec`, spoken to as `tenure run` does.

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::fs::File;
use std::io::{IoSlice, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::Duration;
use tenure::{Clock, Moment};

/// What became of a command that is let go until a moment: whether it ran, and what was said of it.
fn let_go(until: Moment) -> (bool, Vec<u8>) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("ran");
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    let mut helper = Command::new(env!("CARGO_BIN_EXE_tenure"))
        .args(["__exec", "touch", file.to_str().unwrap()])
        .stdin(OwnedFd::from(theirs))
        .spawn()
        .unwrap();
    let mut ready = [0];
    ours.read_exact(&mut ready).unwrap();
    let stdin = File::open("/dev/null").unwrap();
    let fds = [stdin.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ancillary.push(SendAncillaryMessage::ScmRights(&fds));
    let nanos = u64::try_from(until.since_zero().as_nanos()).unwrap().to_be_bytes();
    sendmsg(&ours, &[IoSlice::new(&nanos)], &mut ancillary, SendFlags::NOSIGNAL).unwrap();
    helper.wait().unwrap();
    let mut said = Vec::new();
    ours.read_to_end(&mut said).unwrap();
    (file.exists(), said)
}

#[test]
fn a_command_is_let_go_in_time_or_not_at_all() {
    let now = Clock::system().now();
    assert_eq!(let_go(now.plus(Duration::from_secs(60))), (true, Vec::new()));
    let (ran, said) = let_go(now);
    assert!(!ran && !said.is_empty(), "{said:?}");
}
