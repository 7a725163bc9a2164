//! The JVM: built when it has to be, started, killed when dropped.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use super::answer::done;
use super::line::Line;
use super::lock::Redisson;
use crate::history::monotonic_now;

/// How long a JVM may take to start, and to end when it is told to.
const PATIENCE: Duration = Duration::from_secs(60);

/// A process with Redisson in it, for as many clients as a test wants. Killed when dropped; should the test's own process
/// be killed, it ends because its standard input does.
pub struct Jvm {
    line: Arc<Line>,
    process: Mutex<Child>,
    clients: AtomicU64,
}

/// One JVM for all tests of a program, started for the first that asks.
///
/// # Panics
///
/// As [`Jvm::start`].
pub fn jvm() -> &'static Jvm {
    static JVM: OnceLock<Jvm> = OnceLock::new();
    JVM.get_or_init(Jvm::start)
}

impl Jvm {
    /// Starts one, and builds the driver before if that was not done yet.
    ///
    /// # Panics
    ///
    /// If the driver cannot be built, with what to do about it; or if it does not start.
    pub fn start() -> Self {
        build();
        let began = monotonic_now();
        let mut process = Command::new(driver())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("the driver could not be started: {error}"));
        let line = Arc::new(Line::new(process.stdin.take().expect("its input is a pipe")));
        let answers = BufReader::new(process.stdout.take().expect("its output is a pipe"));
        // From here on it is killed, whatever else goes wrong.
        let jvm = Self { line, process: Mutex::new(process), clients: AtomicU64::new(0) };
        let java_clock = jvm.listen(answers);
        assert!(
            (began..monotonic_now()).contains(&java_clock),
            "System.nanoTime is not CLOCK_MONOTONIC in this JVM, use OpenJDK: {began} {java_clock}"
        );
        jvm
    }

    /// Waits until it is ready, and hears its answers from then on; what its clock says.
    fn listen(&self, mut answers: BufReader<ChildStdout>) -> u64 {
        let (tell, ready) = mpsc::channel();
        let line = Arc::clone(&self.line);
        thread::spawn(move || {
            let mut first = String::new();
            let _ = answers.read_line(&mut first);
            let _ = tell.send(first);
            line.hand_out(answers);
        });
        let first =
            ready.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("the driver is not ready after {PATIENCE:?}"));
        let clock = first.trim_end().strip_prefix("ready ").and_then(|clock| clock.parse().ok());
        clock.unwrap_or_else(|| panic!("the driver did not begin with `ready` and its clock: {first:?}"))
    }

    /// A new Redisson client, connected to that server. Locks that it takes without a lease last for `watchdog` and are
    /// renewed every third of that.
    ///
    /// # Panics
    ///
    /// If it cannot connect.
    pub async fn connect(&self, url: &str, watchdog: Duration) -> Redisson {
        let name = self.clients.fetch_add(1, Ordering::Relaxed).to_string();
        let connected = self.line.send(&format!("connect {name} {url} {}", watchdog.as_millis())).await;
        done(&connected).unwrap_or_else(|error| panic!("Redisson cannot connect to {url}: {error}"));
        Redisson::new(Arc::clone(&self.line), name)
    }

    /// Kills it at once (`SIGKILL`).
    pub fn kill(&self) {
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        // Both fail only if it is gone already.
        let _ = process.kill();
        let _ = process.wait();
    }

    /// Lets all clients take leave and ends it.
    ///
    /// # Panics
    ///
    /// If it does not say that it did.
    pub async fn shutdown(self) {
        done(&self.line.send("shutdown").await).expect("a shutdown");
    }
}

impl Drop for Jvm {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Builds the driver unless that is done already; one test program at a time, the others wait.
pub(super) fn build() {
    let built = Command::new(driver()).arg("--build").stdin(Stdio::null()).output();
    let built = built.unwrap_or_else(|error| panic!("the driver could not be built: {error}"));
    assert!(built.status.success(), "the driver could not be built:\n{}", String::from_utf8_lossy(&built.stderr));
}

pub(super) fn driver() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../interop/java/driver")
}
