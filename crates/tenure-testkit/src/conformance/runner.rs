//! Runs the cases, each on a runtime and a time limit of its own.

use super::bench::Bench;
use super::case::Case;
use super::{
    Fixture, alarms, basics, bounds, branches, cancelling, closing, crowds, dropping, entries, events, fair, fenced,
    forcing, input, latch, leases, lines, multi, nested, permits, read_write, semaphore, sides, simple,
};
use super::{late, looking, losses, owners, retrying, sections, tokens, wakers, watchdog};
use libtest_mimic::{Arguments, Failed, Trial};
use std::any::Any;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::{Arc, mpsc};
use std::thread::available_parallelism;
use std::time::Duration;
use tenure_core::{Backend, Kind};

/// No case takes nearly as long: one that does hangs.
const LIMIT: Duration = Duration::from_secs(30);
/// So many cases run at once on each processor: they mostly wait.
const AT_ONCE: usize = 3;
/// How long what a case has left running may take to end; what has not by then is left to itself.
const WIND_UP: Duration = Duration::from_secs(1);

/// Runs every case on stores that `fixture` makes. The arguments of the command line are those of `cargo test`.
pub fn run<F: Fixture>(backend: &str, fixture: impl Fn() -> F + Send + Sync + 'static) -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert_with(|| AT_ONCE * available_parallelism().map_or(1, NonZero::get));
    let backend_itself = fixture().backend();
    let label = backend_itself.label();
    let refused = Kind::ALL.iter().copied().filter(|kind| backend_itself.refuses(*kind).is_some()).collect::<Vec<_>>();
    drop(backend_itself);
    let fixture = Arc::new(fixture);
    let trial = |(kind, of, case): (Kind, Kind, Case)| {
        let unsupported = case.needs.iter().any(|guarantee| !label.has(*guarantee))
            || [kind, of].iter().chain(case.uses).any(|kind| refused.contains(kind));
        let fixture = Arc::clone(&fixture);
        let name = if kind == Kind::Reentrant { case.name.clone() } else { format!("as {kind}: {}", case.name) };
        Trial::test(name, move || run_case(&case, Bench::new(fixture(), kind)))
            .with_kind(backend)
            .with_ignored_flag(unsupported)
    };
    // Whatever excludes everyone but its holder is tried as such.
    let mutexes = [Kind::Reentrant, Kind::Fair, Kind::Write];
    let trials = mutexes.into_iter().flat_map(|kind| of_mutexes().into_iter().map(move |case| (kind, kind, case)));
    let trials = trials.chain(of_their_own().into_iter().map(|(of, case)| (Kind::Reentrant, of, case)));
    libtest_mimic::run(&arguments, trials.map(trial).collect()).exit_code()
}

/// The cases of what one kind alone does, or every kind in the same way, each with a kind that it is not tried without.
fn of_their_own() -> Vec<(Kind, Case)> {
    [
        (Kind::Simple, simple::cases()),
        (Kind::Fair, fair::cases()),
        (Kind::Fair, lines::cases()),
        (Kind::Read, read_write::cases()),
        (Kind::Read, sides::cases()),
        (Kind::Fenced, fenced::cases()),
        (Kind::Semaphore, semaphore::cases()),
        (Kind::Permits, permits::cases()),
        (Kind::Latch, latch::cases()),
        (Kind::Reentrant, multi::cases()),
        (Kind::Reentrant, input::cases()),
        (Kind::Reentrant, wakers::cases()),
    ]
    .into_iter()
    .flat_map(|(of, cases)| cases.into_iter().map(move |case| (of, case)))
    .collect()
}

/// The cases of every lock that one at a time can have, as often as it likes.
fn of_mutexes() -> Vec<Case> {
    [
        basics::cases(),
        nested::cases(),
        bounds::cases(),
        entries::cases(),
        owners::cases(),
        sections::cases(),
        branches::cases(),
        leases::cases(),
        losses::cases(),
        forcing::cases(),
        dropping::cases(),
        cancelling::cases(),
        late::cases(),
        tokens::cases(),
        looking::cases(),
        events::cases(),
        alarms::cases(),
        closing::cases(),
        retrying::cases(),
        watchdog::cases(),
        crowds::cases(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn run_case(case: &Case, bench: Bench) -> Result<(), Failed> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name(&case.name)
        .enable_all()
        .build()
        .map_err(|error| format!("no runtime for the case: {error}"))?;
    let (handle, run) = (runtime.handle().clone(), case.run);
    let (tell, told) = mpsc::channel();
    // On a thread of its own, so that the limit also ends a case that blocks.
    let running = std::thread::Builder::new().name(case.name.clone()).spawn(move || {
        let outcome = catch_unwind(AssertUnwindSafe(|| handle.block_on(run(&bench))));
        // Nobody listens any more after the limit.
        let _ = tell.send(outcome);
    });
    running.map_err(|error| format!("no thread for the case: {error}"))?;
    let ended = told.recv_timeout(LIMIT);
    runtime.shutdown_timeout(WIND_UP);
    match ended {
        Ok(Ok(())) => Ok(()),
        Ok(Err(panic)) => Err(said(panic.as_ref()).into()),
        Err(_) => Err(format!("still running after {LIMIT:?}: something hangs").into()),
    }
}

/// What a panic said.
fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic without words").to_owned()
}
