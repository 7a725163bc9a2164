//! What the kernel knows of processes, groups and signals, where it tells (`/proc`).

use rustix::process::{Pid, Signal, getpgrp, getpid, kill_process};
use std::fs;

/// One process.
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    state: char,
    parent: i32,
    group: i32,
    session: i32,
}

impl Stat {
    fn of(pid: i32) -> Option<Self> {
        Self::read(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// `pid (name) state parent group session …`, where the name may have anything in it.
    fn read(line: &str) -> Option<Self> {
        let mut words = line.get(line.rfind(')')? + 1..)?.split_whitespace();
        let state = words.next()?.chars().next()?;
        let mut number = || words.next()?.parse().ok();
        Some(Self { state, parent: number()?, group: number()?, session: number()? })
    }
}

/// The living processes of a group; none if the kernel does not tell.
pub(super) fn members(group: Pid) -> Option<Vec<Pid>> {
    let entries = fs::read_dir("/proc").ok()?;
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let alive = |pid: &i32| {
        Stat::of(*pid).is_some_and(|stat| stat.group == group.as_raw_pid() && !matches!(stat.state, 'Z' | 'X'))
    };
    Some(pids.filter(alive).filter_map(Pid::from_raw).collect())
}

/// The other processes of our own group: the rest of a pipeline, or the script that we are part of.
pub(super) fn mates() -> Vec<Pid> {
    let mut mates = members(getpgrp()).unwrap_or_default();
    mates.retain(|pid| *pid != getpid());
    mates
}

/// Hands Ctrl-C on to the rest of the job that we are part of.
pub(crate) fn interrupt_mates() {
    for mate in mates() {
        let _ = kill_process(mate, Signal::INT);
    }
}

/// Whether we are all there is to the job that a shell sees.
pub(crate) fn leads_own_group() -> bool {
    getpgrp() == getpid()
}

/// Whether nobody is there to continue us if we stop: the first of our ancestors outside our group is in another
/// session. The kernel does not let the terminal stop such a group.
pub(super) fn is_orphaned() -> bool {
    let Some(mut stat) = Stat::of(getpid().as_raw_pid()) else { return false };
    let (group, session) = (stat.group, stat.session);
    while stat.group == group {
        match Stat::of(stat.parent) {
            Some(parent) if parent.session == session => stat = parent,
            _ => return true,
        }
    }
    false
}

/// Whether whoever started us wants a signal to be ignored, as `nohup` does.
pub(super) fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
    mask >> (signal - 1) & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_have_anything_in_them() {
        let stat = Stat::read("42 (a ) S b) T 7 40 30 0 -1").unwrap();
        assert_eq!(stat, Stat { state: 'T', parent: 7, group: 40, session: 30 });
        assert_eq!(Stat::read("42 (a"), None);
        assert_eq!(Stat::read("42 (a) S 1"), None);
    }

    #[test]
    fn we_are_a_member_of_our_group() {
        assert!(members(getpgrp()).unwrap().contains(&getpid()));
        assert!(!mates().contains(&getpid()));
    }
}
