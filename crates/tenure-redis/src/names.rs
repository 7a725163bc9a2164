//! The names of keys and channels. The lock's key is the user's; all others follow Redisson's brace rule, so that
//! everything about one lock lies in one slot of a cluster.

use redis::{RedisWrite, ToRedisArgs, ToSingleRedisArg};
use std::fmt;
use std::io::Write;
use tenure_core::{Claim, Key, Kind};

/// The largest token handed out so far.
pub(crate) const WATERMARK: &str = "tenure:fence";
/// What a client's own channel begins with; its id follows.
pub(crate) const NOTICE: &str = "tenure:notice:";

/// The name of something that belongs to a lock, written where it is needed without being put together first.
#[derive(Clone, Copy)]
pub(crate) struct Beside<'a> {
    what: &'static str,
    key: &'a Key,
    entry: Option<(&'a Claim, u32)>,
}

/// Where releases of a lock are made known; a Java service on Redisson publishes and listens there too.
pub(crate) fn channel(kind: Kind, key: &Key) -> Beside<'_> {
    let what = match kind {
        Kind::Read | Kind::Write => "redisson_rwlock",
        Kind::Semaphore | Kind::Permits => "redisson_sc",
        Kind::Latch => LATCHES,
        _ => "redisson_lock__channel",
    };
    Beside { what, key, entry: None }
}

/// What a latch's channel begins with. It is named by a rule of its own: its key is always put into braces.
const LATCHES: &str = "redisson_countdownlatch__channel__";

/// Who has permits of a semaphore, and how many there are.
pub(crate) fn permits(key: &Key) -> Beside<'_> {
    Beside { what: "tenure:permits", key, entry: None }
}

/// When the leases on permits end.
pub(crate) fn permit_ends(key: &Key) -> Beside<'_> {
    Beside { what: "tenure:permits:ends", key, entry: None }
}

/// How many permits each in a semaphore's line wants.
pub(crate) fn wants(key: &Key) -> Beside<'_> {
    Beside { what: "tenure:queue:wants", key, entry: None }
}

/// Redisson's names of permits that are taken, by when they end.
pub(crate) fn named(key: &Key) -> String {
    format!("{}:timeout", readers_prefix(key))
}

/// Which round a latch is in.
pub(crate) fn round(key: &Key) -> Beside<'_> {
    Beside { what: "tenure:latch", key, entry: None }
}

/// The ids that a latch was counted down with.
pub(crate) fn counted(key: &Key) -> Beside<'_> {
    Beside { what: "tenure:latch:ids", key, entry: None }
}

/// The count of a fenced lock's tokens, which Redisson keeps for ever.
pub(crate) fn tokens(key: &Key) -> Beside<'_> {
    Beside { what: "redisson_lock_token", key, entry: None }
}

/// Where the clients that wait for a lock stand in line.
pub(crate) fn line(key: &Key) -> Beside<'_> {
    Beside { what: "tenure:line", key, entry: None }
}

/// The line for a fair lock, by when each came to it.
pub(crate) fn queue(key: &Key) -> Beside<'_> {
    Beside { what: "tenure:queue", key, entry: None }
}

/// Until when each place in that line is kept.
pub(crate) fn queue_places(key: &Key) -> Beside<'_> {
    Beside { what: "tenure:queue:places", key, entry: None }
}

/// Who has a side of a read-write lock, by when their leases end.
pub(crate) fn side(kind: Kind, key: &Key) -> Beside<'_> {
    Beside { what: if kind == Kind::Read { "tenure:reading" } else { "tenure:writing" }, key, entry: None }
}

/// Who waits for a side of a read-write lock, by when they came.
pub(crate) fn waiting(kind: Kind, key: &Key) -> Beside<'_> {
    Beside { what: if kind == Kind::Read { "tenure:readers" } else { "tenure:writers" }, key, entry: None }
}

/// Until when each place in the line for a read-write lock is kept.
pub(crate) fn places(key: &Key) -> Beside<'_> {
    Beside { what: "tenure:places", key, entry: None }
}

