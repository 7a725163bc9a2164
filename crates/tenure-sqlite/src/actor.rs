//! The thread that has the file: SQLite waits and syncs by blocking, which no runtime of a caller's may.
//!
//! Three lanes lead to it. What keeps a hold goes before what ends one, and that before what begins one: however many ask for
//! locks or leave them, renewals are not late.

use crate::desk::Desk;
use crate::error::Failure;
use crate::file::File;
use crate::patience;
use crate::ticket::Ticket;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tenure_core::{Answers, StoreError, StoreErrorKind, keep_apart, report};

/// Which work goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lane {
    /// It keeps holds.
    Renewals,
    /// It ends holds.
    Releases,
    /// All else.
    Others,
}

impl Lane {
    const COUNT: usize = 3;
}

type Job = Box<dyn FnOnce(&mut Desk) + Send>;

/// The handle to the thread, which starts with the first work and ends with the handle.
pub(crate) struct Actor {
    lanes: Arc<Lanes>,
    pub(crate) answers: Arc<Answers>,
}

struct Lanes {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// By lane.
    jobs: [VecDeque<Job>; Lane::COUNT],
    /// What the thread will work at, until there is one.
    desk: Option<Desk>,
    started: bool,
    ended: bool,
}

impl Actor {
    pub(crate) fn new(desk: Desk) -> Self {
        let state = State { jobs: Default::default(), desk: Some(desk), started: false, ended: false };
        let lanes = Arc::new(Lanes { state: Mutex::new(state), changed: Condvar::new() });
        Self { lanes, answers: Arc::default() }
    }

    /// Has some work done with the file, and waits for what came of it, for as long as it may take.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        lane: Lane,
        within: Duration,
        work: impl FnOnce(&mut File) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, answered) = self.answers.expect();
        let asked = Asked(Arc::new(Ticket::default()));
        let ticket = Arc::clone(&asked.0);
        // The thread stops waiting a little before we do, so that it is not in doubt whether it has done the work.
        let until = Instant::now() + within.saturating_sub(within / 20).min(Duration::from_secs(3600));
        self.put(lane, move |desk| {
            if !ticket.begin() {
                return;
            }
            let in_time = Instant::now() < until;
            let done = if in_time { patience::with(until, &ticket, || desk.work(work)) } else { Err(late()) };
            answer.tell(done);
        })?;
        match tokio::time::timeout(within, answered).await {
            Ok(Some(done)) => done,
            Ok(None) => Err(StoreError::new(StoreErrorKind::Unanswered, "the store's own thread failed, see the log")),
            Err(_) if asked.0.give_up() => {
                Err(StoreError::new(StoreErrorKind::Unanswered, "the disk did not answer in time"))
            }
            Err(_) => Err(late()),
        }
    }

    /// Has some work done that nobody waits for.
    pub(crate) fn tell(&self, within: Duration, work: impl FnOnce(&mut File) -> Result<(), Failure> + Send + 'static) {
        let ticket = Arc::new(Ticket::default());
        let put = self.put(Lane::Others, move |desk| {
            let until = Instant::now() + within;
            if let Err(error) = patience::with(until, &ticket, || desk.work(work)) {
                report(move || tracing::debug!(%error, "something that nobody waits for was not done"));
            }
        });
        if let Err(error) = put {
            report(move || tracing::debug!(%error, "something that nobody waits for was not done"));
        }
    }

    fn put(&self, lane: Lane, job: impl FnOnce(&mut Desk) + Send + 'static) -> Result<(), StoreError> {
        let mut state = self.lanes.lock();
        if !state.started {
            let lanes = Arc::clone(&self.lanes);
            let thread = std::thread::Builder::new().name("tenure-sqlite".into()).spawn(move || lanes.work());
            thread.map_err(|error| {
                StoreError::new(StoreErrorKind::Unreachable, format!("no thread for the store: {error}"))
            })?;
            state.started = true;
        }
        state.jobs[lane as usize].push_back(Box::new(job));
        drop(state);
        self.lanes.changed.notify_one();
        Ok(())
    }
}

impl Drop for Actor {
    fn drop(&mut self) {
        self.lanes.lock().ended = true;
        self.lanes.changed.notify_one();
    }
}

impl Lanes {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thread: does what comes until no more can.
    fn work(&self) {
        let Some(mut desk) = self.lock().desk.take() else { return };
        // Renewals are made here.
        keep_apart();
        loop {
            let calls = desk.ring_again();
            match self.next(calls) {
                Next::Job(job) => {
                    if catch_unwind(AssertUnwindSafe(|| job(&mut desk))).is_err() {
                        report(|| tracing::error!("a piece of work panicked, the file is opened anew"));
                        desk.close();
                    }
                }
                Next::Calls => {}
                Next::End => return,
            }
        }
    }

    /// Waits for something to do. If there are calls to be made, their time comes in between.
    fn next(&self, calls: Option<Instant>) -> Next {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.jobs.iter_mut().find_map(VecDeque::pop_front) {
                return Next::Job(job);
            }
            state = match calls.map(|at| at.saturating_duration_since(Instant::now())) {
                Some(Duration::ZERO) => return Next::Calls,
                Some(left) => self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
                None if state.ended => return Next::End,
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}

/// What the thread does next.
enum Next {
    Job(Job),
    /// The calls that could not be made before.
    Calls,
    End,
}

/// One who asks; when it goes, its work is not begun any more, or stops waiting.
struct Asked(Arc<Ticket>);

impl Drop for Asked {
    fn drop(&mut self) {
        self.0.give_up();
    }
}

fn late() -> StoreError {
    StoreError::new(
        StoreErrorKind::Unreachable,
        "it was not begun in time, nothing was done: wait for longer, or ask for less at once",
    )
}
