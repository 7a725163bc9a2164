//! Locks on a tokio runtime without timers.

use tenure_core::{Client, Memory};
use tokio::runtime::{Builder, Runtime};
use tokio::task::yield_now;

fn without_timers() -> Runtime {
    Builder::new_current_thread().build().expect("a runtime")
}

#[test]
fn what_does_not_wait_takes_no_timers() {
    let lock = Client::new(Memory::new()).unwrap().lock("a").unwrap();
    without_timers().block_on(async {
        let guard = lock.try_lock().await.unwrap().expect("it is free");
        guard.check().unwrap();
        guard.release().await.unwrap();
    });
}

/// It says what to enable, and nothing is left held.
#[test]
fn a_section_says_that_it_takes_timers() {
    let lock = Client::new(Memory::new()).unwrap().lock("a").unwrap();
    let section = || without_timers().block_on(lock.run(yield_now()));
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(section)).unwrap_err();
    let said =
        panic.downcast_ref::<String>().cloned().or_else(|| panic.downcast_ref().map(|said: &&str| (*said).into()));
    assert!(said.as_ref().is_some_and(|said| said.contains("enable_time")), "{said:?}");
    let timers = Builder::new_current_thread().enable_time().build().unwrap();
    timers.block_on(async { lock.lock().await.unwrap().release().await.unwrap() });
}
