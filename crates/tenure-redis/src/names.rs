//! The names of keys and channels. The lock's key is the user's; all others follow Redisson's brace rule, so that
//! everything about one lock lies in one slot of a cluster.

use tenure_core::{Claim, Key};

/// The largest token handed out so far.
pub(crate) const WATERMARK: &str = "tenure:fence";
/// What a client's own channel begins with; its id follows.
pub(crate) const NOTICE: &str = "tenure:notice:";
/// What a lock's channel begins with; a Java service on Redisson publishes and listens there too.
const CHANNEL: &str = "redisson_lock__channel";
const TOMBSTONE: &str = "tenure:cancelled";

/// Where releases of a lock are made known.
pub(crate) fn channel(key: &Key) -> String {
    let key = key.as_str();
    if key.contains('{') { format!("{CHANNEL}:{key}") } else { format!("{CHANNEL}:{{{key}}}") }
}

/// Where it is remembered that an entry was given up.
pub(crate) fn tombstone(key: &Key, claim: &Claim, entry: u32) -> String {
    let (key, claim) = (key.as_str(), claim.as_str());
    if key.contains('{') {
        format!("{TOMBSTONE}:{key}:{claim}/{entry}")
    } else {
        format!("{TOMBSTONE}:{{{key}}}:{claim}/{entry}")
    }
}

/// Where a client's card lies.
pub(crate) fn card(client: &str) -> String {
    format!("tenure:client:{client}")
}

/// Where a client is told what concerns it alone.
pub(crate) fn notice(client: &str) -> String {
    format!("{NOTICE}{client}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_brace_rule() {
        let name = |key: &str| channel(&Key::new(key).unwrap());
        assert_eq!(name("order:pay"), "redisson_lock__channel:{order:pay}");
        assert_eq!(name("{order}:pay"), "redisson_lock__channel:{order}:pay");
    }
}
