//! The command that runs under the lock, and the processes around it.
//!
//! ```text
//!   tenure run ─┬─ CMD        leads a process group of its own, which gets the terminal
//!               └─ minder     in the same group: kills it if we die, or hang until the lease ends
//! ```
//!
//! Both are started as this very program (`tenure __exec`, `tenure __mind`) and speak with us over a socket that they
//! find as their standard input. `__exec` sees to it that it dies when we do, waits until all is ready, and becomes CMD.

mod control;
mod die;
mod exec;
mod gate;
mod hook;
mod lookup;
mod minder;
mod procfs;
mod signals;
mod supervise;
mod terminal;

pub(crate) use die::die_of;
pub(crate) use exec::give_way;
pub(crate) use gate::Gate;
pub(crate) use hook::on_lost;
pub(crate) use lookup::{cannot_exec, look_up};
pub(crate) use procfs::{interrupt_mates, leads_own_group};
pub(crate) use signals::Signals;
pub(crate) use supervise::{Ended, How, Supervisor};

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

const EXEC: &str = "__exec";
const MIND: &str = "__mind";
const DIE: &str = "__die";

/// If we were started to be one of the processes around a command: does its work, and says how it ended.
pub(crate) fn helper() -> Option<ExitCode> {
    let mut words = std::env::args_os().skip(1);
    match words.next()?.to_str()? {
        EXEC => Some(exec::main(words)),
        MIND => Some(minder::main()),
        DIE => Some(die::main(words)),
        _ => None,
    }
}

/// This very program in another role.
fn ourselves(role: &str) -> Command {
    // Unlike a path, this is right even if the program was replaced on disk while we waited for the lock.
    let running = std::path::PathBuf::from("/proc/self/exe");
    let program = if running.exists() { running } else { std::env::current_exe().unwrap_or_default() };
    let mut command = Command::new(program);
    command.arg0("tenure").arg(role);
    command
}
