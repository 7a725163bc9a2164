//! Replays random operations on a backend and on the specification, and demands equal answers.
//!
//! Three claims and two that stand under others, two locks of one kind, each asked for as another kind now and then, short
//! leases, and time that passes: at least a tenth of the steps must find that a lease, or a place in line, has ended since
//! the step before, or the replay has shown nothing and fails.
//!
//! What is equal: the kind of an outcome, claims and counts exactly; a token where the specification says the same
//! token, and a larger one where it says a new one; times within what the two clocks cannot tell apart.
//!
//! A failure names its seed; `TENURE_SEED=…` replays it. Long runs take any seed, the others always the same.

mod compare;
mod counts;

use self::compare::{Tokens, Tolerance};
use crate::figures;
use fastrand::Rng;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tenure_core::kernel::{Cancelled, Record, Spot, Stepped, Time, step};
use tenure_core::{
    Applied, Backend, Batch, Claim, Clock, Key, Kind, ManualClock, Operation, Outcome, Pattern, Stay, Step, StoreError,
    StoreErrorKind, Token,
};
use tokio::task::JoinSet;

/// How long a backend may take to answer; a replay is not about slow ones.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// How many steps before a disagreement are told.
const TOLD: usize = 8;

/// How time passes for a backend.
#[derive(Debug, Clone)]
pub enum Pace {
    /// By hand, on the backend's own clock: both sides know the time to the microsecond.
    Manual(ManualClock),
    /// By itself, and the backend's clock is not ours. Calls keep clear of the ends of leases.
    Real,
}

/// What a replay has shown.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tally {
    /// Answers that were compared.
    pub compared: usize,
    /// Answers that were not, because a lease's end was too near to say which is right.
    pub skipped: usize,
    /// Compared answers of locks of which something had ended since they were last asked.
    pub crossed: usize,
}

/// The kinds that are replayed; the two sides of the read-write lock are one.
pub const KINDS: [Kind; 8] =
    [Kind::Reentrant, Kind::Simple, Kind::Fair, Kind::Read, Kind::Fenced, Kind::Semaphore, Kind::Latch, Kind::Permits];

/// The kinds that a key may be wanted as besides.
const LOCKS: [Kind; 6] = [Kind::Reentrant, Kind::Simple, Kind::Fair, Kind::Read, Kind::Write, Kind::Fenced];

/// How many steps are replayed of every kind on every backend.
pub const STEPS: usize = 5_000;
/// The same, in a long run.
pub const MANY_STEPS: usize = 100_000;

/// What a replay goes by unless told otherwise, so that no change is judged by chance.
const USUAL_SEED: u64 = 0x7e_0e;

/// How often its steps a replay may take until it has crossed enough ends.
const LONGEST: usize = 10;

/// The seed that the environment asks for; otherwise any in a long run, and always the same in others.
pub fn seed() -> u64 {
    match std::env::var("TENURE_SEED") {
        Ok(seed) => seed.parse().expect("TENURE_SEED is a whole number"),
        Err(_) if figures::is_full() => fastrand::u64(..),
        Err(_) => USUAL_SEED,
    }
}

/// Replays so many random steps on locks of a kind, and more if these crossed too few ends. Panics at the first
/// disagreement, or if the replay could not have found one.
pub async fn replay<B: Backend>(backend: &B, kind: Kind, pace: &Pace, steps: usize, seed: u64) -> Tally {
    // A short one may come upon few ends by chance.
    let tally = run(backend, kind, pace, (steps, steps * LONGEST), seed).await;
    tally.assert_telling(kind, seed);
    tally
}

/// Takes so many steps, or more, at the most, until they tell something.
async fn run<B: Backend>(backend: &B, kind: Kind, pace: &Pace, (steps, most): (usize, usize), seed: u64) -> Tally {
    let mut replay = Replay::new(backend, kind, pace, seed);
    for number in 0..most {
        if number >= steps && replay.tally.crossed_enough(kind) {
            break;
        }
        if let Err(complaint) = replay.random_step().await {
            let told = replay.told.join("\n  ");
            panic!("{kind}, step {number}: {complaint}\nTENURE_SEED={seed} replays it; the last steps were\n  {told}");
        }
    }
    replay.tally
}

impl Tally {
    /// Whether a tenth of the steps found that something had ended.
    fn crossed_enough(&self, kind: Kind) -> bool {
        // A latch ends by nothing but its being counted down.
        kind == Kind::Latch || self.crossed * 10 >= self.compared
    }

