//! The taker: a process that takes locks, to be killed or to compete with.
//!
//! A test program that calls [`if_taker`] first thing in `main` can start itself as a taker: no other program has to
//! be built or found.

mod crowd;
pub mod permits;

use crate::history::{History, Hold, boottime_now};
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;
use tenure_core::{Client, Kind, Options, Store};

const JOB: &str = "TENURE_TAKER";

/// What a taker does.
#[derive(Debug, Clone)]
pub enum Job {
    /// Takes a lock, says so, and keeps it until killed.
    Hold {
        /// The store.
        url: String,
        /// The lock.
        key: String,
        /// The lease, renewed by the watchdog.
        lease: Duration,
    },
    /// Competes with others for one lock.
    Race {
        /// The store.
        url: String,
        /// The lock.
        key: String,
        /// How many tasks take it, over and over.
        tasks: usize,
        /// How long each keeps it.
        section: Duration,
        /// When to begin, on the clock of [`boottime_now`], so that all takers begin at once.
        begin: u64,
        /// How long to go on.
        length: Duration,
    },
    /// Takes a lock so many times, and tells of every hold when it begins and when it ends.
    Relay {
        /// The store.
        url: String,
        /// The lock.
        key: String,
        /// How many times.
        holds: usize,
        /// How long each lasts.
        section: Duration,
        /// The lease, renewed by the watchdog.
        lease: Duration,
    },
    /// Many want a lock at the same time, once each. Tells of every hold, by its claim, when it begins and when it ends.
    Crowd {
        /// The store.
        url: String,
        /// The lock.
        key: String,
        /// Its kind.
        kind: Kind,
        /// How many tasks want it.
        tasks: usize,
        /// How long each keeps it.
        section: Duration,
    },
    /// Takes permits over and over until killed. Tells of every hold when it begins and when it ends.
    Permits {
        /// The store.
        url: String,
        /// The semaphore.
        key: String,
        /// How many tasks want one.
        tasks: usize,
        /// How long each keeps it.
        section: Duration,
        /// The lease, renewed by the watchdog.
        lease: Duration,
    },
}

impl Job {
    fn to_text(&self) -> String {
        match self {
            Self::Hold { url, key, lease } => format!("hold {url} {key} {}", lease.as_millis()),
            Self::Race { url, key, tasks, section, begin, length } => {
                format!("race {url} {key} {tasks} {} {begin} {}", section.as_millis(), length.as_millis())
            }
            Self::Relay { url, key, holds, section, lease } => {
                format!("relay {url} {key} {holds} {} {}", section.as_millis(), lease.as_millis())
            }
            Self::Permits { url, key, tasks, section, lease } => {
                format!("permits {url} {key} {tasks} {} {}", section.as_millis(), lease.as_millis())
            }
            Self::Crowd { url, key, kind, tasks, section } => {
                format!("crowd {url} {key} {kind} {tasks} {}", section.as_millis())
            }
        }
    }

    fn from_text(text: &str) -> Option<Self> {
        let millis = |text: &str| text.parse().ok().map(Duration::from_millis);
        Some(match text.split(' ').collect::<Vec<_>>().as_slice() {
            ["hold", url, key, lease] => {
                Self::Hold { url: (*url).to_owned(), key: (*key).to_owned(), lease: millis(lease)? }
            }
            ["race", url, key, tasks, section, begin, length] => Self::Race {
                url: (*url).to_owned(),
                key: (*key).to_owned(),
                tasks: tasks.parse().ok()?,
                section: millis(section)?,
                begin: begin.parse().ok()?,
                length: millis(length)?,
            },
            ["relay", url, key, holds, section, lease] => Self::Relay {
                url: (*url).to_owned(),
                key: (*key).to_owned(),
                holds: holds.parse().ok()?,
                section: millis(section)?,
                lease: millis(lease)?,
            },
            ["permits", url, key, tasks, section, lease] => Self::Permits {
                url: (*url).to_owned(),
                key: (*key).to_owned(),
                tasks: tasks.parse().ok()?,
                section: millis(section)?,
                lease: millis(lease)?,
            },
            ["crowd", url, key, kind, tasks, section] => Self::Crowd {
                url: (*url).to_owned(),
                key: (*key).to_owned(),
                kind: kind.parse().ok()?,
                tasks: tasks.parse().ok()?,
                section: millis(section)?,
            },
            _ => return None,
        })
    }
}

