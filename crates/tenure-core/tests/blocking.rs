//! Threads that share locks.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread;
use std::time::Duration;
use tenure_core::blocking::{CancellationToken, Client, Lock};
use tenure_core::{ErrorKind, Event, Events, Loss, ManualClock, Memory, Options, Owner, Release, Standing, What};
use tokio::runtime::{Builder, Runtime};

const SECOND: Duration = Duration::from_secs(1);

fn client() -> Client {
    Client::new(Memory::new()).unwrap()
}

/// What another thread has to say.
fn elsewhere<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|threads| threads.spawn(work).join().unwrap())
}

fn is_free_elsewhere(lock: &Lock) -> bool {
    elsewhere(|| lock.try_lock().unwrap().is_some_and(|guard| guard.release().unwrap() == Release::Released))
}

/// The next event of this sort.
fn next(events: &mut Events, wanted: impl Fn(&Event) -> bool) -> Event {
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    let found = async {
        loop {
            let event = events.next().await.expect("the client lives");
            if wanted(&event) {
                return event;
            }
        }
    };
    runtime.block_on(async { tokio::time::timeout(10 * SECOND, found).await }).expect("it comes in time")
}

fn runtimes() -> [Runtime; 2] {
    [
        Builder::new_current_thread().enable_all().build().unwrap(),
        Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap(),
    ]
}

#[test]
fn threads_exclude_each_other() {
    const THREADS: u32 = 8;
    const ROUNDS: u32 = 100;
    let lock = client().lock("a").unwrap();
    let (inside, entered, start) = (AtomicU32::new(0), AtomicU32::new(0), Barrier::new(THREADS as usize));
    thread::scope(|threads| {
        for number in 0..THREADS {
            let (lock, inside, entered, start) = (&lock, &inside, &entered, &start);
            threads.spawn(move || {
                start.wait();
                for round in 0..ROUNDS {
                    let guard = lock.lock().unwrap();
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "somebody else is in");
                    guard.check().unwrap();
                    thread::yield_now();
                    entered.fetch_add(1, Ordering::Relaxed);
                    inside.fetch_sub(1, Ordering::SeqCst);
                    if (number + round) % 2 == 0 {
                        assert_eq!(guard.release().unwrap(), Release::Released);
                    }
                }
            });
        }
    });
    assert_eq!(entered.into_inner(), THREADS * ROUNDS);
}

#[test]
fn a_thread_goes_in_again_and_the_store_counts_it() {
    let client = client();
    let lock = client.lock("a").unwrap();
    let count = || lock.inspect().unwrap().map_or(0, |held| held.holder().count);
    let outer = lock.lock().unwrap();
    let inner = lock.lock().unwrap();
    let innermost = lock.try_lock().unwrap().expect("the same thread");
    assert_eq!((count(), is_free_elsewhere(&lock)), (3, false));
    let claim = outer.as_async().claim().clone();
    for guard in [&inner, &innermost] {
        assert_eq!((guard.as_async().claim(), guard.token()), (&claim, outer.token()));
    }
    assert_eq!(innermost.release().unwrap(), Release::StillHeld(2));
    assert_eq!(outer.release().unwrap(), Release::StillHeld(1), "in whatever order");
    assert_eq!((count(), is_free_elsewhere(&lock)), (1, false));
    assert_eq!(inner.release().unwrap(), Release::Released);
    assert!(is_free_elsewhere(&lock));

    let next = lock.lock().unwrap();
    assert_ne!(*next.as_async().claim(), claim, "every outermost hold has a claim of its own");
    assert_eq!(count(), 1);
}

#[test]
fn who_is_the_owner_can_be_said() {
    let lock = client().lock("a").unwrap();
    let ours = Options::new().owner(Owner::labelled("a job of two threads"));
    let guard = lock.lock_with(ours.clone()).unwrap();
    assert!(lock.try_lock().unwrap().is_none(), "this thread is somebody else");
    assert!(elsewhere(|| lock.try_lock_with(ours).unwrap().is_some()));
    guard.release().unwrap();

    // The thread is its own scope.
    let outer = lock.lock_with(Options::new().reentrant()).unwrap();
    assert!(lock.try_lock().unwrap().is_some() && !is_free_elsewhere(&lock));
    drop(outer);
}

