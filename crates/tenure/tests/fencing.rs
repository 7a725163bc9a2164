//! A holder is stopped past its lease, the next one writes, the first goes on and writes what it had decided before.
//! Each form of guarded write refuses it; without them the test sees the update that was lost.

use libtest_mimic::{Arguments, Failed, Trial};
use rusqlite::params_from_iter;
use rusqlite::types::Value;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;
use tenure::fence::sql::{Dialect, Statement, Table};
use tenure::fence::{self, FenceGate, Refused};
use tenure::redis::redis::{Client, Cmd, Connection};
use tenure::{Error, Options};
use tenure_testkit::RedisServer;

/// What a process that this test starts is told: the store, a directory, a form, and whether it is guarded.
const HOLDER: &str = "TENURE_FENCING_HOLDER";
const LEASE: Duration = Duration::from_secs(1);
/// A bound on whatever must happen at all, wide enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

fn main() {
    if let Ok(told) = std::env::var(HOLDER) {
        return hold(&told).expect("a holder's life");
    }
    let mut trials = Vec::new();
    for form in Form::ALL {
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

/// What is written to, and how it is guarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Redis,
    SqlUpdate,
    SqlUpsert,
    Gate,
}

impl Form {
    const ALL: [Self; 4] = [Self::Redis, Self::SqlUpdate, Self::SqlUpsert, Self::Gate];

    fn name(self) -> &'static str {
        match self {
            Self::Redis => "redis",
            Self::SqlUpdate => "sql_update",
            Self::SqlUpsert => "sql_upsert",
            Self::Gate => "gate",
        }
    }
}

/// When the one that was stopped goes on and writes: the next one has read by then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GoesOn {
    BeforeTheWrite,
    AfterTheWrite,
}

/// An account of 100.
struct Account {
    form: Form,
    guarded: bool,
    url: String,
    dir: PathBuf,
}

impl Account {
    fn to_text(&self) -> String {
        format!("{}\n{}\n{}\n{}", self.url, self.dir.display(), self.form.name(), self.guarded)
    }

    fn from_text(text: &str) -> Option<Self> {
        let [url, dir, form, guarded] = text.split('\n').collect::<Vec<_>>().try_into().ok()?;
        let form = Form::ALL.into_iter().find(|known| known.name() == form)?;
        Some(Self { form, guarded: guarded == "true", url: url.to_owned(), dir: dir.into() })
    }

    fn open(&self) -> Result<(), Failed> {
        match self.form {
            Form::Redis => Cmd::new().arg("SET").arg("account").arg(100).exec(&mut self.redis()?)?,
            Form::SqlUpdate | Form::SqlUpsert => self.sqlite()?.execute_batch(
                "CREATE TABLE account (id TEXT PRIMARY KEY, balance INTEGER NOT NULL, fence BIGINT NOT NULL DEFAULT 0);
                 INSERT INTO account (id, balance) VALUES ('mine', 100)",
            )?,
            Form::Gate => fs::write(self.dir.join("balance"), "100")?,
        }
        Ok(())
    }

    fn read(&self) -> Result<i64, Failed> {
        Ok(match self.form {
            Form::Redis => Cmd::new().arg("GET").arg("account").query(&mut self.redis()?)?,
            Form::SqlUpdate | Form::SqlUpsert => {
                self.sqlite()?.query_row("SELECT balance FROM account WHERE id = 'mine'", [], |row| row.get(0))?
            }
            Form::Gate => fs::read_to_string(self.dir.join("balance"))?.parse()?,
        })
    }

    /// What the kit says of the write; without it there is nobody to say no.
    fn write(&self, balance: i64, token: u64) -> Result<Result<(), Refused>, Failed> {
        match self.form {
            Form::Redis if self.guarded => {
                let words = fence::redis::set("account", balance.to_string(), token)?;
                Ok(fence::redis::outcome(token, Cmd::new().arg(&words).query(&mut self.redis()?)?))
            }
            Form::Redis => Ok(Ok(Cmd::new().arg("SET").arg("account").arg(balance).exec(&mut self.redis()?)?)),
            Form::SqlUpdate | Form::SqlUpsert if self.guarded => {
                let statement = self.statement()?;
                let parameters = statement.parameters::<Value>("mine".to_owned().into(), [balance.into()], token)?;
                let rows = self.sqlite()?.execute(statement.text(), params_from_iter(parameters))?;
                Ok(statement.outcome(token, rows as u64))
            }
            Form::SqlUpdate | Form::SqlUpsert => {
                self.sqlite()?.execute("UPDATE account SET balance = ? WHERE id = 'mine'", [balance])?;
                Ok(Ok(()))
            }
            Form::Gate => {
                let write = || fs::write(self.dir.join("balance"), balance.to_string());
                if !self.guarded {
                    return Ok(Ok(write()?));
                }
                let gate = FenceGate::persistent(self.dir.join("gate"))?;
                match gate.guard("balance", token, write) {
                    Ok(written) => Ok(Ok(written?)),
                    Err(refused) => Ok(Err(refused)),
                }
            }
        }
    }

