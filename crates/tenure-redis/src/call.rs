//! Calls of the scripts, as they go over the wire.

use crate::count::member;
use crate::layout::Layout;
use crate::names;
use crate::script::{self, Script, Scripts};
use redis::{Cmd, ToRedisArgs};
use std::borrow::Cow;
use std::time::Duration;
use tenure_core::kernel::{Span, Spot};
use tenure_core::{Claim, Key, Kind, Operation, Sight, Stay, Step, StoreError, StoreErrorKind};

/// A script, its keys and its arguments.
pub(crate) trait Call: Sync {
    fn script(&self) -> &'static Script;

    /// Appends how many keys there are, the keys, and the arguments.
    fn write(&self, command: &mut Cmd);

    /// About how many arguments and bytes that is, so that they are allocated at once.
    fn size(&self) -> (usize, usize);

    /// The call of a script that the server knows.
    fn known(&self) -> Cmd {
        self.command("EVALSHA", &self.script().hash)
    }

    /// The call that makes the script known too.
    fn told(&self) -> Cmd {
        self.command("EVAL", self.script().source)
    }

    fn command(&self, verb: &str, script: &str) -> Cmd {
        let (args, bytes) = self.size();
        let mut command = Cmd::with_capacity(args + 3, bytes + script.len() + 16);
        command.arg(verb).arg(script);
        self.write(&mut command);
        command
    }
}

/// What this client knows that the script can use.
#[derive(Clone, Copy, Default)]
pub(crate) struct Hints {
    /// It is time to bring the watermark up to the server's clock.
    pub(crate) look_at_clock: bool,
    /// Since when, in server time, the client has been waiting for the lock.
    pub(crate) since: Option<u64>,
}

/// The script that takes one step.
pub(crate) struct StepCall<'a> {
    layout: Layout,
    kind: Kind,
    key: &'a Key,
    operation: &'a Operation,
    hints: Hints,
    script: &'static Script,
}

impl<'a> StepCall<'a> {
    pub(crate) fn new(
        (layout, kind): (Layout, Kind),
        key: &'a Key,
        operation: &'a Operation,
        hints: Hints,
    ) -> Result<Self, StoreError> {
        let of = |claim| Scripts::of(layout, kind, claim);
        let script = match operation {
            Operation::Acquire { claim, .. } => &of(claim)?.acquire,
            Operation::Reenter { claim, .. } => &of(claim)?.reenter,
            Operation::Renew { claim, .. } => &of(claim)?.renew,
            Operation::Release { claim, left: 0, .. } => &of(claim)?.release,
            Operation::Release { claim, .. } => &of(claim)?.leave,
            Operation::ForceRelease => &script::FORCE,
            Operation::Inspect => &script::INSPECT,
            other => {
                return Err(StoreError::new(
                    StoreErrorKind::Unsupported,
                    format!("this version of the redis backend does not know the operation: {other:?}"),
                ));
            }
        };
        Ok(Self { layout, kind, key, operation, hints, script })
    }

    /// A release of which nobody is told, of a re-entrant or a simple lock.
    pub(crate) fn retract(kind: Kind, key: &'a Key, claim: &Claim, operation: &'a Operation) -> Self {
        let script = match kind {
            Kind::Simple => &script::RETRACT_SIMPLE,
            _ if claim.is_nested() => &script::RETRACT_NESTED,
            _ => &script::RETRACT,
        };
        Self { layout: Layout::default(), kind, key, operation, hints: Hints::default(), script }
    }
}

impl StepCall<'_> {
    /// The acquire of a kind whose waiters stand in line by client.
    fn acquire(&self, command: &mut Cmd, (claim, under): (&Claim, &[Claim]), lease: Duration, stay: Stay) {
        let (key, fenced) = (self.key, self.kind == Kind::Fenced);
        command.arg(if fenced { 5 } else { 4 }).arg(key.as_str());
        if fenced {
            command.arg(names::tokens(key))
        } else {
            command.arg(names::WATERMARK)
        };
        command.arg(names::tombstones(key, claim)).arg(names::line(key));
        if fenced {
            command.arg(names::WATERMARK);
        }
        command.arg(claim.as_str()).arg(Millis(lease));
        if fenced {
            command.arg(Lineage(under))
        } else {
            command.arg(if self.hints.look_at_clock { "time" } else { "" })
        };
        match (stay, self.hints.since) {
            (Stay::No, _) => command.arg(""),
            (Stay::Waited { .. }, Some(since)) => command.arg(since),
            _ => command.arg("waits"),
        };
        if claim.is_nested() && self.kind == Kind::Reentrant {
            command.arg(Lineage(under));
        } else if stay == (Stay::Waited { more: true }) {
            command.arg("more");
        }
    }
}

