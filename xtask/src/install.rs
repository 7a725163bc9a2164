//! The servers the tests talk to: found on the machine or installed, never skipped.

use std::env;
use std::process::{Command, Stdio};

use crate::run::{self, Result};

/// A program the tests start.
pub(crate) struct Server {
    /// What is looked for in `PATH`.
    pub(crate) program: &'static str,
    /// The Debian package that has it.
    package: &'static str,
}

/// All that the tests need; a new backend adds its line here.
pub(crate) const SERVERS: &[Server] = &[Server { program: "redis-server", package: "redis-server" }];

/// Makes sure that every server is on the machine.
pub(crate) fn servers() -> Result<()> {
    let missing = missing();
    if missing.is_empty() {
        return Ok(());
    }
    let Some(prefix) = privilege() else {
        return Err(advice(&missing));
    };
    println!("installing: {}", packages(&missing).join(" "));
    run::run(apt_get(prefix).arg("update"))?;
    run::run(apt_get(prefix).args(["install", "-y", "--no-install-recommends"]).args(packages(&missing)))?;
    match self::missing().first() {
        None => Ok(()),
        Some(server) => Err(format!(
            "the package is installed but its program is not in PATH; add its directory to PATH: {}",
            server.program
        )),
    }
}

fn missing() -> Vec<&'static Server> {
    SERVERS.iter().filter(|server| !in_path(server.program)).collect()
}

fn in_path(program: &str) -> bool {
    env::var_os("PATH").is_some_and(|path| env::split_paths(&path).any(|dir| dir.join(program).is_file()))
}

/// What to put before `apt-get` to install a package without asking anybody, if we may.
fn privilege() -> Option<&'static [&'static str]> {
    if !in_path("apt-get") {
        return None;
    }
    if run::read(run::command("id").arg("-u")).is_ok_and(|id| id.trim() == "0") {
        return Some(&[]);
    }
    let sudo = run::command("sudo").args(["-n", "true"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    sudo.is_ok_and(|status| status.success()).then_some(&["sudo", "-n"])
}

fn apt_get(prefix: &[&str]) -> Command {
    // By `env`, because sudo drops the caller's variables.
    let words = [prefix, &["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]].concat();
    let mut command = run::command(words[0]);
    command.args(&words[1..]);
    command
}

fn packages(missing: &[&Server]) -> Vec<&'static str> {
    missing.iter().map(|server| server.package).collect()
}

fn advice(missing: &[&Server]) -> String {
    let programs: Vec<_> = missing.iter().map(|server| server.program).collect();
    format!(
        "the tests need servers that are not in PATH: {}\n\
         install them and try again; on Debian and Ubuntu:\n\n    \
         sudo apt-get update && sudo apt-get install -y --no-install-recommends {}\n",
        programs.join(", "),
        packages(missing).join(" "),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_advice_has_the_line_to_type() {
        let server = Server { program: "mariadbd", package: "mariadb-server" };
        let advice = advice(&[&server]);
        assert!(advice.contains("not in PATH: mariadbd\n"), "{advice}");
        assert!(advice.contains("apt-get install -y --no-install-recommends mariadb-server\n"), "{advice}");
    }

    #[test]
    fn sudo_comes_before_the_environment_it_would_drop() {
        assert_eq!(
            run::line(apt_get(&["sudo", "-n"]).arg("update")),
            "sudo -n env DEBIAN_FRONTEND=noninteractive apt-get update"
        );
    }
}
