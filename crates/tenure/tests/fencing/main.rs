//! A holder is stopped past its lease, the next one writes, the first goes on and writes what it had decided before.
//! Each form of guarded write refuses it; without them the test sees the update that was lost.

mod account;
mod holder;

use account::{Account, Form};
use holder::{Holder, Stopped, if_holder};
use libtest_mimic::{Arguments, Failed, Trial};
use std::time::Duration;
use tenure_testkit::RedisServer;

const LEASE: Duration = Duration::from_secs(1);
/// A bound on whatever must happen at all, wide enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

fn main() {
    if if_holder() {
        return;
    }
    let mut trials = vec![
        Trial::test("gate_makes_others_wait_for_who_is_stopped_inside", stopped_inside_the_gate),
        Trial::test("gate_pass_alone_loses_an_update", || {
            stopped_past_its_lease(Form::GatePass, true, GoesOn::AfterTheWrite)
        }),
    ];
    for form in [Form::Redis, Form::SqlUpdate, Form::SqlUpsert, Form::Gate] {
        for (guarded, goes_on, name) in [
            (true, GoesOn::AfterTheWrite, "refuses_who_comes_too_late"),
            (true, GoesOn::BeforeTheWrite, "refuses_who_comes_between_a_read_and_its_write"),
            (false, GoesOn::AfterTheWrite, "without_its_guard_loses_an_update"),
            (false, GoesOn::BeforeTheWrite, "without_its_guard_loses_an_update_between"),
        ] {
            if form == Form::SqlUpsert && !guarded {
                continue; // the same as without a guarded update
            }
            let trial = move || stopped_past_its_lease(form, guarded, goes_on);
            trials.push(Trial::test(format!("{}_{name}", form.name()), trial));
        }
    }
    // They wait most of the time.
    libtest_mimic::run(&Arguments { test_threads: Some(8), ..Arguments::from_args() }, trials).exit();
}

/// When the one that was stopped goes on and writes: the next one has read by then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GoesOn {
    BeforeTheWrite,
    AfterTheWrite,
}

fn stopped_past_its_lease(form: Form, guarded: bool, goes_on: GoesOn) -> Result<(), Failed> {
    let (server, dir) = (RedisServer::start(), tempfile::tempdir()?);
    let account = Account { form, guarded, url: server.url(), dir: dir.path().to_owned() };
    account.open()?;
    let mut first = Holder::start(&account, Stopped::Before)?;
    let decided = first.line()?;
    let older: u64 = decided.strip_prefix("decided ").ok_or(decided.clone())?.parse()?;
    first.stop()?;

    let (newer, answer) = tokio::runtime::Runtime::new()?.block_on(async {
        let client = tenure::connect(&account.url).await?;
        // It is free when the first one's lease has ended.
        let guard = client.lock("account:lock")?.lock_timeout(PATIENCE).await?;
        account.pass(guard.token())?;
        let balance = account.read()? - 50;
        let mut answer = String::new();
        if goes_on == GoesOn::BeforeTheWrite {
            answer = first.go_on_and_write()?;
        }
        account.write(balance, guard.token())??;
        let token = guard.token();
        guard.release().await?;
        Ok::<_, Failed>((token, answer))
    })?;
    assert!(newer > older, "a later holder has a larger token");
    assert_eq!(account.read()?, 50);
    let answer = if goes_on == GoesOn::AfterTheWrite { first.go_on_and_write()? } else { answer };
    let left = account.read()?;
    if guarded && form != Form::GatePass {
        let known = if matches!(form, Form::Redis | Form::Gate) { Some(newer) } else { None };
        assert_eq!((answer, left), (format!("late {known:?}"), 50), "the first is told that its 70 were not paid");
    } else {
        // Both were told that they have paid, 120 of 100, and one of them is forgotten.
        let forgets = if goes_on == GoesOn::AfterTheWrite { 30 } else { 50 };
        assert_eq!((answer.as_str(), left), ("written", forgets), "an update was lost");
    }
    Ok(())
}

/// The next one's token has to wait until the write is done that was begun; then it reads what was written.
fn stopped_inside_the_gate() -> Result<(), Failed> {
    let (server, dir) = (RedisServer::start(), tempfile::tempdir()?);
    let account = Account { form: Form::Gate, guarded: true, url: server.url(), dir: dir.path().to_owned() };
    account.open()?;
    let mut first = Holder::start(&account, Stopped::Inside)?;
    let decided = first.line()?;
    assert!(decided.starts_with("decided "), "{decided}");
    first.stop()?;

    tokio::runtime::Runtime::new()?.block_on(async {
        let client = tenure::connect(&account.url).await?;
        let guard = client.lock("account:lock")?.lock_timeout(PATIENCE).await?;
        std::thread::scope(|scope| {
            let (account, token) = (&account, guard.token());
            let second = scope.spawn(move || {
                account.pass(token)?;
                account.write(account.read()? - 50, token)?.map_err(Failed::from)
            });
            assert_eq!((account.read()?, second.is_finished()), (100, false), "the first is still in");
            assert_eq!(first.go_on_and_write()?, "written");
            second.join().expect("the second")
        })?;
        guard.release().await?;
        Ok::<_, Failed>(())
    })?;
    assert_eq!(account.read()?, 100 - 70 - 50, "both were done, one after the other");
    Ok(())
}
