//! Looking after a command that runs: its signals, its stops, its end, and above all its lease.

use super::gate::Gate;
use super::minder::Minder;
use super::terminal::Terminal;
use super::{Signals, hook, procfs};
use crate::output::Talk;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, kill_process_group, wait, waitpid};
use std::io;
use std::time::Duration;
use tenure::{Clock, Loss, Moment, MultiGuard, Standing};

/// How often to look whether what a command left in its group has gone.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// How long a last renewal may take before we stop.
const RENEW: Duration = Duration::from_millis(200);
/// How long a command has, at the most, once somebody else may be in: for a last word, not for its work.
const LAST_WORD: Duration = Duration::from_secs(3);
/// How long the minder may take to go.
const SEE_OFF: Duration = Duration::from_millis(100);

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    /// By itself, with this code.
    Exited(i32),
    /// By a signal.
    Killed(i32),
}

/// A command that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) how: How,
    /// Why the lock was lost, if it was.
    pub(crate) lost: Option<String>,
    /// Whether it had the terminal.
    pub(crate) had_terminal: bool,
}

/// When the command must be gone, and what is done about it.
pub(crate) struct Supervisor<'a> {
    pub(crate) talk: Talk,
    pub(crate) guard: &'a MultiGuard,
    /// How long there is between SIGTERM and SIGKILL.
    pub(crate) grace: Duration,
    /// How long before the lease's end the command must be gone: killing takes a moment.
    pub(crate) slack: Duration,
    pub(crate) on_lost: Option<&'a str>,
    /// The command's environment, for `on_lost`.
    pub(crate) env: &'a [(&'a str, String)],
    pub(crate) signals: &'a mut Signals,
}

/// What is known of the processes.
struct State<'a> {
    group: Pid,
    minder: &'a mut Minder,
    terminal: Option<Terminal>,
    how: Option<How>,
    /// Why the lock is lost, and when what is left of the group is killed.
    lost: Option<(String, Moment)>,
    hook: Option<Pid>,
    /// The last lease that we know of.
    ends: Moment,
    /// Whether we ever looked so late that the minder will have acted.
    overslept: bool,
}