    /// Fails if a replay could not have found a disagreement.
    fn assert_telling(&self, kind: Kind, seed: u64) {
        assert!(self.crossed_enough(kind), "{kind}: too few steps crossed an end, seed {seed}: {self:?}");
        let steps = self.compared + self.skipped;
        // In real time a busy machine skips more.
        assert!(self.skipped * 2 < steps, "{kind}: too many steps were skipped, seed {seed}: {self:?}");
    }
}

/// Replays so many random steps in real time, in many replays at once: most of each is waiting for leases to end. Panics as
/// [`replay`] does, or if too few of the answers could be compared.
pub async fn replay_side_by_side<B: Backend>(backend: &Arc<B>, kind: Kind, steps: usize, seed: u64) -> Tally {
    let mut replays = JoinSet::new();
    // Each long enough to come to something, and not so many at once that they wait for each other.
    let lanes = (steps / 100).clamp(32, 128);
    for lane in 0..lanes as u64 {
        let backend = Arc::clone(backend);
        let steps = steps.div_ceil(lanes);
        replays.spawn(async move { run(&*backend, kind, &Pace::Real, (steps, steps), seed.wrapping_add(lane)).await });
    }
    let mut all = Tally::default();
    while let Some(tally) = replays.join_next().await {
        let tally = tally.unwrap_or_else(|failed| std::panic::resume_unwind(failed.into_panic()));
        all.compared += tally.compared;
        all.skipped += tally.skipped;
        all.crossed += tally.crossed;
    }
    println!("{kind}: {all:?}");
    // Together: a single one of so many may be short of ends by chance.
    all.assert_telling(kind, seed);
    all
}

/// Reports a long replay, as a line for the table of results.
pub fn report(backend: &str, kind: Kind, tally: Tally) {
    let Tally { compared, crossed, .. } = tally;
    let kind = if kind.is_side() { "read-write" } else { kind.name() };
    println!(
        "\nFULL | random steps on {backend}, {kind} lock | {compared} compared | as the kernel, {crossed} across an end"
    );
}

