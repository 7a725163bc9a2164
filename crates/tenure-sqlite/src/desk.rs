//! The file as the store's thread has it: opened when it is needed, and again when it is not what it was.

use crate::error::Failure;
use crate::file::File;
use crate::line::LOOK;
use crate::machine::Machine;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use tenure_core::{StoreError, report};
use tokio::sync::watch;

/// The path, and the file while it is open.
pub(crate) struct Desk {
    path: PathBuf,
    /// A machine that a test makes up; otherwise it is this one.
    pretended: Option<Machine>,
    file: Option<File>,
    /// How often the file was opened: those who stood in line must stand there anew.
    openings: Arc<watch::Sender<u64>>,
}

impl Desk {
    pub(crate) fn new(path: PathBuf, pretended: Option<Machine>, openings: Arc<watch::Sender<u64>>) -> Self {
        Self { path, pretended, file: None, openings }
    }

    /// Does some work with the file.
    pub(crate) fn work<T>(&mut self, work: impl FnOnce(&mut File) -> Result<T, Failure>) -> Result<T, StoreError> {
        // A file that was deleted or replaced goes on living for those who have it open, and they would lock each other
        // out of nothing.
        if let Some(file) = self.file.take_if(|file| !file.is_in_place()) {
            let path = self.path.display().to_string();
            report(move || tracing::warn!(path, "the file or what lies beside it was removed, grants may be gone"));
            file.bells.ring_all(LOOK);
        }
        let done = match &mut self.file {
            Some(file) => work(file),
            None => self.open().and_then(|file| work(self.file.insert(file))),
        };
        done.map_err(|failure| {
            if failure.is_fatal() {
                self.file = None;
            }
            failure.about(&self.path)
        })
    }

    fn open(&self) -> Result<File, Failure> {
        let file = match &self.pretended {
            Some(machine) => File::open(&self.path, machine)?,
            None => File::open(&self.path, &Machine::this()?)?,
        };
        self.openings.send_modify(|openings| *openings += 1);
        Ok(file)
    }

    /// Makes calls that could not be made before; says when to do so next, if any are left.
    pub(crate) fn ring_again(&self) -> Option<Instant> {
        self.file.as_ref()?.bells.ring_again()
    }

    /// Closes the file.
    pub(crate) fn close(&mut self) {
        self.file = None;
    }
}
