//! What the future does would be done without the lock.

use std::future::Future;
use std::pin::Pin;
use tenure::Error;

type Job = Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>;

#[tenure::locked(key = "a")]
fn job() -> Result<Job, Error> {
    Ok(Box::pin(async { Ok(()) }))
}

#[tenure::locked(key = "a", fallback = elsewhere)]
fn bare() -> Job {
    let job: Job = Box::pin(async { Ok(()) });
    job
}

fn elsewhere() -> Job {
    Box::pin(async { Ok(()) })
}

#[tenure::locked(key = "a", fallback = same)]
fn passed_on<F: Future>(future: F) -> F {
    future
}

fn same<F>(future: F) -> F {
    future
}

fn main() {}
