//! Processes that end while they hold locks. Leases are so long that nothing but a release frees them.

use crate::recipe;
use crate::store::{Place, as_another, role, runtime};
use libtest_mimic::Failed;
use std::fmt;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;
use tenure::{Client, Options, blocking};

/// How often each is tried: most of them left the lock held in most runs before, but not in all.
const TIMES: usize = 4;

/// How a process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// A guard is dropped, and `main` returns.
    Drop,
    /// `main` returns an error.
    Error,
    /// `main` panics.
    Panic,
    /// The same with the blocking API.
    BlockingDrop,
    BlockingPanic,
    /// A task that holds a lock goes with its runtime; the client is the process's.
    ProcessClient,
    /// Twenty guards in tasks that sleep, ten of them in `run`, and the process is told to end.
    Terminated,
}

impl Way {
    pub(crate) const ALL: [Self; 7] = [
        Self::Drop,
        Self::Error,
        Self::Panic,
        Self::BlockingDrop,
        Self::BlockingPanic,
        Self::ProcessClient,
        Self::Terminated,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Drop => "a_drop",
            Self::Error => "an_error",
            Self::Panic => "a_panic",
            Self::BlockingDrop => "a_drop_in_a_thread",
            Self::BlockingPanic => "a_panic_in_a_thread",
            Self::ProcessClient => "the_end_of_a_runtime",
            Self::Terminated => "a_sigterm",
        }
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

pub(crate) fn leaves_nothing_held(place: &Place, way: Way) -> Result<(), Failed> {
    for _ in 0..TIMES {
        let mut child =
            as_another("ends", &place.url, way.name()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let mut said = BufReader::new(child.stdout.take().ok_or("its words are heard")?);
        let mut line = String::new();
        said.read_line(&mut line)?;
        if line.trim() != "holds" {
            return Err(format!("it does not hold: {:?}", child.wait_with_output()?).into());
        }
        if way == Way::Terminated {
            Command::new("kill").arg(child.id().to_string()).status()?;
        }
        let output = child.wait_with_output()?;
        let well = !matches!(way, Way::Error | Way::Panic | Way::BlockingPanic);
        if output.status.success() != well {
            return Err(format!("it ended otherwise: {output:?}").into());
        }
        let held = runtime().block_on(async { tenure::connect(&place.url).await?.list("*").await })?;
        if !held.is_empty() {
            return Err(format!("{} are still held", held.len()).into());
        }
    }
    Ok(())
}

fn options() -> Options {
    Options::new().lease(Duration::from_secs(600))
}

/// Ends, if this program was started for that.
pub(crate) fn if_it_ends() -> bool {
    let Some((url, way)) = role("ends") else { return false };
    let way = Way::ALL.into_iter().find(|known| known.name() == way).expect("a way to end");
    if let Err(error) = end(&url, way) {
        // What `main` does that returns an error.
        eprintln!("Error: {error:?}");
        std::process::exit(1);
    }
    true
}

fn end(url: &str, way: Way) -> Result<(), Box<dyn std::error::Error>> {
    match way {
        Way::Drop | Way::Error | Way::Panic => runtime().block_on(hold(url, way)),
        Way::BlockingDrop | Way::BlockingPanic => {
            let client = blocking::connect(url)?;
            let _guard = client.lock("a")?.lock_with(options())?;
            println!("holds");
            assert!(way != Way::BlockingPanic, "this panic is part of the case");
            Ok(())
        }
        Way::ProcessClient => {
            let runtime = runtime();
            runtime.block_on(async {
                tenure::set_client(tenure::connect(url).await?)?;
                let (holds, held) = tokio::sync::oneshot::channel();
                tokio::spawn(work(holds));
                held.await?;
                println!("holds");
                Ok(())
            })
        }
        Way::Terminated => runtime().block_on(async {
            let client = tenure::connect(url).await?;
            let (held, all) = (client.clone(), 20);
            recipe::serve(client, async move {
                let (holds, mut holding) = tokio::sync::mpsc::unbounded_channel();
                for number in 0..all {
                    tokio::spawn(sleep_with(held.clone(), number, holds.clone()));
                }
                for _ in 0..all {
                    holding.recv().await;
                }
                println!("holds");
                std::future::pending::<()>().await;
            })
            .await
        }),
    }
}

async fn hold(url: &str, way: Way) -> Result<(), Box<dyn std::error::Error>> {
    let client = tenure::connect(url).await?;
    let _guard = client.lock("a")?.lock_with(options()).await?;
    println!("holds");
    match way {
        Way::Error => Err("this error is part of the case")?,
        Way::Panic => panic!("this panic is part of the case"),
        _ => Ok(()),
    }
}

#[tenure::locked(key = "a", lease = "10m")]
async fn work(holds: tokio::sync::oneshot::Sender<()>) -> Result<(), tenure::Error> {
    let _ = holds.send(());
    std::future::pending().await
}

async fn sleep_with(client: Client, number: u32, holds: tokio::sync::mpsc::UnboundedSender<()>) {
    let lock = client.lock(&number.to_string()).expect("a key");
    let asleep = async {
        let _ = holds.send(());
        std::future::pending::<()>().await;
    };
    if number.is_multiple_of(2) {
        // It is told by an error, after the recipe has let go of it.
        let _ = lock.run_with(options(), asleep).await;
    } else {
        let _guard = lock.lock_with(options()).await.expect("it is free");
        asleep.await;
    }
}
