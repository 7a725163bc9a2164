//! What the tests of the command share: stores, commands that run, and bounded waiting.

// Every test binary uses a part of this.
#![allow(dead_code, unreachable_pub)]

pub mod pty;

use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tenure_testkit::{MariaDbServer, RedisServer};

/// A bound on whatever must happen at all, wide enough for a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(20);
/// How often something is looked at that tells nobody.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Makes `env` start a program that ignores no signal.
pub const DEFAULT_SIGNALS: [&str; 1] = ["--default-signal=HUP,INT,QUIT"];

/// A store for one test.
pub enum Store {
    Redis(Box<RedisServer>),
    Sqlite(TempDir),
    /// A server that others use too, and a database that they do not.
    MySql(Arc<MariaDbServer>, String),
}

impl Store {
    pub fn mysql() -> Self {
        static SERVER: Mutex<Weak<MariaDbServer>> = Mutex::new(Weak::new());
        static NEXT: AtomicU32 = AtomicU32::new(0);
        // It takes longer to start one than to use it, and it ends with the last test that does.
        let server = {
            let mut last = SERVER.lock().unwrap_or_else(PoisonError::into_inner);
            last.upgrade().unwrap_or_else(|| {
                let server = Arc::new(MariaDbServer::start());
                *last = Arc::downgrade(&server);
                server
            })
        };
        let database = format!("test_{}", NEXT.fetch_add(1, Ordering::Relaxed));
        server.execute(&format!("CREATE DATABASE {database}"));
        Self::MySql(server, database)
    }

    pub fn redis() -> Self {
        Self::Redis(Box::new(RedisServer::start()))
    }

    pub fn sqlite() -> Self {
        Self::Sqlite(tempfile::tempdir().expect("there is room for a directory"))
    }

    pub fn url(&self) -> String {
        match self {
            Self::Redis(server) => server.url(),
            Self::Sqlite(dir) => format!("sqlite:{}", dir.path().join("locks.db").display()),
            Self::MySql(server, database) => server.url_of(database),
        }
    }

    /// The server, for tests of what only a server can do.
    pub fn server(&self) -> &RedisServer {
        match self {
            Self::Redis(server) => server,
            Self::Sqlite(_) | Self::MySql(..) => panic!("this store has no server of that sort"),
        }
    }

    /// `tenure` on this store.
    pub fn tenure(&self, args: &[&str]) -> Command {
        let mut command = tenure(args);
        command.env("TENURE_URL", self.url());
        command
    }

    /// Runs `tenure` to its end.
    pub fn run(&self, args: &[&str]) -> Said {
        Said::of(&mut self.tenure(args))
    }

    /// Whether anybody holds a lock.
    pub fn is_held(&self, key: &str) -> bool {
        let seen = self.run(&["--format", "json", "inspect", key]);
        assert_eq!(seen.code, 0, "{seen:?}");
        !seen.json()["holders"].as_array().unwrap().is_empty()
    }

    /// What is seen of a lock, once all who hold it or stand in line are known by name: each says who it is a moment after it came.
    pub fn seen_by_name(&self, key: &str) -> Value {
        let seen = || self.run(&["--format", "json", "inspect", key]).json();
        within("all are known by name", || Some(seen()).filter(are_known))
    }

    /// How many clients wait for a re-entrant lock. Who waits for a row in MySQL is known to the server alone.
    pub fn waiters(&self, key: &str) -> Option<u64> {
        let counted = self.run(&["--format", "json", "inspect", key]).json()["waiters"].as_u64();
        let Self::MySql(server, database) = self else { return counted };
        assert_eq!(counted, None);
        let waiting = "INFO LIKE 'SELECT name FROM tenure_rows %FOR UPDATE'";
        let sessions =
            format!("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = '{database}' AND {waiting}");
        Some(server.one(&sessions).parse().expect("a number"))
    }

    /// Whether a lock is free as soon as the process that holds it is killed, and not when its lease ends.
    pub fn is_freed_by_death(&self) -> bool {
        matches!(self, Self::MySql(..))
    }

    /// A holder of a lock, until it is dropped.
    pub fn hold(&self, key: &str) -> Running {
        let mut holder = Running::start(self.tenure(&["run", key, "--", "sh", "-c", "echo in; exec sleep 1000"]));
        assert_eq!(holder.line(), "in");
        holder
    }
}

