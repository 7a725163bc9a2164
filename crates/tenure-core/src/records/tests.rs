//! What `run` does to records, on stores of leases and of sessions.

use super::{Entry, FreeTo, Freed, Liveness, Loaded, Notices, run};
use crate::{Applied, Batch, Step, Topic};
use std::time::Duration;
use tenure_kernel::{
    Cancelled, Claim, Counting, Key, Kind, Operation, Outcome, Record, Stay, Supplying, Time, Waiter, Want,
};

const NOW: Time = Time::from_micros(1_000_000_000);
const LEASE: Duration = Duration::from_secs(10);

fn key(name: &str) -> Key {
    Key::new(name).unwrap()
}

fn claim(number: u64) -> Claim {
    Claim::new("client", number)
}

fn acquire(number: u64, stay: Stay) -> Operation {
    Operation::Acquire { claim: claim(number), under: Vec::new(), lease: LEASE, stay }
}

fn nested(number: u64, under: &[Claim]) -> Operation {
    let claim = Claim::nested("client", number);
    Operation::Acquire { claim, under: under.to_vec(), lease: LEASE, stay: Stay::No }
}

fn release(claim: Claim, keep: Duration) -> Operation {
    Operation::Release { claim, left: 0, change: u32::MAX, lease: LEASE, keep, cancel: None }
}

/// A store with one record.
#[derive(Clone)]
struct Store {
    entry: Entry,
    now: Time,
    liveness: Liveness,
}

impl Store {
    fn of(liveness: Liveness) -> Self {
        Self { entry: Entry::default(), now: NOW, liveness }
    }

    fn step(&mut self, kind: Kind, operation: Operation) -> (Outcome, Notices) {
        let step = Step::new(kind, &key("k"), operation);
        let loaded = Loaded { entries: vec![self.entry.clone()], now: self.now, liveness: self.liveness };
        let mut done = run(Batch::one(&step), loaded);
        let entry = done.entries.pop().unwrap();
        assert_eq!(entry.news, !done.notices.freed.is_empty() || !done.notices.called.is_empty());
        self.entry = Entry::new(entry.record, entry.watermark);
        (done.applied.single().unwrap(), done.notices)
    }

    fn granted(&mut self, kind: Kind, operation: Operation) -> u64 {
        match self.step(kind, operation).0 {
            Outcome::Granted(grant) => grant.token,
            other => panic!("{other:?}"),
        }
    }
}

/// Every outcome that lets somebody go on, and who is told of it.
#[test]
fn who_waits_is_told_of_every_step_that_frees() {
    let in_line = Stay::InLine { place: Waiter::PLACE };
    let take =
        |count| Operation::Take { claim: claim(1), want: Want::Some(count), of: Some(2), lease: LEASE, stay: Stay::No };
    let outer = [acquire(1, Stay::No), nested(2, &[claim(1)])];
    for (kind, before, step, freed, called, forced) in [
        (Kind::Reentrant, vec![acquire(1, Stay::No)], release(claim(1), Duration::ZERO), Some(FreeTo::One), 0, 0),
        (
            Kind::Reentrant,
            outer.to_vec(),
            release(Claim::nested("client", 2), Duration::ZERO),
            Some(FreeTo::Nested),
            0,
            0,
        ),
        (Kind::Reentrant, outer.to_vec(), Operation::ForceRelease, Some(FreeTo::One), 0, 2),
        (Kind::Reentrant, vec![acquire(1, Stay::No)], release(claim(1), LEASE), None, 0, 0),
        (Kind::Reentrant, vec![acquire(1, Stay::No)], release(claim(7), Duration::ZERO), None, 0, 0),
        (
            Kind::Fair,
            vec![acquire(1, Stay::No), acquire(2, in_line)],
            release(claim(1), Duration::ZERO),
            Some(FreeTo::One),
            1,
            0,
        ),
        (
            Kind::Fair,
            vec![acquire(1, Stay::No), acquire(2, in_line), acquire(3, in_line)],
            release(claim(2), Duration::ZERO),
            None,
            0,
            0,
        ),
        (Kind::Semaphore, vec![take(2)], release(claim(1), Duration::ZERO), Some(FreeTo::One), 0, 0),
        (Kind::Semaphore, vec![take(2)], Operation::Supply(Supplying::Add(1)), Some(FreeTo::All), 0, 0),
        (Kind::Semaphore, vec![take(2)], Operation::Supply(Supplying::Add(-1)), None, 0, 0),
        (Kind::Semaphore, vec![take(2)], Operation::ForceRelease, Some(FreeTo::All), 0, 1),
        (
            Kind::Latch,
            vec![Operation::Count(Counting::Set(2))],
            Operation::Count(Counting::Down(None)),
            Some(FreeTo::All),
            0,
            0,
        ),
        (Kind::Latch, vec![Operation::Count(Counting::Set(2))], Operation::Count(Counting::Look), None, 0, 0),
    ] {
        let mut store = Store::of(Liveness::Leases);
        for operation in before {
            store.step(kind, operation);
        }
        let (outcome, notices) = store.step(kind, step.clone());
        let waited_for_as = if kind == Kind::Latch { kind } else { Kind::Reentrant };
        let freed = freed.map(|to| Freed { topic: Topic::of(waited_for_as, &key("k")), to });
        let told = (notices.freed, notices.called.len(), notices.forced.len());
        assert_eq!(told, (freed.into_iter().collect(), called, forced), "{kind}, {step:?}: {outcome:?}");
    }
}