/// Does a taker's job and never returns, if this process was started as one.
pub fn if_taker(store: impl FnOnce(&str) -> Store) {
    let Ok(text) = std::env::var(JOB) else { return };
    let job = Job::from_text(&text).unwrap_or_else(|| panic!("not a taker's job: {text}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        match job {
            Job::Hold { url, key, lease } => {
                let client = Client::builder().connect(store(&url)).await.expect("the store");
                let lock = client.lock(&key).expect("a key");
                let guard = lock.lock_with(Options::new().lease(lease)).await.expect("the lock");
                println!("granted {}", guard.token());
                std::future::pending::<()>().await;
            }
            Job::Race { url, key, tasks, section, begin, length } => {
                let client = Client::builder().connect(store(&url)).await.expect("the store");
                race(&client, &key, tasks, section, begin, length).await;
            }
            Job::Relay { url, key, holds, section, lease } => {
                let client = Client::builder().connect(store(&url)).await.expect("the store");
                relay(&client, &key, holds, section, lease).await;
            }
            Job::Permits { url, key, tasks, section, lease } => {
                let client = Client::builder().connect(store(&url)).await.expect("the store");
                permits::share(&client, &key, tasks, section, lease).await;
            }
            Job::Crowd { url, key, kind, tasks, section } => {
                let client = Client::builder().connect(store(&url)).await.expect("the store");
                crowd::crowd(&client, &client.lock_of(kind, &key).expect("a key"), tasks, section).await;
            }
        }
    });
    std::process::exit(0);
}

async fn race(client: &Client, key: &str, tasks: usize, section: Duration, begin: u64, length: Duration) {
    let history = History::new();
    tokio::time::sleep(Duration::from_nanos(begin.saturating_sub(boottime_now()))).await;
    let end = begin + u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
    let running: Vec<_> = (0..tasks)
        .map(|task| {
            let (history, lock) = (history.clone(), client.lock(key).expect("a key"));
            let who = format!("{}/{task}", std::process::id());
            tokio::spawn(async move {
                while boottime_now() < end {
                    let asking = history.asking(lock.key().as_str(), &who);
                    let guard = lock.lock().await.expect("the lock");
                    let hold = asking.granted(guard.token());
                    tokio::time::sleep(section).await;
                    assert!(guard.is_held(), "lost in the middle of a race");
                    hold.ended();
                    guard.release().await.expect("a release");
                }
            })
        })
        .collect();
    for task in running {
        task.await.expect("a task");
    }
    print!("{}", history.to_lines());
    client.close(Duration::from_secs(5)).await.expect("a clean close");
}

async fn relay(client: &Client, key: &str, holds: usize, section: Duration, lease: Duration) {
    let lock = client.lock(key).expect("a key");
    let who = std::process::id().to_string();
    for _ in 0..holds {
        let asked = boottime_now();
        let guard = lock.lock_with(Options::new().lease(lease)).await.expect("the lock");
        let (token, granted) = (guard.token(), boottime_now());
        let mut hold = Hold { key: key.to_owned(), who: who.clone(), token: Some(token), asked, granted, ended: None };
        // Told while it lasts: who is killed in the middle has been in.
        println!("{}", hold.to_line());
        tokio::time::sleep(section).await;
        assert!(guard.is_held(), "lost in the middle of a relay");
        hold.ended = Some(boottime_now());
        println!("{}", hold.to_line());
        guard.release().await.expect("a release");
    }
    client.close(Duration::from_secs(5)).await.expect("a clean close");
}

/// A taker that runs; killed when dropped.
#[derive(Debug)]
pub struct Taker {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Taker {
    /// Starts this program as a taker.
    pub fn start(job: &Job) -> Self {
        let program = std::env::current_exe().expect("this program");
        let mut child = Command::new(program)
            .env(JOB, job.to_text())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a taker");
        let output = BufReader::new(child.stdout.take().expect("its output"));
        Self { child, output }
    }

    /// Waits until a holder has its lock; its token.
    pub fn granted(&mut self) -> u64 {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("a line of the taker");
        let token = line.trim().strip_prefix("granted ").and_then(|token| token.parse().ok());
        token.unwrap_or_else(|| panic!("the taker said something else: {line:?}"))
    }

    /// Waits for its end; what it said until then.
    pub fn finish(mut self) -> String {
        let mut lines = String::new();
        std::io::Read::read_to_string(&mut self.output, &mut lines).expect("the taker's history");
        let status = self.child.wait().expect("the taker's end");
        assert!(status.success(), "a taker failed: {status}");
        lines
    }

    /// The process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The next line that a taker says; none when it has ended.
    pub fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let length = self.output.read_line(&mut line).expect("a line of the taker");
        (length > 0).then(|| line.trim_end().to_owned())
    }

    /// Kills it at once.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Taker {
    fn drop(&mut self) {
        self.kill();
    }
}
