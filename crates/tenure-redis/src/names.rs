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
    client: Option<&'a str>,
}

/// Where releases of a lock are made known; a Java service on Redisson publishes and listens there too.
pub(crate) fn channel(kind: Kind, key: &Key) -> Beside<'_> {
    let what = match kind {
        Kind::Read | Kind::Write => "redisson_rwlock",
        Kind::Semaphore | Kind::Permits => "redisson_sc",
        Kind::Latch => LATCHES,
        _ => "redisson_lock__channel",
    };
    Beside { what, key, client: None }
}

/// What a latch's channel begins with. It is named by a rule of its own: its key is always put into braces.
const LATCHES: &str = "redisson_countdownlatch__channel__";

/// Who has permits of a semaphore, and how many there are.
pub(crate) fn permits(key: &Key) -> Beside<'_> {
    Beside { what: "tenure:permits", key, client: None }
}

/// When the leases on permits end.
pub(crate) fn permit_ends(key: &Key) -> Beside<'_> {
    Beside { what: "tenure:permits:ends", key, client: None }
}

/// How many permits each in a semaphore's line wants.
pub(crate) fn wants(key: &Key) -> Beside<'_> {
    Beside { what: "tenure:queue:wants", key, client: None }
}

/// Redisson's names of permits that are taken, by when they end.
pub(crate) fn named(key: &Key) -> String {
    format!("{}:timeout", readers_prefix(key))
}

/// Which round a latch is in.
pub(crate) fn round(key: &Key) -> Beside<'_> {
    Beside { what: "tenure:latch", key, client: None }
}

/// The ids that a latch was counted down with.
pub(crate) fn counted(key: &Key) -> Beside<'_> {
    Beside { what: "tenure:latch:ids", key, client: None }
}

/// The count of a fenced lock's tokens, which Redisson keeps for ever.
pub(crate) fn tokens(key: &Key) -> Beside<'_> {
    Beside { what: "redisson_lock_token", key, client: None }
}

/// Where the clients that wait for a lock stand in line.
pub(crate) fn line(key: &Key) -> Beside<'_> {
    Beside { what: "tenure:line", key, client: None }
}

/// The line for a fair lock, by when each came to it.
pub(crate) fn queue(key: &Key) -> Beside<'_> {
    Beside { what: "tenure:queue", key, client: None }
}

/// Until when each place in that line is kept.
pub(crate) fn queue_places(key: &Key) -> Beside<'_> {
    Beside { what: "tenure:queue:places", key, client: None }
}

/// Who has a side of a read-write lock, by when their leases end.
pub(crate) fn side(kind: Kind, key: &Key) -> Beside<'_> {
    Beside { what: if kind == Kind::Read { "tenure:reading" } else { "tenure:writing" }, key, client: None }
}

/// Who waits for a side of a read-write lock, by when they came.
pub(crate) fn waiting(kind: Kind, key: &Key) -> Beside<'_> {
    Beside { what: if kind == Kind::Read { "tenure:readers" } else { "tenure:writers" }, key, client: None }
}

/// Until when each place in the line for a read-write lock is kept.
pub(crate) fn places(key: &Key) -> Beside<'_> {
    Beside { what: "tenure:places", key, client: None }
}

/// By when readers have come who go before the next writer.
pub(crate) fn pass(key: &Key) -> Beside<'_> {
    Beside { what: "tenure:pass", key, client: None }
}

/// Redisson's line for a fair lock.
pub(crate) fn redisson_queue(key: &Key) -> Beside<'_> {
    Beside { what: "redisson_lock_queue", key, client: None }
}

/// Until when Redisson waits for each in that line.
pub(crate) fn redisson_patience(key: &Key) -> Beside<'_> {
    Beside { what: "redisson_lock_timeout", key, client: None }
}

/// What our claims on a read-write lock in Redisson's layout are.
pub(crate) fn shares(key: &Key) -> Beside<'_> {
    Beside { what: "tenure:shares", key, client: None }
}

/// What the keys begin with that last as long as Redisson's readers' leases.
pub(crate) fn readers_prefix(key: &Key) -> String {
    if key.as_str().contains('{') { key.to_string() } else { format!("{{{key}}}") }
}

/// Where those are kept whom force has put out until they are told.
pub(crate) fn forced(key: &Key) -> Beside<'_> {
    Beside { what: "tenure:forced", key, client: None }
}

/// Where it is remembered what is over of all that the claim's client asked for.
pub(crate) fn tombstones<'a>(key: &'a Key, claim: &'a Claim) -> Beside<'a> {
    Beside { what: "tenure:cancelled", key, client: Some(claim.client()) }
}

/// Where a client's card lies.
pub(crate) fn card(client: &str) -> String {
    format!("tenure:client:{client}")
}

/// Where a client is told what concerns it alone.
pub(crate) fn notice(client: &str) -> String {
    format!("{NOTICE}{client}")
}

