//! `MariaDbServer`: a real `mariadbd` that a test may pause, kill and restart.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use mysql_async::{Opts, OptsBuilder};
use rustix::process::Signal;
use tempfile::TempDir;

use super::certificates::Certificates;
use super::mariadb_builder::MariaDbServerBuilder;
use super::mariadb_control::Control;
use super::mariadb_template as template;
use super::port::ReservedPort;
use super::process::GuardedProcess;

/// How long a server may take to answer a helper of this file.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long it may take to start or to stop, of which a busy disk has a say.
const DISK_PATIENCE: Duration = Duration::from_secs(30);
/// How often readiness and exit are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// A `mariadbd` process on a port of 127.0.0.1 with a temporary directory of its own.
///
/// All methods take `&self`, so a test can share one server between tasks. Dropping it kills the
/// process, paused or not, and removes the directory; a watcher process does the killing if the
/// test process is itself killed.
///
/// The helpers speak SQL on a connection of the server's own, one statement at a time, from plain
/// code and from inside of a runtime alike.
pub struct MariaDbServer {
    settings: MariaDbServerBuilder,
    certificates: Option<Certificates>,
    running: Mutex<Running>,
    port: ReservedPort,
    dir: TempDir,
}

/// What changes when the server is killed and started again.
#[derive(Default)]
struct Running {
    process: Option<GuardedProcess>,
    control: Option<Control>,
}

/// A connection as the server sees it, from `information_schema.processlist`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Its number, `CONNECTION_ID()`.
    pub id: u64,
    /// Who is logged in.
    pub user: String,
    /// `Sleep` between statements, `Query` in one.
    pub command: String,
    /// What the statement is doing or waiting for; empty if nothing.
    pub state: String,
    /// The statement; empty if there is none.
    pub info: String,
    /// How long it has been in this state.
    pub time: Duration,
}

impl MariaDbServer {
    /// Starts a server with an empty database `tenure`, where root needs no password.
    pub fn start() -> Self {
        Self::builder().start()
    }

    /// Starts describing a server.
    pub fn builder() -> MariaDbServerBuilder {
        MariaDbServerBuilder::default()
    }