#[test]
fn of_a_batch_of_all_or_none_nothing_is_left_unless_all_are_granted() {
    let steps = ["c", "a", "b"].map(|name| Step::new(Kind::Simple, &key(name), acquire(1, Stay::No)));
    let batch = Batch::all_or_none(&steps);
    assert_eq!(batch.keys(), [&key("a"), &key("b"), &key("c")]);
    let free = vec![Entry::new(Record::default(), 7); 3];
    let done = run(batch, Loaded { entries: free.clone(), now: NOW, liveness: Liveness::Leases });
    let Applied::Each(answers) = &done.applied else { panic!("{done:?}") };
    let mut tokens: Vec<u64> = answers
        .iter()
        .map(|answer| match answer {
            Ok(Outcome::Granted(grant)) => grant.token,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(done.watermark(), tokens[2]);
    tokens.dedup();
    assert!(tokens.len() == 3 && tokens.is_sorted(), "{tokens:?}");

    let mut held = free.clone();
    held[1] = done.entries[1].clone();
    let others = ["c", "a", "b"].map(|name| Step::new(Kind::Simple, &key(name), acquire(2, Stay::No)));
    let loaded = Loaded { entries: held.clone(), now: NOW, liveness: Liveness::Leases };
    let done = run(Batch::all_or_none(&others), loaded);
    assert!(matches!(done.applied, Applied::Stopped { at: 2, answer: Ok(Outcome::Busy(_)) }), "{:?}", done.applied);
    assert_eq!((done.entries, done.notices), (held, Notices::default()));
}

/// Of several steps on one key, a later one sees what an earlier one has done.
#[test]
fn each_step_of_a_batch_is_answered_by_itself() {
    let steps = [acquire(1, Stay::No), acquire(2, Stay::No), release(claim(1), Duration::ZERO), acquire(2, Stay::No)]
        .map(|operation| Step::new(Kind::Simple, &key("k"), operation));
    let loaded = Loaded { entries: vec![Entry::default()], now: NOW, liveness: Liveness::Leases };
    let Applied::Each(answers) = run(Batch::each(&steps), loaded).applied else { panic!("each is answered") };
    let [Ok(Outcome::Granted(one)), Ok(Outcome::Busy(_)), Ok(Outcome::Released), Ok(Outcome::Granted(two))] =
        &answers[..]
    else {
        panic!("{answers:?}")
    };
    assert!(one.token < two.token);
}

#[test]
fn where_sessions_tell_who_is_dead_no_time_ends_a_hold() {
    for kind in [Kind::Reentrant, Kind::Fair, Kind::Write] {
        let mut store = Store::of(Liveness::Sessions);
        let first = store.granted(kind, acquire(1, Stay::No));
        store.now = NOW.plus(LEASE * 1000);
        let Outcome::Busy(busy) = store.step(kind, acquire(2, Stay::No)).0 else { panic!("it is held") };
        assert_eq!((busy.holder.unwrap().remaining, busy.again), (None, None), "{kind}");
        let Outcome::Seen(Some(sight)) = store.step(kind, Operation::Inspect).0 else { panic!("it is held") };
        assert_eq!(sight.holders[0].remaining, None);
        // Its session has ended.
        store.entry.dead = vec![claim(1)];
        assert!(store.granted(kind, acquire(2, Stay::No)) > first, "{kind}");
        assert_eq!(store.step(kind, release(claim(1), Duration::ZERO)).0, Outcome::NotHeld);
    }
}

#[test]
fn a_place_in_the_queue_ends_with_the_session_and_not_before() {
    let mut store = Store::of(Liveness::Sessions);
    let in_line = Stay::InLine { place: Waiter::PLACE };
    store.granted(Kind::Fair, acquire(1, Stay::No));
    store.step(Kind::Fair, acquire(2, in_line));
    store.step(Kind::Fair, acquire(3, in_line));
    store.now = NOW.plus(Waiter::PLACE * 100);
    let (mut dead, mut alive) = (store.clone(), store);
    assert_eq!(alive.step(Kind::Fair, release(claim(1), Duration::ZERO)).1.called, [claim(2)]);
    dead.entry.dead = vec![claim(2)];
    assert_eq!(dead.step(Kind::Fair, release(claim(1), Duration::ZERO)).1.called, [claim(3)]);
}

/// Who kept it may be gone: it stays taken for as long as was said, by a clock that is only a hint.
#[test]
fn a_lock_that_is_kept_belongs_to_no_session() {
    let mut store = Store::of(Liveness::Sessions);
    store.granted(Kind::Reentrant, acquire(1, Stay::No));
    assert_eq!(store.step(Kind::Reentrant, release(claim(1), LEASE)).0, Outcome::Kept);
    store.entry.dead = vec![claim(1)];
    let Outcome::Busy(busy) = store.step(Kind::Reentrant, acquire(2, Stay::No)).0 else { panic!("it is kept") };
    assert_eq!(busy.again, Some(LEASE));
    store.now = NOW.plus(LEASE);
    store.granted(Kind::Reentrant, acquire(2, Stay::No));
}

#[test]
fn what_was_given_up_is_refused_by_a_store_of_sessions_as_well() {
    let mut store = Store::of(Liveness::Sessions);
    let cancel = Some(Cancelled::one(&claim(1), 0, LEASE));
    let give_up =
        Operation::Release { claim: claim(1), left: 0, change: u32::MAX, lease: LEASE, keep: Duration::ZERO, cancel };
    store.step(Kind::Simple, give_up);
    assert_eq!(store.step(Kind::Simple, acquire(1, Stay::No)).0, Outcome::Refused);
}