/// What Redisson's names for things beside a lock begin with. The lock's name follows, which has a brace in it.
const REDISSONS: [&str; 8] = [
    "redisson_lock__channel:",
    "redisson_lock_queue:",
    "redisson_lock_timeout:",
    "redisson_lock_token:",
    "redisson_rwlock:",
    "redisson_sc:",
    "redisson_unlock_latch:",
    LATCHES,
];

/// Why there can be no lock under a key: it is the name of something beside another, which the two would spoil for each
/// other. Nothing is refused that cannot be such a name.
pub(crate) fn refused(key: &Key) -> Option<&'static str> {
    let is_lock = |name: &str| name.contains('{');
    let name = key.as_str();
    let is_lease = || {
        let (rest, number) = name.rsplit_once(':')?;
        let of = rest.strip_suffix(":rwlock_timeout")?;
        Some(!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) && is_lock(of))
    };
    if name.starts_with("tenure:") {
        Some("names that begin with `tenure:` are the store's own, choose another key, or put a prefix before it:")
    } else if REDISSONS.iter().any(|what| name.strip_prefix(what).is_some_and(is_lock)) {
        Some("this is a name of Redisson's for what lies beside a lock, choose another key:")
    } else if name.strip_suffix(":timeout").is_some_and(is_lock) {
        Some("here lies when permits of the key before `:timeout` end, choose another key:")
    } else if is_lease() == Some(true) {
        Some("here lies when a reader's lease ends, choose another key:")
    } else {
        None
    }
}

impl Beside<'_> {
    /// All of it but the client.
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
        match self.client {
            Some(client) => write!(f, ":{client}"),
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
        for part in self.client.iter().flat_map(|client| [":", client]) {
            let _ = name.write_all(part.as_bytes());
        }
    }
}

impl ToSingleRedisArg for Beside<'_> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_beside_a_lock_is_a_key() {
        for key in ["order:pay", "{order}:pay", "{order}", "a{b", "}{"].map(|key| Key::new(key).unwrap()) {
            let claim = Claim::new("01234567-89ab-cdef-0123-456789abcdef", 7);
            let beside = [
                permits(&key),
                permit_ends(&key),
                wants(&key),
                round(&key),
                counted(&key),
                tokens(&key),
                line(&key),
                queue(&key),
                queue_places(&key),
                side(Kind::Read, &key),
                side(Kind::Write, &key),
                waiting(Kind::Read, &key),
                waiting(Kind::Write, &key),
                places(&key),
                pass(&key),
                redisson_queue(&key),
                redisson_patience(&key),
                shares(&key),
                forced(&key),
                tombstones(&key, &claim),
            ];
            let channels = Kind::ALL.iter().map(|kind| channel(*kind, &key));
            let mut all: Vec<String> = beside.into_iter().chain(channels).map(|name| name.to_string()).collect();
            all.extend([named(&key), card(claim.as_str()), notice(claim.as_str()), WATERMARK.to_owned()]);
            all.push(format!("{}:{claim}:rwlock_timeout:12", readers_prefix(&key)));
            all.push(String::from_utf8(tenure_core::fence::redis::companion(key.as_str())).unwrap());
            let taken: Vec<&String> = all.iter().filter(|name| refused(&Key::new(name).unwrap()).is_none()).collect();
            assert!(taken.is_empty(), "of what lies beside `{key}`, these could be locked: {taken:?}");
        }
    }

    #[test]
    fn a_name_that_nothing_beside_a_lock_can_have_is_a_key() {
        for name in [
            "tenure",
            "tenured:x",
            "my:tenure:x",
            "{tenure:x}",
            "order:timeout",
            "{order}:timeouts",
            ":timeout",
            "redisson_lock_queue:order",
            "redisson_sc",
            "redisson_rwlock{order}",
            "c:1:rwlock_timeout:1",
            "{order}:c:1:rwlock_timeout",
            "{order}:c:1:rwlock_timeout:",
            "{order}:c:1:rwlock_timeout:x",
        ] {
            assert_eq!(refused(&Key::new(name).unwrap()), None, "{name}");
        }
    }

    #[test]
    fn names_follow_the_brace_rule() {
        let (plain, braced) = (Key::new("order:pay").unwrap(), Key::new("{order}:pay").unwrap());
        assert_eq!(channel(Kind::Simple, &plain).to_string(), "redisson_lock__channel:{order:pay}");
        assert_eq!(channel(Kind::Fair, &braced).to_string(), "redisson_lock__channel:{order}:pay");
        assert_eq!(channel(Kind::Permits, &braced).to_string(), "redisson_sc:{order}:pay");
        assert_eq!(channel(Kind::Latch, &plain).to_string(), "redisson_countdownlatch__channel__{order:pay}");
        assert_eq!(channel(Kind::Latch, &braced).to_string(), "redisson_countdownlatch__channel__{{order}:pay}");
        assert_eq!([named(&plain), named(&braced)], ["{order:pay}:timeout", "{order}:pay:timeout"]);
        assert_eq!(tombstones(&plain, &Claim::new("c", 7)).to_string(), "tenure:cancelled:{order:pay}:c");
        assert_eq!(tombstones(&braced, &Claim::new("c", 7)).to_string(), "tenure:cancelled::{order}:pay:c");
    }
}
