//! Threads that keep guards in thread-locals of theirs until they end.

use crate::ending::{LOCKS, kind_of, options};
use std::cell::RefCell;
use std::thread;
use tenure::blocking::{Client, Guard};
use tokio::runtime::Handle;

thread_local! {
    static KEPT: RefCell<Vec<Guard>> = const { RefCell::new(Vec::new()) };
}

/// What the thread has made before it makes room for guards, and so drops after them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    /// Nothing.
    Nothing,
    /// Something of tokio's, but not all that waiting takes.
    Tokio,
    /// All that waiting takes.
    Wait,
}

/// The last handle of the client stays here, and this thread has built it: only the threads that end can wait for their guards.
pub(crate) fn end(client: &Client) -> Result<(), Box<dyn std::error::Error>> {
    println!("holds");
    for before in [Before::Nothing, Before::Tokio, Before::Wait] {
        thread::scope(|threads| threads.spawn(|| hold(client, before)).join()).expect("it does not panic")?;
        let held = client.list("*")?;
        if !held.is_empty() {
            return Err(format!("{} are still held after {before:?}", held.len()).into());
        }
    }
    Ok(())
}

fn hold(client: &Client, before: Before) -> Result<(), tenure::Error> {
    match before {
        Before::Nothing => {}
        Before::Tokio => drop(Handle::try_current()),
        Before::Wait => drop(client.list("*")?),
    }
    KEPT.with_borrow_mut(|kept| {
        for number in 0..LOCKS {
            kept.push(client.lock_of(kind_of(number), &number.to_string())?.lock_with(options())?);
        }
        Ok(())
    })
}