impl Call for StepCall<'_> {
    fn script(&self) -> &'static Script {
        self.script
    }

    fn size(&self) -> (usize, usize) {
        (8, 4 * self.key.as_str().len() + 256)
    }

    fn write(&self, command: &mut Cmd) {
        let (key, name, kind, layout) = (self.key, self.key.as_str(), self.kind, self.layout);
        match self.operation {
            Operation::Acquire { claim, under, lease, stay } if kind.has_line() => {
                let tombstone = names::tombstones(key, claim);
                if kind == Kind::Fair {
                    command.arg(3 + line_keys(layout, kind)).arg(name).arg(names::WATERMARK).arg(tombstone);
                    line(command, layout, kind, key);
                    command.arg(claim.as_str()).arg(Millis(*lease));
                    voice(command, layout, kind, key);
                } else {
                    command.arg(4 + line_keys(layout, kind)).arg(name).arg(names::WATERMARK).arg(tombstone);
                    command.arg(names::channel(kind, key));
                    line(command, layout, kind, key);
                    command.arg(claim.as_str()).arg(Millis(*lease)).arg(kind.name());
                }
                match stay.place() {
                    Some(place) => command.arg(Millis(place)),
                    None => command.arg(""),
                };
                command.arg(Lineage(under));
                if kind.is_side() {
                    voice(command, layout, kind, key);
                }
            }
            Operation::Acquire { claim, under, lease, stay } => self.acquire(command, (claim, under), *lease, *stay),
            Operation::Reenter { claim, entry, count, change, lease } => {
                command.arg(2 + side_keys(layout, kind)).arg(name).arg(names::tombstones(key, claim));
                side(command, layout, kind, key);
                command.arg(claim.as_str()).arg(*count).arg(*change).arg(Millis(*lease)).arg(*entry);
            }
            Operation::Renew { claim, lease } => {
                command.arg(1 + side_keys(layout, kind)).arg(name);
                side(command, layout, kind, key);
                command.arg(&*name_of(kind, claim)).arg(Millis(*lease));
            }
            Operation::Release { claim, left: 0, keep, cancel, .. } => {
                let own = 2 + line_keys(layout, kind);
                command.arg(own + usize::from(cancel.is_some())).arg(name).arg(names::channel(kind, key));
                line(command, layout, kind, key);
                if cancel.is_some() {
                    command.arg(names::tombstones(key, claim));
                }
                command.arg(claim.as_str());
                voice(command, layout, kind, key);
                if keep.is_zero() {
                    command.arg("")
                } else {
                    command.arg(Millis(*keep))
                };
                if let Some(cancel) = cancel {
                    command.arg(Millis(cancel.remember)).arg(Stretches(&cancel.spans));
                }
            }
            Operation::Release { claim, left, change, lease, cancel, .. } => {
                command.arg(1 + usize::from(cancel.is_some()) + side_keys(layout, kind)).arg(name);
                if cancel.is_some() {
                    command.arg(names::tombstones(key, claim));
                }
                side(command, layout, kind, key);
                command.arg(claim.as_str()).arg(*left).arg(*change).arg(Millis(*lease));
                if let Some(cancel) = cancel {
                    command.arg(Millis(cancel.remember)).arg(Stretches(&cancel.spans));
                }
            }
            // To look, or by force; `new` has let nothing else through.
            _ => {
                // A user of our own layout needs no rights to Redisson's keys.
                let more = usize::from(layout == Layout::Redisson);
                command.arg(14 + more).arg(name).arg(names::channel(Kind::Reentrant, key)).arg(names::line(key));
                command.arg(names::queue(key)).arg(names::queue_places(key)).arg(names::channel(Kind::Read, key));
                line(command, Layout::Tenure, Kind::Read, key);
                command.arg(names::shares(key)).arg(names::forced(key));
                if more > 0 {
                    command.arg(names::redisson_queue(key));
                }
                command.arg(names::NOTICE).arg(Sight::MOST);
            }
        }
    }
}

