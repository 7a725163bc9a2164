//! Processes that end while they hold locks. Leases are so long that nothing but a release frees them.

use crate::recipe;
use crate::store::{Place, as_another, role, runtime};
use crate::thread_locals;
use libtest_mimic::Failed;
use std::fmt;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;
use tenure::{Client, Kind, Options, blocking};
use tokio::signal::unix::{SignalKind, signal};

/// How often each is tried: a process may end by chance after what it dropped was released.
const TIMES: usize = 4;
/// So many locks a process holds, for the same reason.
pub(crate) const LOCKS: usize = 10;

/// How a process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Guards are dropped, and `main` returns.
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
    /// Guards are dropped, and `main` returns; the client is in a `static`, so that no last handle of it goes.
    StaticClient,
    /// Threads end that keep guards in thread-locals of theirs.
    ThreadLocals,
    /// Guards in tasks that sleep, half of them in `run`, and the process is told to end.
    Terminated,
    /// The same, and `main` returns without a close.
    Unclosed,
}

impl Way {
    pub(crate) const ALL: [Self; 10] = [
        Self::Drop,
        Self::Error,
        Self::Panic,
        Self::BlockingDrop,
        Self::BlockingPanic,
        Self::ProcessClient,
        Self::StaticClient,
        Self::ThreadLocals,
        Self::Terminated,
        Self::Unclosed,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Drop => "a_drop",
            Self::Error => "an_error",
            Self::Panic => "a_panic",
            Self::BlockingDrop => "a_drop_in_a_thread",
            Self::BlockingPanic => "a_panic_in_a_thread",
            Self::ProcessClient => "the_end_of_a_runtime",
            Self::StaticClient => "a_client_in_a_static",
            Self::ThreadLocals => "the_end_of_thread_locals",
            Self::Terminated => "a_sigterm",
            Self::Unclosed => "a_sigterm_without_a_close",
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
        if matches!(way, Way::Terminated | Way::Unclosed) {
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

pub(crate) fn options() -> Options {
    Options::new().lease(Duration::from_secs(600))
}

/// A client that has time for what it flushes, however busy the machine is.
async fn connect(url: &str) -> Result<Client, tenure::Error> {
    Client::builder().flush_within(Duration::from_secs(10)).connect(tenure::store(url)?).await
}

/// The first half are row locks in MySQL, which the server frees when the process is gone; the others are records everywhere.
pub(crate) fn kind_of(number: usize) -> Kind {
    if number < LOCKS / 2 { Kind::Reentrant } else { Kind::Simple }
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
        Way::Drop | Way::Error | Way::Panic => runtime().block_on(async { hold(&connect(url).await?, way).await }),
        Way::StaticClient => runtime().block_on(async {
            static CLIENT: OnceLock<Client> = OnceLock::new();
            let client = connect(url).await?;
            hold(CLIENT.get_or_init(|| client), way).await
        }),
        Way::ThreadLocals => thread_locals::end(&runtime().block_on(connect(url))?.blocking()),
        Way::BlockingDrop | Way::BlockingPanic => {
            let client = blocking::connect(url)?;
            let mut guards = Vec::new();
            for number in 0..LOCKS {
                guards.push(client.lock_of(kind_of(number), &number.to_string())?.lock_with(options())?);
            }
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
            let client = connect(url).await?;
            let held = client.clone();
            recipe::serve(client, async move {
                hold_in_tasks(&held).await;
                println!("holds");
                std::future::pending::<()>().await;
            })
            .await
        }),
        Way::Unclosed => runtime().block_on(async {
            let mut told = signal(SignalKind::terminate())?;
            hold_in_tasks(&connect(url).await?).await;
            println!("holds");
            told.recv().await;
            Ok(())
        }),
    }
}

async fn hold(client: &Client, way: Way) -> Result<(), Box<dyn std::error::Error>> {
    let mut guards = Vec::new();
    for number in 0..LOCKS {
        guards.push(client.lock_of(kind_of(number), &number.to_string())?.lock_with(options()).await?);
    }
    println!("holds");
    match way {
        Way::Error => Err("this error is part of the case")?,
        Way::Panic => panic!("this panic is part of the case"),
        _ => Ok(()),
    }
}

#[tenure::locked(key = "a", lease = "10m", kind = simple)]
async fn work(holds: tokio::sync::oneshot::Sender<()>) -> Result<(), tenure::Error> {
    let _ = holds.send(());
    std::future::pending().await
}

async fn hold_in_tasks(client: &Client) {
    let (holds, mut holding) = tokio::sync::mpsc::unbounded_channel();
    for number in 0..LOCKS {
        tokio::spawn(sleep_with(client.clone(), number, holds.clone()));
    }
    for _ in 0..LOCKS {
        holding.recv().await;
    }
}

async fn sleep_with(client: Client, number: usize, holds: tokio::sync::mpsc::UnboundedSender<()>) {
    let lock = client.lock_of(kind_of(number), &number.to_string()).expect("a key");
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
