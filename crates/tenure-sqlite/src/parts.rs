//! The parts of an open file: the file itself, the log that SQLite keeps beside it, and the index of the log.
//!
//! The three are one. Who has a log or an index that others have not sees and keeps locks that nobody else does.

use crate::place::Identity;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// What was at each path when it was opened.
#[derive(Debug)]
pub(crate) struct Parts(Vec<(PathBuf, Identity)>);

impl Parts {
    /// Those of a file that this process has just opened; none if they were removed or replaced meanwhile.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let at = |end| {
            let mut path = OsString::from(path);
            path.push(end);
            let path = PathBuf::from(path);
            Identity::at(&path).map(|identity| (path, identity))
        };
        let parts = Self(["", "-wal", "-shm"].into_iter().map(at).collect::<Option<_>>()?);
        parts.are_open_here().then_some(parts)
    }

    /// Whether the paths still lead to them.
    pub(crate) fn are_in_place(&self) -> bool {
        self.0.iter().all(|(path, identity)| Identity::at(path) == Some(*identity))
    }

    /// Whether they are what this process has open. SQLite has one index for all connections of a process to one file,
    /// and keeps to it until the last of them is closed, also if it was removed and others have made a new one.
    fn are_open_here(&self) -> bool {
        // Where we may not look we believe.
        let Ok(open) = fs::read_dir("/proc/self/fd") else { return true };
        // By name first: to look at any other file may wait for a server that is gone.
        let name = self.0.first().map_or(&[][..], |(path, _)| path.as_os_str().as_encoded_bytes());
        let is_part = |to: PathBuf| to.as_os_str().as_encoded_bytes().starts_with(name);
        let ours = open.flatten().map(|entry| entry.path()).filter(|path| fs::read_link(path).is_ok_and(is_part));
        let ours: Vec<_> = ours.filter_map(|path| Identity::at(&path)).collect();
        self.0.iter().all(|(_, identity)| ours.contains(identity))
    }
}