/// How many keys tell who waits for a lock, and of a read-write lock who is in.
fn line_keys(layout: Layout, kind: Kind) -> usize {
    match (layout, kind) {
        (Layout::Tenure, Kind::Fair) => 2,
        (Layout::Redisson, Kind::Fair) => 4,
        (Layout::Tenure, Kind::Read | Kind::Write) => 6,
        (Layout::Redisson, Kind::Read | Kind::Write) => 8,
        _ => 1,
    }
}

/// Those keys: a line of clients, or as `line.lua`, `look.lua` and `shares.lua` name them.
fn line(command: &mut Cmd, layout: Layout, kind: Kind, key: &Key) {
    match kind {
        Kind::Fair => {
            if layout == Layout::Redisson {
                command.arg(names::redisson_queue(key)).arg(names::redisson_patience(key));
            }
            command.arg(names::queue(key)).arg(names::queue_places(key));
        }
        Kind::Read | Kind::Write => {
            command.arg(names::side(Kind::Read, key)).arg(names::side(Kind::Write, key));
            command.arg(names::waiting(Kind::Write, key)).arg(names::waiting(Kind::Read, key));
            command.arg(names::places(key)).arg(names::pass(key));
            if layout == Layout::Redisson {
                command.arg(names::shares(key)).arg(names::readers_prefix(key));
            }
        }
        _ => drop(command.arg(names::line(key))),
    }
}

/// How many keys tell of a side of a read-write lock, or when leases on permits end.
fn side_keys(layout: Layout, kind: Kind) -> usize {
    match layout {
        _ if kind == Kind::Semaphore => 1,
        _ if kind == Kind::Permits => 2,
        _ if !kind.is_side() => 0,
        Layout::Tenure => 1,
        Layout::Redisson => 3,
    }
}

/// Those keys: the side itself comes last.
fn side(command: &mut Cmd, layout: Layout, kind: Kind, key: &Key) {
    if kind == Kind::Permits {
        command.arg(names::named(key));
    }
    if kind.has_permits() {
        command.arg(names::permit_ends(key));
    }
    if !kind.is_side() {
        return;
    }
    if layout == Layout::Redisson {
        command.arg(names::shares(key)).arg(names::readers_prefix(key));
    }
    command.arg(names::side(kind, key));
}

/// What the channel begins with in which one who waits is called.
fn voice(command: &mut Cmd, layout: Layout, kind: Kind, key: &Key) {
    match (layout, kind) {
        (Layout::Redisson, Kind::Fair) => command.arg(names::channel(kind, key)),
        _ => command.arg(names::NOTICE),
    };
}

/// One hold to renew.
#[derive(Clone, Copy)]
pub(crate) struct Renewal<'a> {
    pub(crate) kind: Kind,
    pub(crate) key: &'a Key,
    pub(crate) claim: &'a Claim,
    pub(crate) lease: Duration,
}

impl<'a> Renewal<'a> {
    /// The renewal that a step is, if it is one.
    pub(crate) fn of(step: &'a Step) -> Option<Self> {
        let Operation::Renew { claim, lease } = &step.operation else { return None };
        Some(Self { kind: step.kind, key: &step.key, claim, lease: *lease })
    }
}

/// Many holds to renew, all with the same scripts.
pub(crate) struct Renewals<'a> {
    pub(crate) layout: Layout,
    pub(crate) scripts: &'static Scripts,
    pub(crate) all: &'a [Renewal<'a>],
}

impl Call for Renewals<'_> {
    fn script(&self) -> &'static Script {
        &self.scripts.renew
    }

    fn size(&self) -> (usize, usize) {
        (3 * self.all.len(), self.all.iter().map(|renewal| renewal.key.as_str().len() + 64).sum())
    }

    fn write(&self, command: &mut Cmd) {
        let keys = self.all.iter().map(|renewal| 1 + side_keys(self.layout, renewal.kind));
        command.arg(keys.sum::<usize>());
        for renewal in self.all {
            command.arg(renewal.key.as_str());
            side(command, self.layout, renewal.kind, renewal.key);
        }
        for renewal in self.all {
            command.arg(&*name_of(renewal.kind, renewal.claim));
        }
        // One lease for all, as is usual, or one for each.
        let uniform = self.all.windows(2).all(|pair| pair[0].lease == pair[1].lease);
        for renewal in &self.all[..if uniform { self.all.len().min(1) } else { self.all.len() }] {
            command.arg(Millis(renewal.lease));
        }
    }
}

