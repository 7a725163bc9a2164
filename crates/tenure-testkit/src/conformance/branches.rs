//! Branches of one task that ask for the same lock: one at a time is in, whatever the sections around them do.

// Sections that lie within each other are futures that do.
#![allow(clippy::large_futures)]

use super::bench::{Bench, millis};
use super::case::cases;
use super::sections::count;
use super::waiting::{eventually, soon};
use futures_util::future::{join_all, join3};
use std::sync::atomic::{AtomicU32, Ordering};
use tenure_core::{ErrorKind, Lock, Options, Owner, Retry, current};

cases!("branches":
    branches_exclude_each_other,
    branches_of_a_section_exclude_each_other,
    branches_that_go_in_again_deeper_exclude_each_other,
    branches_beside_a_guard_of_their_owner_exclude_each_other,
    branches_exclude_each_other_when_the_section_around_them_is_lost,
    branches_exclude_each_other_when_the_guard_beside_them_is_released,
    branches_that_outlive_their_section_exclude_each_other,
    branches_that_read_and_one_that_writes_exclude_each_other uses Read,
    branches_beside_guards_of_both_sides_exclude_each_other uses Read,
    branches_that_would_wait_for_each_other_are_told uses Read,
    a_branch_waits_for_one_inside_of_which_others_wait,
    a_branch_that_does_not_wait_is_told_who_is_in,
    a_branch_that_polls_gives_up_when_it_said,
    a_branch_that_is_cancelled_lets_the_next_one_in,
);

/// Work that must be alone.
#[derive(Default)]
struct Alone {
    inside: AtomicU32,
    runs: AtomicU32,
}

impl Alone {
    async fn work(&self) {
        self.work_for(5).await;
    }

    async fn work_for(&self, length: u64) {
        assert_eq!(self.inside.fetch_add(1, Ordering::SeqCst), 0, "two are in at once");
        for _ in 0..length / 5 {
            tokio::time::sleep(millis(5)).await;
        }
        self.inside.fetch_sub(1, Ordering::SeqCst);
        self.runs.fetch_add(1, Ordering::SeqCst);
    }

    fn runs(&self) -> u32 {
        self.runs.load(Ordering::SeqCst)
    }
}

async fn branches_exclude_each_other(bench: &Bench) {
    let (lock, alone) = (bench.lock("a").await, Alone::default());
    let branches = (0..8).map(|_| async { lock.run(alone.work()).await.unwrap() });
    soon("all branches", Owner::new().scope(join_all(branches))).await;
    assert_eq!(alone.runs(), 8);
    bench.assert_nothing_left().await;
}

async fn branches_of_a_section_exclude_each_other(bench: &Bench) {
    let (lock, alone) = (bench.lock("a").await, Alone::default());
    let branches = lock.run(async {
        let branches = (0..8).map(|_| async { lock.run(alone.work()).await.unwrap() });
        join_all(branches).await;
        assert_eq!(count(&lock).await, 1);
    });
    soon("all branches", branches).await.unwrap();
    assert_eq!(alone.runs(), 8);
    bench.assert_nothing_left().await;
}

async fn branches_that_go_in_again_deeper_exclude_each_other(bench: &Bench) {
    let (lock, alone) = (bench.lock("a").await, Alone::default());
    let branches = lock.run(async {
        let branch = || async {
            let inner = lock.run(async { lock.run(alone.work()).await.unwrap() });
            inner.await.unwrap();
        };
        join3(branch(), branch(), branch()).await;
    });
    soon("all branches", branches).await.unwrap();
    assert_eq!(alone.runs(), 3);
    bench.assert_nothing_left().await;
}

async fn branches_beside_a_guard_of_their_owner_exclude_each_other(bench: &Bench) {
    let (lock, alone) = (bench.lock("a").await, Alone::default());
    let branches = Owner::new().scope(async {
        let guard = lock.lock_with(Options::new().reentrant()).await.unwrap();
        let branch = || async { lock.run(alone.work()).await.unwrap() };
        join3(branch(), branch(), branch()).await;
        guard.release().await.unwrap();
    });
    soon("all branches", branches).await;
    assert_eq!(alone.runs(), 3);
    bench.assert_nothing_left().await;
}