impl Supervisor<'_> {
    /// Lets the command go, and returns when it has ended, one way or another.
    pub(crate) async fn watch(mut self, gate: &mut Gate) -> io::Result<Ended> {
        let clock = Clock::system();
        self.signals.all()?;
        let mut terminal = Terminal::open();
        if let Some(terminal) = &mut terminal {
            terminal.hand_to(gate.command);
        }
        let ends = self.lease_ends(&clock).unwrap_or_else(|| clock.now());
        let opened = gate.open(self.killed_by(ends));
        let mut state = State {
            group: gate.command,
            minder: &mut gate.minder,
            terminal,
            how: None,
            lost: None,
            hook: None,
            ends,
            overslept: false,
        };
        if opened.is_ok() {
            self.look_after(&mut state, &clock).await;
            // It ended before we looked, such as while we were stopped ourselves.
            match self.guard.standing() {
                Standing::Lost(why) => self.lose(&mut state, why, &clock),
                _ if self.was_minded(&state, &clock) => self.lose(&mut state, Loss::LeaseEnded, &clock),
                _ => {}
            }
        }
        let had_terminal = state.terminal.as_ref().is_some_and(Terminal::is_handed);
        self.tidy_up(&mut state, &clock).await;
        opened?;
        Ok(Ended {
            how: state.how.unwrap_or(How::Killed(Signal::KILL.as_raw())),
            lost: state.lost.map(|(why, _)| why),
            had_terminal,
        })
    }

    /// Until the command has ended.
    async fn look_after(&mut self, state: &mut State<'_>, clock: &Clock) {
        while state.how.is_none() {
            state.overslept |= clock.now() >= self.killed_by(state.ends);
            if let Some(ends) = self.lease_ends(clock) {
                state.ends = ends;
                state.minder.allow(self.killed_by(ends));
            }
            let gone_by = earlier(state.ends, self.slack);
            let next = state.lost.as_ref().map_or(earlier(gone_by, self.grace), |(_, kill_at)| *kill_at);
            tokio::select! {
                biased;
                signal = self.signals.next() => self.heed(state, signal, clock).await,
                (_, why) = self.guard.lost(), if state.lost.is_none() => self.lose(state, why, clock),
                () = clock.sleep_until(next) => match state.lost {
                    // The lease may have been renewed while we slept.
                    None if self.guard.remaining() > self.slack + self.grace => {}
                    None => self.terminate(state, self.why_not_renewed(), gone_by),
                    Some((_, ref mut kill_at)) => {
                        kill(state.group, Signal::KILL);
                        // Once more in a while, should anybody have been born in between.
                        *kill_at = clock.now().plus(LOOK_EVERY);
                    }
                },
            }
        }
    }

    /// When the lease ends, if it has not ended.
    fn lease_ends(&self, clock: &Clock) -> Option<Moment> {
        // The clock first: were we stopped in between, the other way round the lease would seem to last for longer.
        let now = clock.now();
        let remaining = self.guard.remaining();
        (!remaining.is_zero()).then(|| now.plus(remaining))
    }

    /// When the minder kills the command of a lease: later than we would do it ourselves, but in time as well.
    fn killed_by(&self, ends: Moment) -> Moment {
        earlier(ends, self.slack / 2)
    }

    /// Whether it was the minder that ended the command, which does so a little before the lease ends: after that the
    /// lock may even have been renewed.
    fn was_minded(&self, state: &State<'_>, clock: &Clock) -> bool {
        let late = state.overslept || clock.now() >= self.killed_by(state.ends);
        late && state.how == Some(How::Killed(Signal::KILL.as_raw()))
    }

    fn why_not_renewed(&self) -> &'static str {
        match self.guard.standing() {
            Standing::Held => "it was held for as long as it might be",
            _ => "it could not be renewed in time",
        }
    }

    async fn heed(&mut self, state: &mut State<'_>, signal: Signal, clock: &Clock) {
        match signal {
            Signal::CHILD => self.reap(state).await,
            Signal::CONT => self.resume(state, clock),
            // Somebody else in our group asks for the terminal, such as a pager that our command's output goes to.
            Signal::TTIN | Signal::TTOU if state.terminal.as_ref().is_some_and(Terminal::is_handed) => {
                state.take_terminal_back();
                for mate in procfs::mates() {
                    let _ = kill_process(mate, Signal::CONT);
                }
            }
            _ => kill(state.group, signal),
        }
    }

    /// Sees which of our children have ended or stopped.
    async fn reap(&mut self, state: &mut State<'_>) {
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG | WaitOptions::UNTRACED) {
            if pid == state.group {
                match status.stopping_signal().and_then(Signal::from_named_raw) {
                    Some(signal) => self.stopped(state, signal).await,
                    None => state.how = Some(How::from(status)),
                }
            } else if Some(pid) == state.hook {
                state.hook = None;
            } else if pid == state.minder.pid && state.how.is_none() && state.lost.is_none() {
                // Killed by mistake, or for want of memory. If there can be no other, we watch alone.
                if let Ok(another) = Minder::start(state.group) {
                    *state.minder = another;
                }
            }
        }
    }

    /// The command stopped. A shell that looks on has to see us stop as well.
    async fn stopped(&mut self, state: &mut State<'_>, signal: Signal) {
        let asks = matches!(signal, Signal::TTIN | Signal::TTOU);
        let handed = state.terminal.as_ref().is_some_and(Terminal::is_handed);
        if asks && state.terminal.as_ref().is_some_and(Terminal::is_ours) {
            // It asks for the terminal, and it is ours to give.
            state.hand_terminal_over();
            kill(state.group, Signal::CONT);
        } else if signal == Signal::STOP && !handed {
            // Somebody paused it on purpose. We go on holding the lock for it.
        } else if signal != Signal::STOP && procfs::is_orphaned() {
            // No shell looks on, so nobody would ever continue it: what the kernel does in such a case.
            if asks {
                kill(state.group, Signal::HUP);
            }
            kill(state.group, Signal::CONT);
        } else {
            state.take_terminal_back();
            // It is stopped for as long as the lease allows; and we are not stopped amid a write to the store, where
            // we would be in everybody's way. If it takes long, we stop all the same.
            let _ = tokio::time::timeout(RENEW, self.guard.renew()).await;
            if self.talk.is_watched() {
                let left = crate::duration::spoken(self.guard.remaining());
                self.talk.say(&format!("stopped; unless it is continued, the command is killed in {left}"));
            }
            // As the terminal would have it; nobody else's processes are ours to stop.
            if handed {
                for mate in procfs::mates() {
                    let _ = kill_process(mate, signal);
                }
            }
            // SIGCONT brings us back to life, and to `resume`.
            let _ = kill_process(getpid(), Signal::STOP);
        }
    }

    /// We were continued, and so is the command, unless its lease ended in the meantime.
    fn resume(&mut self, state: &mut State<'_>, clock: &Clock) {
        if self.guard.remaining().is_zero() {
            self.lose(state, Loss::LeaseEnded, clock);
        }
        state.hand_terminal_over();
        kill(state.group, Signal::CONT);
    }

    /// The lock is lost already.
    fn lose(&mut self, state: &mut State<'_>, why: Loss, clock: &Clock) {
        // The lease that we last knew of still bounds what is left; if it is over, there is no time for grace.
        let left = earlier(state.ends, self.slack).since(clock.now());
        let grace = match why {
            // The store may have let the next one in before we heard of it.
            Loss::Gone | Loss::Forced => self.grace.min(LAST_WORD),
            _ => self.grace,
        };
        let kill_at = clock.now().plus(grace.min(left));
        self.terminate(state, &why.to_string(), kill_at);
        if left.is_zero() {
            kill(state.group, Signal::KILL);
        }
    }

    /// Asks the command to end, and makes it end at `kill_at`.
    fn terminate(&mut self, state: &mut State<'_>, why: &str, kill_at: Moment) {
        if state.lost.is_some() {
            return;
        }
        state.lost = Some((why.to_owned(), kill_at));
        kill(state.group, Signal::TERM);
        // One that is stopped could not heed it.
        kill(state.group, Signal::CONT);
        if let Some(line) = self.on_lost {
            state.hook = hook::start(self.talk, line, self.env, why);
        }
    }

    /// The command has ended; sees to what it leaves behind.
    async fn tidy_up(&mut self, state: &mut State<'_>, clock: &Clock) {
        if let Some((_, kill_at)) = state.lost {
            // What else is in the group has the rest of the grace.
            let minder = state.minder.pid;
            let others = |pids: Vec<Pid>| pids.into_iter().any(|pid| pid != minder);
            while clock.now() < kill_at && procfs::members(state.group).is_none_or(others) {
                clock.sleep_until(clock.now().plus(LOOK_EVERY).min(kill_at)).await;
            }
            kill(state.group, Signal::KILL);
        } else {
            state.minder.dismiss();
        }
        // Not everybody who would inherit it from us reaps what it inherits.
        let patience = clock.now().plus(SEE_OFF);
        while matches!(waitpid(Some(state.minder.pid), WaitOptions::NOHANG), Ok(None)) && clock.now() < patience {
            clock.sleep_until(clock.now().plus(Duration::from_millis(1))).await;
        }
        state.take_terminal_back();
        if let (Some(terminal), Some(How::Killed(_))) = (&state.terminal, state.how) {
            terminal.restore_modes();
        }
        if let Some(pid) = state.hook {
            hook::see_out(pid, self.signals).await;
        }
    }
}

impl State<'_> {
    fn hand_terminal_over(&mut self) {
        if let Some(terminal) = &mut self.terminal {
            terminal.hand_to(self.group);
        }
    }

    fn take_terminal_back(&mut self) {
        if let Some(terminal) = &mut self.terminal {
            terminal.take_back();
        }
    }
}

impl From<WaitStatus> for How {
    fn from(status: WaitStatus) -> Self {
        match status.terminating_signal() {
            Some(signal) => Self::Killed(signal),
            None => Self::Exited(status.exit_status().unwrap_or_default()),
        }
    }
}

/// Signals a whole group. It may be gone already, or belong to somebody else by now: nothing can be done about that.
fn kill(group: Pid, signal: Signal) {
    let _ = kill_process_group(group, signal);
}

fn earlier(moment: Moment, by: Duration) -> Moment {
    Moment::at(moment.since_zero().saturating_sub(by))
}