/// Some of those who were put out by force are told.
pub(crate) struct Forced<'a> {
    pub(crate) key: &'a Key,
    /// Where to go on.
    pub(crate) at: u64,
    /// Whether Redisson's readers are among them, whose leases have keys of their own.
    pub(crate) readers: bool,
}

impl Call for Forced<'_> {
    fn script(&self) -> &'static Script {
        &script::FORCED
    }

    fn size(&self) -> (usize, usize) {
        (5, 2 * self.key.as_str().len() + 64)
    }

    fn write(&self, command: &mut Cmd) {
        let prefix = if self.readers { names::readers_prefix(self.key) } else { String::new() };
        command.arg(1).arg(names::forced(self.key)).arg(names::NOTICE).arg(self.at).arg(prefix);
    }
}

/// What a claim is called on the server.
fn name_of(kind: Kind, claim: &Claim) -> Cow<'_, [u8]> {
    if kind == Kind::Permits { member(claim) } else { Cow::Borrowed(claim.as_str().as_bytes()) }
}

/// Several locks to take at one moment.
pub(crate) struct Together<'a> {
    pub(crate) all: &'a [Wanted<'a>],
    pub(crate) hints: Hints,
}

/// One of them.
pub(crate) struct Wanted<'a> {
    kind: Kind,
    key: &'a Key,
    claim: &'a Claim,
    lease: Duration,
}

impl<'a> Wanted<'a> {
    /// What a step takes, if it can be taken together with others: a lock with a line has scripts of its own, and so has a claim
    /// that goes in beside others.
    pub(crate) fn of(step: &'a Step) -> Option<Self> {
        let Operation::Acquire { claim, lease, .. } = &step.operation else { return None };
        let can = matches!(step.kind, Kind::Reentrant | Kind::Simple) && !claim.is_nested();
        can.then_some(Self { kind: step.kind, key: &step.key, claim, lease: *lease })
    }
}

impl Call for Together<'_> {
    fn script(&self) -> &'static Script {
        &script::TOGETHER
    }

    fn size(&self) -> (usize, usize) {
        (6 * self.all.len() + 2, self.all.iter().map(|one| 3 * one.key.as_str().len() + 256).sum())
    }

    fn write(&self, command: &mut Cmd) {
        command.arg(1 + 3 * self.all.len()).arg(names::WATERMARK);
        for one in self.all {
            let tombstone = names::tombstones(one.key, one.claim);
            command.arg(one.key.as_str()).arg(tombstone).arg(names::line(one.key));
        }
        command.arg(if self.hints.look_at_clock { "time" } else { "" });
        for one in self.all {
            command.arg(one.claim.as_str()).arg(Millis(one.lease)).arg(one.kind.name());
        }
    }
}

/// What is over, as `scripts/common/given_up.lua` says.
pub(crate) struct Stretches<'a>(pub(crate) &'a [Span]);

impl ToRedisArgs for Stretches<'_> {
    fn write_redis_args<W: ?Sized + redis::RedisWrite>(&self, out: &mut W) {
        let spot = |Spot { claim, entry }: Spot| format!("{claim:016}/{entry:010}");
        let all: Vec<String> =
            self.0.iter().map(|Span { since, until }| format!("{}-{}", spot(*until), spot(*since))).collect();
        all.join(" ").write_redis_args(out);
    }
}

impl redis::ToSingleRedisArg for Stretches<'_> {}

/// The claims that one stands under.
struct Lineage<'a>(&'a [Claim]);

impl ToRedisArgs for Lineage<'_> {
    fn write_redis_args<W: ?Sized + redis::RedisWrite>(&self, out: &mut W) {
        let claims: Vec<&str> = self.0.iter().map(Claim::as_str).collect();
        claims.join("/").write_redis_args(out);
    }
}

impl redis::ToSingleRedisArg for Lineage<'_> {}

/// Durations go over the wire in whole milliseconds, one at the least.
#[derive(Clone, Copy)]
pub(crate) struct Millis(pub(crate) Duration);

impl ToRedisArgs for Millis {
    fn write_redis_args<W: ?Sized + redis::RedisWrite>(&self, out: &mut W) {
        u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX).max(1).write_redis_args(out);
    }
}

impl redis::ToSingleRedisArg for Millis {}
