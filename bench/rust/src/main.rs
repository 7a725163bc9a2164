//! Tenure beside the bare client, in one interleaved run: the same server, the same runtime, the order rotated. And what
//! calls cost the server, by its own account.

mod bare;
mod cost;
mod report;
mod startup;
mod subject;
mod workload;

use clap::Parser;
use report::Row;
use std::path::PathBuf;
use std::time::Duration;
use subject::Subject;

/// Measures lock and unlock cycles on keys of their own, and what calls cost the server amid few and many.
#[derive(Parser)]
struct Args {
    /// How many rounds; each round measures every system at every number of tasks.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// How long one measurement takes, in milliseconds.
    #[arg(long, default_value_t = 1000)]
    millis: u64,
    /// The numbers of tasks.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 64, 1024])]
    tasks: Vec<usize>,
    /// The systems to measure.
    #[arg(long, value_delimiter = ',', default_value = "tenure,tenure-simple,bare")]
    systems: Vec<String>,
    /// The Redis server; one is started if none is named.
    #[arg(long)]
    url: Option<String>,
    /// Where the rows go.
    #[arg(long, default_value = "bench/results.json")]
    out: PathBuf,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args = Args::parse();
    let server = args.url.is_none().then(tenure_testkit::RedisServer::start);
    let url = match (&args.url, &server) {
        (Some(url), _) => url.clone(),
        (None, Some(server)) => server.url(),
        (None, None) => unreachable!("a server is started when no url is given"),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let mut rows = runtime.block_on(measure(&args, &url))?;
    rows.push(startup::startup(Duration::from_millis(args.millis))?);
    let costs = runtime.block_on(cost::costs(args.rounds))?;
    report::print(&rows, &costs);
    report::write(&rows, &costs, &args.out)?;
    println!("\nrows written to {}", args.out.display());
    Ok(())
}

/// Into how many slices a measurement is cut.
const SLICES: usize = 5;

async fn measure(args: &Args, url: &str) -> Result<Vec<Row>, Box<dyn std::error::Error>> {
    let mut subjects = Vec::new();
    for system in &args.systems {
        subjects.push(Subject::connect(system, url).await?);
    }
    let mut rows = Vec::new();
    for round in 0..args.rounds {
        for &tasks in &args.tasks {
            // In slices, one system after the other: the machine is not as fast in one second as in the next.
            let mut measured: Vec<_> = subjects.iter().map(|_| (workload::histogram(), Duration::ZERO)).collect();
            for slice in 0..SLICES {
                for at in 0..subjects.len() {
                    // Whoever was first is last in the next slice.
                    let at = (at + slice + round) % subjects.len();
                    let length = Duration::from_millis(args.millis) / u32::try_from(SLICES)?;
                    let (times, took) = workload::uncontended(&subjects[at], tasks, length).await?;
                    measured[at].0.add(times)?;
                    measured[at].1 += took;
                }
            }
            for (subject, (times, took)) in subjects.iter().zip(measured) {
                let row = Row::new(subject.name(), "uncontended", tasks, &times, took);
                eprintln!("round {} {row}", round + 1);
                rows.push(row);
            }
        }
    }
    Ok(rows)
}