/// Whether all who hold a lock, and all who stand in line for it, are known by name.
pub fn are_known(seen: &Value) -> bool {
    let are_known = |who: &str| seen[who].as_array().is_some_and(|all| all.iter().all(|one| one["host"].is_string()));
    are_known("holders") && are_known("line")
}

/// Makes every case a test on every store.
#[macro_export]
macro_rules! on_every_store {
    ($($case:ident),+ $(,)?) => {
        mod mysql {
            $(#[test] fn $case() { super::$case(&$crate::support::Store::mysql()); })+
        }
        mod redis {
            $(#[test] fn $case() { super::$case(&$crate::support::Store::redis()); })+
        }
        mod sqlite {
            $(#[test] fn $case() { super::$case(&$crate::support::Store::sqlite()); })+
        }
    };
}

/// `tenure`, untouched by the environment of whoever runs the tests.
pub fn tenure(args: &[&str]) -> Command {
    // Whoever runs the tests in the background of a script ignores Ctrl-C, and so would all that they start.
    let mut command = Command::new("env");
    command.args(DEFAULT_SIGNALS).arg(env!("CARGO_BIN_EXE_tenure"));
    for name in ["TENURE_URL", "TENURE_OWNER", "TENURE_KEY", "TENURE_TOKEN", "NO_COLOR", "CLICOLOR_FORCE"] {
        command.env_remove(name);
    }
    command.args(args).stdin(Stdio::null());
    command
}

/// How a program ended, and what it said.
#[derive(Debug)]
pub struct Said {
    /// Its exit code; negative if a signal killed it.
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Said {
    pub fn of(command: &mut Command) -> Self {
        Self::from(command.output().expect("the program was built for this test"))
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("not JSON, {error}: {self:?}"))
    }
}

impl From<Output> for Said {
    fn from(Output { status, stdout, stderr }: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Self { code: code(status), out: text(stdout), err: text(stderr) }
    }
}

/// An exit code, or less than nothing if a signal killed the process.
pub fn code(status: ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    status.code().unwrap_or_else(|| -status.signal().expect("no code is a signal"))
}

/// A `tenure` that runs, with its stdout and stderr read by us; killed when dropped, and its command with it.
pub struct Running {
    pub child: Child,
    out: BufReader<ChildStdout>,
}

impl Running {
    pub fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a tenure");
        let out = BufReader::new(child.stdout.take().expect("its stdout"));
        Self { child, out }
    }

    /// The next line that it or its command prints.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).expect("a line");
        line.trim_end().to_owned()
    }

    /// The next line, which is a number.
    pub fn number(&mut self) -> u32 {
        let line = self.line();
        line.parse().unwrap_or_else(|_| panic!("not a number: {line:?} {}", self.rest_of_stderr()))
    }

    pub fn signal(&self, name: &str) {
        signal(self.child.id(), name);
    }

    /// Waits for its end; its code and what else it said.
    pub fn end(mut self) -> Said {
        let status = within("its end", || self.child.try_wait().unwrap());
        let mut out = String::new();
        self.out.read_to_string(&mut out).expect("the rest of stdout");
        Said { code: code(status), out, err: self.rest_of_stderr() }
    }

    fn rest_of_stderr(&mut self) -> String {
        let mut err = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            let _ = stderr.read_to_string(&mut err);
        }
        err
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a signal to a process, by name: `TERM`.
pub fn signal(pid: u32, name: &str) {
    let sent = Command::new("kill").args(["-s", name, &pid.to_string()]).status().expect("kill");
    assert!(sent.success(), "no {name} for {pid}");
}

/// Looks until there is something to see.
pub fn within<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(Instant::now() < deadline, "not within {PATIENCE:?}: {what}");
        thread::sleep(LOOK_EVERY);
    }
}

/// Looks until it is so.
pub fn eventually(what: &str, mut so: impl FnMut() -> bool) {
    within(what, || so().then_some(()));
}

/// The state of a process by the letter that `ps` shows; none if it is gone.
pub fn state(pid: u32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.get(stat.rfind(')')? + 2..)?.chars().next().filter(|state| !matches!(state, 'Z' | 'X'))
}

/// Whose child a process is.
pub fn parent(pid: u32) -> u32 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("a process");
    let words = &stat[stat.rfind(')').expect("a name") + 2..];
    words.split(' ').nth(1).and_then(|word| word.parse().ok()).expect("a parent")
}

/// When a process that ends is gone.
pub fn gone(pid: u32) -> Instant {
    eventually("the process is gone", || state(pid).is_none());
    Instant::now()
}
