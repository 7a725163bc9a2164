//! The bells: a socket for each client in a directory beside the file, by which it is told what concerns it.
//!
//! A bell is rung by a datagram, which wakes one process and no other. The directory also tells who is alive, by a lock
//! that the kernel drops with the process that had it; see `File::join`.

use crate::error::Failure;
use crate::place::Identity;
use crate::unrung::Unrung;
use rustix::fs::OFlags;
use std::cell::RefCell;
use std::ffi::OsString;
use std::fs::{self, TryLockError};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, chown};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tenure_core::{StoreError, StoreErrorKind, report};

/// The longest thing that is said by a bell: a word and a key, with room to spare.
pub(crate) const LONGEST: usize = 4096;
/// A socket that nobody answers is left alone for this long: it may be just being made.
const YOUNG: Duration = Duration::from_secs(60);

/// The directory of bells.
pub(crate) struct Bells {
    path: PathBuf,
    /// Open for as long as the file is, and locked.
    directory: fs::File,
    identity: Option<Identity>,
    rights: Rights,
    /// Speaks to any bell.
    voice: UnixDatagram,
    /// Tries whether anybody is behind one.
    finger: UnixDatagram,
    unrung: RefCell<Unrung>,
}

/// The owner and the rights of the file, which all that lies beside it has too.
#[derive(Debug, Clone, Copy)]
struct Rights {
    mode: u32,
    user: u32,
    group: u32,
}

