//! Many tasks of many processes that share a few permits and are killed at random: how they take them, and how it is judged.

use super::{Job, Taker};
use crate::history::{Hold, boottime_now};
use std::collections::HashMap;
use std::time::{Duration, Instant};
use tenure_core::{Client, Options, Store};
use tokio::task::JoinSet;

const PROCESSES: usize = 8;
const TASKS: usize = 16;
const PERMITS: u32 = 5;
const FEWER: u32 = 3;
const LEASE: Duration = Duration::from_secs(1);
const SECTION: Duration = Duration::from_millis(5);
/// How long each of the phases lasts: longer than the places of the dead are kept.
const PHASE: Duration = Duration::from_millis(4500);
/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);
/// For how much of a phase there is killing.
const KILLING: Duration = Duration::from_millis(1200);

/// Takes permits, one at a time in each task, for as long as the process lives, and tells of every hold.
pub(super) async fn share(client: &Client, key: &str, tasks: usize, section: Duration, lease: Duration) {
    let mut running = JoinSet::new();
    for task in 0..tasks {
        let semaphore = client.semaphore(key).expect("a key");
        let who = format!("{}/{task}", std::process::id());
        running.spawn(async move {
            loop {
                let asked = boottime_now();
                let guard = semaphore.acquire_with(1, Options::new().lease(lease)).await.expect("a permit");
                let (key, who, token) = (semaphore.key().to_string(), who.clone(), Some(guard.token()));
                let mut hold = Hold { key, who, token, asked, granted: boottime_now(), ended: None };
                println!("{}", hold.to_line());
                tokio::time::sleep(section).await;
                // Who was stopped for too long has lost it, and knows.
                hold.ended = guard.is_held().then(boottime_now);
                println!("{}", hold.to_line());
                drop(guard);
            }
        });
    }
    // None ends by itself: it is killed, or one of them has failed.
    if let Some(Err(failed)) = running.join_next().await {
        panic!("a task failed: {failed}");
    }
}

/// Lets processes share permits, kills and replaces one of them after the other, and makes the permits fewer and more
/// meanwhile. Says how many holds there were.
///
/// # Panics
///
/// If more have permits at once than there are, or if permits do not come back when all are killed.
pub async fn race(url: &str, store: impl Fn(&str) -> Store) -> usize {
    // The machine has more to do than it can: that an answer takes long says nothing of permits.
    let client = Client::builder().answer_within(PATIENCE).connect(store(url)).await.expect("the store");
    let semaphore = client.semaphore("shared").expect("a key");
    semaphore.set_permits(PERMITS).await.expect("permits");
    let job = Job::Permits { url: url.to_owned(), key: "shared".into(), tasks: TASKS, section: SECTION, lease: LEASE };
    let (tell, told) = std::sync::mpsc::channel();
    let start = || {
        let (taker, tell) = (Taker::start(&job), tell.clone());
        let (id, mut output) = (taker.id(), taker);
        // Killed from here, by its number; it is read to its end.
        std::thread::spawn(move || {
            while let Some(line) = output.line() {
                // The last line of one that was killed may be cut short.
                if let Ok(hold) = Hold::from_line(&line) {
                    let _ = tell.send(hold);
                }
            }
        });
        id
    };
    let mut takers = Takers((0..PROCESSES).map(|_| start()).collect());
    let mut killed: HashMap<u32, u64> = HashMap::new();
    let mut kill = |id: u32| {
        // Before: whoever is killed is in until then at the most.
        killed.insert(id, boottime_now());
        self::kill(id).expect("it runs");
    };
    // Tokens are counted for the whole store: they tell what was granted before, and what after.
    let marker = client.simple("marker").expect("a key");
    let mut marks = Vec::new();
    for permits in [FEWER, PERMITS] {
        let began = Instant::now();
        while began.elapsed() < KILLING {
            // Some of them die in the middle of something.
            tokio::time::sleep(Duration::from_millis(fastrand::u64(100..500))).await;
            let at = fastrand::usize(..PROCESSES);
            kill(std::mem::replace(&mut takers.0[at], start()));
        }
        tokio::time::sleep(PHASE.saturating_sub(began.elapsed())).await;
        for change in [None, Some(permits)] {
            if let Some(permits) = change {
                semaphore.set_permits(permits).await.expect("permits");
            }
            marks.push(marker.lock().await.expect("the marker").token());
        }
    }
    tokio::time::sleep(KILLING).await;
    std::mem::take(&mut takers.0).into_iter().for_each(&mut kill);
    let dead = Instant::now();
    while semaphore.available().await.expect("an answer") < i64::from(PERMITS) {
        assert!(dead.elapsed() < LEASE + PATIENCE, "permits are missing after {:?}", dead.elapsed());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    drop(tell);
    let holds = ended(told.into_iter(), &killed);
    let most = most_at_once(&holds, |_| true);
    assert!((2..=PERMITS as usize).contains(&most), "{most} of {PERMITS} permits were taken at once");
    let most = most_at_once(&holds, |hold| hold.token > Some(marks[1]) && hold.token < Some(marks[2]));
    assert!((1..=FEWER as usize).contains(&most), "{most} of {FEWER} permits were taken at once");
    client.close(Duration::from_secs(5)).await.expect("a clean close");
    holds.len()
}

/// Processes that go on until they are killed, also if the race fails.
struct Takers(Vec<u32>);

impl Drop for Takers {
    fn drop(&mut self) {
        for id in &self.0 {
            let _ = kill(*id);
        }
    }
}

fn kill(id: u32) -> rustix::io::Result<()> {
    let pid = i32::try_from(id).ok().and_then(rustix::process::Pid::from_raw).expect("a pid");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL)
}

/// Every hold once, with the end that was told, or that death set.
fn ended(told: impl Iterator<Item = Hold>, killed: &HashMap<u32, u64>) -> Vec<Hold> {
    let mut holds: HashMap<Option<u64>, Hold> = HashMap::new();
    for hold in told {
        let known = holds.entry(hold.token).or_insert_with(|| hold.clone());
        known.ended = known.ended.or(hold.ended);
    }
    for hold in holds.values_mut() {
        let process = hold.who.split('/').next().and_then(|id| id.parse().ok());
        // A hold that was lost before death counts for its first moment alone.
        let lease = hold.granted + u64::try_from(LEASE.as_nanos() * 9 / 10).unwrap_or(u64::MAX);
        let died = process.and_then(|id: u32| killed.get(&id)).copied();
        hold.ended = hold.ended.or(died.filter(|died| *died < lease));
    }
    holds.into_values().collect()
}

/// How many were in at the most when one of these got in.
fn most_at_once(holds: &[Hold], counts: impl Fn(&Hold) -> bool) -> usize {
    let is_in = |hold: &Hold, at: u64| hold.granted <= at && hold.ended.is_some_and(|ended| ended > at);
    let newcomers = holds.iter().filter(|hold| counts(hold) && hold.ended.is_some());
    newcomers.map(|new| holds.iter().filter(|hold| is_in(hold, new.granted)).count()).max().unwrap_or(0)
}
