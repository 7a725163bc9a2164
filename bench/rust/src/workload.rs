//! What is measured.

use crate::subject::Subject;
use hdrhistogram::Histogram;
use std::error::Error;
use std::time::{Duration, Instant};

/// How long a lock is held before it is handed over: long enough for the other to wait for it.
const HOLD: Duration = Duration::from_millis(20);

/// Whose lock a task takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keys {
    /// Its own.
    Own,
    /// The one that all take.
    One,
}

/// Up to a minute, to two digits.
pub(crate) fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 60_000_000, 2).expect("these bounds are valid")
}

/// Every task takes and releases a lock as fast as it can.
///
/// How long every cycle took, in microseconds, and all of them together.
pub(crate) async fn cycles(
    subject: &Subject,
    keys: Keys,
    tasks: usize,
    length: Duration,
) -> Result<(Histogram<u64>, Duration), Box<dyn Error>> {
    let mut cycles = Vec::with_capacity(tasks);
    for task in 0..tasks {
        let key = if keys == Keys::Own { format!("bench:{task}") } else { "bench:one".to_owned() };
        cycles.push(subject.cycle(&key, task, 0).await?);
    }
    let mut running = Vec::with_capacity(tasks);
    let began = Instant::now();
    for mut cycle in cycles {
        running.push(tokio::spawn(async move {
            let mut times = histogram();
            while began.elapsed() < length {
                let start = Instant::now();
                cycle.run().await?;
                times.saturating_record(micros(start.elapsed()));
            }
            Ok::<_, Box<dyn Error + Send + Sync>>(times)
        }));
    }
    let mut times = histogram();
    for task in running {
        let task: Result<_, Box<dyn Error + Send + Sync>> = task.await?;
        times.add(task.map_err(|error| error.to_string())?)?;
    }
    Ok((times, began.elapsed()))
}

/// Two clients hand one lock to and fro: how long it takes from the moment the one gives it back until the other has it.
pub(crate) async fn hand_over(
    subject: &Subject,
    length: Duration,
) -> Result<(Histogram<u64>, Duration), Box<dyn Error>> {
    let told = |error: Box<dyn Error + Send + Sync>| error.to_string();
    let mut holder = subject.cycle("bench:handed", 0, 0).await?;
    let mut next = subject.cycle("bench:handed", 1, 1).await?;
    holder.take().await.map_err(told)?;
    let (mut times, began) = (histogram(), Instant::now());
    while began.elapsed() < length {
        let waiting = tokio::spawn(async move {
            next.take().await?;
            Ok::<_, Box<dyn Error + Send + Sync>>((next, Instant::now()))
        });
        tokio::time::sleep(HOLD).await;
        let freed = Instant::now();
        holder.free().await.map_err(told)?;
        let (taken, got) = waiting.await?.map_err(told)?;
        times.saturating_record(micros(got.duration_since(freed)));
        next = std::mem::replace(&mut holder, taken);
    }
    let took = began.elapsed();
    holder.free().await.map_err(told)?;
    Ok((times, took))
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
