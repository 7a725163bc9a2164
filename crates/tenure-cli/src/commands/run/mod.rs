//! `tenure run`: a command runs while we hold a lock.

mod acquire;
mod permit;
mod status;
mod terms;

pub(super) use acquire::busy;

use crate::child::{self, Ended, Gate, How, Signals, Supervisor};
use crate::cli::{Common, Run};
use crate::duration::spoken;
use crate::exit::{self, Failure, Reason};
use crate::output::{self, Talk};
use status::{Report, Status};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tenure::{Alarm, AlarmReason, Client, ErrorKind, Events, Key, MultiGuard, What};
use terms::Terms;

/// How long the end may take when the store has gone away; the lease ends what is left then.
const CLOSE: Duration = Duration::from_millis(500);
const NO_TIME: &str = "there was no time left to start the command";
/// Ctrl-C.
const INTERRUPT: i32 = 2;

/// Runs the command. Says what went wrong, here and on the status descriptor.
pub(crate) async fn run(common: &Common, talk: Talk, args: Run) -> ExitCode {
    let mut report = Report::new(&args.keys);
    let outcome = match Status::open(args.status_fd) {
        Ok(status) => {
            let outcome = match prepare(&args, &mut report) {
                Ok(terms) if !terms.enabled => {
                    report.unlocked();
                    return unlocked(common, talk, &args, status.write(&report));
                }
                Ok(terms) => attempt(common, talk, &args, &terms, &mut report).await,
                Err(failure) => Err(failure),
            };
            report.finish(&outcome);
            if is_fine(&args, &outcome) {
                report.passed();
            }
            if let Err(failure) = status.write(&report) {
                output::fail(&failure);
            }
            outcome
        }
        Err(failure) => Err(failure),
    };
    match outcome {
        _ if is_fine(&args, &outcome) => ExitCode::SUCCESS,
        Ok(ended) => {
            if ended == (End { how: How::Killed(INTERRUPT), had_terminal: true }) && !child::leads_own_group() {
                // Without us, the whole job would have got Ctrl-C, and the script in it would have seen us die of it.
                child::interrupt_mates();
                child::die_of(INTERRUPT);
            }
            ended.code().into()
        }
        Err(failure) => {
            if failure.reason == Reason::Interrupted(INTERRUPT) && !child::leads_own_group() {
                child::die_of(INTERRUPT);
            }
            if !failure.message.is_empty() {
                output::fail(&failure);
            }
            failure.exit_code()
        }
    }
}

/// Whether nothing was done, and nobody minds: another has the lock. A store that fails is never that.
fn is_fine(args: &Run, outcome: &Result<End, Failure>) -> bool {
    args.busy_ok && outcome.as_ref().is_err_and(|failure| failure.reason == Reason::NotAcquired)
}

/// How the command ended, if the lock was held all the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct End {
    how: How,
    had_terminal: bool,
}

impl End {
    fn code(self) -> u8 {
        match self.how {
            How::Exited(code) => u8::try_from(code).unwrap_or(u8::MAX),
            How::Killed(signal) => exit::of_signal(signal),
        }
    }
}

/// Whatever can be refused before anything is done.
fn prepare(args: &Run, report: &mut Report) -> Result<Terms, Failure> {
    let terms = Terms::of(args)?;
    report.named(&terms.keys);
    child::look_up(&args.command[0], std::env::var_os("PATH").as_deref())?;
    Ok(terms)
}

/// Lets the command take our place: the policy is switched off.
fn unlocked(common: &Common, talk: Talk, args: &Run, told: Result<(), Failure>) -> ExitCode {
    if let Err(failure) = told {
        output::fail(&failure);
    }
    talk.say("the policy is switched off (enabled = false), the command runs without the lock");
    let failure = child::give_way(&args.command, common.url.as_deref());
    output::fail(&failure);
    failure.exit_code()
}

