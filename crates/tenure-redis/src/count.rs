//! Calls about what is counted: semaphores, permits with names, and latches.

pub(crate) mod reply;

use crate::call::{Call, Millis, Stretches};
use crate::names;
use crate::script::{self, Script};
use redis::{Cmd, RedisWrite, ToRedisArgs};
use std::borrow::Cow;
use std::time::Duration;
use tenure_core::kernel::{Cancelled, Counting, Stay, Supplying, Want};
use tenure_core::{Claim, Key, Kind, Operation, Sight, StoreError, StoreErrorKind};

/// Whether locks of this kind are counts.
pub(crate) const fn is_counted(kind: Kind) -> bool {
    kind.has_permits() || matches!(kind, Kind::Latch)
}

/// One operation on a count.
pub(crate) enum Count<'a> {
    Take { key: &'a Key, claim: &'a Claim, want: u32, of: Option<u32>, lease: Duration, stay: Stay },
    TakeNamed { key: &'a Key, claim: &'a Claim, ids: &'a [Claim], of: Option<u32>, lease: Duration },
    Release { key: &'a Key, claim: &'a Claim, keep: Duration, cancel: Option<&'a Cancelled> },
    Forget { key: &'a Key, claim: &'a Claim, cancel: &'a Cancelled },
    GiveBack { key: &'a Key, ids: &'a [Claim], all: bool, cancel: Option<&'a (Claim, Cancelled)> },
    Supply { kind: Kind, key: &'a Key, supplying: Supplying },
    Latch { key: &'a Key, counting: &'a Counting },
    Look { key: &'a Key, force: bool },
}

impl<'a> Count<'a> {
    /// The call for an operation, none if it can come to nothing: nobody goes in twice where there are counts, and none of
    /// the locks' operations are about a latch.
    pub(crate) fn new(kind: Kind, key: &'a Key, operation: &'a Operation) -> Result<Option<Self>, StoreError> {
        Ok(Some(match (operation, kind) {
            (Operation::Inspect, _) => Self::Look { key, force: false },
            (Operation::ForceRelease, _) => Self::Look { key, force: true },
            (Operation::Take { claim, want: Want::Some(want), of, lease, stay }, Kind::Semaphore) => {
                Self::Take { key, claim, want: *want, of: *of, lease: *lease, stay: *stay }
            }
            (Operation::Take { claim, want: Want::Named(ids), of, lease, .. }, Kind::Permits) => {
                Self::TakeNamed { key, claim, ids, of: *of, lease: *lease }
            }
            (Operation::Take { .. }, Kind::Semaphore | Kind::Permits) => {
                return Err(StoreError::new(
                    StoreErrorKind::Unsupported,
                    "a semaphore's permits have no names on redis, and all others do",
                ));
            }
            (Operation::Release { claim, left: 0, keep, cancel, .. }, Kind::Semaphore) => {
                Self::Release { key, claim, keep: *keep, cancel: cancel.as_ref() }
            }
            (Operation::Release { claim, left: 0, cancel: Some(cancel), .. }, Kind::Permits) => {
                Self::Forget { key, claim, cancel }
            }
            (Operation::GiveBack { ids, all, cancel }, Kind::Permits) => {
                Self::GiveBack { key, ids, all: *all, cancel: cancel.as_ref() }
            }
            (Operation::Supply(supplying), Kind::Semaphore | Kind::Permits) => {
                Self::Supply { kind, key, supplying: *supplying }
            }
            (Operation::Count(counting), Kind::Latch) => Self::Latch { key, counting },
            _ => return Ok(None),
        }))
    }

    fn key(&self) -> &'a Key {
        match self {
            Self::Take { key, .. }
            | Self::TakeNamed { key, .. }
            | Self::Release { key, .. }
            | Self::Forget { key, .. }
            | Self::GiveBack { key, .. }
            | Self::Supply { key, .. }
            | Self::Latch { key, .. }
            | Self::Look { key, .. } => key,
        }
    }
}

impl Call for Count<'_> {
    fn script(&self) -> &'static Script {
        match self {
            Self::Take { .. } => &script::SEMAPHORE.acquire,
            Self::TakeNamed { .. } => &script::PERMITS.acquire,
            Self::Release { .. } => &script::SEMAPHORE.release,
            Self::Forget { .. } => &script::PERMITS.release,
            Self::GiveBack { .. } => &script::GIVE_BACK,
            Self::Supply { kind: Kind::Semaphore, .. } => &script::SUPPLY,
            Self::Supply { .. } => &script::SUPPLY_NAMED,
            Self::Latch { .. } => &script::LATCH,
            Self::Look { force: false, .. } => &script::INSPECT_COUNT,
            Self::Look { force: true, .. } => &script::FORCE_COUNT,
        }
    }

    fn size(&self) -> (usize, usize) {
        let ids = match self {
            Self::TakeNamed { ids, .. } | Self::GiveBack { ids, .. } => ids.len(),
            _ => 0,
        };
        (20 + ids, 10 * self.key().as_str().len() + 512 + 40 * ids)
    }

    fn write(&self, command: &mut Cmd) {
        let key = self.key();
        match self {
            Self::Take { claim, want, of, lease, stay, .. } => {
                command.arg(11);
                semaphore(command, key);
                command.arg(names::WATERMARK).arg(names::tombstones(key, claim));
                command.arg(claim.as_str()).arg(names::NOTICE).arg(*want).arg(Known(*of)).arg(Millis(*lease));
                command.arg(Known(stay.place().map(Millis)));
            }
            Self::TakeNamed { claim, ids, of, lease, .. } => {
                command.arg(7);
                permits(command, key);
                command.arg(names::tombstones(key, claim)).arg(Known(*of)).arg(Millis(*lease));
                command.arg(claim.as_str());
                for id in *ids {
                    command.arg(&*member(id));
                }
            }
            Self::Release { claim, keep, cancel, .. } => {
                command.arg(9 + usize::from(cancel.is_some()));
                semaphore(command, key);
                if cancel.is_some() {
                    command.arg(names::tombstones(key, claim));
                }
                let keep = (!keep.is_zero()).then_some(Millis(*keep));
                command.arg(claim.as_str()).arg(names::NOTICE).arg(Known(keep));
                if let Some(cancel) = cancel {
                    command.arg(Millis(cancel.remember)).arg(Stretches(&cancel.spans));
                }
            }
            Self::Forget { claim, cancel, .. } => {
                command.arg(1).arg(names::tombstones(key, claim));
                command.arg("").arg("").arg("").arg(Millis(cancel.remember)).arg(Stretches(&cancel.spans));
            }
            Self::GiveBack { ids, all, cancel, .. } => {
                command.arg(6 + usize::from(cancel.is_some()));
                permits(command, key);
                if let Some((claim, _)) = cancel {
                    command.arg(names::tombstones(key, claim));
                }
                command.arg(if *all { "all" } else { "" });
                command.arg(Known(cancel.map(|(_, cancel)| Millis(cancel.remember))));
                command.arg(Known(cancel.map(|(_, cancel)| Stretches(&cancel.spans))));
                for id in *ids {
                    command.arg(&*member(id));
                }
            }
            Self::Supply { kind, supplying, .. } => {
                if *kind == Kind::Semaphore {
                    command.arg(9);
                    semaphore(command, key);
                } else {
                    command.arg(6);
                    permits(command, key);
                }
                let (what, number) = match supplying {
                    Supplying::Look => ("look", None),
                    Supplying::Begin(permits) => ("begin", Some(i64::from(*permits))),
                    Supplying::Set(permits) => ("set", Some(i64::from(*permits))),
                    Supplying::Add(more) => ("add", Some(*more)),
                    Supplying::Drain => ("drain", None),
                };
                command.arg(what).arg(names::NOTICE).arg(Known(number));
            }
            Self::Latch { counting, .. } => {
                command.arg(7).arg(key.as_str()).arg(names::channel(Kind::Latch, key)).arg(names::round(key));
                command.arg(names::counted(key)).arg(names::WATERMARK).arg(names::permits(key)).arg(names::named(key));
                match counting {
                    Counting::Look => command.arg("look").arg(""),
                    Counting::Wait(round) => command.arg("wait").arg(Known(*round)),
                    Counting::Begin(count) => command.arg("begin").arg(*count),
                    Counting::Set(count) => command.arg("set").arg(*count),
                    Counting::Down(id) => command.arg("down").arg(id.as_ref().map_or("", Claim::as_str)),
                    Counting::Delete => command.arg("delete").arg(""),
                };
            }
            Self::Look { .. } => {
                command.arg(10);
                semaphore(command, key);
                command.arg(names::forced(key)).arg(names::NOTICE).arg(Sight::MOST);
            }
        }
    }
}

/// What a semaphore is made of, and what the other counts have beside them.
fn semaphore(command: &mut Cmd, key: &Key) {
    command.arg(key.as_str()).arg(names::channel(Kind::Semaphore, key)).arg(names::permits(key));
    command.arg(names::permit_ends(key)).arg(names::queue(key)).arg(names::queue_places(key)).arg(names::wants(key));
    command.arg(names::named(key)).arg(names::round(key));
}

/// The same for permits that have names.
fn permits(command: &mut Cmd, key: &Key) {
    command.arg(key.as_str()).arg(names::channel(Kind::Permits, key)).arg(names::named(key));
    command.arg(names::permit_ends(key)).arg(names::permits(key)).arg(names::round(key));
}

/// What a permit of this name is called on the server: Redisson's ids are 16 bytes, shown as 32 digits.
pub(crate) fn member(id: &Claim) -> Cow<'_, [u8]> {
    let text = id.as_str();
    let digits: Option<Vec<u32>> = text.chars().map(|digit| digit.to_digit(16)).collect();
    match digits {
        Some(digits) if text.len() == 32 => {
            let byte = |pair: &[u32]| u8::try_from(pair[0] * 16 + pair[1]).unwrap_or_default();
            Cow::Owned(digits.chunks_exact(2).map(byte).collect())
        }
        _ => Cow::Borrowed(text.as_bytes()),
    }
}

/// Something that may be missing: an empty argument then.
struct Known<T>(Option<T>);

impl<T: ToRedisArgs> ToRedisArgs for Known<T> {
    fn write_redis_args<W: ?Sized + RedisWrite>(&self, out: &mut W) {
        match &self.0 {
            Some(value) => value.write_redis_args(out),
            None => out.write_arg(b""),
        }
    }
}

impl<T: ToRedisArgs> redis::ToSingleRedisArg for Known<T> {}
