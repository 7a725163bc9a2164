//! Rows, their medians, and the file they go to.

use hdrhistogram::Histogram;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::time::Duration;

/// One measurement.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Row {
    pub(crate) system: &'static str,
    pub(crate) workload: &'static str,
    pub(crate) tasks: usize,
    pub(crate) ops_per_s: f64,
    pub(crate) p50_us: u64,
    pub(crate) p99_us: u64,
    pub(crate) max_us: u64,
}

impl Row {
    pub(crate) fn new(
        system: &'static str,
        workload: &'static str,
        tasks: usize,
        times: &Histogram<u64>,
        took: Duration,
    ) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "a count of cycles is far below 2^52")]
        let ops_per_s = (times.len() as f64 / took.as_secs_f64()).round();
        Self {
            system,
            workload,
            tasks,
            ops_per_s,
            p50_us: times.value_at_quantile(0.5),
            p99_us: times.value_at_quantile(0.99),
            max_us: times.max(),
        }
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
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Cost {
    pub(crate) system: &'static str,
    pub(crate) workload: &'static str,
    /// So many stood in line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) waiters: Option<u64>,
    /// So many read.
    #[serde(skip_serializing_if = "Option::is_none")]
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
        cells.entry((row.workload, row.tasks, row.system)).or_default().push(row);
    }
    println!("\nmedian of all rounds");
    for ((workload, tasks, system), rows) in &cells {
        let middle = median(rows);
        let against = cells.get(&(*workload, *tasks, "bare")).map_or(f64::NAN, |bare| ratio(rows, bare));
        let row = Row { system, workload, tasks: *tasks, ..middle.clone() };
        if against.is_nan() { println!("{row}") } else { println!("{row} {against:>6.2} of bare") }
    }
    let mut cells: BTreeMap<_, Vec<&Cost>> = BTreeMap::new();
    for cost in costs {
        cells.entry((cost.workload, cost.waiters, cost.readers)).or_default().push(cost);
    }
    for costs in cells.values_mut() {
        costs.sort_by(|one, other| one.usec_per_call.total_cmp(&other.usec_per_call));
        println!("{}", costs[costs.len() / 2]);
    }
}

fn median<'a>(rows: &[&'a Row]) -> &'a Row {
    let mut sorted = rows.to_vec();
    sorted.sort_by(|one, other| one.ops_per_s.total_cmp(&other.ops_per_s));
    sorted[sorted.len() / 2]
}

/// The median of the ratios within each round: what disturbs a round disturbs both sides of it.
fn ratio(rows: &[&Row], bare: &[&Row]) -> f64 {
    let mut ratios: Vec<f64> = rows.iter().zip(bare).map(|(row, bare)| row.ops_per_s / bare.ops_per_s).collect();
    ratios.sort_by(f64::total_cmp);
    ratios[ratios.len() / 2]
}

/// Rows of either sort, in one list.
#[derive(Serialize)]
#[serde(untagged)]
enum Line<'a> {
    Row(&'a Row),
    Cost(&'a Cost),
}

/// Writes all rows.
pub(crate) fn write(rows: &[Row], costs: &[Cost], path: &Path) -> Result<(), Box<dyn std::error::Error>> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let lines: Vec<Line> = rows.iter().map(Line::Row).chain(costs.iter().map(Line::Cost)).collect();
    std::fs::write(path, serde_json::to_string_pretty(&lines)? + "\n")?;
    Ok(())
}