async fn attempt(common: &Common, talk: Talk, args: &Run, terms: &Terms, report: &mut Report) -> Result<End, Failure> {
    let mut signals = Signals::deadly().map_err(|error| unstarted(&error))?;

    let began = Instant::now();
    let client = unless_interrupted(&mut signals, acquire::connect(common, talk, args, terms)).await?;
    let guard = match unless_interrupted(&mut signals, acquire::take(talk, terms, &client, began)).await {
        Ok(guard) => guard,
        Err(failure) => {
            // Nothing is left behind, neither a place in line nor a lock that was granted in this very moment.
            let _ = client.close(CLOSE).await;
            return Err(failure);
        }
    };
    report.held(&guard, began.elapsed());

    let since = Instant::now();
    let mut env = vec![
        // A line for each: keys have no line breaks in them.
        ("TENURE_KEY", guard.keys().map(Key::as_str).collect::<Vec<_>>().join("\n")),
        ("TENURE_TOKEN", guard.tokens().map(|(_, token)| token.to_string()).collect::<Vec<_>>().join("\n")),
        ("TENURE_OWNER", lineage(&guard, terms)),
    ];
    // A `tenure run` inside it is to go in again, and not to another store. An empty one counts too: `--url ''` stands
    // against the TENURE_URL that the command would find otherwise.
    env.extend(common.url.clone().map(|url| ("TENURE_URL", url)));
    let alarms = tokio::spawn(tell_alarms(talk, client.events()));
    let outcome = hold(talk, args, terms, &guard, (&env, &mut signals), report).await;
    alarms.abort();
    if !args.at_least_always && !outcome.as_ref().is_ok_and(|end| end.code() == 0) {
        // It was not done: another may try.
        guard.waive_at_least();
    }
    let released = give_back(talk, &client, guard, outcome.is_ok()).await;
    report.held_for(since.elapsed());
    if let (Ok(_), Err(failure), Some(line)) = (&outcome, &released, &args.on_lost) {
        child::on_lost(talk, line, &env, &failure.message, &mut signals).await;
    }
    // Who lost the lock knows it best from the one that saw it first.
    let end = outcome?;
    released?;
    Ok(end)
}

/// The claims that the command stands under: a permit stands under none, but the command still does.
fn lineage(guard: &MultiGuard, terms: &Terms) -> String {
    match (&terms.owner, guard.guards()) {
        (Some(owner), [permit]) if permit.kind().has_permits() => format!("{owner}/{}", guard.lineage()),
        _ => guard.lineage(),
    }
}

async fn unless_interrupted<T>(
    signals: &mut Signals,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    tokio::select! {
        biased;
        signal = signals.next() => Err(Failure::new(Reason::Interrupted(signal.as_raw()), "")),
        done = work => done,
    }
}

/// Runs the command under a lock that is held.
async fn hold(
    talk: Talk,
    args: &Run,
    terms: &Terms,
    guard: &MultiGuard,
    (env, signals): (&[(&str, String)], &mut Signals),
    report: &mut Report,
) -> Result<End, Failure> {
    let mut gate = Gate::reach(&args.command, env).await.map_err(|error| unstarted(&error))?;
    // The command never starts without the time to be stopped in.
    if guard.remaining() <= terms.grace + terms.slack {
        guard.check()?;
        return Err(lost(NO_TIME, terms));
    }
    let supervisor = Supervisor {
        talk,
        guard,
        grace: terms.grace,
        slack: terms.slack,
        on_lost: args.on_lost.as_deref(),
        env,
        signals,
    };
    let Ended { how, lost: why, had_terminal } =
        supervisor.watch(&mut gate).await.map_err(|error| unstarted(&error))?;
    match gate.exec_error().await {
        Some(error) if error.kind() == std::io::ErrorKind::TimedOut => return Err(lost(NO_TIME, terms)),
        Some(error) => return Err(child::cannot_exec(&args.command[0], &error)),
        None => {}
    }
    report.ended(how);
    match why {
        Some(why) => Err(lost(&why, terms)),
        None => Ok(End { how, had_terminal }),
    }
}

/// Gives the lock back. An error if it turns out not to have been ours any more.
async fn give_back(talk: Talk, client: &Client, guard: MultiGuard, well: bool) -> Result<(), Failure> {
    let released = if well && guard.is_held() {
        guard.release().await
    } else {
        // In the background, as far as there is time: the store may be the very thing that is in trouble.
        let standing = guard.check();
        drop(guard);
        standing.map(|()| tenure::Release::Released)
    };
    let outcome = match released {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::Lost => Err(Failure::from(error)),
        Err(error) => {
            talk.say(&error.to_string());
            Ok(())
        }
    };
    let _ = client.close(CLOSE).await;
    outcome
}

/// Says when the lock is held for longer than the policy expects.
async fn tell_alarms(talk: Talk, mut events: Events) {
    while let Some(event) = events.next().await {
        if let What::Alarm(Alarm { held, reason: AlarmReason::HeldTooLong, .. }) = event.what {
            let (held, key) = (spoken(held), event.key);
            talk.say(&format!(
                "the lock is held for longer than it should be, see what takes so long: held={held} key=`{key}`"
            ));
        }
    }
}

fn lost(why: &str, terms: &Terms) -> Failure {
    Failure::new(
        Reason::Lost,
        format!(
            "the lock was lost and the command was stopped, check what it left half-done: {why} key=`{}`",
            terms.keys.join("`, `")
        ),
    )
}

fn unstarted(error: &std::io::Error) -> Failure {
    Failure::new(Reason::NotExecutable, format!("could not start the command: {error}"))
}