/// By when readers have come who go before the next writer.
pub(crate) fn pass(key: &Key) -> Beside<'_> {
    Beside { what: "tenure:pass", key, entry: None }
}

/// Redisson's line for a fair lock.
pub(crate) fn redisson_queue(key: &Key) -> Beside<'_> {
    Beside { what: "redisson_lock_queue", key, entry: None }
}

/// Until when Redisson waits for each in that line.
pub(crate) fn redisson_patience(key: &Key) -> Beside<'_> {
    Beside { what: "redisson_lock_timeout", key, entry: None }
}

/// What our claims on a read-write lock in Redisson's layout are.
pub(crate) fn shares(key: &Key) -> Beside<'_> {
    Beside { what: "tenure:shares", key, entry: None }
}

/// What the keys begin with that last as long as Redisson's readers' leases.
pub(crate) fn readers_prefix(key: &Key) -> String {
    if key.as_str().contains('{') { key.to_string() } else { format!("{{{key}}}") }
}

/// Where it is remembered that an entry was given up.
pub(crate) fn tombstone<'a>(key: &'a Key, claim: &'a Claim, entry: u32) -> Beside<'a> {
    Beside { what: "tenure:cancelled", key, entry: Some((claim, entry)) }
}

/// Where a client's card lies.
pub(crate) fn card(client: &str) -> String {
    format!("tenure:client:{client}")
}

/// Where a client is told what concerns it alone.
pub(crate) fn notice(client: &str) -> String {
    format!("{NOTICE}{client}")
}

impl Beside<'_> {
    /// All of it but the entry.
    fn parts(&self) -> [&str; 5] {
        let braced = self.key.as_str().contains('{') && self.what != LATCHES;
        let (open, close) = match braced {
            // What is ours tells `x` from `{x}`, which Redisson's rule does not.
            true if self.what.starts_with("tenure:") => (":", ""),
            true => ("", ""),
            false => ("{", "}"),
        };
        [self.what, if self.what == LATCHES { "" } else { ":" }, open, self.key.as_str(), close]
    }
}

impl fmt::Display for Beside<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts().into_iter().try_for_each(|part| f.write_str(part))?;
        match self.entry {
            Some((claim, entry)) => write!(f, ":{claim}/{entry}"),
            None => Ok(()),
        }
    }
}

impl ToRedisArgs for Beside<'_> {
    fn write_redis_args<W: ?Sized + RedisWrite>(&self, out: &mut W) {
        // Straight into the command, without the detour by a formatter; a command takes whatever is written to it.
        let mut name = out.writer_for_next_arg();
        for part in self.parts() {
            let _ = name.write_all(part.as_bytes());
        }
        if let Some((claim, entry)) = self.entry {
            for part in [":", claim.as_str(), "/"] {
                let _ = name.write_all(part.as_bytes());
            }
            let _ = write!(name, "{entry}");
        }
    }
}

impl ToSingleRedisArg for Beside<'_> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_brace_rule() {
        let (plain, braced) = (Key::new("order:pay").unwrap(), Key::new("{order}:pay").unwrap());
        assert_eq!(channel(Kind::Simple, &plain).to_string(), "redisson_lock__channel:{order:pay}");
        assert_eq!(channel(Kind::Fair, &braced).to_string(), "redisson_lock__channel:{order}:pay");
        assert_eq!(channel(Kind::Permits, &braced).to_string(), "redisson_sc:{order}:pay");
        assert_eq!(channel(Kind::Latch, &plain).to_string(), "redisson_countdownlatch__channel__{order:pay}");
        assert_eq!(channel(Kind::Latch, &braced).to_string(), "redisson_countdownlatch__channel__{{order}:pay}");
        assert_eq!([named(&plain), named(&braced)], ["{order:pay}:timeout", "{order}:pay:timeout"]);
        assert_eq!(tombstone(&plain, &Claim::new("c", 7), 2).to_string(), "tenure:cancelled:{order:pay}:c:7/2");
        assert_eq!(tombstone(&braced, &Claim::new("c", 7), 2).to_string(), "tenure:cancelled::{order}:pay:c:7/2");
    }
}
