//! `RedisServer`: a real `redis-server` that a test may pause, kill and restart.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use redis::{Connection, ConnectionAddr, FromRedisValue, RedisResult, Value};
use rustix::process::Signal;
use tempfile::TempDir;

use super::certificates::Certificates;
use super::port::ReservedPort;
use super::process::GuardedProcess;
use super::redis_builder::RedisServerBuilder;
use super::redis_control as control;

/// How long a server may take to start, to stop, or to answer a helper of this file.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often readiness and exit are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// A `redis-server` process on a port of 127.0.0.1 with a temporary directory of its own.
///
/// All methods take `&self`, so a test can share one server between tasks. Dropping it kills the
/// process, paused or not, and removes the directory; a watcher process does the killing if the
/// test process is itself killed.
pub struct RedisServer {
    settings: RedisServerBuilder,
    certificates: Option<Certificates>,
    running: Mutex<Running>,
    port: ReservedPort,
    dir: TempDir,
}

/// What changes when the server is killed and started again.
#[derive(Default)]
struct Running {
    process: Option<GuardedProcess>,
    control: Option<Connection>,
}

impl RedisServer {
    /// Starts a server that keeps nothing on disk.
    pub fn start() -> Self {
        Self::builder().start()
    }

    /// Starts describing a server.
    pub fn builder() -> RedisServerBuilder {
        RedisServerBuilder::default()
    }

    pub(super) fn launch(settings: RedisServerBuilder) -> Self {
        let dir = tempfile::Builder::new()
            .prefix("tenure-redis-")
            .tempdir()
            .expect("no temporary directory can be made: set TMPDIR to a writable one");
        let certificates = settings.tls.then(|| Certificates::make_in(dir.path()));
        let server = Self { settings, certificates, running: Mutex::default(), port: ReservedPort::take(), dir };
        server.spawn(&mut server.running());
        server
    }

    /// The TCP port, the same for the whole life of this value.
    pub fn port(&self) -> u16 {
        self.addr().port()
    }

    /// The TCP address.
    pub fn addr(&self) -> SocketAddr {
        self.port.addr()
    }

    /// `redis://127.0.0.1:port`, or `rediss://…` for a TLS server; no credentials.
    pub fn url(&self) -> String {
        format!("{}://{}", self.scheme(), self.addr())
    }

    /// The URL with credentials, which must need no escaping; the default user's name is `""`.
    pub fn url_as(&self, user: &str, password: &str) -> String {
        format!("{}://{user}:{password}@{}", self.scheme(), self.addr())
    }

    /// The Unix socket of a server built with [`RedisServerBuilder::unix_socket`].
    pub fn socket(&self) -> PathBuf {
        assert!(self.settings.unix_socket, "this server has no Unix socket: build it with `.unix_socket()`");
        self.socket_path()
    }

    /// `redis+unix:///path`, the URL of [`RedisServer::socket`].
    pub fn socket_url(&self) -> String {
        format!("redis+unix://{}", self.socket().display())
    }

    /// The certificate authority of a TLS server (PEM).
    pub fn ca(&self) -> &Path {
        &self.certificates().ca
    }

    /// A client certificate that a TLS server accepts (PEM).
    pub fn cert(&self) -> &Path {
        &self.certificates().client.cert
    }

    /// The private key of [`RedisServer::cert`] (PEM).
    pub fn key(&self) -> &Path {
        &self.certificates().client.key
    }

    /// The process id of `redis-server` itself.
    pub fn pid(&self) -> u32 {
        self.running().process().id()
    }

    /// Freezes the process (`SIGSTOP`): connections stay open and nothing is answered.
    pub fn pause(&self) {
        self.running().process().pause();
    }

    /// Lets a paused process go on (`SIGCONT`).
    pub fn resume(&self) {
        self.running().process().signal(Signal::CONT);
    }

    /// Kills the process (`SIGKILL`), paused or not, and reaps it. The port stays reserved, so
    /// connections are refused until [`RedisServer::restart`].
    pub fn kill(&self) {
        *self.running() = Running::default();
    }

    /// Shuts the process down in good order (`SIGTERM`), resuming it first if it is paused.
    pub fn stop(&self) {
        let mut running = self.running();
        let process = running.process();
        process.signal(Signal::TERM);
        process.signal(Signal::CONT);
        let deadline = Instant::now() + PATIENCE;
        while process.exited().is_none() && Instant::now() < deadline {
            thread::sleep(LOOK_EVERY);
        }
        // Dropping what is left also ends a server that did not obey.
        *running = Running::default();
    }

    /// Kills the server if it runs, then starts it again with the same port and directory. A
    /// durable server comes back with its data, any other one empty.
    pub fn restart(&self) {
        let mut running = self.running();
        *running = Running::default();
        self.spawn(&mut running);
    }

