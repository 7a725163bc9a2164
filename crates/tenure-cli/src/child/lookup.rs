//! Whether there is such a command, before anybody waits for a lock in vain.

use crate::exit::{Failure, Reason};
use rustix::fs::{Access, access};
use std::ffi::OsStr;
use std::io;
use std::path::Path;

/// Looks for a command as the system will when it starts it.
pub(crate) fn look_up(command: &OsStr, path: Option<&OsStr>) -> Result<(), Failure> {
    let named = Path::new(command);
    // A name with a slash in it is a path.
    let found = if command.as_encoded_bytes().contains(&b'/') {
        is_executable(named)
    } else if command.is_empty() {
        None
    } else {
        let dirs = path.map(|path| std::env::split_paths(path).collect::<Vec<_>>()).unwrap_or_default();
        let found: Vec<_> = dirs.iter().filter_map(|dir| is_executable(&dir.join(named))).collect();
        found.iter().max().copied()
    };
    match found {
        Some(true) => Ok(()),
        Some(false) => Err(not_executable(command, "no permission, or not a file")),
        None => Err(not_found(command)),
    }
}

/// None if there is nothing.
fn is_executable(path: &Path) -> Option<bool> {
    path.exists().then(|| path.is_file() && access(path, Access::EXEC_OK).is_ok())
}

/// The system could not start what was found before.
pub(crate) fn cannot_exec(command: &OsStr, error: &io::Error) -> Failure {
    // A script whose interpreter is missing is "not found" as well; shells call it 126 or 127, as they like.
    match error.kind() {
        io::ErrorKind::NotFound if !command.as_encoded_bytes().contains(&b'/') => not_found(command),
        _ => not_executable(command, &error.to_string()),
    }
}

fn not_found(command: &OsStr) -> Failure {
    let what = if command.to_string_lossy().trim().contains(char::is_whitespace) {
        "the command was not found, leave out the quotes around it, or have a shell read it by `-- sh -c '…'`"
    } else {
        "the command was not found, check its name and PATH"
    };
    Failure::new(Reason::NotFound, format!("{what}: {}", command.display()))
}

fn not_executable(command: &OsStr, why: &str) -> Failure {
    Failure::new(
        Reason::NotExecutable,
        format!(
            "the command cannot be executed, check the file, its rights and its first line: {}: {why}",
            command.display()
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn commands_are_found_as_the_system_finds_them() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let path = std::env::join_paths([one.path(), two.path()]).unwrap();
        let code = |command: &str| look_up(OsStr::new(command), Some(&path)).map_err(|failure| failure.reason.code());
        fs::write(one.path().join("tool"), "").unwrap();
        assert_eq!(code("tool"), Err(126));
        fs::write(two.path().join("tool"), "").unwrap();
        fs::set_permissions(two.path().join("tool"), fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(code("tool"), Ok(()));
        assert_eq!(code(two.path().join("tool").to_str().unwrap()), Ok(()));
        assert_eq!(code(two.path().to_str().unwrap()), Err(126));
        assert_eq!(code("no-such-tool"), Err(127));
        assert_eq!(code("./no-such-tool"), Err(127));
        assert_eq!(code(""), Err(127));
        let quoted = look_up(OsStr::new("echo hi"), Some(&path)).unwrap_err();
        assert!(quoted.message.contains("leave out the quotes"), "{}", quoted.message);
    }
}