#[test]
fn tasks_and_threads_exclude_each_other() {
    let client = client();
    let lock = client.lock("a").unwrap();
    let asynchronous = client.as_async().lock("a").unwrap();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let guard = lock.lock().unwrap();
    assert!(runtime.block_on(asynchronous.try_lock()).unwrap().is_none());
    // An entry that goes elsewhere holds on when the thread has left.
    let entry = runtime.block_on(guard.as_async().reenter()).unwrap();
    assert_eq!(guard.release().unwrap(), Release::StillHeld(1));
    elsewhere(|| Client::from(client.as_async().clone()).lock("b").unwrap().lock().unwrap().release().unwrap());
    thread::spawn(move || runtime.block_on(entry.release())).join().unwrap().unwrap();
    assert!(is_free_elsewhere(&lock));
}

#[test]
fn a_simple_lock_refuses_its_thread_instead_of_letting_it_wait_for_itself() {
    let lock = client().simple("a").unwrap();
    let _guard = lock.lock().unwrap();
    assert_eq!(lock.lock().unwrap_err().kind(), ErrorKind::Conflict);
}

#[test]
fn a_thread_that_reads_goes_on_to_write_and_back() {
    let client = client();
    let catalogue = client.rw_lock("catalogue").unwrap();
    let reader = catalogue.read().lock().unwrap();
    assert!(elsewhere(|| catalogue.read().try_lock().unwrap().is_some()));
    // By name, or by asking to write.
    for writer in [reader.upgrade().unwrap(), catalogue.write().lock().unwrap()] {
        assert!(writer.token() > reader.token() && elsewhere(|| catalogue.read().try_lock().unwrap().is_none()));
        writer.release().unwrap();
    }
    reader.release().unwrap();
    let reader = catalogue.write().lock().unwrap().downgrade().unwrap();
    elsewhere(|| {
        let other = catalogue.read().lock().unwrap();
        assert!(other.try_upgrade().unwrap().is_none());
        let brief = Options::new().wait(Duration::from_millis(20));
        assert_eq!(other.upgrade_with(brief).unwrap_err().kind(), ErrorKind::Timeout);
        other.release().unwrap();
    });
    assert_eq!(reader.release().unwrap(), Release::Released);
}

#[test]
fn a_wait_that_is_called_off_by_another_thread_leaves_nothing_behind() {
    type Wait<'a> = Box<dyn Fn(&CancellationToken) -> bool + Sync + 'a>;
    let client = client();
    let (lock, semaphore) = (client.lock("a").unwrap(), client.semaphore("calls").unwrap().of(1).unwrap());
    let (both, permits) = (client.multi(["a", "b"]).unwrap(), client.permits("seats").unwrap().of(1).unwrap());
    let (catalogue, latch) = (client.rw_lock("catalogue").unwrap(), client.latch("latch").unwrap());
    let held = (lock.lock().unwrap(), semaphore.acquire().unwrap(), catalogue.read().lock().unwrap());
    let seat = permits.acquire(60 * SECOND).unwrap();
    latch.set(1).unwrap();

    let waits: [(&str, Wait); 6] = [
        ("lock", Box::new(|token| lock.lock_unless(token).unwrap().is_none())),
        ("multi lock", Box::new(|token| both.lock_unless(token).unwrap().is_none())),
        ("write lock", Box::new(|token| catalogue.write().lock_unless(token).unwrap().is_none())),
        ("semaphore", Box::new(|token| semaphore.acquire_unless(token).unwrap().is_none())),
        ("permits", Box::new(|token| permits.acquire_unless(token, SECOND).unwrap().is_none())),
        ("upgrade", Box::new(|token| catalogue.read().lock().unwrap().upgrade_unless(token).unwrap().is_none())),
    ];
    for (name, wait) in &waits {
        let (token, mut events) = (CancellationToken::new(), client.as_async().events());
        thread::scope(|threads| {
            let waiter = threads.spawn(|| wait(&token));
            next(&mut events, |event| matches!(event.what, What::Waiting { .. }));
            token.cancel();
            assert!(waiter.join().unwrap(), "{name}: called off");
        });
        assert!(elsewhere(|| wait(&token)), "{name}: called off before it began");
    }
    let token = CancellationToken::new();
    thread::scope(|threads| {
        let waiter = threads.spawn(|| latch.wait_unless(&token).unwrap());
        token.cancel();
        assert!(!waiter.join().unwrap());
    });

    drop(held);
    permits.release(&seat).unwrap();
    latch.down().unwrap();
    let token = CancellationToken::new();
    assert!(latch.wait_unless(&token).unwrap());
    elsewhere(|| {
        let brief = || Options::new().wait(10 * SECOND);
        drop(both.lock_unless_with(&token, brief()).unwrap().expect("both are free"));
        drop(lock.lock_unless_with(&token, brief()).unwrap().expect("it is free again"));
        drop(catalogue.write().lock_unless(&token).unwrap().expect("nobody reads"));
        drop(semaphore.acquire_unless_with(&token, 1, brief()).unwrap().expect("there is one"));
        let seats = permits.acquire_unless_with(&token, 1, brief().no_renew()).unwrap().expect("there is one");
        permits.release_many(&seats).unwrap();
    });
    client.close(10 * SECOND).unwrap();
}

