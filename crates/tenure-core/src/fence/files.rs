//! The newest tokens on disk: a directory with a file for each resource, which is also its lock.
//!
//! A file has two slots, in sectors of their own, and a token goes into the one that does not hold the newest: whatever
//! becomes of a write that is cut short, the other slot is whole. A slot says its token twice, which tells a whole one.

use super::Refused;
use crate::Token;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Where the second slot begins: no disk tears the two with one write.
const APART: usize = 4096;
/// Two tokens of 20 digits, a space and a line's end.
const SLOT: usize = 42;
/// File systems take names of 255 bytes, and a directory's gets one more.
const LONGEST_NAME: usize = 200;

pub(super) struct Files {
    directory: PathBuf,
}

impl Files {
    /// The directory, made if it is missing. It is meant wherever the process goes afterwards.
    pub(super) fn open(directory: &Path) -> Result<Self, Refused> {
        let opened = std::path::absolute(directory).and_then(|directory| {
            make(&directory)?;
            // Whoever made it may have been killed before it was on disk.
            match directory.parent().map_or(Ok(()), sync) {
                Err(error) if error.kind() != ErrorKind::PermissionDenied => Err(error),
                _ => Ok(directory),
            }
        });
        match opened {
            Ok(directory) => Ok(Self { directory }),
            Err(error) => Err(Refused::Shut { path: directory.to_owned(), error }),
        }
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Waits for the resource's file and keeps it, the token being on disk, until the file is dropped.
    pub(super) fn hold(&self, resource: &str, token: Token) -> Result<File, Refused> {
        let path = names(resource).iter().fold(self.directory.clone(), |path, name| path.join(name));
        match self.hold_at(&path, token) {
            Ok(Ok(file)) => Ok(file),
            Ok(Err(newest)) => Err(Refused::Late { token, newest: Some(newest) }),
            Err(error) => Err(Refused::Shut { path, error }),
        }
    }

    fn hold_at(&self, path: &Path, token: Token) -> io::Result<Result<File, Token>> {
        let parent = path.parent().unwrap_or(&self.directory);
        // A directory that was removed is not made again: what it knew would be forgotten without a word.
        if !self.directory.is_dir() {
            return Err(io::Error::new(ErrorKind::NotFound, "the directory is gone"));
        }
        make(parent)?;
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        lock(&file)?;
        let mut bytes = Vec::new();
        (&mut file).take(2 * APART as u64).read_to_end(&mut bytes)?;
        let (newest, free) = read(&bytes)?;
        match newest {
            Some(newest) if newest > token => return Ok(Err(newest)),
            Some(newest) if newest == token => {}
            _ => {
                if newest.is_none() {
                    // The names first: a token that is on disk must be found there.
                    for directory in parent.ancestors().take_while(|above| above.starts_with(&self.directory)) {
                        sync(directory)?;
                    }
                }
                file.seek(SeekFrom::Start((free * APART) as u64))?;
                file.write_all(slot(token).as_bytes())?;
            }
        }
        // Also if it was there: who wrote it may have been killed before this.
        file.sync_data()?;
        Ok(Ok(file))
    }
}

/// The newest token, and the slot that does not hold it.
fn read(bytes: &[u8]) -> io::Result<(Option<Token>, usize)> {
    match [0, 1].map(|n| token_in(bytes.get(n * APART..).unwrap_or_default())) {
        [Some(first), second] if second.is_none_or(|second| second < first) => Ok((Some(first), 1)),
        [_, Some(second)] => Ok((Some(second), 0)),
        // The very first write was cut short, so that nobody has passed yet.
        _ if bytes.len() < SLOT || bytes.iter().all(|byte| *byte == 0) => Ok((None, 0)),
        _ => Err(io::Error::new(
            ErrorKind::InvalidData,
            "the file is damaged; when nobody can come late any more, remove it",
        )),
    }
}

fn slot(token: Token) -> String {
    format!("{token:020} {token:020}\n")
}

fn token_in(bytes: &[u8]) -> Option<Token> {
    let text = std::str::from_utf8(bytes.get(..SLOT)?).ok()?;
    let token = text.get(..20)?.parse().ok()?;
    (slot(token) == text).then_some(token)
}

/// The names of directories, if the resource's is long, and of its file. No two resources have the same, also where upper
/// and lower case are one.
fn names(resource: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    for byte in resource.bytes() {
        let last = names.len() - 1;
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => names[last].push(char::from(byte)),
            _ => names[last].extend(['%', hex(byte >> 4), hex(byte & 15)]),
        }
        if names[last].len() >= LONGEST_NAME {
            names[last].push('+');
            names.push(String::new());
        }
    }
    if let Some(file) = names.last_mut() {
        // There may be nothing left to name it by.
        file.push_str(".fence");
    }
    names
}

