//! Guarded writes to Redis, for any driver: the words of a command, and what its reply means.
//!
//! The newest token seen lies in a [companion] key, in the same slot of a cluster as the key itself. One script checks
//! the token and writes, so that nothing comes in between. The words begin with `EVAL`; with the crate `redis`:
//!
//! ```
//! # fn send(words: &[Vec<u8>]) -> i64 { assert_eq!(words[0], b"EVAL"); 0 }
//! # fn main() -> Result<(), tenure_core::Error> {
//! # let token = 1_784_000_000_000_000;
//! use tenure_core::fence::redis;
//!
//! let words = redis::set("account:7", "50", token)?;
//! let reply = send(&words); // redis::Cmd::new().arg(&words).query::<i64>(&mut connection)?
//! redis::outcome(token, reply)?;
//! # Ok(()) }
//! ```
//!
//! An error of the server in place of a reply means that nothing was written, as ever; a lost reply, that it may have
//! been: send it again, with the same token. A companion lives for ever, also when its key was deleted: who comes too late
//! must not bring it back. A server that may evict keys may evict companions, so use `maxmemory-policy noeviction`.

use super::{Refused, exact};
use crate::{Error, Token};

/// The check, to begin a script of your own with. It goes on to what follows if no later holder has been here.
/// Otherwise it ends the script with the newest token, an integer of 1 at least.
///
/// `KEYS[1]` is what is written, `KEYS[2]` its [companion], `ARGV[1]` the token. [`eval`] puts it all together.
pub const CHECK: &str = include_str!("../../scripts/fence/check.lua");

/// `SET key value`, if no later holder has been here.
///
/// # Errors
///
/// [`Invalid`](crate::ErrorKind::Invalid) for a token that no lock has handed out, and for a key that begins with `tenure:`.
pub fn set(key: impl AsRef<[u8]>, value: impl AsRef<[u8]>, token: Token) -> Result<Vec<Vec<u8>>, Error> {
    eval(include_str!("../../scripts/fence/set.lua"), key, token, &[value.as_ref()])
}

/// `HSET key field value`, if no later holder has been here.
///
/// # Errors
///
/// As [`set`].
pub fn hset(
    key: impl AsRef<[u8]>,
    field: impl AsRef<[u8]>,
    value: impl AsRef<[u8]>,
    token: Token,
) -> Result<Vec<Vec<u8>>, Error> {
    eval(include_str!("../../scripts/fence/hset.lua"), key, token, &[field.as_ref(), value.as_ref()])
}

/// `DEL key`, if no later holder has been here.
///
/// # Errors
///
/// As [`set`].
pub fn del(key: impl AsRef<[u8]>, token: Token) -> Result<Vec<Vec<u8>>, Error> {
    eval::<&[u8]>(include_str!("../../scripts/fence/del.lua"), key, token, &[])
}

/// Leaves the token and does nothing else: from now on older ones are refused. Send it before reading what a write is to be
/// decided by.
///
/// # Errors
///
/// As [`set`].
pub fn pass(key: impl AsRef<[u8]>, token: Token) -> Result<Vec<Vec<u8>>, Error> {
    eval::<&[u8]>("return 0", key, token, &[])
}

/// A script of your own, which runs if no later holder has been here. `KEYS[1]` is the key, `ARGV[2]` the first of `args`.
/// Let it return 0, or what cannot be taken for a token.
///
/// ```
/// # fn main() -> Result<(), tenure_core::Error> {
/// use tenure_core::fence::redis;
///
/// let pay = "redis.call('DECRBY', KEYS[1], ARGV[2]) return 0";
/// let words = redis::eval(pay, "account:7", 1_784_000_000_000_000, &["50"])?;
/// assert_eq!(words[3..], [&b"account:7"[..], b"tenure:newest:{account:7}", b"1784000000000000", b"50"]);
/// # Ok(()) }
/// ```
///
/// # Errors
///
/// As [`set`].
pub fn eval<A: AsRef<[u8]>>(
    body: &str,
    key: impl AsRef<[u8]>,
    token: Token,
    args: &[A],
) -> Result<Vec<Vec<u8>>, Error> {
    if key.as_ref().starts_with(b"tenure:") {
        let key = String::from_utf8_lossy(key.as_ref());
        return Err(Error::invalid(format!(
            "keys that begin with `tenure:` are the store's own, write to another: key=`{key}`"
        )));
    }
    let (script, token) = (format!("{CHECK}{body}").into_bytes(), exact(token)?.to_string().into_bytes());
    let mut words = vec![b"EVAL".to_vec(), script, b"2".to_vec(), key.as_ref().to_vec(), companion(key), token];
    words.extend(args.iter().map(|arg| arg.as_ref().to_vec()));
    Ok(words)
}

