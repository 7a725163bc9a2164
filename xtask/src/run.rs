//! Running other programs from the workspace root, and saying what was run.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Chores fail with a sentence for the person at the terminal; nobody matches on it.
pub(crate) type Result<T> = std::result::Result<T, String>;

/// The workspace root.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace root")
}

/// A command that runs in the workspace root.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root());
    command
}

/// The same cargo that started this program, to run in the workspace root.
pub(crate) fn cargo<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Command {
    let mut cargo = command(env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    cargo.args(args);
    cargo
}

/// Runs to the end with the terminal as it is; fails unless the program succeeds.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().map_err(|error| format!("could not start `{}`: {error}", line(command)))?;
    if status.success() {
        return Ok(());
    }
    Err(format!("command failed ({status}): {}", line(command)))
}

/// What the program printed on stdout; its stderr goes to the terminal.
pub(crate) fn read(command: &mut Command) -> Result<String> {
    let output = command
        .stderr(std::process::Stdio::inherit())
        .output()
        .map_err(|error| format!("could not start `{}`: {error}", line(command)))?;
    if !output.status.success() {
        return Err(format!("command failed ({}): {}", output.status, line(command)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The line to type into a shell to run the same command.
pub(crate) fn line(command: &Command) -> String {
    let env = command.get_envs().filter_map(|(name, value)| Some(format!("{}={}", name.display(), quoted(value?))));
    let program = Path::new(command.get_program());
    let program = program.file_name().unwrap_or(program.as_os_str());
    env.chain([quoted(program)]).chain(command.get_args().map(quoted)).collect::<Vec<_>>().join(" ")
}

/// A duration as people read it: `0.4 s`, `3 min 07 s`.
pub(crate) fn human(time: Duration) -> String {
    if time.as_secs() < 60 {
        return format!("{:.1} s", time.as_secs_f64());
    }
    format!("{} min {:02} s", time.as_secs() / 60, time.as_secs() % 60)
}

fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=+./,:@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.into_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_can_be_typed_again() {
        let mut doc = command("/opt/bin/cargo");
        doc.args(["test", "--test", "full_*", "it's"]).env("RUSTDOCFLAGS", "-D warnings");
        assert_eq!(line(&doc), r"RUSTDOCFLAGS='-D warnings' cargo test --test 'full_*' 'it'\''s'");
    }

    #[test]
    fn times_read_well() {
        assert_eq!(human(Duration::from_millis(420)), "0.4 s");
        assert_eq!(human(Duration::from_secs(187)), "3 min 07 s");
    }
}