fn hex(digit: u8) -> char {
    char::from_digit(digit.into(), 16).unwrap_or('0')
}

/// Makes a directory and those above it, each on disk before it is used.
fn make(directory: &Path) -> io::Result<()> {
    if directory.is_dir() {
        return Ok(());
    }
    let parent = directory.parent().ok_or(ErrorKind::NotFound)?;
    make(parent)?;
    match fs::create_dir(directory) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists && directory.is_dir() => Ok(()),
        made => made,
    }?;
    sync(parent)
}

/// Puts a directory's names on disk.
fn sync(directory: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(directory)?.sync_all() } else { Ok(()) }
}

fn lock(file: &File) -> io::Result<()> {
    loop {
        match file.lock() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            locked => return locked,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// A file after these tokens, each in the slot that was free.
    fn file(tokens: &[Token]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for token in tokens {
            bytes = written(bytes, *token, SLOT);
        }
        bytes
    }

    /// The same after so many bytes of one more.
    fn written(mut bytes: Vec<u8>, token: Token, length: usize) -> Vec<u8> {
        let at = read(&bytes).unwrap().1 * APART;
        bytes.resize(bytes.len().max(at + length), 0);
        bytes[at..at + length].copy_from_slice(&slot(token).as_bytes()[..length]);
        bytes
    }

    #[test]
    fn a_write_that_is_cut_short_takes_nothing_back() {
        for before in [&[][..], &[999], &[998, 999], &[997, 998, 999]] {
            for length in 0..=SLOT {
                let (newest, free) = read(&written(file(before), 1000, length)).unwrap();
                // Its last byte is the same as that of the token which was there before.
                let whole = written(file(before), 1000, length) == file(&[before, &[1000]].concat());
                assert_eq!(newest, if whole { Some(1000) } else { before.last().copied() }, "{before:?} {length}");
                // The next token spares the newest one.
                let next = written(written(file(before), 1000, length), 2000, SLOT);
                assert_eq!(read(&next).unwrap().0, Some(2000), "{before:?} {length}");
                assert!(newest.is_none() || token_in(&next[(1 - free) * APART..]) == newest, "{before:?} {length}");
            }
        }
    }

    #[test]
    fn each_token_spares_the_one_before() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::open(dir.path()).unwrap();
        for token in 1..6 {
            files.hold("a", token).unwrap();
            files.hold("a", token).unwrap();
            let bytes = fs::read(dir.path().join("a.fence")).unwrap();
            let other = token_in(bytes.get((1 - read(&bytes).unwrap().1) * APART..).unwrap());
            assert_eq!(other, Some(token));
            let spared = bytes.get(read(&bytes).unwrap().1 * APART..).and_then(token_in);
            assert_eq!(spared, (token > 1).then(|| token - 1));
        }
    }

    #[test]
    fn a_sector_that_was_never_written_is_no_token() {
        assert_eq!(read(&[0; SLOT]).unwrap(), (None, 0));
        let mut bytes = file(&[7]);
        bytes.resize(APART + SLOT, 0);
        assert_eq!(read(&bytes).unwrap(), (Some(7), 1));
    }

    #[test]
    fn a_damaged_file_lets_nobody_through() {
        let mut bytes = file(&[7, 8]);
        bytes[3] = b'x';
        assert_eq!(read(&bytes).unwrap().0, Some(8));
        bytes[APART + 25] = b'x';
        assert_eq!(read(&bytes).unwrap_err().kind(), ErrorKind::InvalidData);
    }

    #[test]
    fn no_two_resources_share_a_file() {
        let long = "x".repeat(LONGEST_NAME);
        let longer = format!("{long}+");
        let resources =
            ["", ".", "..", "%", "a", "A", "a/b", "a%2fb", "../a", "a.", "é", &long, &longer, &long[1..], "x+", "x"];
        let mut seen = HashSet::new();
        for resource in resources {
            let names = names(resource);
            assert!(names.iter().all(|name| name.len() < 255 && !name.contains('/')), "{names:?}");
            assert!(seen.insert(names.clone()), "{names:?}");
        }
    }
}