    pub(super) fn launch(settings: MariaDbServerBuilder) -> Self {
        let dir = tempfile::Builder::new()
            .prefix("tenure-mariadb-")
            .tempdir()
            .expect("no temporary directory can be made: set TMPDIR to a writable one");
        let certificates = settings.tls.then(|| Certificates::make_in(dir.path()));
        let server = Self { settings, certificates, running: Mutex::default(), port: ReservedPort::take(), dir };
        template::copy_to(&server.data_path());
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

    /// `mysql://root@127.0.0.1:port/tenure`, for a TLS server as well.
    pub fn url(&self) -> String {
        self.url_of("tenure")
    }

    /// The URL of another database.
    pub fn url_of(&self, database: &str) -> String {
        format!("mysql://root@{}/{database}", self.addr())
    }

    /// The URL with credentials, which must need no escaping.
    pub fn url_as(&self, user: &str, password: &str) -> String {
        format!("mysql://{user}:{password}@{}/tenure", self.addr())
    }

    /// The Unix socket.
    pub fn socket(&self) -> PathBuf {
        self.dir.path().join("mariadb.sock")
    }

    /// The certificate authority of a TLS server (PEM).
    pub fn ca(&self) -> &Path {
        &self.certificates().ca
    }

    /// A client certificate that a TLS server accepts (PEM).
    pub fn cert(&self) -> &Path {
        &self.certificates().client.cert
    }

    /// The private key of [`MariaDbServer::cert`] (PEM).
    pub fn key(&self) -> &Path {
        &self.certificates().client.key
    }

    /// The process id of `mariadbd` itself.
    pub fn pid(&self) -> u32 {
        self.running().process().id()
    }

    /// Whether the process is there, paused or not.
    pub fn is_running(&self) -> bool {
        self.running().process.as_mut().is_some_and(|process| process.exited().is_none())
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
    /// connections are refused until [`MariaDbServer::restart`].
    pub fn kill(&self) {
        *self.running() = Running::default();
    }

    /// Shuts the process down in good order (`SIGTERM`), resuming it first if it is paused.
    pub fn stop(&self) {
        let mut running = self.running();
        let process = running.process();
        process.signal(Signal::TERM);
        process.signal(Signal::CONT);
        let deadline = Instant::now() + DISK_PATIENCE;
        while process.exited().is_none() && Instant::now() < deadline {
            thread::sleep(LOOK_EVERY);
        }
        // Dropping what is left also ends a server that did not obey.
        *running = Running::default();
    }

    /// Kills the server if it runs, then starts it again with the same port and directory. What
    /// was committed is there again.
    pub fn restart(&self) {
        let mut running = self.running();
        *running = Running::default();
        self.spawn(&mut running);
    }

    /// Runs a statement in the database `tenure`, as root.
    ///
    /// Panics, as all helpers do, if the server is down, paused, or answers with an error.
    pub fn execute(&self, sql: &str) {
        self.rows(sql);
    }

    /// The rows of a query, every column as text, NULL as `NULL`.
    pub fn rows(&self, sql: &str) -> Vec<Vec<String>> {
        self.ask(sql, sql)
    }

    /// The only column of the only row of a query.
    pub fn one(&self, sql: &str) -> String {
        let rows = self.rows(sql);
        match rows.as_slice() {
            [row] if row.len() == 1 => row[0].clone(),
            _ => panic!("the query has not one value, ask with rows() instead: {sql}: {rows:?}"),
        }
    }

    /// The connections, oldest first: all but the helpers' own and the server's own threads.
    pub fn sessions(&self) -> Vec<Session> {
        let rows = self.rows(
            "SELECT ID, USER, COMMAND, COALESCE(STATE, ''), COALESCE(INFO, ''), \
             CAST(COALESCE(TIME_MS, 0) * 1000 AS UNSIGNED) \
             FROM information_schema.PROCESSLIST \
             WHERE ID <> CONNECTION_ID() AND USER NOT IN ('system user', 'event_scheduler') ORDER BY ID",
        );
        rows.into_iter().map(Session::read).collect()
    }

    /// Ends a session (`KILL`); a statement that is under way ends when it notices.
    pub fn kill_session(&self, id: u64) {
        self.execute(&format!("KILL {id}"));
    }

    /// Adds a user who may log in from anywhere, with grants as in `SELECT, INSERT ON tenure.*`;
    /// `""` grants nothing.
    pub fn add_user(&self, name: &str, password: &str, grants: &str) {
        let (user, password) = (quoted(name), quoted(password));
        // What is asked is not said: a failed test must not print the password.
        self.ask(&format!("CREATE USER {user}@'%' IDENTIFIED BY {password}"), &format!("CREATE USER {user}"));
        if !grants.is_empty() {
            self.execute(&format!("GRANT {grants} TO {user}@'%'"));
        }
    }

    /// Runs `sql`, which is called `name` should it fail.
    fn ask(&self, sql: &str, name: &str) -> Vec<Vec<String>> {
        let mut running = self.running();
        running.process(); // Panics with advice if there is no process to ask.
        let control = running.control.get_or_insert_with(|| self.control());
        control.ask(sql).unwrap_or_else(|error| {
            panic!("mariadbd did not do it, call resume() first if it is paused: {name}: {error}")
        })
    }

    fn spawn(&self, running: &mut Running) {
        let log = self.dir.path().join("server.log");
        let output = File::create(&log).expect("the server's temporary directory is writable");
        let errors = output.try_clone().expect("a file handle can be duplicated");
        let spawned = GuardedProcess::spawn(
            Command::new(template::program("mariadbd"))
                .args(self.settings.arguments(
                    self.port(),
                    self.dir.path(),
                    &self.data_path(),
                    &self.socket(),
                    self.certificates.as_ref(),
                ))
                .stdout(output)
                .stderr(errors),
        );
        let mut process = spawned.unwrap_or_else(|error| panic!("mariadbd could not be started: {error}"));
        let control = self.control();
        let deadline = Instant::now() + DISK_PATIENCE;
        loop {
            let exited = process.exited();
            match control.ask("SELECT 1") {
                Ok(_) => break,
                Err(error) => assert!(
                    exited.is_none() && Instant::now() < deadline,
                    "mariadbd is not ready ({exited:?}, {error}); check the builder's settings against its log:\n{}",
                    fs::read_to_string(&log).unwrap_or_default()
                ),
            }
            thread::sleep(LOOK_EVERY);
        }
        running.process = Some(process);
        running.control = Some(control);
    }

    fn control(&self) -> Control {
        let socket = self.settings.requires_tls.then(|| self.socket().display().to_string());
        let options = OptsBuilder::default()
            .ip_or_hostname(self.addr().ip().to_string())
            .tcp_port(self.port())
            // The socket spares the kit a TLS client; all others stay on TCP, as tests do.
            .socket(socket)
            .prefer_socket(false)
            .user(Some("root"))
            .db_name(Some("tenure"))
            // A server that is told to drop idle clients keeps this one.
            .init(vec!["SET SESSION wait_timeout = 28800"]);
        Control::start(Opts::from(options), PATIENCE)
    }

    fn data_path(&self) -> PathBuf {
        self.dir.path().join("data")
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
        self.process.as_mut().expect("mariadbd is down: call restart() first")
    }
}

impl Session {
    fn read(row: Vec<String>) -> Self {
        let [id, user, command, state, info, time] =
            <[String; 6]>::try_from(row).expect("as many columns as were asked for");
        let number = |text: String| text.parse().expect("the server counts in whole numbers");
        Self { id: number(id), user, command, state, info, time: Duration::from_micros(number(time)) }
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', r"\\").replace('\'', "''"))
}
