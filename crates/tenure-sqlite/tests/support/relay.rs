//! A relay: processes that take one lock over and over, tell of every hold, and are killed at random.

use super::{Place, ms};
use libtest_mimic::Failed;
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;
use tenure_testkit::history::{Hold, boottime_now};
use tenure_testkit::taker::{Job, Taker};
use tenure_testkit::{History, Report};

const KEY: &str = "relay";
/// Short, because every holder that is killed costs as much.
const LEASE: Duration = Duration::from_millis(300);

pub(crate) struct Relay {
    /// How many processes run at a time.
    pub(crate) runners: usize,
    /// How many holds each of them has to do, its successors included.
    pub(crate) holds: usize,
    /// How many are killed, every second time one that is in.
    pub(crate) kills: usize,
}

/// The holds of one runner, those of its predecessors included, by token: each is told when it begins and when it ends.
#[derive(Default)]
struct Run(BTreeMap<u64, Hold>);

impl Run {
    fn finished(&self) -> usize {
        self.0.values().filter(|hold| hold.ended.is_some()).count()
    }

    fn last_if_in(&mut self) -> Option<&mut Hold> {
        self.0.values_mut().next_back().filter(|hold| hold.ended.is_none())
    }
}

type Runs = Arc<Mutex<Vec<Run>>>;

impl Relay {
    /// Runs it: how many were killed while they were in, and what the history shows. Fails if anybody met, if the lock is
    /// stuck afterwards, or if the file is not whole.
    pub(crate) fn run(&self, place: &Place) -> Result<(usize, Report), Failed> {
        let runs: Runs = Arc::new(Mutex::new((0..self.runners).map(|_| Run::default()).collect()));
        let (tell, started) = mpsc::channel();
        let threads: Vec<_> = (0..self.runners)
            .map(|at| {
                let (url, runs, tell, holds) = (place.url(), Arc::clone(&runs), tell.clone(), self.holds);
                std::thread::spawn(move || keep_running(&url, at, holds, &runs, &tell))
            })
            .collect();
        let killed_in = self.kill(&runs, &started, &threads)?;
        for thread in threads {
            thread.join().map_err(|_| "a runner failed")?;
        }
        let history = History::new();
        for run in runs.lock().unwrap().iter() {
            assert!(run.finished() >= self.holds);
            run.0.values().for_each(|hold| history.add(hold.clone()));
        }
        let report = history.check();
        report.assert_clean().assert_at_least(self.runners * self.holds);
        assert!(killed_in > 0, "nobody was killed who was in");
        let largest = history.holds().iter().filter_map(|hold| hold.token).max().expect("holds");
        is_well(place, largest)?;
        Ok((killed_in, report))
    }

    fn kill(&self, runs: &Runs, started: &Receiver<(usize, u32)>, threads: &[JoinHandle<()>]) -> Result<usize, Failed> {
        let (mut running, mut killed, mut killed_in) = (BTreeMap::new(), 0, 0);
        while killed < self.kills && !threads.iter().all(JoinHandle::is_finished) {
            std::thread::sleep(ms(fastrand::u64(1..40)));
            running.extend(started.try_iter());
            let mut runs = runs.lock().unwrap();
            let at = if killed % 2 == 0 {
                running.keys().copied().find(|at: &usize| runs[*at].last_if_in().is_some())
            } else {
                fastrand::choice(running.keys().copied().collect::<Vec<_>>())
            };
            let Some((at, process)) = at.and_then(|at| running.remove_entry(&at)) else { continue };
            // It was in at least until now; what it tells later it told before it died.
            let now = boottime_now();
            // One that has just ended cannot be killed.
            if kill_process(Pid::from_raw(i32::try_from(process)?).expect("a process"), Signal::KILL).is_err() {
                continue;
            }
            killed += 1;
            if let Some(hold) = runs[at].last_if_in() {
                killed_in += 1;
                hold.ended = Some(now.max(hold.granted));
            }
        }
        Ok(killed_in)
    }
}

/// Runs one process after another until all holds are done; tells of each that it can be killed.
fn keep_running(url: &str, at: usize, holds: usize, runs: &Runs, tell: &Sender<(usize, u32)>) {
    loop {
        let left = holds.saturating_sub(runs.lock().unwrap()[at].finished());
        if left == 0 {
            return;
        }
        let job = Job::Relay { url: url.to_owned(), key: KEY.into(), holds: left, section: ms(2), lease: LEASE };
        let mut taker = Taker::start(&job);
        // Nobody listens any more when enough were killed.
        let _ = tell.send((at, taker.id()));
        while let Some(line) = taker.line() {
            let hold = Hold::from_line(&line).unwrap();
            runs.lock().unwrap()[at].0.insert(hold.token.expect("a token"), hold);
        }
        // The end of its output is its own end, whether it was killed or not.
        taker.kill();
    }
}

/// The lock can be had, with a larger token, and the file is whole.
fn is_well(place: &Place, largest: u64) -> Result<(), Failed> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let client = place.client().await;
        let guard = client.lock(KEY)?.lock_timeout(LEASE + ms(500)).await?;
        assert!(guard.token() > largest);
        guard.release().await
    })?;
    assert_eq!(place.integrity(), "ok");
    assert_eq!(place.litter(), [""; 0]);
    Ok(())
}