#[test]
fn a_time_out_names_the_holder() {
    let lock = client().lock("a").unwrap();
    let guard = lock.lock().unwrap();
    let error = elsewhere(|| lock.lock_timeout(Duration::from_millis(20)).unwrap_err());
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert_eq!(error.holder().map(|holder| &holder.claim), Some(guard.as_async().claim()));
}

#[test]
fn it_works_inside_spawn_blocking_and_other_places_that_may_block() {
    for runtime in runtimes() {
        let client = client();
        let lock = client.lock("a").unwrap();
        let cycle = move || {
            let guard = lock.lock().unwrap();
            assert!(!is_free_elsewhere(&lock));
            drop(guard);
            lock.lock_timeout(10 * SECOND).unwrap().release().unwrap()
        };
        let blocking = runtime.handle().spawn_blocking(cycle.clone());
        assert_eq!(runtime.block_on(blocking).unwrap(), Release::Released);
        // A thread that merely knows a runtime.
        let entered = runtime.enter();
        assert_eq!(cycle(), Release::Released);
        drop(entered);
    }
    let [_, threads] = runtimes();
    let lock = client().lock("a").unwrap();
    let task = async move { tokio::task::block_in_place(|| lock.lock().unwrap().release().unwrap()) };
    assert_eq!(threads.block_on(threads.spawn(task)).unwrap(), Release::Released);
}

/// The innermost section counts, whether a task or a thread is in it.
#[test]
fn sections_of_threads_and_of_tasks_lie_within_each_other() {
    let [_, threads] = runtimes();
    let client = client();
    let (outer, inner) = (client.as_async().lock("outer").unwrap(), client.lock("inner").unwrap());
    let key = || tenure_core::current().map(|guard| guard.key().to_string());
    let (again, mine) = (client.lock("outer").unwrap(), Options::new().wait(SECOND));
    let task = async move {
        let blocking = || {
            assert_eq!(key().as_deref(), Some("outer"));
            let nested = inner.run(|| {
                assert_eq!(key().as_deref(), Some("inner"));
                inner.run_with(mine.clone(), key).unwrap()
            });
            assert_eq!(nested.unwrap().as_deref(), Some("inner"));
            // What the task is in it goes into again.
            assert_eq!(again.run_with(mine, key).unwrap().as_deref(), Some("outer"));
            assert_eq!(key().as_deref(), Some("outer"));
        };
        outer.run(async { tokio::task::block_in_place(blocking) }).await.unwrap();
        assert_eq!(key(), None);
    };
    threads.block_on(threads.spawn(task)).unwrap();
    assert!(client.list("*").unwrap().is_empty());
}

