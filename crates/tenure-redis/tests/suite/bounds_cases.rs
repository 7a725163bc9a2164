//! What may lie in a key, few of it or many, and what is asked of it then.

use crate::support::{claim, ms};
use std::time::Duration;
use tenure_core::kernel::{Cancelled, Counting, Span, Spot, Supplying, Want};
use tenure_core::{Claim, Kind, Operation, Outcome, Stay};

/// The lock that all cases are about.
pub(crate) const KEY: &str = "k";
const LONG: Duration = Duration::from_secs(3600);

/// One state of a key, and calls one after the other.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// Whether the client uses Redisson's layout.
    pub(crate) is_redissons: bool,
    /// Whether what lies there is a lock.
    pub(crate) is_lock: bool,
    /// Lua that puts the entries there, after [`PRELUDE`].
    pub(crate) fill: &'static str,
    pub(crate) steps: &'static [Step],
}

pub(crate) struct Step {
    pub(crate) what: &'static str,
    pub(crate) kind: Kind,
    /// Which is asked; none for the list of all locks.
    asked: Option<fn() -> Operation>,
    /// Whether the answer is right among so many entries.
    pub(crate) is_right: fn(&Outcome, u64) -> bool,
}

impl Step {
    pub(crate) fn operation(&self) -> Option<Operation> {
        self.asked.map(|asked| asked())
    }
}

/// What the fills share: `n` entries, claims of a client that is gone, leases and places that go on or have ended.
pub(crate) const PRELUDE: &str = "
local n, time, call = tonumber(ARGV[1]), redis.call('TIME'), redis.call
local now = time[1] * 1000000 + time[2]
local later, past = now + 3600000000, now - 10000000
local function claim(i) return 'cccccccc-0000-4000-8000-00000000000c:' .. string.format('%d', i) end
local function score(at) return string.format('%d', at) end
local function keep(...) for _, key in ipairs({...}) do call('PEXPIRE', key, 3600000) end end
local function reader(i, ends)
  call('HSET', 'k', 'mode', 'tenure', claim(i), 'read ' .. score(now + i) .. ' ' .. score(past) .. ' 1 0')
  call('ZADD', 'tenure:reading:{k}', score(ends), claim(i))
end
local function stands(line, places, i, ends)
  call('ZADD', line, score(past + i), claim(i))
  call('ZADD', places, score(ends), claim(i))
end
local function permit(i, ends)
  call('HSET', 'tenure:permits:{k}', claim(i), '1 ' .. score(now + i) .. ' ' .. score(past))
  call('ZADD', 'tenure:permits:ends:{k}', score(ends), claim(i))
end
local function semaphore(free, taken)
  call('SET', 'k', score(free))
  call('HSET', 'tenure:permits:{k}', 'total', score(free + taken), 'taken', score(taken))
end
-- as Redisson has them: many readers, each with a key for its lease
local function java(i, lives)
  call('HSET', 'k', claim(i), '1')
  if lives then call('SET', '{k}:' .. claim(i) .. ':rwlock_timeout:1', '1', 'PX', 3600000) end
end
";

fn acquire_as(number: u64, stay: Stay) -> Operation {
    Operation::Acquire { claim: claim(number), under: Vec::new(), lease: LONG, stay }
}

const fn tries(kind: Kind, is_right: fn(&Outcome, u64) -> bool) -> Step {
    Step { what: "try", kind, asked: Some(|| acquire_as(1, Stay::No)), is_right }
}

/// Another claim, so that what came before makes no difference.
const fn comes(kind: Kind, is_right: fn(&Outcome, u64) -> bool) -> Step {
    Step { what: "acquire", kind, asked: Some(|| acquire_as(2, Stay::No)), is_right }
}

const fn waits(kind: Kind, is_right: fn(&Outcome, u64) -> bool) -> Step {
    Step { what: "wait", kind, asked: Some(|| acquire_as(3, Stay::InLine { place: ms(60_000) })), is_right }
}

const fn takes(is_right: fn(&Outcome, u64) -> bool) -> Step {
    let asked = || Operation::Take {
        claim: claim(1),
        want: Want::Some(1),
        of: None,
        lease: LONG,
        stay: Stay::InLine { place: ms(60_000) },
    };
    Step { what: "take", kind: Kind::Semaphore, asked: Some(asked), is_right }
}