/// The one that is in keeps the lock, the section around both has lost it.
async fn branches_exclude_each_other_when_the_section_around_them_is_lost(bench: &Bench) {
    let (lock, alone) = (bench.lock("a").await, Alone::default());
    let retry = Retry::fixed(millis(20));
    for options in [Options::new(), Options::new().retry(retry)] {
        let branch = async || {
            lock.run_with(options.clone(), alone.work_for(300)).await.unwrap();
        };
        let outer = async {
            tokio::join!(branch(), branch());
        };
        let short = Options::new().max_hold(millis(150));
        // A task of its own has no section around it that would stop it.
        let owner = Owner::new();
        let scope = owner.scope(async {
            let guard = lock.lock_with(short.reentrant()).await.unwrap();
            outer.await;
            drop(guard);
        });
        soon("both branches", scope).await;
    }
    assert_eq!(alone.runs(), 4);
    eventually("nothing is left", async || bench.keys_left().await.is_empty()).await;
}

async fn branches_exclude_each_other_when_the_guard_beside_them_is_released(bench: &Bench) {
    let (lock, alone) = (bench.lock("a").await, Alone::default());
    let scope = Owner::new().scope(async {
        let guard = lock.lock_with(Options::new().reentrant()).await.unwrap();
        let (entered, is_in) = tokio::sync::oneshot::channel();
        let first = lock.run(async {
            entered.send(()).unwrap();
            alone.work_for(100).await;
        });
        let second = async {
            is_in.await.unwrap();
            guard.release().await.unwrap();
            lock.run(alone.work()).await.unwrap();
        };
        tokio::join!(async { first.await.unwrap() }, second);
    });
    soon("both branches", scope).await;
    assert_eq!(alone.runs(), 2);
    bench.assert_nothing_left().await;
}

async fn branches_that_outlive_their_section_exclude_each_other(bench: &Bench) {
    let (lock, alone) = (bench.lock("a").await, Alone::default());
    for retry in [None, Some(Retry::fixed(millis(20)))] {
        let options = retry.into_iter().fold(Options::new(), Options::retry);
        let mut branches: Vec<_> =
            (0..2).map(|_| Box::pin(lock.run_with(options.clone(), alone.work_for(100)))).collect();
        // One of them is in and the other waits when the section around them ends.
        let outer = lock.run(async {
            let both = join_all(branches.iter_mut());
            assert!(tokio::time::timeout(millis(50), both).await.is_err());
        });
        soon("the section", outer).await.unwrap();
        for done in soon("both branches", join_all(branches)).await {
            done.unwrap();
        }
    }
    assert_eq!(alone.runs(), 4);
    bench.assert_nothing_left().await;
}

async fn branches_that_read_and_one_that_writes_exclude_each_other(bench: &Bench) {
    let (client, alone) = (bench.client().await, Alone::default());
    let lock = client.rw_lock(&bench.key("a")).unwrap();
    for outer in [lock.read(), lock.write()] {
        for writes_first in [true, false] {
            let branches = async {
                let (write, read) = (lock.write().run(alone.work()), lock.read().run(alone.work()));
                let (one, other) = if writes_first {
                    tokio::join!(write, read)
                } else {
                    let (read, write) = tokio::join!(read, write);
                    (write, read)
                };
                one.unwrap();
                other.unwrap();
            };
            soon("both branches", outer.run(branches)).await.unwrap();
        }
    }
    assert_eq!(alone.runs(), 8);
    // Those who read meet.
    let meeting = tokio::sync::Barrier::new(2);
    let reads = async || lock.read().run(meeting.wait()).await.map(drop);
    let both = lock.read().run(async { tokio::join!(reads(), reads()) });
    let (one, other) = soon("those who read", both).await.unwrap();
    one.and(other).unwrap();
    bench.assert_nothing_left().await;
}

/// What the branches are inside of is several holds, which come and go.
async fn branches_beside_guards_of_both_sides_exclude_each_other(bench: &Bench) {
    let (client, alone) = (bench.client().await, Alone::default());
    let lock = client.rw_lock(&bench.key("a")).unwrap();
    let mine = || Options::new().reentrant();
    let reads_and_writes = Owner::new().scope(async {
        let guard = lock.write().lock_with(mine()).await.unwrap();
        let meeting = tokio::sync::Barrier::new(2);
        let branch = async || {
            lock.read()
                .run(async {
                    meeting.wait().await;
                    lock.write().run(alone.work_for(50)).await
                })
                .await
                .unwrap()
        };
        let (one, other) = tokio::join!(branch(), branch());
        let told = one.err().or(other.err()).expect("one of them is told");
        assert_eq!(told.kind(), ErrorKind::Conflict, "{told}");
        guard.release().await.unwrap();
    });
    soon("both branches", reads_and_writes).await;
    let one_is_released = Owner::new().scope(async {
        let first = lock.read().lock_with(mine()).await.unwrap();
        let second = lock.write().lock_with(mine()).await.unwrap();
        let (entered, is_in) = tokio::sync::oneshot::channel();
        let sooner = lock.write().run(async {
            entered.send(()).unwrap();
            alone.work_for(50).await;
        });
        let later = async {
            is_in.await.unwrap();
            first.release().await.unwrap();
            lock.write().run(alone.work_for(50)).await.unwrap();
        };
        let (done, ()) = tokio::join!(sooner, later);
        done.unwrap();
        second.release().await.unwrap();
    });
    soon("both branches", one_is_released).await;
    assert_eq!(alone.runs(), 3);
    eventually("nothing is left", async || bench.keys_left().await.is_empty()).await;
}

