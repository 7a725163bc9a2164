//! The programs that tests and benchmarks start, servers and Java: found on the machine or installed, never skipped.

use std::env;
use std::process::{Command, Stdio};

use crate::run::{self, Result};

/// A program the tests start.
pub(crate) struct Program {
    /// What is looked for in `PATH`.
    pub(crate) name: &'static str,
    /// The Debian package that has it.
    package: &'static str,
}

/// The servers; a new backend adds its line here.
pub(crate) const SERVERS: &[Program] = &[Program { name: "redis-server", package: "redis-server" }];

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
    needed.iter().copied().flatten().filter(|program| !in_path(program.name)).collect()
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
    fn sudo_comes_before_the_environment_it_would_drop() {
        assert_eq!(
            run::line(apt_get(&["sudo", "-n"]).arg("update")),
            "sudo -n env DEBIAN_FRONTEND=noninteractive apt-get update"
        );
    }
}