const fn takes_named(is_right: fn(&Outcome, u64) -> bool) -> Step {
    let asked = || Operation::Take {
        claim: claim(1),
        want: Want::Named(vec![Claim::found("mine")]),
        of: None,
        lease: LONG,
        stay: Stay::No,
    };
    Step { what: "take named", kind: Kind::Permits, asked: Some(asked), is_right }
}

fn leaving(claim: Claim) -> Operation {
    Operation::Release { claim, left: 0, change: 1, lease: LONG, keep: Duration::ZERO, cancel: None }
}

const fn releases(kind: Kind, is_right: fn(&Outcome, u64) -> bool) -> Step {
    Step { what: "release", kind, asked: Some(|| leaving(claim(2))), is_right }
}

/// One of those who were there.
const fn one_leaves(kind: Kind, is_right: fn(&Outcome, u64) -> bool) -> Step {
    let asked = || leaving(Claim::new("cccccccc-0000-4000-8000-00000000000c", 1));
    Step { what: "release of one", kind, asked: Some(asked), is_right }
}

const fn renews(kind: Kind, is_right: fn(&Outcome, u64) -> bool) -> Step {
    let asked = || Operation::Renew { claim: claim(2), lease: LONG };
    Step { what: "renew", kind, asked: Some(asked), is_right }
}

const fn reenters(kind: Kind, is_right: fn(&Outcome, u64) -> bool) -> Step {
    let asked = || Operation::Reenter { claim: claim(2), entry: 1, count: 2, change: 1, lease: LONG };
    Step { what: "re-enter", kind, asked: Some(asked), is_right }
}

const fn inspects(kind: Kind, is_right: fn(&Outcome, u64) -> bool) -> Step {
    Step { what: "inspect", kind, asked: Some(|| Operation::Inspect), is_right }
}

const fn lists(is_right: fn(&Outcome, u64) -> bool) -> Step {
    Step { what: "list", kind: Kind::Reentrant, asked: None, is_right }
}

const fn forces(kind: Kind, is_right: fn(&Outcome, u64) -> bool) -> Step {
    Step { what: "force", kind, asked: Some(|| Operation::ForceRelease), is_right }
}

const fn supplies(is_right: fn(&Outcome, u64) -> bool) -> Step {
    let asked = || Operation::Supply(Supplying::Add(30_000));
    Step { what: "add", kind: Kind::Semaphore, asked: Some(asked), is_right }
}

fn any(_: &Outcome, _: u64) -> bool {
    true
}

fn granted(outcome: &Outcome, _: u64) -> bool {
    matches!(outcome, Outcome::Granted(_))
}

fn busy(outcome: &Outcome, _: u64) -> bool {
    matches!(outcome, Outcome::Busy(busy) if busy.holder.is_some())
}

fn behind(outcome: &Outcome, _: u64) -> bool {
    matches!(outcome, Outcome::Busy(_))
}

fn left(outcome: &Outcome, _: u64) -> bool {
    *outcome == Outcome::Left
}

fn released(outcome: &Outcome, _: u64) -> bool {
    *outcome == Outcome::Released
}

fn renewed(outcome: &Outcome, _: u64) -> bool {
    *outcome == Outcome::Renewed
}

fn free(outcome: &Outcome, _: u64) -> bool {
    matches!(outcome, Outcome::Seen(None) | Outcome::Forced(None))
}

/// All are counted, and whoever is not shown is said to be left out.
fn seen(outcome: &Outcome, entries: u64, besides: u64) -> bool {
    let (Outcome::Seen(Some(sight)) | Outcome::Forced(Some(sight))) = outcome else { return false };
    sight.holders.len() as u64 + u64::from(sight.more) == entries + besides && sight.holders.len() <= 100
}

fn all(outcome: &Outcome, entries: u64) -> bool {
    seen(outcome, entries, 0)
}

fn one_more(outcome: &Outcome, entries: u64) -> bool {
    seen(outcome, entries, 1)
}

fn two_more(outcome: &Outcome, entries: u64) -> bool {
    seen(outcome, entries, 2)
}

fn one(outcome: &Outcome, _: u64) -> bool {
    seen(outcome, 1, 0)
}

