//! Where a file lies: made for its owner alone, on a disk of this machine, under one name.

use crate::error::{Failure, no_database};
use rustix::fs::{Access, AtFlags, CWD, FileType, Mode, StatxAttributes, StatxFlags, access, mknodat, statfs, statx};
use rustix::io::Errno;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tenure_core::{StoreError, StoreErrorKind, report};

/// The longest end that SQLite or we give to the file's name.
const LONGEST_END: &str = "-journal";
/// The longest path that SQLite opens, with that end.
const LONGEST_PATH: usize = 512;
/// The least that a database has. What is shorter SQLite takes for nothing, and would write over it.
const LEAST: u64 = 512;
/// The rights of a file that we make: its owner's alone.
const OWNER_ONLY: u32 = 0o600;

/// File systems that several machines may have mounted, or that do not share memory between processes as SQLite needs
/// it: `f_type` as the kernel has it.
const SHARED: &[(u32, &str)] = &[
    (0x0000_6969, "nfs"),
    (0xFF53_4D42, "cifs"),
    (0xFE53_4D42, "smb"),
    (0x0000_517B, "smb"),
    (0x0102_1997, "9p"),
    (0x00C3_6400, "ceph"),
    (0x5346_414F, "afs"),
    (0x6B41_4653, "afs"),
    (0x7375_7245, "coda"),
    (0x0116_1970, "gfs2"),
    (0x7461_636F, "ocfs2"),
    (0x0BD0_0BD0, "lustre"),
    (0x4750_4653, "gpfs"),
    (0x1983_0326, "beegfs"),
    (0x2003_0528, "orangefs"),
    (0x786F_4256, "vboxsf"),
    (0xBACB_ACBC, "vmhgfs"),
];
/// Programs that are file systems: what lies behind them only their name tells.
const FUSE: u32 = 0x6573_5546;
/// Those of them that are known to keep to this machine.
const LOCAL_FUSE: &[&str] = &["fuseblk", "fuse.fuse-overlayfs", "fuse.bindfs", "fuse.mergerfs", "fuse.gocryptfs"];

/// Which file is at a path, whatever becomes of the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    /// That of the file at a path now, if there is one.
    pub(crate) fn at(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().map(|found| Self { device: found.dev(), inode: found.ino() })
    }
}

/// Makes the file if there is none, and says by which name everybody knows it: SQLite keeps companions beside it, and
/// two names would have two sets of them.
///
/// The file is never opened here. To close a file drops all of a process's locks on it, those that SQLite has taken
/// elsewhere in this process among them.
pub(crate) fn settle(path: &Path) -> Result<PathBuf, Failure> {
    let directory = path.parent().unwrap_or(path);
    refuse_shared(directory)?;
    // Before it is made, and again should it be a link.
    refuse_long(&fs::canonicalize(directory)?.join(path.file_name().unwrap_or_default()))?;
    match mknodat(CWD, path, FileType::RegularFile, Mode::from_raw_mode(OWNER_ONLY), 0) {
        // Whatever a umask has taken away.
        Ok(()) => {
            fs::set_permissions(path, fs::Permissions::from_mode(OWNER_ONLY))?;
            sync(directory);
        }
        Err(Errno::EXIST) => {}
        // As in `/proc`.
        Err(Errno::NOENT) if directory.is_dir() => {
            let rule = "no file can be made in this directory, choose another";
            return Err(unusable(StoreErrorKind::Unreachable, rule, path));
        }
        Err(error) => return Err(std::io::Error::from(error).into()),
    }
    let whole = fs::canonicalize(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            unusable(StoreErrorKind::Unreachable, "the path is a link that leads nowhere, mend or remove it", path)
        }
        _ => error.into(),
    })?;
    refuse_long(&whole)?;
    // SQLite would open what it may not write, and only say so later.
    access(&whole, Access::READ_OK | Access::WRITE_OK).map_err(std::io::Error::from)?;
    access(whole.parent().unwrap_or(&whole), Access::WRITE_OK | Access::EXEC_OK).map_err(std::io::Error::from)?;
    let found = fs::metadata(&whole)?;
    if !found.is_file() {
        return Err(unusable(StoreErrorKind::Unreachable, "the path is no file, name a file", &whole));
    }
    refuse_shared(&whole)?;
    if (1..LEAST).contains(&found.len()) {
        return Err(no_database(&whole).into());
    }
    if found.nlink() > 1 {
        let rule = "the file has several names (hard links), and each would have a log of its own: leave it one";
        return Err(unusable(StoreErrorKind::Unsupported, rule, &whole));
    }
    // As `docker run -v file:file` does it: the log beside it is then seen on one side alone.
    if statx(CWD, &whole, AtFlags::empty(), StatxFlags::BASIC_STATS)
        .is_ok_and(|found| found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
    {
        let rule = "the file is mounted by itself, without the log beside it: mount its whole directory";
        return Err(unusable(StoreErrorKind::Unsupported, rule, &whole));
    }
    Ok(whole)
}