impl Bells {
    /// Opens the directory that belongs to a file, and makes it if there is none.
    pub(crate) fn open(file: &Path) -> Result<Self, Failure> {
        let (path, rights) = (beside(file), Rights::of(file)?);
        match fs::DirBuilder::new().mode(rights.of_directory()).create(&path) {
            Ok(()) => rights.give(&path, rights.of_directory())?,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error.into()),
        }
        Self::find(file)
    }

    /// Opens the directory that belongs to a file.
    pub(crate) fn find(file: &Path) -> Result<Self, Failure> {
        let (path, rights) = (beside(file), Rights::of(file)?);
        // Only as a directory: to open a pipe would wait for somebody at its other end.
        let only = OFlags::DIRECTORY.bits().cast_signed();
        let directory = fs::OpenOptions::new().read(true).custom_flags(only).open(&path);
        let directory = directory.map_err(|error| match error.kind() {
            ErrorKind::NotADirectory | ErrorKind::NotFound => {
                let rule = "what has the name of the sockets' directory is no directory, move it away";
                let message = format!("{rule}: path=`{}`", path.display());
                Failure::from(StoreError::new(StoreErrorKind::Unreachable, message))
            }
            _ => error.into(),
        })?;
        let (voice, finger) = (UnixDatagram::unbound()?, UnixDatagram::unbound()?);
        voice.set_nonblocking(true)?;
        Ok(Self { identity: Identity::at(&path), path, directory, rights, voice, finger, unrung: RefCell::default() })
    }

    /// Whether the path still leads to the directory.
    pub(crate) fn is_in_place(&self) -> bool {
        Identity::at(&self.path) == self.identity
    }

    /// Whether nobody else is alive. If so, nobody can come until [`together`](Self::together) is called.
    pub(crate) fn try_alone(&self) -> Result<bool, Failure> {
        match self.directory.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error.into()),
        }
    }

    /// We are alive, together with whoever else is.
    pub(crate) fn together(&self) -> Result<(), Failure> {
        self.directory.try_lock_shared().map_err(|error| io::Error::from(error).into())
    }

    /// By the open directory, whose own path may be longer than a socket's may.
    fn path_of(&self, client: &str) -> String {
        format!("/proc/self/fd/{}/{client}", self.directory.as_raw_fd())
    }

    /// A bell for a client. Without one, as on a file system that has no sockets, there are no wake-ups, and yet locks.
    pub(crate) fn hang(&self, client: &str) -> Result<(UnixDatagram, Hook), Failure> {
        self.sweep();
        self.take_down(client);
        let path = self.path_of(client);
        let hook = Hook(self.path.join(client));
        let bell = || {
            let bell = UnixDatagram::bind(&path)?;
            self.rights.give(Path::new(&path), self.rights.mode)?;
            bell.set_nonblocking(true)?;
            Ok((bell, hook))
        };
        bell().map_err(|error: io::Error| {
            StoreError::new(StoreErrorKind::Unreachable, format!("no socket beside the file: {error}")).into()
        })
    }

    /// Takes a client's bell away.
    fn take_down(&self, client: &str) {
        // One that is not there is as good.
        let _ = fs::remove_file(self.path_of(client));
    }

    /// Whether anybody hears a client's bell.
    pub(crate) fn is_heard(&self, client: &str) -> bool {
        !self.finger.connect(self.path_of(client)).is_err_and(|error| is_dead(&error))
    }

    /// Rings a client's bell; if it is full, a little later.
    pub(crate) fn ring(&self, client: &str, words: &str) {
        let mut unrung = self.unrung.borrow_mut();
        if unrung.has(client) || !self.try_ring(client, words) {
            unrung.put(client, words, Instant::now());
        }
    }

    /// Rings those bells again that were full; says when to do so next, if any still are.
    pub(crate) fn ring_again(&self) -> Option<Instant> {
        self.unrung.borrow_mut().ring(Instant::now(), |client, words| self.try_ring(client, words))
    }

    /// False if the bell is full. Whoever waits also looks by itself, so that one that cannot be rung is not a fault.
    fn try_ring(&self, client: &str, words: &str) -> bool {
        match self.voice.send_to(words.as_bytes(), self.path_of(client)) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
            Err(error) => {
                let client = client.to_owned();
                report(move || tracing::debug!(%error, client, "a bell could not be rung"));
            }
            Ok(_) => {}
        }
        true
    }

    /// Rings every bell.
    pub(crate) fn ring_all(&self, words: &str) {
        // By the open directory: that at its path may be another by now.
        let Ok(entries) = fs::read_dir(self.path_of("")) else { return };
        for entry in entries.flatten() {
            if let Some(client) = entry.file_name().to_str() {
                self.ring(client, words);
            }
        }
    }

    /// Removes the bells of those who were killed.
    fn sweep(&self) {
        let Ok(entries) = fs::read_dir(&self.path) else { return };
        for entry in entries.flatten() {
            let old = entry.metadata().and_then(|found| found.modified());
            let old = old.is_ok_and(|made| made.elapsed().is_ok_and(|age| age >= YOUNG));
            if let Some(client) = entry.file_name().to_str()
                && old
                && !self.is_heard(client)
            {
                self.take_down(client);
            }
        }
    }
}

/// Where a client's bell hangs. It is taken down with it, by whoever has it: the store's thread may not come to it before
/// the process ends.
pub(crate) struct Hook(PathBuf);

impl Drop for Hook {
    fn drop(&mut self) {
        // One that is not there is as good.
        let _ = fs::remove_file(&self.0);
    }
}

fn beside(file: &Path) -> PathBuf {
    let mut path = OsString::from(file);
    path.push("-wake");
    path.into()
}

/// Whether an error means that nobody is there, rather than that we may not ask.
fn is_dead(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused)
}

impl Rights {
    fn of(file: &Path) -> Result<Self, Failure> {
        let found = fs::metadata(file)?;
        Ok(Self { mode: found.mode() & 0o666, user: found.uid(), group: found.gid() })
    }

    /// Who may read a directory may also go in.
    const fn of_directory(self) -> u32 {
        self.mode | (self.mode & 0o444) >> 2
    }

    fn give(self, path: &Path, mode: u32) -> io::Result<()> {
        let found = fs::metadata(path)?;
        if found.uid() != self.user || found.gid() != self.group {
            // Root, that works on somebody's file; whoever may not give things away keeps them.
            let _ = chown(path, Some(self.user), Some(self.group));
        }
        fs::set_permissions(path, fs::Permissions::from_mode(mode))
    }
}