/// All who wait are counted.
fn waited_for(outcome: &Outcome, entries: u64) -> bool {
    let (Outcome::Seen(Some(sight)) | Outcome::Forced(Some(sight))) = outcome else { return false };
    sight.waiters.is_some_and(|waiters| u64::from(waiters) >= entries) && !sight.line.is_empty()
}

fn no_lock(outcome: &Outcome, _: u64) -> bool {
    matches!(outcome, Outcome::Conflict(_))
}

use Kind::{Fair, Latch, Permits, Read, Reentrant, Semaphore, Write};

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "readers",
        is_redissons: false,
        is_lock: true,
        fill: "for i = 1, n do reader(i, later) end keep('k', 'tenure:reading:{k}')",
        steps: &[
            inspects(Read, all),
            tries(Write, busy),
            comes(Read, granted),
            reenters(Read, granted),
            renews(Read, renewed),
            waits(Write, busy),
            inspects(Read, one_more),
            lists(one_more),
            releases(Read, left),
            one_leaves(Read, left),
            Step { what: "acquire", kind: Reentrant, asked: Some(|| acquire_as(9, Stay::No)), is_right: no_lock },
            forces(Read, |outcome, entries| seen(outcome, entries - 1, 0)),
            comes(Read, behind),
        ],
    },
    Case {
        name: "dead readers",
        is_redissons: false,
        is_lock: true,
        fill: "for i = 1, n do reader(i, past) end keep('k', 'tenure:reading:{k}')",
        steps: &[inspects(Read, free), lists(free), comes(Write, granted), renews(Write, renewed), releases(Write, released)],
    },
    Case {
        name: "dead readers, forced",
        is_redissons: false,
        is_lock: true,
        fill: "for i = 1, n do reader(i, past) end keep('k', 'tenure:reading:{k}')",
        steps: &[forces(Read, free), comes(Write, granted)],
    },
    Case {
        name: "dead readers and one who lives",
        is_redissons: false,
        is_lock: true,
        fill: "for i = 1, n do reader(i, past) end reader(n + 1, later) keep('k', 'tenure:reading:{k}')",
        steps: &[
            inspects(Read, one),
            tries(Write, busy),
            comes(Read, granted),
            releases(Read, left),
            inspects(Read, one),
            forces(Read, one),
            comes(Write, granted),
        ],
    },
    Case {
        name: "a line for a read-write lock",
        is_redissons: false,
        is_lock: true,
        fill: "reader(0, later) keep('k', 'tenure:reading:{k}')
               for i = 1, n do stands('tenure:writers:{k}', 'tenure:places:{k}', i, later)
               stands('tenure:readers:{k}', 'tenure:places:{k}', n + i, later) end
               keep('tenure:writers:{k}', 'tenure:readers:{k}', 'tenure:places:{k}')",
        steps: &[
            inspects(Read, waited_for),
            tries(Write, busy),
            waits(Read, behind),
            tries(Read, behind),
            forces(Read, waited_for),
            tries(Read, behind),
        ],
    },
    Case {
        name: "a dead line for a read-write lock",
        is_redissons: false,
        is_lock: true,
        fill: "for i = 1, n do stands('tenure:writers:{k}', 'tenure:places:{k}', i, past)
               stands('tenure:readers:{k}', 'tenure:places:{k}', n + i, past) end
               keep('tenure:writers:{k}', 'tenure:readers:{k}', 'tenure:places:{k}')",
        steps: &[comes(Read, granted), tries(Read, granted), releases(Read, left), one_leaves(Read, any)],
    },
    Case {
        name: "names in a line without places",
        is_redissons: false,
        is_lock: true,
        fill: "for i = 1, n do call('ZADD', 'tenure:writers:{k}', score(past + i), claim(i)) end keep('tenure:writers:{k}')",
        steps: &[tries(Read, any), comes(Read, any)],
    },
    Case {
        name: "a fair line",
        is_redissons: false,
        is_lock: true,
        fill: "call('HSET', 'k', claim(0), '1', 'fence', score(now), 'fair', '1') keep('k')
               for i = 1, n do stands('tenure:queue:{k}', 'tenure:queue:places:{k}', i, later) end
               keep('tenure:queue:{k}', 'tenure:queue:places:{k}')",
        steps: &[
            inspects(Fair, waited_for),
            lists(waited_for),
            tries(Fair, busy),
            waits(Fair, busy),
            forces(Fair, waited_for),
            comes(Fair, behind),
            one_leaves(Fair, any),
        ],
    },
    Case {
        name: "a dead fair line",
        is_redissons: false,
        is_lock: true,
        fill: "for i = 1, n do stands('tenure:queue:{k}', 'tenure:queue:places:{k}', i, past) end
               keep('tenure:queue:{k}', 'tenure:queue:places:{k}')",
        steps: &[comes(Fair, granted), renews(Fair, renewed), waits(Fair, busy), inspects(Fair, one), releases(Fair, released)],
    },
    Case {
        name: "a dead fair line and one who lives",
        is_redissons: false,
        is_lock: true,
        fill: "for i = 1, n do stands('tenure:queue:{k}', 'tenure:queue:places:{k}', i, past) end
               stands('tenure:queue:{k}', 'tenure:queue:places:{k}', n + 1, later)
               keep('tenure:queue:{k}', 'tenure:queue:places:{k}')",
        steps: &[comes(Fair, behind), waits(Fair, behind)],
    },
    Case {
        name: "a line of clients",
        is_redissons: false,
        is_lock: true,
        fill: "call('HSET', 'k', claim(0), '1', 'fence', score(now), 'line', '1') keep('k')
               for i = 1, n do call('ZADD', 'tenure:line:{k}', score(past + i), 'client' .. i) end keep('tenure:line:{k}')",
        steps: &[inspects(Reentrant, one), tries(Reentrant, busy), waits(Reentrant, busy), forces(Reentrant, one), comes(Reentrant, granted), releases(Reentrant, released)],
    },
    Case {
        name: "permits of a semaphore",
        is_redissons: false,
        is_lock: true,
        fill: "semaphore(2, n) for i = 1, n do permit(i, later) end",
        steps: &[
            inspects(Semaphore, all),
            takes(granted),
            inspects(Reentrant, one_more),
            lists(one_more),
            one_leaves(Semaphore, left),
            supplies(any),
            forces(Semaphore, all),
            takes(granted),
        ],
    },
    Case {
        name: "dead permits of a semaphore",
        is_redissons: false,
        is_lock: true,
        fill: "semaphore(0, n) for i = 1, n do permit(i, past) end",
        steps: &[inspects(Semaphore, free), takes(granted), inspects(Semaphore, one), forces(Semaphore, one)],
    },
    Case {
        name: "dead permits and one that is taken",
        is_redissons: false,
        is_lock: true,
        fill: "semaphore(0, n + 1) for i = 1, n do permit(i, past) end permit(n + 1, later)",
        steps: &[inspects(Semaphore, one), takes(granted), forces(Semaphore, |outcome, _| seen(outcome, 2, 0))],
    },
    Case {
        name: "a line for a semaphore",
        is_redissons: false,
        is_lock: true,
        fill: "semaphore(0, 1) permit(0, later)
               for i = 1, n do stands('tenure:queue:{k}', 'tenure:queue:places:{k}', i, later)
               call('HSET', 'tenure:queue:wants:{k}', claim(i), 'wants 1') end
               keep('tenure:queue:{k}', 'tenure:queue:places:{k}', 'tenure:queue:wants:{k}')",
        steps: &[
            inspects(Semaphore, waited_for),
            takes(busy),
            one_leaves(Semaphore, any),
            supplies(any),
            takes(any),
            forces(Semaphore, |outcome, entries| waited_for(outcome, entries - 1)),
        ],
    },
    Case {
        name: "a dead line for a semaphore",
        is_redissons: false,
        is_lock: true,
        fill: "semaphore(1, 1) permit(0, later)
               for i = 1, n do stands('tenure:queue:{k}', 'tenure:queue:places:{k}', i, past)
               call('HSET', 'tenure:queue:wants:{k}', claim(i), 'wants 1') end
               keep('tenure:queue:{k}', 'tenure:queue:places:{k}', 'tenure:queue:wants:{k}')",
        steps: &[takes(granted)],
    },
    Case {
        name: "names in a semaphore's line without places",
        is_redissons: false,
        is_lock: true,
        fill: "semaphore(1, 1) permit(0, later)
               for i = 1, n do call('ZADD', 'tenure:queue:{k}', score(past + i), claim(i)) end keep('tenure:queue:{k}')",
        steps: &[takes(granted)],
    },
    Case {
        name: "permits with names",
        is_redissons: false,
        is_lock: true,
        fill: "call('SET', 'k', '1') for i = 1, n do call('ZADD', '{k}:timeout', score(later / 1000 + 1000), 'id' .. i)
               call('ZADD', 'tenure:permits:ends:{k}', score(later), 'id' .. i) end",
        steps: &[inspects(Permits, all), takes_named(granted), inspects(Permits, one_more), lists(one_more), forces(Permits, one_more), takes_named(granted)],
    },
    Case {
        name: "dead permits with names",
        is_redissons: false,
        is_lock: true,
        fill: "call('SET', 'k', '0') for i = 1, n do call('ZADD', '{k}:timeout', score(past / 1000 + 1000), 'id' .. i)
               call('ZADD', 'tenure:permits:ends:{k}', score(past), 'id' .. i) end",
        steps: &[inspects(Permits, free), takes_named(granted), inspects(Permits, one)],
    },
    Case {
        name: "dead permits of Redisson's",
        is_redissons: false,
        is_lock: true,
        fill: "call('SET', 'k', '0') for i = 1, n do call('ZADD', '{k}:timeout', score(past / 1000), 'id' .. i) end",
        steps: &[inspects(Permits, free), takes_named(granted)],
    },
    Case {
        name: "ids of a latch",
        is_redissons: false,
        is_lock: true,
        fill: "call('SET', 'k', '2') call('SET', 'tenure:latch:{k}', score(now) .. ' 2')
               for i = 1, n do call('SADD', 'tenure:latch:ids:{k}', 'id' .. i) end",
        steps: &[
            Step { what: "down", kind: Latch, asked: Some(|| Operation::Count(Counting::Down(Some(Claim::found("id"))))), is_right: any },
            Step { what: "down", kind: Latch, asked: Some(|| Operation::Count(Counting::Down(Some(Claim::found("ie"))))), is_right: any },
        ],
    },
    Case {
        name: "Redisson's readers",
        is_redissons: true,
        is_lock: true,
        fill: "call('HSET', 'k', 'mode', 'read') for i = 1, n do java(i, true) end keep('k')",
        steps: &[
            inspects(Read, all),
            tries(Write, busy),
            comes(Read, granted),
            reenters(Read, granted),
            renews(Read, renewed),
            inspects(Read, one_more),
            waits(Write, busy),
            Step { what: "list beside many keys", kind: Read, asked: None, is_right: one_more },
            releases(Read, left),
            forces(Read, all),
            tries(Read, behind),
        ],
    },
    Case {
        name: "Redisson's readers, for our layout",
        is_redissons: false,
        is_lock: true,
        fill: "call('HSET', 'k', 'mode', 'read') for i = 1, n do java(i, true) end keep('k')",
        steps: &[inspects(Read, all), tries(Write, busy), comes(Read, busy), releases(Read, any), forces(Read, all)],
    },
    Case {
        name: "Redisson's readers, the first of them dead",
        is_redissons: true,
        is_lock: true,
        fill: "call('HSET', 'k', 'mode', 'read') for i = 1, n do java(i, i % 2 == 0) end keep('k')",
        steps: &[tries(Write, busy), comes(Read, granted), releases(Read, left)],
    },
    Case {
        name: "ours and one of Redisson's",
        is_redissons: true,
        is_lock: true,
        fill: "for i = 1, n do reader(i, later) call('HSET', 'tenure:shares:{k}', claim(i), 'read 7 7 1 0') call('HSET', 'k', claim(i), '1') end
               call('HSET', 'k', 'mode', 'read') java(n + 1, true) keep('k', 'tenure:reading:{k}', 'tenure:shares:{k}')",
        steps: &[inspects(Read, one_more), tries(Write, busy), comes(Read, granted), inspects(Read, two_more), releases(Read, left), forces(Read, one_more)],
    },
    Case {
        name: "ours whom Redisson has put out",
        is_redissons: true,
        is_lock: true,
        fill: "for i = 1, n do reader(i, later) call('HSET', 'tenure:shares:{k}', claim(i), 'read 7 7 1 0') end call('DEL', 'k')
               call('HSET', 'k', 'mode', 'read') java(n + 1, false) keep('k', 'tenure:reading:{k}', 'tenure:shares:{k}')",
        steps: &[comes(Write, granted), releases(Write, released)],
    },
    Case {
        name: "dead ones of ours in Redisson's layout",
        is_redissons: true,
        is_lock: true,
        fill: "for i = 1, n do reader(i, past) call('HSET', 'tenure:shares:{k}', claim(i), 'read 7 7 1 0') call('HSET', 'k', claim(i), '1') end
               call('HSET', 'k', 'mode', 'read') keep('k', 'tenure:reading:{k}', 'tenure:shares:{k}')",
        steps: &[inspects(Read, free), comes(Write, granted), releases(Write, released)],
    },
    Case {
        name: "Redisson's fair line",
        is_redissons: true,
        is_lock: true,
        fill: "call('HSET', 'k', claim(0), '1') keep('k')
               for i = 1, n do call('RPUSH', 'redisson_lock_queue:{k}', claim(i))
               call('ZADD', 'redisson_lock_timeout:{k}', score(now / 1000 + i * 300000), claim(i)) end",
        steps: &[inspects(Fair, waited_for), tries(Fair, busy), waits(Fair, busy), one_leaves(Fair, any), forces(Fair, waited_for), comes(Fair, behind)],
    },
    Case {
        name: "Redisson's fair line, given up",
        is_redissons: true,
        is_lock: true,
        fill: "for i = 1, n do call('RPUSH', 'redisson_lock_queue:{k}', claim(i))
               call('ZADD', 'redisson_lock_timeout:{k}', score(past / 1000), claim(i)) end",
        steps: &[tries(Fair, any), comes(Fair, any)],
    },
    Case {
        name: "ours, dead, in Redisson's fair line",
        is_redissons: true,
        is_lock: true,
        fill: "for i = 1, n do call('RPUSH', 'redisson_lock_queue:{k}', claim(i))
               call('ZADD', 'redisson_lock_timeout:{k}', score(now / 1000 + i * 300000), claim(i))
               stands('tenure:queue:{k}', 'tenure:queue:places:{k}', i, past) end",
        steps: &[comes(Fair, granted), releases(Fair, released)],
    },
    Case {
        name: "ours, alive, in Redisson's fair line",
        is_redissons: true,
        is_lock: true,
        fill: "call('HSET', 'k', claim(0), '1', 'fence', score(now), 'fair', '1') keep('k')
               for i = 1, n do call('RPUSH', 'redisson_lock_queue:{k}', claim(i))
               call('ZADD', 'redisson_lock_timeout:{k}', score(now / 1000 + i * 300000), claim(i))
               stands('tenure:queue:{k}', 'tenure:queue:places:{k}', i, later) end",
        steps: &[inspects(Fair, waited_for), waits(Fair, busy), one_leaves(Fair, any), forces(Fair, waited_for), comes(Fair, behind)],
    },
    Case {
        name: "what was given up",
        is_redissons: false,
        is_lock: true,
        fill: "for i = 1, n do call('ZADD', 'tenure:cancelled:{k}:01234567-89ab-cdef-0123-456789abcdef', 0,
               string.format('%016d/%010d-%016d/%010d', 100 + 2 * i, 0, 100 + 2 * i, 0)) end",
        steps: &[
            comes(Reentrant, granted),
            Step {
                what: "release, giving all up",
                kind: Reentrant,
                asked: Some(|| {
                    let (since, until) = (Spot { claim: 90, entry: 0 }, Spot { claim: 900_000, entry: 0 });
                    let cancel = Some(Cancelled { spans: vec![Span { since, until }], remember: LONG });
                    Operation::Release { claim: claim(2), left: 0, change: 1, lease: LONG, keep: Duration::ZERO, cancel }
                }),
                is_right: released,
            },
        ],
    },
    Case {
        name: "somebody's hash",
        is_redissons: false,
        is_lock: false,
        fill: "for i = 1, n do call('HSET', 'k', 'field' .. i, '1') end call('HSET', 'k', 'mode', 'read')",
        steps: &[inspects(Read, any), lists(free), tries(Write, any), tries(Fair, any), tries(Reentrant, any), forces(Read, any)],
    },
];
