//! Rows, their medians, and the file they go to.

use crate::backend::Backend;
use clap::ValueEnum;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::time::Duration;

/// The workload of which the waits are of interest, and not how many there were.
pub(crate) const HAND_OVER: &str = "hand-over";

/// One measurement.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Row {
    /// The store that it was measured on.
    pub(crate) backend: String,
    pub(crate) system: String,
    pub(crate) workload: String,
    pub(crate) tasks: usize,
    pub(crate) ops_per_s: f64,
    pub(crate) p50_us: u64,
    pub(crate) p99_us: u64,
    pub(crate) max_us: u64,
}

impl Row {
    pub(crate) fn new(
        backend: &str,
        system: &str,
        workload: &str,
        tasks: usize,
        times: &Histogram<u64>,
        took: Duration,
    ) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "a count of cycles is far below 2^52")]
        let ops_per_s = (times.len() as f64 / took.as_secs_f64()).round();
        Self {
            backend: backend.to_owned(),
            system: system.to_owned(),
            workload: workload.to_owned(),
            tasks,
            ops_per_s,
            p50_us: times.value_at_quantile(0.5),
            p99_us: times.value_at_quantile(0.99),
            max_us: times.max(),
        }
    }

    /// What is compared: how much is done, or how soon where most of the time is spent on purpose.
    fn speed(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a time in microseconds is far below 2^52")]
        if self.workload == HAND_OVER { 1e6 / self.p50_us.max(1) as f64 } else { self.ops_per_s }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:<13} {:<12} {:>5} tasks {:>9.0}/s  p50 {:>6} µs  p99 {:>6} µs  max {:>7} µs",
            self.system, self.workload, self.tasks, self.ops_per_s, self.p50_us, self.p99_us, self.max_us
        )
    }
}

/// What a call cost the server, in one round.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Cost {
    pub(crate) backend: String,
    pub(crate) system: String,
    pub(crate) workload: String,
    /// So many stood in line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) waiters: Option<u64>,
    /// So many read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) readers: Option<u64>,
    pub(crate) usec_per_call: f64,
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (crowd, who) = self.waiters.map_or((self.readers, "readers"), |waiters| (Some(waiters), "waiters"));
        let crowd = crowd.unwrap_or_default();
        write!(
            f,
            "{:<13} {:<20} {crowd:>5} {who} {:>6.1} µs of server time",
            self.system, self.workload, self.usec_per_call
        )
    }
}

/// The median of each cell, and how each system compares with the bare client.
pub(crate) fn print(rows: &[Row], costs: &[Cost]) {
    let mut cells: BTreeMap<(&str, usize, &str), Vec<&Row>> = BTreeMap::new();
    for row in rows {
        cells.entry((&row.workload, row.tasks, &row.system)).or_default().push(row);
    }
    println!("\nmedian of all rounds");
    for ((workload, tasks, _), rows) in &cells {
        let row = median(rows);
        let against = cells.get(&(*workload, *tasks, "bare")).map_or(f64::NAN, |bare| ratio(rows, bare));
        if against.is_nan() { println!("{row}") } else { println!("{row} {against:>6.2} of bare") }
    }
    let mut cells: BTreeMap<_, Vec<&Cost>> = BTreeMap::new();
    for cost in costs {
        cells.entry((&cost.workload, cost.waiters, cost.readers)).or_default().push(cost);
    }
    for costs in cells.values_mut() {
        costs.sort_by(|one, other| one.usec_per_call.total_cmp(&other.usec_per_call));
        println!("{}", costs[costs.len() / 2]);
    }
}

fn median<'a>(rows: &[&'a Row]) -> &'a Row {
    let mut sorted = rows.to_vec();
    sorted.sort_by(|one, other| one.speed().total_cmp(&other.speed()));
    sorted[sorted.len() / 2]
}

/// The median of the ratios within each round: what disturbs a round disturbs both sides of it.
fn ratio(rows: &[&Row], bare: &[&Row]) -> f64 {
    let mut ratios: Vec<f64> = rows.iter().zip(bare).map(|(row, bare)| row.speed() / bare.speed()).collect();
    ratios.sort_by(f64::total_cmp);
    ratios[ratios.len() / 2]
}

/// Rows of either sort, in one list.
#[derive(Clone, Serialize, Deserialize)]
#[serde(untagged)]
enum Line {
    Row(Row),
    Cost(Cost),
}

impl Line {
    fn backend(&self) -> &str {
        match self {
            Self::Row(row) => &row.backend,
            Self::Cost(cost) => &cost.backend,
        }
    }
}

/// Writes all rows, beside those that were measured on other backends.
pub(crate) fn write(
    backend: Backend,
    rows: &[Row],
    costs: &[Cost],
    path: &Path,
) -> Result<(), Box<dyn std::error::Error>> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let before: Vec<Line> = match std::fs::read_to_string(path) {
        Ok(text) => serde_json::from_str(&text)?,
        Err(_) => Vec::new(),
    };
    let others = before.into_iter().filter(|line| line.backend() != backend.name());
    let new = rows.iter().cloned().map(Line::Row).chain(costs.iter().cloned().map(Line::Cost));
    let mut all: Vec<Line> = others.chain(new).collect();
    // Each backend's rows stay together and in their place.
    let place = |line: &Line| Backend::value_variants().iter().position(|known| known.name() == line.backend());
    all.sort_by_key(place);
    std::fs::write(path, serde_json::to_string_pretty(&all)? + "\n")?;
    Ok(())
}
