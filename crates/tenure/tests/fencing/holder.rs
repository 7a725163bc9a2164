//! The one that is stopped: a process that takes the lock, decides to pay 70, and writes that when it is told to.

use crate::account::Account;
use crate::{LEASE, PATIENCE};
use libtest_mimic::Failed;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use tenure::Options;
use tenure::fence::Refused;

/// What such a process is told: where it is to be stopped, and its account.
const HOLDER: &str = "TENURE_FENCING_HOLDER";

/// Lives a holder's life and returns true, if this process was started as one.
pub(crate) fn if_holder() -> bool {
    let Ok(told) = std::env::var(HOLDER) else { return false };
    hold(&told).expect("a holder's life");
    true
}

fn hold(told: &str) -> Result<(), Failed> {
    let (stopped, account) = told.split_once('\n').ok_or("not what a holder is told")?;
    let account = Account::from_text(account).ok_or("not an account")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let client = tenure::connect(&account.url).await?;
        let guard = client.lock("account:lock")?.lock_with(Options::new().lease(LEASE)).await?;
        account.pass(guard.token())?;
        let balance = account.read()? - 70;
        guard.check()?; // the last look at the lock
        let decided = || {
            println!("decided {}", guard.token());
            std::io::stdin().read_line(&mut String::new())
        };
        if stopped == Stopped::Inside.name() {
            let write = || decided().and_then(|_| account.write_file(balance));
            account.gate()?.guard("balance", guard.token(), write)??;
            println!("written");
            return Ok(());
        }
        decided()?;
        match account.write(balance, guard.token())? {
            Ok(()) => println!("written"),
            Err(Refused::Late { newest, .. }) => println!("late {newest:?}"),
            Err(other) => println!("{other}"),
        }
        Ok(())
    })
}

/// Where the holder is when it is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// Behind its last look at the lock, before its write.
    Before,
    /// In the middle of a write that the gate runs.
    Inside,
}

impl Stopped {
    fn name(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::Inside => "inside",
        }
    }
}

/// Such a process; killed when dropped.
pub(crate) struct Holder {
    child: Child,
    lines: Receiver<String>,
}

impl Holder {
    pub(crate) fn start(account: &Account, stopped: Stopped) -> Result<Self, Failed> {
        let mut child = Command::new(std::env::current_exe()?)
            .env(HOLDER, format!("{}\n{}", stopped.name(), account.to_text()))
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

    pub(crate) fn line(&self) -> Result<String, Failed> {
        Ok(self.lines.recv_timeout(PATIENCE)?)
    }

    /// Returns when no thread of it runs any more.
    pub(crate) fn stop(&self) -> Result<(), Failed> {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::STOP)?;
        waitid(WaitId::Pid(pid), WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)?;
        Ok(())
    }

    /// What it says when it has tried.
    pub(crate) fn go_on_and_write(&mut self) -> Result<String, Failed> {
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