/// The names of what lies beside the file are longer than its own.
fn refuse_long(whole: &Path) -> Result<(), Failure> {
    let names = statfs(whole.parent().unwrap_or(whole)).map_err(std::io::Error::from)?.f_namelen;
    let name = whole.file_name().unwrap_or_default().len() + LONGEST_END.len();
    if usize::try_from(names).is_ok_and(|longest| longest > 0 && name > longest) {
        let rule = format!("the file's name is too long, {} bytes must be left for names beside it", LONGEST_END.len());
        return Err(unusable(StoreErrorKind::Unsupported, &rule, whole));
    }
    if whole.as_os_str().len() + LONGEST_END.len() > LONGEST_PATH {
        let rule = format!("the file's path is too long, {} bytes is the most", LONGEST_PATH - LONGEST_END.len());
        return Err(unusable(StoreErrorKind::Unsupported, &rule, whole));
    }
    Ok(())
}

/// Makes the name of a new file last; what is in it SQLite syncs. Who may not read the directory goes without.
fn sync(directory: &Path) {
    if let Err(error) = fs::File::open(directory).and_then(|directory| directory.sync_all()) {
        report(move || tracing::debug!(%error, "the directory of a new file was not synced"));
    }
}

fn refuse_shared(path: &Path) -> Result<(), Failure> {
    let found = statfs(path).map_err(std::io::Error::from)?;
    let Some(name) = shared(found.f_type, || mounted_as(path)) else { return Ok(()) };
    let rule = "the file lies on a file system that machines may share, where locks cannot be trusted: choose a local \
                disk, or a server for locks between machines";
    let message = format!("{rule}: file system=`{name}` path=`{}`", path.display());
    Err(StoreError::new(StoreErrorKind::Unsupported, message).into())
}

/// The name of a file system that is not this machine's alone.
fn shared(kind: impl TryInto<i64>, name: impl FnOnce() -> Option<String>) -> Option<String> {
    // The kernel's word is 32 bits wide, and on some machines comes with a sign.
    let kind = u32::try_from(kind.try_into().unwrap_or_default() & 0xFFFF_FFFF).unwrap_or_default();
    if kind == FUSE {
        let name = name().unwrap_or_else(|| "fuse".to_owned());
        return (!LOCAL_FUSE.contains(&name.as_str())).then_some(name);
    }
    SHARED.iter().find(|(known, _)| *known == kind).map(|(_, name)| (*name).to_owned())
}

/// What the file system at a path was mounted as.
fn mounted_as(path: &Path) -> Option<String> {
    let device = fs::metadata(path).ok()?.dev();
    let device = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
    type_of(&device, &fs::read_to_string("/proc/self/mountinfo").ok()?)
}

/// Finds a device's file system in what the kernel tells of mounts.
fn type_of(device: &str, mounts: &str) -> Option<String> {
    let line = mounts.lines().find(|line| line.split(' ').nth(2) == Some(device))?;
    Some(line.split_once(" - ")?.1.split(' ').next()?.to_owned())
}

fn unusable(kind: StoreErrorKind, rule: &str, path: &Path) -> Failure {
    StoreError::new(kind, format!("{rule}: path=`{}`", path.display())).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_systems_that_machines_share_are_known() {
        let fuse = |name: &'static str| shared(i64::from(FUSE), || Some(name.to_owned()));
        assert_eq!(shared(0x6969_i64, || None).as_deref(), Some("nfs"));
        assert_eq!(shared(0xFF53_4D42_i64, || None).as_deref(), Some("cifs"));
        // As a 32-bit machine has it.
        assert_eq!(shared(i64::from(0xFF53_4D42_u32.cast_signed()), || None).as_deref(), Some("cifs"));
        assert_eq!(shared(0x0102_1994_i64, || None), None, "tmpfs");
        assert_eq!(shared(0xEF53_i64, || None), None, "ext4");
        assert_eq!(fuse("fuse.sshfs").as_deref(), Some("fuse.sshfs"));
        assert_eq!(fuse("virtiofs").as_deref(), Some("virtiofs"));
        assert_eq!(fuse("fuse.fuse-overlayfs"), None);
        assert_eq!(shared(i64::from(FUSE), || None).as_deref(), Some("fuse"));
    }

    #[test]
    fn a_mount_is_found_by_its_device() {
        let mounts = "22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n\
                      90 22 0:44 / /mnt/a rw shared:5 - fuse.sshfs me@host:/ rw,user_id=0\n";
        assert_eq!(type_of("0:44", mounts).as_deref(), Some("fuse.sshfs"));
        assert_eq!(type_of("254:0", mounts).as_deref(), Some("ext4"));
        assert_eq!(type_of("0:4", mounts), None);
    }
}
