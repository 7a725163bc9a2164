//! The data directory that every `MariaDbServer` starts from: made once per version, then copied.

use std::env;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Where Debian puts servers, which is on the `PATH` of few but root.
const SERVER_DIRS: [&str; 2] = ["/usr/sbin", "/usr/local/sbin"];

/// Small files: what is not there need not be copied. The server must be started with the same.
pub(super) const FILES: [&str; 4] = [
    "--innodb-data-file-path=ibdata1:4M:autoextend",
    "--innodb-autoextend-increment=1",
    "--innodb-log-file-size=4M",
    "--innodb-buffer-pool-size=16M",
];

/// How the system tables are made: root may log in without a password, and nobody else at all.
const INSTALL: [&str; 3] = ["--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve"];

/// What is there from the beginning.
const SCHEMA: &str = "CREATE DATABASE tenure CHARACTER SET utf8mb4;\n";

/// The path of a program of MariaDB.
pub(super) fn program(name: &str) -> PathBuf {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .chain(SERVER_DIRS.map(PathBuf::from))
        .map(|dir| dir.join(name))
        .find(|file| file.is_file())
        .unwrap_or_else(|| {
            panic!(
                "`{name}` is neither on the PATH nor in /usr/sbin; on Debian/Ubuntu type: apt-get install mariadb-server"
            )
        })
}

/// `--user=root` for root, without which MariaDB's programs refuse to serve root.
pub(super) fn user() -> Option<&'static str> {
    rustix::process::getuid().is_root().then_some("--user=root")
}

/// Copies the fresh data directory to `to`, which must not exist.
pub(super) fn copy_to(to: &Path) {
    static TEMPLATE: OnceLock<PathBuf> = OnceLock::new();
    copy(TEMPLATE.get_or_init(find_or_make), to);
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).expect("the server's temporary directory is writable");
    for entry in fs::read_dir(from).expect("the template was made by this kit: remove it and try again") {
        let entry = entry.expect("a directory of one's own can be read");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("the disk has room for a data directory of 20 MB");
        }
    }
}

fn find_or_make() -> PathBuf {
    let cache = cache();
    fs::create_dir_all(&cache).expect("the target directory is writable");
    let template = cache.join(name());
    if template.is_dir() {
        return template;
    }
    let draft = tempfile::tempdir_in(&cache).expect("the target directory is writable");
    let data = draft.path().join("data");
    make(&data, draft.path());
    match fs::rename(&data, &template) {
        Ok(()) => {}
        // Another test process was faster, and its template is as good.
        Err(error) if matches!(error.kind(), ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists) => {}
        Err(error) => panic!("the template could not be put in its place: {}: {error}", template.display()),
    }
    template
}

/// In cargo's target directory, which outlives the test and is nobody else's; a doctest does not run there.
fn cache() -> PathBuf {
    let program = env::current_exe().unwrap_or_default();
    match program.ancestors().find(|dir| dir.join("CACHEDIR.TAG").is_file()) {
        Some(target) => target.join("tenure-mariadb"),
        None => env::temp_dir().join(format!("tenure-mariadb-{}", rustix::process::getuid().as_raw())),
    }
}

/// Another version, or another way of making it, has another name.
fn name() -> String {
    let output = Command::new(program("mariadbd"))
        .args(["--no-defaults", "--version"])
        .output()
        .expect("a program that was found can be started");
    let mut hasher = DefaultHasher::new();
    (output.stdout, FILES, INSTALL, SCHEMA).hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

fn make(data: &Path, dir: &Path) {
    let schema = dir.join("schema.sql");
    fs::write(&schema, SCHEMA).expect("a directory that was just made is writable");
    let output = Command::new(program("mariadb-install-db"))
        .arg("--no-defaults")
        .arg(format!("--datadir={}", data.display()))
        .arg(format!("--extra-file={}", schema.display()))
        .args(user())
        .args(INSTALL)
        .args(FILES)
        .output()
        .expect("a program that was found can be started");
    assert!(
        output.status.success() && data.join("tenure").is_dir(),
        "mariadb-install-db made no data directory, check what it says ({}):\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}
