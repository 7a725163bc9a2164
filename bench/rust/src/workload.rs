//! What is measured.

use crate::subject::Subject;
use hdrhistogram::Histogram;
use std::error::Error;
use std::time::{Duration, Instant};

/// Up to a minute, to two digits.
pub(crate) fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 60_000_000, 2).expect("these bounds are valid")
}

/// Every task takes and releases a lock of its own as fast as it can.
///
/// How long every cycle took, in microseconds, and all of them together.
pub(crate) async fn uncontended(
    subject: &Subject,
    tasks: usize,
    length: Duration,
) -> Result<(Histogram<u64>, Duration), Box<dyn Error>> {
    let mut running = Vec::with_capacity(tasks);
    let began = Instant::now();
    for task in 0..tasks {
        let mut cycle = subject.cycle(&format!("bench:{task}"), task)?;
        running.push(tokio::spawn(async move {
            let mut times = histogram();
            while began.elapsed() < length {
                let start = Instant::now();
                cycle.run().await?;
                times.saturating_record(u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX));
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