    /// Leaves a token before a read.
    fn pass(&self, token: u64) -> Result<(), Failed> {
        match self.form {
            _ if !self.guarded => {}
            Form::Redis => {
                let words = fence::redis::pass("account", token)?;
                fence::redis::outcome(token, Cmd::new().arg(&words).query(&mut self.redis()?)?)?;
            }
            Form::SqlUpdate | Form::SqlUpsert => {
                let statement = Table::new(Dialect::Sqlite, "account", "id")?.update(&[])?;
                let parameters = statement.parameters::<Value>("mine".to_owned().into(), [], token)?;
                let rows = self.sqlite()?.execute(statement.text(), params_from_iter(parameters))?;
                statement.outcome(token, rows as u64)?;
            }
            Form::Gate => FenceGate::persistent(self.dir.join("gate"))?.pass("balance", token)?,
        }
        Ok(())
    }

    fn statement(&self) -> Result<Statement, Error> {
        let table = Table::new(Dialect::Sqlite, "account", "id")?;
        if self.form == Form::SqlUpdate { table.update(&["balance"]) } else { table.upsert(&["balance"]) }
    }

    fn redis(&self) -> Result<Connection, Failed> {
        Ok(Client::open(self.url.as_str())?.get_connection_with_timeout(PATIENCE)?)
    }

    fn sqlite(&self) -> rusqlite::Result<rusqlite::Connection> {
        let connection = rusqlite::Connection::open(self.dir.join("account.db"))?;
        connection.busy_timeout(PATIENCE)?;
        Ok(connection)
    }
}

/// The one that is stopped: takes the lock, decides to pay 70, and writes that when it is told to.
fn hold(told: &str) -> Result<(), Failed> {
    let account = Account::from_text(told).ok_or("not what a holder is told")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let client = tenure::connect(&account.url).await?;
        let guard = client.lock("account:lock")?.lock_with(Options::new().lease(LEASE)).await?;
        account.pass(guard.token())?;
        let balance = account.read()? - 70;
        guard.check()?; // the last look at the lock
        println!("decided {}", guard.token());
        std::io::stdin().read_line(&mut String::new())?;
        match account.write(balance, guard.token())? {
            Ok(()) => println!("written"),
            Err(Refused::Late { newest, .. }) => println!("late {newest:?}"),
            Err(other) => println!("{other}"),
        }
        Ok(())
    })
}

/// A process that holds the lock; killed when dropped.
struct Holder {
    child: Child,
    lines: Receiver<String>,
}

impl Holder {
    fn start(account: &Account) -> Result<Self, Failed> {
        let mut child = Command::new(std::env::current_exe()?)
            .env(HOLDER, account.to_text())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take().expect("its output");
        let (said, lines) = mpsc::channel();
        std::thread::spawn(move || {
            BufReader::new(output).lines().map_while(Result::ok).try_for_each(|line| said.send(line))
        });
        Ok(Self { child, lines })
    }

    fn line(&self) -> Result<String, Failed> {
        Ok(self.lines.recv_timeout(PATIENCE)?)
    }

    /// Returns when no thread of it runs any more.
    fn stop(&self) -> Result<(), Failed> {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::STOP)?;
        waitid(WaitId::Pid(pid), WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)?;
        Ok(())
    }

    /// What it says when it has tried.
    fn go_on_and_write(&mut self) -> Result<String, Failed> {
        kill_process(Pid::from_child(&self.child), Signal::CONT)?;
        self.child.stdin.take().expect("its input").write_all(b"write\n")?;
        self.line()
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn stopped_past_its_lease(form: Form, guarded: bool, goes_on: GoesOn) -> Result<(), Failed> {
    let (server, dir) = (RedisServer::start(), tempfile::tempdir()?);
    let account = Account { form, guarded, url: server.url(), dir: Path::to_owned(dir.path()) };
    account.open()?;
    let mut first = Holder::start(&account)?;
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
    if guarded {
        let known = if matches!(form, Form::Redis | Form::Gate) { Some(newer) } else { None };
        assert_eq!((answer, left), (format!("late {known:?}"), 50), "the first is told that its 70 were not paid");
    } else {
        // Both were told that they have paid, 120 of 100, and one of them is forgotten.
        let forgets = if goes_on == GoesOn::AfterTheWrite { 30 } else { 50 };
        assert_eq!((answer.as_str(), left), ("written", forgets), "an update was lost");
    }
    Ok(())
}
