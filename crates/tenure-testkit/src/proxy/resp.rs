//! Where one RESP value ends and the next begins, and the little the proxy asks of its content.

use std::mem;

/// Cuts a stream of RESP2 or RESP3 bytes into whole values.
///
/// It looks at lengths only. A stream that turns out not to be RESP (TLS, another protocol) is
/// handed on as it comes, one frame for each piece that arrived.
#[derive(Debug)]
pub(super) struct Framer {
    buffer: Vec<u8>,
    /// How far `buffer` was understood.
    scanned: usize,
    /// Elements still to come before the current value is whole. A counter is enough for nested
    /// arrays, because their elements follow one another in the stream.
    missing: usize,
    opaque: bool,
}

enum Step {
    /// An element of this length that announces so many more.
    Element(usize, usize),
    Incomplete,
    NotResp,
}

impl Framer {
    pub(super) fn new() -> Self {
        Self { buffer: Vec::new(), scanned: 0, missing: 1, opaque: false }
    }

    /// Adds bytes as they arrived.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Takes the next whole value out, if it is there.
    pub(super) fn next_frame(&mut self) -> Option<Vec<u8>> {
        while self.missing > 0 && !self.opaque {
            match step(&self.buffer[self.scanned..]) {
                Step::Element(length, more) => {
                    self.scanned += length;
                    self.missing = self.missing - 1 + more;
                }
                Step::Incomplete => return None,
                Step::NotResp => self.opaque = true,
            }
        }
        if self.opaque {
            return (!self.buffer.is_empty()).then(|| mem::take(&mut self.buffer));
        }
        let rest = self.buffer.split_off(self.scanned);
        self.scanned = 0;
        self.missing = 1;
        Some(mem::replace(&mut self.buffer, rest))
    }
}

fn step(bytes: &[u8]) -> Step {
    let Some(kind) = bytes.first() else {
        return Step::Incomplete;
    };
    if !b"+-:,#_($=!*~>%|".contains(kind) {
        return Step::NotResp;
    }
    let Some(line) = bytes.windows(2).position(|pair| pair == b"\r\n") else {
        return Step::Incomplete;
    };
    let header = line + 2;
    if b"+-:,#_(".contains(kind) {
        return Step::Element(header, 0);
    }
    let Some(count) = number(&bytes[1..line]) else {
        return Step::NotResp;
    };
    // A negative count is a null: nothing follows.
    let Ok(count) = usize::try_from(count) else {
        return Step::Element(header, 0);
    };
    match kind {
        b'$' | b'=' | b'!' => {
            let length = header + count + 2;
            if bytes.len() < length { Step::Incomplete } else { Step::Element(length, 0) }
        }
        b'%' => Step::Element(header, 2 * count),
        // Attributes belong to the value that follows them.
        b'|' => Step::Element(header, 2 * count + 1),
        _ => Step::Element(header, count),
    }
}

fn number(digits: &[u8]) -> Option<i32> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// What a frame from the server is to the client that gets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReplyKind {
    /// The answer to a request.
    Answer,
    /// A published message, which nobody asked for.
    Message,
    /// The answer to a subscribe or unsubscribe request, one for each channel.
    Confirmation,
    /// Another push of RESP3.
    Push,
}

/// Classifies a frame from the server. In RESP2 a message is an ordinary array, so it counts as
/// one only on a connection that has `subscribed`.
pub(super) fn reply_kind(frame: &[u8], subscribed: bool) -> ReplyKind {
    let push = frame.first() == Some(&b'>');
    if !push && !subscribed {
        return ReplyKind::Answer;
    }
    match first_word(frame) {
        Some(b"message" | b"pmessage" | b"smessage") => ReplyKind::Message,
        Some(word) if word.ends_with(b"subscribe") => ReplyKind::Confirmation,
        _ if push => ReplyKind::Push,
        _ => ReplyKind::Answer,
    }
}

/// Whether a request is a (un)subscribe command of any kind.
pub(super) fn is_subscription(request: &[u8]) -> bool {
    first_word(request).is_some_and(|word| word.to_ascii_lowercase().ends_with(b"subscribe"))
}