/// Each reads, and waits for the other to leave so that it can write.
async fn branches_that_would_wait_for_each_other_are_told(bench: &Bench) {
    let lock = bench.client().await.rw_lock(&bench.key("a")).unwrap();
    let meeting = tokio::sync::Barrier::new(2);
    let branch = async || {
        lock.read()
            .run(async {
                meeting.wait().await;
                lock.write().run(async {}).await
            })
            .await
            .unwrap()
    };
    let branches = lock.read().run(async { tokio::join!(branch(), branch()) });
    let (one, other) = soon("neither waits for ever", branches).await.unwrap();
    let told = one.err().or(other.err()).expect("one of them is told");
    assert_eq!(told.kind(), ErrorKind::Conflict, "{told}");
    bench.assert_nothing_left().await;
}

/// What waits inside of the branch that is in waits for its own sibling, and not for the one who comes late.
async fn a_branch_waits_for_one_inside_of_which_others_wait(bench: &Bench) {
    let (lock, alone) = (bench.lock("a").await, Alone::default());
    let (entered, is_in) = tokio::sync::oneshot::channel();
    let twins = lock.run(async {
        let one = lock.run(async {
            entered.send(()).unwrap();
            alone.work_for(100).await;
        });
        let (one, other) = tokio::join!(one, lock.run(alone.work()));
        one.and(other).unwrap();
    });
    let late = async {
        is_in.await.unwrap();
        lock.run(alone.work()).await
    };
    let branches = lock.run(lock.run(async { tokio::join!(twins, late) }));
    let (twins, late) = soon("all are served", branches).await.unwrap().unwrap();
    twins.and(late).unwrap();
    assert_eq!(alone.runs(), 3);
    bench.assert_nothing_left().await;
}

async fn a_branch_that_does_not_wait_is_told_who_is_in(bench: &Bench) {
    let lock = bench.lock("a").await;
    let branches = lock.run(async {
        // The wait is over without the store, which then has a moment to say who is in. A machine that pauses gets another chance.
        let is_told = eventually("it is told who is in", async || {
            let refused = async { panic!("two are in at once") };
            let error = lock.run_with(Options::new().wait(millis(30)), refused).await.unwrap_err();
            error.kind() == ErrorKind::Timeout && error.holder().is_some()
        });
        impatient_beside(&lock, is_told).await;
    });
    branches.await.unwrap();
    bench.assert_nothing_left().await;
}

/// A branch beside another that is in again.
async fn impatient_beside<T>(lock: &Lock, impatient: impl Future<Output = T>) -> T {
    let (entered, is_in) = tokio::sync::oneshot::channel();
    let (leave, leaving) = tokio::sync::oneshot::channel::<()>();
    let patient = lock.run(async {
        entered.send(()).unwrap();
        leaving.await.unwrap();
    });
    let other = async {
        is_in.await.unwrap();
        let outcome = impatient.await;
        leave.send(()).unwrap();
        outcome
    };
    let (patient, outcome) = tokio::join!(patient, other);
    patient.unwrap();
    outcome
}

async fn a_branch_that_polls_gives_up_when_it_said(bench: &Bench) {
    let lock = bench.lock("a").await;
    let branches = lock.run(async {
        let polls = Options::new().retry(Retry::fixed(millis(5)).times(3));
        let refused = async { panic!("two are in at once") };
        impatient_beside(&lock, async { lock.run_with(polls, refused).await.unwrap_err().kind() }).await
    });
    assert_eq!(soon("both", branches).await.unwrap(), ErrorKind::Timeout);
}

async fn a_branch_that_is_cancelled_lets_the_next_one_in(bench: &Bench) {
    let lock = bench.lock("a").await;
    let branches = lock.run(async {
        let (entered, is_in) = tokio::sync::oneshot::channel();
        let stuck = lock.run(async move {
            entered.send(()).unwrap();
            std::future::pending::<()>().await;
        });
        tokio::select! {
            _ = stuck => unreachable!(),
            is_in = is_in => is_in.unwrap(),
        }
        lock.run(async { current().unwrap().check().unwrap() }).await.unwrap();
    });
    soon("the next one", branches).await.unwrap();
    eventually("nothing is left", async || bench.keys_left().await.is_empty()).await;
}