/// Replays histories that chance rarely comes upon. Panics with every disagreement.
pub async fn replay_known<B: Backend>(backend: &B, pace: &Pace) {
    let millis = Duration::from_millis;
    let claim = |number| Claim::new("00000000-0000-4000-8000-000000000000", number);
    let acquire =
        |number| Operation::Acquire { claim: claim(number), under: Vec::new(), lease: millis(400), stay: Stay::No };
    let leave = |left, cancel: Option<u64>| Operation::Release {
        claim: claim(1),
        left,
        change: 1,
        lease: millis(1),
        keep: Duration::ZERO,
        cancel: cancel.map(|remember| Cancelled::one(&claim(1), 0, millis(remember))),
    };
    let histories = [
        (
            "a cancelled entry is remembered for as long as anybody asked",
            vec![(0, leave(0, Some(400))), (0, leave(0, Some(40))), (100, acquire(1))],
        ),
        (
            "the same, when the claim stays in",
            vec![(0, acquire(1)), (0, leave(2, Some(400))), (0, leave(2, Some(40))), (100, acquire(1))],
        ),
        (
            "a request that is repeated does not make the next token older",
            vec![
                (0, acquire(1)),
                (60, acquire(1)),
                (60, acquire(1)),
                (0, leave(0, None)),
                (0, acquire(2)),
                (0, Operation::Inspect),
            ],
        ),
    ];
    let below = Claim::nested("00000000-0000-4000-8000-000000000000", 9);
    let lease = millis(400);
    let kept = vec![
        (0, Operation::Acquire { claim: below.clone(), under: vec![claim(1)], lease, stay: Stay::No }),
        (0, Operation::Reenter { claim: below.clone(), entry: 1, count: 4, change: 4, lease }),
        (0, Operation::Release { claim: below, left: 0, change: 6, lease, keep: lease, cancel: None }),
        (0, Operation::Inspect),
    ];
    let histories = histories.into_iter().chain([("what is kept is as often in as it was", kept)]);
    let mut complaints = Vec::new();
    for (name, history) in histories {
        // One that was interrupted by a slow answer has shown nothing.
        let outcome = loop {
            let mut replay = Replay::new(backend, Kind::Reentrant, pace, 0);
            let outcome = replay.all(&history).await;
            if replay.tally.skipped == 0 {
                break outcome.map_err(|complaint| format!("{complaint}\n  {}", replay.told.join("\n  ")));
            }
        };
        complaints.extend(outcome.err().map(|complaint| format!("not so: {name}: {complaint}")));
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// A lock as it should be.
struct Specified {
    key: Key,
    record: Record,
}

struct Replay<'a, B> {
    backend: &'a B,
    kind: Kind,
    pace: &'a Pace,
    clock: Clock,
    tolerance: Tolerance,
    random: Rng,
    claims: Vec<Claim>,
    /// The entry that was cancelled last.
    cancelled: Option<(usize, u32)>,
    locks: Vec<Specified>,
    watermark: Token,
    tokens: Tokens,
    tally: Tally,
    told: Vec<String>,
}

impl<'a, B: Backend> Replay<'a, B> {
    fn new(backend: &'a B, kind: Kind, pace: &'a Pace, seed: u64) -> Self {
        let mut random = Rng::with_seed(seed);
        // As clients make them: stores may know a claim by its form.
        let (high, low) = (random.u32(..), random.u64(..) >> 16);
        let client = format!("{high:08x}-0000-4000-8000-{low:012x}");
        let millis = Duration::from_millis;
        let (clock, tolerance) = match pace {
            Pace::Manual(clock) => {
                let exact = Duration::ZERO;
                (clock.clone().into(), Tolerance { clear: exact, slowest: exact, remaining: exact, held_for: exact })
            }
            Pace::Real => {
                let about =
                    Tolerance { clear: millis(15), slowest: millis(10), remaining: millis(15), held_for: millis(80) };
                (Clock::system(), about)
            }
        };
        Self {
            backend,
            kind,
            pace,
            clock,
            tolerance,
            claims: (1..=5)
                .map(|number| if number <= 3 { Claim::new(&client, number) } else { Claim::nested(&client, number) })
                .collect(),
            cancelled: None,
            random,
            locks: fresh_locks(),
            watermark: 0,
            tokens: Tokens::default(),
            tally: Tally::default(),
            told: Vec::new(),
        }
    }

    fn now(&self) -> Time {
        Time::from_micros(0).plus(self.clock.now().since_zero())
    }

    async fn pass(&self, time: Duration) {
        match self.pace {
            Pace::Manual(clock) => clock.advance(time),
            Pace::Real => tokio::time::sleep(time).await,
        }
    }

    fn millis(&mut self, manual: std::ops::Range<u64>, real: std::ops::Range<u64>) -> Duration {
        Duration::from_millis(match self.pace {
            Pace::Manual(_) => self.random.u64(manual),
            Pace::Real => self.random.u64(real),
        })
    }

    /// A random step after a random while.
    async fn random_step(&mut self) -> Result<(), String> {
        let at = self.random.usize(..self.locks.len());
        let pause = self.millis(0..60, 0..50);
        self.pass(pause).await;
        // Now and then the next end is waited for, or there would be too few of them.
        if self.random.u32(0..4) == 0 {
            let now = self.now();
            if let Some(end) = self.ends(at).filter(|end| *end > now).min() {
                self.pass(end.since(now)).await;
            }
        }
        let (claim, mut operation) = self.operation();
        let mut kind = self.kind_of(claim);
        let record = &self.locks[at].record;
        let own = &self.claims[claim];
        let share = record.shares.iter().find(|share| share.claim == *own).map(|share| share.kind);
        let hold = record.hold.as_ref().filter(|hold| hold.claims.iter().any(|entered| entered.claim == *own));
        let place = record.line.iter().find(|waiter| waiter.claim == *own).map(|waiter| waiter.kind);
        if let Some(known) = share.or(hold.map(|hold| hold.kind)).or(place) {
            // A claim knows as what it took the lock, or waits for it.
            kind = known;
        } else if let Operation::Acquire { stay, .. } = &mut operation {
            // Whoever comes anew may take it for another kind.
            let other = match LOCKS[self.random.usize(..LOCKS.len())] {
                // A bare number may be what another library's lock is, and the lines of these two may be one.
                Kind::Simple | Kind::Fair if counts::is_counted(kind) => Kind::Reentrant,
                other => other,
            };
            if counts::is_counted(kind) || (self.random.u32(0..8) == 0 && !other.goes_with(kind)) {
                (kind, *stay) = (other, Stay::No);
            }
        } else if counts::is_about(&operation) {
            // It is told that the key is in use as another kind, if it is.
        } else if let Some(held) = record.kind().filter(|held| !held.goes_with(kind)) {
            kind = held;
        }
        self.step(at, kind, &operation).await
    }

    /// As what a claim takes locks: those who read and those who write are always the same.
    fn kind_of(&self, claim: usize) -> Kind {
        if self.kind.is_side() && claim % 2 == 1 { Kind::Write } else { self.kind }
    }

    /// These steps on one lock, each after so many milliseconds.
    async fn all(&mut self, history: &[(u64, Operation)]) -> Result<(), String> {
        for (pause, operation) in history {
            self.pass(Duration::from_millis(*pause)).await;
            self.step(0, Kind::Reentrant, operation).await?;
        }
        Ok(())
    }

    /// Has both sides do it, and compares.
    async fn step(&mut self, at: usize, kind: Kind, operation: &Operation) -> Result<(), String> {
        while let Some(wait) = self.until_clear(at) {
            self.pass(wait).await;
        }
        let key = self.locks[at].key.clone();
        let (sent, other_door) = (self.now(), self.random.bool());
        let answer = self.ask(kind, &key, operation, other_door).await;
        let answered = self.now();
        if answered.since(sent) > self.tolerance.slowest || self.ends_between(at, sent, answered) {
            // Both answers are right, and we do not know which one the store will go by: start over.
            self.tally.skipped += 1;
            self.locks = fresh_locks();
            return Ok(());
        }
        let refused = matches!(&answer, Err(error) if error.kind == StoreErrorKind::Conflict);
        let answer = match answer {
            Err(error) if !refused => return Err(format!("{kind} {key} {operation:?} failed: {error}")),
            answer => answer.ok(),
        };
        let record = std::mem::take(&mut self.locks[at].record);
        let crossed = ends(&record).any(|end| end <= sent);
        let Stepped { record, watermark, outcome, .. } = step(kind, record, operation, sent, self.watermark);
        (self.locks[at].record, self.watermark) = (record, watermark);
        self.tally.compared += 1;
        self.tally.crossed += usize::from(crossed);
        self.tell(format!("{} µs: {kind} {key} {operation:?} gave {answer:?}", sent.as_micros()));
        let Some(answer) = answer else {
            // A store need not know what a count is of, as long as nobody has any of it.
            let is_unheld = matches!(outcome, Outcome::Conflict(Kind::Semaphore | Kind::Permits | Kind::Latch));
            // It may tell one who gives up a place that the key is in use as another kind by now, and leave it at that.
            if outcome == Outcome::NotHeld && matches!(operation, Operation::Release { left: 0, .. }) {
                self.locks = fresh_locks();
                return Ok(());
            }
            return if is_unheld { Ok(()) } else { Err(format!("a conflict\n  specified: {outcome:?}")) };
        };
        self.tokens
            .compare((kind, &key), &outcome, &answer, &self.tolerance)
            .map_err(|what| format!("{what}\n  specified: {outcome:?}\n  answered:  {answer:?}"))
    }

    fn tell(&mut self, step: String) {
        if self.told.len() == TOLD {
            self.told.remove(0);
        }
        self.told.push(step);
    }

    /// What one of the claims asks.
    fn operation(&mut self) -> (usize, Operation) {
        if counts::is_counted(self.kind) && self.random.u32(0..10) > 0 {
            return self.count();
        }
        let any = self.random.usize(..self.claims.len());
        // What was cancelled is taken up again more often than chance would have it: there is little of it.
        let again = self.cancelled.filter(|_| self.random.bool());
        let (who, entry) = again.unwrap_or_else(|| (any, self.random.u32(0..3)));
        let (claim, lease) = (self.claims[who].clone(), self.millis(1..100, 40..150));
        let operation = match self.random.u32(0..13) {
            0..4 => {
                let above = self.claims.clone().into_iter().filter(|_| self.random.u32(0..3) > 0);
                let under = if claim.is_nested() { above.collect() } else { Vec::new() };
                // It makes no difference to the answer, but a store that keeps a line has more to do.
                let stay = match self.random.u32(0..4) {
                    0 => Stay::No,
                    _ if self.kind.has_line() => Stay::InLine { place: self.millis(1..150, 60..250) },
                    1 => Stay::Waits,
                    _ => Stay::Waited { more: self.random.bool() },
                };
                Operation::Acquire { claim, under, lease, stay }
            }
            4..6 => {
                let (count, change) = (self.random.u32(1..5), self.random.u32(1..9));
                Operation::Reenter { claim, entry: entry.max(1), count, change, lease }
            }
            6..8 => Operation::Renew { claim, lease },
            8..11 => {
                let cancel = self.cancel((who, entry));
                let keep = if self.random.u32(0..6) == 0 { self.millis(1..80, 40..150) } else { Duration::ZERO };
                let (left, change) = (self.random.u32(0..4), self.random.u32(1..9));
                Operation::Release { claim, left, change, lease, keep, cancel }
            }
            11 => Operation::ForceRelease,
            _ => Operation::Inspect,
        };
        (who, operation)
    }

    /// Now and then, what is given up with a claim that leaves: this entry of it, and of the claims below it what is above a place
    /// drawn by lot.
    fn cancel(&mut self, (who, entry): (usize, u32)) -> Option<Cancelled> {
        // What one client gave up is forgotten together: were there more of it, nothing would ever be.
        if self.random.u32(0..10) >= 2 {
            return None;
        }
        self.cancelled = Some((who, entry));
        let remember = self.millis(1..80, 40..250);
        let mut cancelled = Cancelled::one(&self.claims[who], entry, remember);
        if self.random.u32(0..4) == 0 {
            for span in &mut cancelled.spans {
                let since = Spot { claim: self.random.u64(1..6), entry: self.random.u32(0..3) };
                span.since = span.since.min(since);
            }
        }
        Some(cancelled)
    }

    /// Asks the backend, by one of two doors where it has two.
    async fn ask(&self, kind: Kind, key: &Key, operation: &Operation, other_door: bool) -> Result<Outcome, StoreError> {
        match operation {
            Operation::Renew { claim, lease } if other_door && kind != Kind::Latch => {
                // Many at once take another way than one.
                let renew =
                    |claim: &Claim| Step::new(kind, key, Operation::Renew { claim: claim.clone(), lease: *lease });
                let steps = [renew(claim), renew(&Claim::new("nobody", 1))];
                match self.backend.apply(Batch::each(&steps), ANSWER_WITHIN).await? {
                    Applied::Each(answers) => match <[_; 2]>::try_from(answers) {
                        Ok([answer, Ok(Outcome::NotHeld)]) => answer,
                        other => panic!("two renewals have two answers, and nobody holds nothing: {other:?}"),
                    },
                    other => panic!("renewals are answered one by one: {other:?}"),
                }
            }
            Operation::Inspect if other_door => {
                let pattern = Pattern::new(key.as_str());
                let found = self.backend.list(&pattern, ANSWER_WITHIN).await?;
                Ok(Outcome::Seen(found.into_iter().find(|(found, _)| found == key).map(|(_, sight)| sight)))
            }
            _ => self.backend.apply_one(kind, key, operation, ANSWER_WITHIN).await,
        }
    }

    fn ends(&self, at: usize) -> impl Iterator<Item = Time> {
        ends(&self.locks[at].record)
    }

    fn ends_between(&self, at: usize, from: Time, to: Time) -> bool {
        let clear = self.tolerance.clear;
        !clear.is_zero() && self.ends(at).any(|end| end.plus(clear) > from && end < to.plus(clear))
    }

    /// How long to wait until no end is near.
    fn until_clear(&self, at: usize) -> Option<Duration> {
        let (now, clear) = (self.now(), self.tolerance.clear);
        let near = self.ends(at).filter(|end| end.plus(clear) > now && *end < now.plus(clear + clear / 5)).max()?;
        Some(near.plus(clear).since(now) + Duration::from_millis(1)).filter(|_| !clear.is_zero())
    }
}

/// When something of a lock ends: a lease, a place in line, or the memory of a cancelled entry.
fn ends(record: &Record) -> impl Iterator<Item = Time> {
    let claims = record.hold.iter().flat_map(|hold| &hold.claims).filter_map(|entered| entered.ends);
    let shares = record.shares.iter().map(|share| share.ends);
    let line = record.line.iter().map(|waiter| waiter.ends);
    let tombstones = record.tombstones.iter().map(|tombstone| tombstone.forget);
    record.hold.iter().map(|hold| hold.ends).chain(claims).chain(shares).chain(line).chain(tombstones)
}

/// Two locks that nobody has used.
fn fresh_locks() -> Vec<Specified> {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let fresh = |name| {
        let key = Key::new(&format!("oracle:{number}:{name}")).expect("it is short");
        Specified { key, record: Record::default() }
    };
    ["one", "other"].map(fresh).into()
}
