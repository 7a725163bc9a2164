//! Tenure beside the bare client, in one interleaved run: the same server, the same runtime, the order rotated. And what
//! calls cost the server, by its own account.

mod backend;
mod bare;
mod bare_mysql;
mod bare_redlock;
mod cost;
mod report;
mod startup;
mod subject;
mod workload;

use backend::{Backend, Server, Urls};
use clap::Parser;
use hdrhistogram::Histogram;
use report::{HAND_OVER, Row};
use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;
use subject::Subject;
use workload::Keys;

/// Measures lock and unlock cycles; on Redis also what calls cost the server amid few and many, elsewhere also how soon a lock
/// is handed over.
#[derive(Parser)]
struct Args {
    /// The store.
    #[arg(long, value_enum, default_value_t = Backend::Redis)]
    backend: Backend,
    /// How many rounds; each round measures every system at every number of tasks.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// How long one measurement takes, in milliseconds.
    #[arg(long, default_value_t = 1000)]
    millis: u64,
    /// The numbers of tasks [default: 1,64,1024; on MySQL 1,8; on a majority 1,64]
    #[arg(long, value_delimiter = ',')]
    tasks: Vec<usize>,
    /// The systems to measure [default: tenure,tenure-simple,bare; on MySQL bare-write too; on a majority tenure-hung, of which two of
    /// five servers hang, and tenure-one, on a single server, too]
    #[arg(long, value_delimiter = ',')]
    systems: Vec<String>,
    /// The server; one is started if none is named, or five, and five of which two hang.
    #[arg(long)]
    url: Option<String>,
    /// Where the rows go; those of the other store stay there.
    #[arg(long, default_value = "bench/results.json")]
    out: PathBuf,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = Args::parse();
    if args.tasks.is_empty() {
        args.tasks = args.backend.tasks().to_vec();
    }
    if args.systems.is_empty() {
        args.systems = args.backend.systems().iter().map(ToString::to_string).collect();
    }
    let server = args.url.is_none().then(|| args.backend.start());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let mut rows = runtime.block_on(measure(&args, server.as_ref()))?;
    let mut costs = Vec::new();
    if args.backend == Backend::Redis {
        rows.push(startup::startup(Duration::from_millis(args.millis))?);
        costs = runtime.block_on(cost::costs(args.rounds))?;
    }
    report::print(&rows, &costs);
    report::write(args.backend, &rows, &costs, &args.out)?;
    println!("\nrows written to {}", args.out.display());
    Ok(())
}

/// Into how many slices a measurement is cut.
const SLICES: usize = 5;

/// What is measured of every system, by so many tasks.
#[derive(Clone, Copy)]
enum Workload {
    Cycles(Keys, usize),
    HandOver,
}

impl Workload {
    fn all(args: &Args) -> Vec<Self> {
        let of = |keys: Keys| args.tasks.iter().map(move |tasks| Self::Cycles(keys, *tasks));
        match args.backend {
            Backend::Redis => of(Keys::Own).collect(),
            Backend::MySql => of(Keys::Own).chain(of(Keys::One)).chain([Self::HandOver]).collect(),
            Backend::Redlock => of(Keys::Own).chain([Self::HandOver]).collect(),
        }
    }

    fn name(self) -> (&'static str, usize) {
        match self {
            Self::Cycles(Keys::Own, tasks) => ("uncontended", tasks),
            Self::Cycles(Keys::One, tasks) => ("one-key", tasks),
            Self::HandOver => (HAND_OVER, 2),
        }
    }

    /// Whether a system can be measured by it.
    fn is_for(self, subject: &Subject) -> bool {
        !matches!((self, subject), (Self::HandOver, Subject::Bare(_) | Subject::BareRedlock(_)))
    }

    async fn measure(self, subject: &Subject, length: Duration) -> Result<(Histogram<u64>, Duration), Box<dyn Error>> {
        match self {
            Self::Cycles(keys, tasks) => workload::cycles(subject, keys, tasks, length).await,
            Self::HandOver => workload::hand_over(subject, length).await,
        }
    }
}

async fn measure(args: &Args, server: Option<&Server>) -> Result<Vec<Row>, Box<dyn Error>> {
    let urls = match (&args.url, server) {
        (Some(url), _) => Urls { url: url.clone(), hung: None },
        (None, Some(server)) => server.urls(),
        (None, None) => return Err("a server is started when no url is given".into()),
    };
    let mut all = Vec::new();
    for system in &args.systems {
        all.push(Subject::connect(system, args.backend, &urls).await?);
    }
    if let Some(server) = server {
        server.hang();
    }
    for subject in &all {
        // Not measured: what is done once.
        subject.cycle("bench:first", 0, 0).await?.run().await.map_err(|error| error.to_string())?;
    }
    let mut rows = Vec::new();
    for round in 0..args.rounds {
        for workload in Workload::all(args) {
            let subjects: Vec<&Subject> = all.iter().filter(|subject| workload.is_for(subject)).collect();
            // In slices, one system after the other: the machine is not as fast in one second as in the next.
            let mut measured: Vec<_> = subjects.iter().map(|_| (workload::histogram(), Duration::ZERO)).collect();
            for slice in 0..SLICES {
                for at in 0..subjects.len() {
                    // Whoever was first is last in the next slice.
                    let at = (at + slice + round) % subjects.len();
                    let length = Duration::from_millis(args.millis) / u32::try_from(SLICES)?;
                    let (times, took) = workload.measure(subjects[at], length).await?;
                    measured[at].0.add(times)?;
                    measured[at].1 += took;
                }
            }
            let (name, tasks) = workload.name();
            for (subject, (times, took)) in subjects.iter().zip(measured) {
                let row = Row::new(args.backend.name(), subject.name(), name, tasks, &times, took);
                eprintln!("round {} {row}", round + 1);
                rows.push(row);
            }
        }
    }
    Ok(rows)
}
