//! The programs that tests and benchmarks start, servers and Java: found on the machine or installed, never skipped.

use std::env;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::run::{self, Result};

/// A program the tests start.
pub(crate) struct Program {
    /// What is looked for in `PATH` and where servers are.
    pub(crate) name: &'static str,
    /// The Debian package that has it.
    package: &'static str,
}

/// The servers; a new backend adds its line here.
pub(crate) const SERVERS: &[Program] = &[
    Program { name: "redis-server", package: "redis-server" },
    // It brings `mariadb-install-db` along. Should its own server start, that one is in nobody's way: ours take free ports.
    Program { name: "mariadbd", package: "mariadb-server" },
];

/// Where Debian puts servers, which is in the `PATH` of few but root.
const SERVER_DIRS: [&str; 2] = ["/usr/sbin", "/usr/local/sbin"];

/// What it takes to build and run the driver in which Redisson runs; `java` itself comes with its compiler.
pub(crate) const JAVA: &[Program] =
    &[Program { name: "javac", package: "default-jdk-headless" }, Program { name: "mvn", package: "maven" }];

/// Makes sure that all of these are on the machine.
pub(crate) fn programs(needed: &[&[Program]]) -> Result<()> {
    let missing = missing(needed);
    if missing.is_empty() {
        return Ok(());
    }
    let Some(prefix) = privilege() else {
        return Err(advice(&missing));
    };
    println!("installing: {}", packages(&missing).join(" "));
    run::run(apt_get(prefix).arg("update"))?;
    run::run(apt_get(prefix).args(["install", "-y", "--no-install-recommends"]).args(packages(&missing)))?;
    match self::missing(needed).first() {
        None => Ok(()),
        Some(program) => Err(format!(
            "the package is installed but its program is not in PATH; add its directory to PATH: {}",
            program.name
        )),
    }
}

/// Builds the driver in which Redisson runs, unless that is done: no test waits for a download.
pub(crate) fn driver() -> Result<()> {
    run::run(run::command(run::root().join("interop/java/driver")).arg("--build"))
}

fn missing<'a>(needed: &[&'a [Program]]) -> Vec<&'a Program> {
    needed.iter().copied().flatten().filter(|program| find(program.name).is_none()).collect()
}

/// Where a program is, if it is on the machine.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .chain(SERVER_DIRS.map(PathBuf::from))
        .map(|dir| dir.join(program))
        .find(|file| file.is_file())
}

/// What to put before `apt-get` to install a package without asking anybody, if we may.
fn privilege() -> Option<&'static [&'static str]> {
    find("apt-get")?;
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

fn packages(missing: &[&Program]) -> Vec<&'static str> {
    missing.iter().map(|program| program.package).collect()
}

fn advice(missing: &[&Program]) -> String {
    let programs: Vec<_> = missing.iter().map(|program| program.name).collect();
    format!(
        "the tests need programs that are not in PATH: {}\n\
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
        let program = Program { name: "mariadbd", package: "mariadb-server" };
        let advice = advice(&[&program]);
        assert!(advice.contains("not in PATH: mariadbd\n"), "{advice}");
        assert!(advice.contains("apt-get install -y --no-install-recommends mariadb-server\n"), "{advice}");
    }

    #[test]
    fn programs_are_found_or_missing() {
        let shell = Program { name: "sh", package: "dash" };
        let none = Program { name: "tenure-no-such-program", package: "none" };
        assert!(find("sh").is_some_and(|path| path.is_absolute() && path.ends_with("sh")));
        let needed = [shell, none];
        let missing: Vec<_> = missing(&[&needed]).iter().map(|program| program.name).collect();
        assert_eq!(missing, ["tenure-no-such-program"]);
    }

    #[test]
    fn sudo_comes_before_the_environment_it_would_drop() {
        assert_eq!(
            run::line(apt_get(&["sudo", "-n"]).arg("update")),
            "sudo -n env DEBIAN_FRONTEND=noninteractive apt-get update"
        );
    }
}