    /// Sends one command on the server's own connection and returns the reply.
    ///
    /// Panics if the server is down, paused, or answers with an error.
    pub fn command(&self, words: &[&str]) -> Value {
        self.query(words)
    }

    /// The keys that match `pattern`, sorted.
    pub fn keys(&self, pattern: &str) -> Vec<String> {
        let mut keys: Vec<String> = self.query(&["KEYS", pattern]);
        keys.sort_unstable();
        keys
    }

    /// The time a key has left in milliseconds; -1 without expiry, -2 without such a key.
    pub fn pttl(&self, key: &str) -> i64 {
        self.query(&["PTTL", key])
    }

    /// How often a command was called since the start or [`RedisServer::reset_stats`], by
    /// whomever: `command_calls("evalsha")`. A subcommand is written `"client|setinfo"`.
    pub fn command_calls(&self, name: &str) -> u64 {
        self.command_stat(name, "calls")
    }

    /// How long all those calls took, by the server's own account.
    pub fn command_time(&self, name: &str) -> Duration {
        Duration::from_micros(self.command_stat(name, "usec"))
    }

    fn command_stat(&self, name: &str, what: &str) -> u64 {
        let stats: String = self.query(&["INFO", "commandstats"]);
        let start = format!("cmdstat_{}:", name.to_lowercase());
        let of_command = stats.lines().find_map(|line| line.strip_prefix(&start)).unwrap_or_default();
        of_command
            .split(',')
            .find_map(|part| part.strip_prefix(what)?.strip_prefix('='))
            .map_or(0, |number| number.parse().expect("commandstats counts in whole numbers"))
    }

    /// Sets the counters of `INFO` back to zero (`CONFIG RESETSTAT`).
    pub fn reset_stats(&self) {
        self.query::<()>(&["CONFIG", "RESETSTAT"]);
    }

    fn query<T: FromRedisValue>(&self, words: &[&str]) -> T {
        let mut running = self.running();
        running.process(); // Panics with advice if there is no process to ask.
        let reply = match &mut running.control {
            Some(control) => control::send(control, words),
            empty => self.connect().and_then(|connection| control::send(empty.insert(connection), words)),
        };
        reply.unwrap_or_else(|error| {
            // After a failure the next reply on this connection may belong to this command.
            running.control = None;
            let command = words.iter().take(4).copied().collect::<Vec<_>>().join(" ");
            panic!("redis-server did not answer, call resume() first if it is paused: {command}: {error}")
        })
    }

    fn spawn(&self, running: &mut Running) {
        let log = self.dir.path().join("server.log");
        let output = File::create(&log).expect("the server's temporary directory is writable");
        let errors = output.try_clone().expect("a file handle can be duplicated");
        let spawned = GuardedProcess::spawn(
            Command::new("redis-server")
                .args(self.settings.arguments(
                    self.port(),
                    self.dir.path(),
                    &self.socket_path(),
                    self.certificates.as_ref(),
                ))
                .stdout(output)
                .stderr(errors),
        );
        let mut process = match spawned {
            Ok(process) => process,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                panic!("`redis-server` is not on the PATH; on Debian/Ubuntu type: apt-get install redis-server")
            }
            Err(error) => panic!("redis-server could not be started: {error}"),
        };
        let deadline = Instant::now() + PATIENCE;
        let control = loop {
            let exited = process.exited();
            match self.connect() {
                Ok(control) => break control,
                Err(error) => assert!(
                    exited.is_none() && Instant::now() < deadline,
                    "redis-server is not ready ({exited:?}, {error}); check the builder's settings against its log:\n{}",
                    fs::read_to_string(&log).unwrap_or_default()
                ),
            }
            thread::sleep(LOOK_EVERY);
        };
        running.process = Some(process);
        running.control = Some(control);
    }

    fn connect(&self) -> RedisResult<Connection> {
        let addr = if self.settings.tls {
            // The socket spares the kit a TLS client.
            ConnectionAddr::Unix(self.socket_path())
        } else {
            ConnectionAddr::Tcp(self.addr().ip().to_string(), self.port())
        };
        control::connect(addr, self.settings.password.as_deref(), PATIENCE)
    }

    fn scheme(&self) -> &'static str {
        if self.settings.tls { "rediss" } else { "redis" }
    }

    fn socket_path(&self) -> PathBuf {
        self.dir.path().join("redis.sock")
    }

    fn certificates(&self) -> &Certificates {
        self.certificates.as_ref().expect("this server has no certificates: build it with `.tls()`")
    }

    fn running(&self) -> MutexGuard<'_, Running> {
        // A helper that panicked leaves the state whole, and other tests may share the server.
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Running {
    fn process(&mut self) -> &mut GuardedProcess {
        self.process.as_mut().expect("redis-server is down: call restart() first")
    }
}