/// Whether a branch is let in does not depend on whether the section of another branch has been gone into again.
#[test]
fn a_guard_of_a_branch_does_not_go_into_the_section_of_another() {
    let [_, threads] = runtimes();
    let client = client();
    let (outer, inner, by_thread) =
        (client.as_async().lock("x").unwrap(), client.as_async().lock("y").unwrap(), client.lock("y").unwrap());
    let task = async move {
        let (entered, is_in) = tokio::sync::oneshot::channel();
        let (tried, done) = tokio::sync::oneshot::channel();
        let section = inner.run(async {
            inner.run(async {}).await.unwrap();
            entered.send(()).unwrap();
            done.await.unwrap();
        });
        let beside = async {
            is_in.await.unwrap();
            let refused = tokio::task::block_in_place(|| by_thread.lock_timeout(Duration::from_millis(50)).map(drop));
            tried.send(()).unwrap();
            refused
        };
        let both = Box::pin(outer.run(async { tokio::join!(section, beside) }));
        let (section, beside) = both.await.unwrap();
        section.unwrap();
        assert_eq!(beside.unwrap_err().kind(), ErrorKind::Timeout);
    };
    threads.block_on(threads.spawn(task)).unwrap();
    assert!(client.list("*").unwrap().is_empty());
}

/// What a thread holds it goes into again, whoever's section it is in meanwhile.
#[test]
fn a_thread_goes_in_again_from_inside_of_anybodys_section() {
    let [_, threads] = runtimes();
    let client = client();
    let (held, other) = (client.lock("x").unwrap(), client.lock("y").unwrap());
    let brief = || Options::new().wait(SECOND);
    let again = || held.lock_with(brief()).unwrap().release().unwrap();
    let guard = held.lock().unwrap();
    let stranger = brief().owner(tenure_core::Owner::new());
    assert_eq!(other.run_with(stranger.clone(), again).unwrap(), Release::StillHeld(1));
    // Also inside of a task's section, which the thread runs itself.
    let section = client.as_async().lock("y").unwrap();
    let task = section.run(async { tokio::task::block_in_place(again) });
    assert_eq!(threads.block_on(task).unwrap(), Release::StillHeld(1));
    guard.release().unwrap();
    // And what it holds by a section of its own.
    let nested = held.run(|| other.run_with(stranger, || held.run_with(brief(), || 7).unwrap()).unwrap());
    assert_eq!(nested.unwrap(), 7);
    assert!(client.list("*").unwrap().is_empty());
}

/// A value that a thread drops when it ends.
struct Last(Arc<Mutex<Option<bool>>>);

impl Drop for Last {
    fn drop(&mut self) {
        *self.0.lock().unwrap() = Some(tenure_core::current().is_some());
    }
}

#[test]
fn a_thread_that_ends_is_in_no_section() {
    thread_local! {
        static LAST: std::cell::RefCell<Option<Last>> = const { std::cell::RefCell::new(None) };
    }
    let seen = Arc::new(Mutex::new(None));
    elsewhere(|| {
        LAST.set(Some(Last(Arc::clone(&seen))));
        client().lock("a").unwrap().run(|| assert!(tenure_core::current().is_some())).unwrap();
    });
    assert_eq!(*seen.lock().unwrap(), Some(false));
}