/// The first element of an array or a push, if that is a bulk string.
fn first_word(frame: &[u8]) -> Option<&[u8]> {
    if !matches!(frame.first()?, b'*' | b'>') {
        return None;
    }
    let (_, rest) = split_line(frame)?;
    let (header, rest) = split_line(rest)?;
    let length = number(header.strip_prefix(b"$")?)?;
    rest.get(..usize::try_from(length).ok()?)
}

fn split_line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.windows(2).position(|pair| pair == b"\r\n")?;
    Some((&bytes[..end], &bytes[end + 2..]))
}

#[cfg(test)]
mod tests {
    use super::{Framer, ReplyKind, is_subscription, reply_kind};

    const VALUES: [&[u8]; 14] = [
        b"+OK\r\n",
        b"-ERR no\r\n",
        b":-12\r\n",
        b"$0\r\n\r\n",
        b"$8\r\na\r\n*1\r\nb\r\n",
        b"$-1\r\n",
        b"*-1\r\n",
        b"*0\r\n",
        b"*2\r\n*2\r\n:1\r\n$-1\r\n*1\r\n+x\r\n",
        b"%2\r\n+a\r\n:1\r\n+b\r\n~2\r\n#t\r\n_\r\n",
        b">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$2\r\n\r\n\r\n",
        b"=7\r\ntxt:abc\r\n",
        b"|1\r\n+ttl\r\n,3.5\r\n*1\r\n(123\r\n",
        b"!5\r\nERR x\r\n",
    ];

    #[test]
    fn finds_the_same_values_however_the_bytes_arrive() {
        let stream = VALUES.concat();
        for piece in [1, 2, 3, 7, stream.len()] {
            let mut framer = Framer::new();
            let mut found = Vec::new();
            for bytes in stream.chunks(piece) {
                framer.push(bytes);
                while let Some(frame) = framer.next_frame() {
                    found.push(frame);
                }
            }
            assert_eq!(found, VALUES, "in pieces of {piece}");
        }
    }

    #[test]
    fn unfinished_value_stays_inside() {
        let mut framer = Framer::new();
        framer.push(b"*2\r\n$3\r\nGET\r\n$1\r\n");
        assert_eq!(framer.next_frame(), None);
        framer.push(b"k\r\n+");
        assert_eq!(framer.next_frame().unwrap(), b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n");
        assert_eq!(framer.next_frame(), None);
    }

    #[test]
    fn other_protocols_pass_as_they_come() {
        for garbage in [&b"\x16\x03\x01"[..], b"PING\r\n", b"$x\r\n"] {
            let mut framer = Framer::new();
            framer.push(garbage);
            assert_eq!(framer.next_frame().unwrap(), garbage);
            assert_eq!(framer.next_frame(), None);
            framer.push(b"more");
            assert_eq!(framer.next_frame().unwrap(), b"more");
        }
    }

    #[test]
    fn tells_messages_from_answers() {
        let plain = b"*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nx\r\n";
        assert_eq!(reply_kind(plain, true), ReplyKind::Message);
        assert_eq!(reply_kind(plain, false), ReplyKind::Answer);
        let push = b">4\r\n$8\r\npmessage\r\n$1\r\n*\r\n$1\r\nc\r\n$1\r\nx\r\n";
        assert_eq!(reply_kind(push, false), ReplyKind::Message);
        let confirmed = b">3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n";
        assert_eq!(reply_kind(confirmed, false), ReplyKind::Confirmation);
        let invalidated = b">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n";
        assert_eq!(reply_kind(invalidated, false), ReplyKind::Push);
        assert_eq!(reply_kind(b"+OK\r\n", true), ReplyKind::Answer);
    }

    #[test]
    fn tells_subscriptions_from_other_requests() {
        assert!(is_subscription(b"*2\r\n$9\r\nSUBSCRIBE\r\n$1\r\nc\r\n"));
        assert!(is_subscription(b"*1\r\n$12\r\npunsubscribe\r\n"));
        assert!(!is_subscription(b"*2\r\n$3\r\nGET\r\n$9\r\nsubscribe\r\n"));
    }
}