/// What the reply of [`set`], [`hset`], [`del`] and [`pass`] means, and that of a script which returns 0.
///
/// # Errors
///
/// [`Refused::Late`] if a later holder has been here; nothing was written.
pub fn outcome(token: Token, reply: i64) -> Result<(), Refused> {
    match reply {
        0 => Ok(()),
        newest => Err(Refused::Late { token, newest: newest.try_into().ok() }),
    }
}

/// The key beside a key that holds the newest token seen: `tenure:newest:{account:7}`. One that has a part in braces
/// keeps it: `tenure:newest::{account}:7`.
///
/// In a cluster both lie in one slot. A key with a brace that has no fellow cannot be guarded there: the server refuses
/// the script, and nothing is written.
pub fn companion(key: impl AsRef<[u8]>) -> Vec<u8> {
    let key = key.as_ref();
    let (before, after): (&[u8], &[u8]) =
        if has_tag(key) { (b"tenure:newest::", b"") } else { (b"tenure:newest:{", b"}") };
    [before, key, after].concat()
}

/// Whether the slot hangs on a part of the key: something between the first `{` and the next `}`.
fn has_tag(key: &[u8]) -> bool {
    let inside = key.iter().position(|byte| *byte == b'{').map(|open| &key[open + 1..]);
    inside.and_then(|inside| inside.iter().position(|byte| *byte == b'}')).is_some_and(|length| length > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn words_are_those_of_one_script() {
        let words = hset("a", "f", "v", 7).unwrap();
        let script = String::from_utf8(words[1].clone()).unwrap();
        assert!(script.starts_with(CHECK) && script.ends_with("return 0\n"), "{script}");
        assert_eq!(
            (&words[0][..], &words[2..]),
            (&b"EVAL"[..], &[&b"2"[..], b"a", b"tenure:newest:{a}", b"7", b"f", b"v"].map(<[u8]>::to_vec)[..])
        );
    }

    #[test]
    fn no_two_keys_share_a_companion() {
        for (key, expected) in [
            ("account:7", "tenure:newest:{account:7}"),
            ("{account}:7", "tenure:newest::{account}:7"),
            ("{account:7}", "tenure:newest::{account:7}"),
            ("{}7", "tenure:newest:{{}7}"),
            ("7}{", "tenure:newest:{7}{}"),
        ] {
            assert_eq!(String::from_utf8(companion(key)).unwrap(), expected);
        }
    }

    #[test]
    fn a_reply_is_done_or_late() {
        assert!(outcome(7, 0).is_ok());
        assert!(matches!(outcome(7, 9), Err(Refused::Late { token: 7, newest: Some(9) })));
    }

    #[test]
    fn names_of_the_stores_own_are_not_written_to() {
        for key in ["tenure:fence", "tenure:newest:{account:7}"] {
            let error = set(key, "v", 7).unwrap_err();
            assert_eq!((error.kind(), error.to_string().contains(key)), (ErrorKind::Invalid, true), "{error}");
        }
    }

    #[test]
    fn a_token_beyond_doubles_is_refused_before_it_is_sent() {
        assert_eq!(set("a", "v", 1 << 53).unwrap_err().kind(), ErrorKind::Invalid);
    }
}