#[test]
fn it_panics_helpfully_in_async_code_before_it_does_anything() {
    let [seen, of_tokio]: [Arc<Mutex<Vec<String>>>; 2] = Default::default();
    let (before, at, others) = (std::panic::take_hook(), Arc::clone(&seen), Arc::clone(&of_tokio));
    std::panic::set_hook(Box::new(move |info| match info.payload_as_str() {
        Some(text) if text.starts_with("tenure::blocking was called from async code") => {
            at.lock().unwrap().push(info.location().unwrap().file().to_owned());
        }
        Some(text) if text.starts_with("Cannot block the current thread") => {
            others.lock().unwrap().push(info.to_string());
        }
        _ => before(info),
    }));
    let client = client();
    let lock = client.lock("a").unwrap();
    let attempt = {
        let (client, lock) = (client.clone(), lock.clone());
        async move || {
            let attempts: [&dyn Fn(); 4] = [
                &|| drop(lock.lock()),
                &|| drop(lock.is_locked()),
                &|| drop(client.multi(["a", "b"]).unwrap().try_lock()),
                &|| drop(client.latch("c").unwrap().set(1)),
            ];
            for attempt in attempts {
                let panic = catch_unwind(AssertUnwindSafe(attempt)).unwrap_err();
                let text = panic.downcast_ref::<&str>().expect("a plain text");
                assert!(text.contains("use the async API") && text.contains("spawn_blocking"), "{text}");
            }
        }
    };
    for runtime in runtimes() {
        let guard = client.lock("dropped").unwrap().lock().unwrap();
        runtime.block_on(async move { drop(guard) });
        runtime.block_on(attempt());
        let (spawned, local) = (attempt.clone(), attempt.clone());
        runtime.block_on(runtime.spawn(async move { spawned().await })).unwrap();
        let tasks = tokio::task::LocalSet::new();
        tasks.block_on(&runtime, tasks.spawn_local(async move { local().await })).unwrap();
        drop(client.lock("dropped").unwrap().lock().unwrap());
        assert!(client.list("*").unwrap().is_empty());
    }
    assert!(!lock.is_locked().unwrap() && client.latch("c").unwrap().count().unwrap() == 0);
    let [seen, of_tokio] = [seen, of_tokio].map(|told| std::mem::take(&mut *told.lock().unwrap()));
    assert_eq!((seen.len(), seen.iter().all(|file| file.ends_with("tests/blocking.rs"))), (24, true), "{seen:?}");
    assert_eq!(of_tokio, [""; 0], "a hook of the application's is told of one mistake twice");

    // Of a task that is never told to yield, tokio tells by a panic alone.
    for runtime in runtimes() {
        let lock = client.lock("a").unwrap();
        let (again, guard) = (lock.clone(), lock.lock().unwrap());
        runtime.block_on(tokio::task::unconstrained(async move {
            drop(guard);
            let panic = catch_unwind(AssertUnwindSafe(|| drop(lock.lock()))).unwrap_err();
            let text = panic.downcast_ref::<&str>().expect("a plain text");
            assert!(text.contains("use the async API"), "{text}");
        }));
        again.lock_timeout(20 * SECOND).unwrap().release().unwrap();
    }
}

/// What asks does not use up what the task may do before it is to yield.
#[test]
fn a_guard_dropped_in_async_code_leaves_the_task_its_budget() {
    let guard = client().lock("a").unwrap().lock().unwrap();
    Builder::new_current_thread().build().unwrap().block_on(async move {
        tokio::task::consume_budget().await;
        drop(guard);
        assert!(tokio::task::coop::has_budget_remaining());
    });
}

/// In place: nobody has to wait for it, and the process may end right after.
#[test]
fn a_dropped_guard_is_released_by_the_time_the_drop_returns() {
    let store = Memory::new();
    let [one, other] = [(); 2].map(|()| Client::new(store.clone()).unwrap());
    let (lock, elsewhere) = (one.lock("a").unwrap(), other.lock("a").unwrap());
    for round in 0..200 {
        drop(lock.lock().unwrap());
        let next = elsewhere.try_lock().unwrap();
        next.unwrap_or_else(|| panic!("it is still held in round {round}")).release().unwrap();
    }
}

#[test]
fn a_dropped_guard_is_released_and_so_is_that_of_a_thread_that_panics() {
    let client = client();
    let lock = client.lock("a").unwrap();
    drop(lock.lock().unwrap());
    elsewhere(|| lock.lock_timeout(10 * SECOND).unwrap().release().unwrap());
    let panicked = thread::scope(|threads| {
        let holder = threads.spawn(|| {
            let _guard = lock.lock().unwrap();
            panic!("this panic is part of the case");
        });
        holder.join()
    });
    assert!(panicked.is_err());
    lock.lock_timeout(10 * SECOND).unwrap().release().unwrap();
    drop(lock.lock().unwrap());
    client.close(10 * SECOND).unwrap();
}

#[test]
fn a_release_tells_what_happened() {
    let lock = client().lock("a").unwrap();
    let guard = lock.lock().unwrap();
    let lost = guard.cancellation_token();
    assert_eq!(guard.reenter().unwrap().release().unwrap(), Release::StillHeld(1));
    assert!(lock.force_release().unwrap().is_some());
    Builder::new_current_thread().build().unwrap().block_on(lost.cancelled());
    assert_eq!(guard.release().unwrap_err().kind(), ErrorKind::Lost);

    let clock = ManualClock::new();
    let lock = Client::new(Memory::with_clock(clock.clone())).unwrap().lock("a").unwrap();
    let guard = lock.lock_with(Options::new().lease(SECOND).no_renew()).unwrap();
    assert!(guard.remaining() > SECOND / 2 && guard.is_held());
    clock.advance(2 * SECOND);
    assert_eq!((guard.standing(), guard.remaining()), (Standing::Lost(Loss::LeaseEnded), Duration::ZERO));
    assert_eq!(guard.check().unwrap_err().kind(), ErrorKind::Lost);
    assert_eq!(guard.release().unwrap_err().kind(), ErrorKind::Lost);
}

