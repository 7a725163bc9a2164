//! One of the servers, and whether its vote counts.

use super::stragglers::Stragglers;
use crate::backend::Redis;
use crate::driver::RedisRs;
use crate::links::Witness;
use redis::Value;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tenure_core::{StoreError, report};

/// The server counts its uptime in whole seconds.
const SECOND: Duration = Duration::from_secs(1);

/// A server.
pub(super) struct Node {
    pub(super) redis: Redis,
    runs: Arc<Runs>,
    /// Whether it did not answer when it was last asked.
    silent: AtomicBool,
    /// Whether it is further behind the others than they were waited for.
    late: AtomicBool,
    pub(super) stragglers: Stragglers,
}

/// What is known of a server's runs. One that was restarted may have forgotten what it granted: until the last of those
/// leases must have ended, its vote would be a second one.
struct Runs {
    max_lease: Duration,
    /// Whether a server that was never seen before is trusted only if it has been up for so long.
    by_uptime: bool,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    run: Option<String>,
    abstains_until: Option<Instant>,
}

impl Node {
    pub(super) fn new(driver: RedisRs, wakeups: bool, max_lease: Duration, by_uptime: bool) -> Self {
        let runs = Arc::new(Runs { max_lease, by_uptime, seen: Mutex::default() });
        let witness: Arc<dyn Witness> = Arc::clone(&runs) as _;
        let redis = Redis::witnessed(driver, wakeups, witness);
        Self {
            redis,
            runs,
            silent: AtomicBool::new(false),
            late: AtomicBool::new(false),
            stragglers: Stragglers::default(),
        }
    }

    /// Whether it did not answer when it was last asked.
    pub(super) fn is_silent(&self) -> bool {
        self.silent.load(Ordering::Relaxed)
    }

    /// Whether it is not worth waiting for.
    pub(super) fn is_behind(&self) -> bool {
        self.is_silent() || self.late.load(Ordering::Relaxed)
    }

    /// It was waited for long enough, and may yet answer.
    pub(super) fn found_late(&self) {
        self.late.store(true, Ordering::Relaxed);
    }

    /// Takes note of whether it answered.
    pub(super) fn heard<T>(&self, answer: &Result<T, StoreError>) {
        let silent = matches!(answer, Err(error) if error.is_transient());
        self.late.store(false, Ordering::Relaxed);
        if self.silent.swap(silent, Ordering::Relaxed) != silent {
            let server = self.redis.place();
            let error = answer.as_ref().err().cloned();
            report(move || match error {
                Some(error) => tracing::warn!(%server, %error, "a server of the majority does not answer"),
                None => tracing::info!(%server, "a server of the majority answers again"),
            });
        }
    }

    /// Which run of the server was last seen.
    pub(super) fn run(&self) -> Option<String> {
        self.runs.seen.lock().unwrap_or_else(PoisonError::into_inner).run.clone().filter(|run| !run.is_empty())
    }

    /// For how much longer its vote does not count.
    pub(super) fn abstains(&self) -> Option<Duration> {
        let until = self.runs.seen.lock().unwrap_or_else(PoisonError::into_inner).abstains_until?;
        Some(until.saturating_duration_since(Instant::now())).filter(|left| !left.is_zero())
    }
}

impl Witness for Runs {
    fn saw(&self, info: &Value) {
        let text = text(info);
        let field = |name: &str| text.lines().find_map(|line| line.trim_end().strip_prefix(name)?.strip_prefix(':'));
        let run = field("run_id").unwrap_or_default().to_owned();
        let uptime = Duration::from_secs(field("uptime_in_seconds").and_then(|up| up.parse().ok()).unwrap_or(0));
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let abstains = match &seen.run {
            Some(known) if *known == run => return,
            Some(_) => self.max_lease,
            None if self.by_uptime => (self.max_lease + SECOND).saturating_sub(uptime),
            None => Duration::ZERO,
        };
        seen.run = Some(run);
        if !abstains.is_zero() {
            seen.abstains_until = Some(Instant::now() + abstains);
            // A subscriber that hangs must not keep the mutex, which renewals take as well.
            drop(seen);
            report(move || {
                tracing::warn!(
                    ?abstains,
                    "a server that was restarted does not vote until its old grants must have ended"
                );
            });
        }
    }
}

/// Asks once more if the connection is found dead at once, as after a restart: that says nothing of the server. Only what may
/// be asked twice.
pub(super) async fn even_if_dead<T, F: Future<Output = Result<T, StoreError>>>(
    within: Duration,
    may_repeat: impl Fn(&StoreError) -> bool,
    ask: impl Fn(Duration) -> F,
) -> Result<T, StoreError> {
    let began = Instant::now();
    match ask(within).await {
        Err(error) if error.is_transient() && may_repeat(&error) && began.elapsed() < within / 2 => {
            ask(within / 2).await
        }
        answer => answer,
    }
}

fn text(info: &Value) -> String {
    match info {
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::SimpleString(text) | Value::VerbatimString { text, .. } => text.clone(),
        _ => String::new(),
    }
}