#[test]
fn a_lease_is_renewed_while_its_thread_does_something_else() {
    let client = client();
    let mut events = client.as_async().events();
    let guard = client.lock("a").unwrap().lock_with(Options::new().lease(SECOND / 2)).unwrap();
    for _ in 0..6 {
        next(&mut events, |event| matches!(event.what, What::Renewed));
    }
    guard.renew().unwrap();
    assert_eq!(guard.release().unwrap(), Release::Released);
}

#[test]
fn the_guard_that_an_ended_thread_forgot_ends_with_its_lease() {
    let clock = ManualClock::new();
    let client = Client::new(Memory::with_clock(clock.clone())).unwrap();
    for (key, options) in [
        ("no_renew", Options::new().lease(10 * SECOND).no_renew()),
        ("max_hold", Options::new().lease(10 * SECOND).max_hold(10 * SECOND)),
    ] {
        let lock = client.lock(key).unwrap();
        elsewhere(|| std::mem::forget(lock.lock_with(options).unwrap()));
        assert!(lock.try_lock().unwrap().is_none() && !is_free_elsewhere(&lock), "nobody is the thread that ended");
        clock.advance(11 * SECOND);
        assert!(is_free_elsewhere(&lock));
    }
}

#[test]
fn nothing_is_passed_on_to_the_next_work_on_a_thread_of_a_pool_unless_a_guard_was_leaked() {
    let pool = Builder::new_current_thread().max_blocking_threads(1).build().unwrap();
    let client = client();
    let lock = client.lock("a").unwrap();
    let next_work = |leak: bool| {
        let lock = lock.clone();
        let work = move || {
            let guard = lock.lock().unwrap();
            let held = lock.inspect().unwrap().unwrap();
            if leak {
                std::mem::forget(guard);
            }
            (thread::current().id(), held.holder().claim.clone(), held.holder().count)
        };
        pool.block_on(pool.handle().spawn_blocking(work)).unwrap()
    };
    let (one, two, leaking, after) = (next_work(false), next_work(false), next_work(true), next_work(false));
    assert!([&two, &leaking, &after].iter().all(|(thread, ..)| *thread == one.0), "one thread does all of it");
    assert!(one.1 != two.1 && two.1 != leaking.1);
    assert_eq!((one.2, two.2, leaking.2), (1, 1, 1));
    assert_eq!(after, (one.0, leaking.1, 2), "it went in beside the guard that was leaked");
    assert!(lock.try_lock().unwrap().is_none());
}

#[test]
fn handles_go_anywhere_and_guards_are_looked_at_from_anywhere() {
    fn goes_anywhere<T: Send + Sync + 'static>() {}
    fn is_seen_anywhere<T: Sync + 'static>() {}
    goes_anywhere::<Client>();
    goes_anywhere::<Lock>();
    goes_anywhere::<tenure_core::blocking::MultiLock>();
    is_seen_anywhere::<tenure_core::blocking::Guard>();
    is_seen_anywhere::<tenure_core::blocking::MultiGuard>();
}

/// Tries a lock once more when its thread drops its thread-locals, and tells what came of it.
struct Late(Lock, mpsc::Sender<Option<ErrorKind>>);

impl Drop for Late {
    fn drop(&mut self) {
        let _ = self.1.send(self.0.try_lock().err().map(|error| error.kind()));
    }
}

thread_local! {
    static LATE: RefCell<Option<Late>> = const { RefCell::new(None) };
}

#[test]
fn a_thread_that_drops_its_thread_locals_is_refused() {
    let lock = client().lock("a").unwrap();
    let (says, said) = mpsc::channel();
    elsewhere(|| {
        LATE.set(Some(Late(lock.clone(), says)));
        lock.lock().unwrap().release().unwrap();
    });
    assert_eq!(said.recv().unwrap(), Some(ErrorKind::Unavailable));
    assert!(is_free_elsewhere(&lock));
}
