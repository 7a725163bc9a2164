//! `cargo xtask ci`: all that must pass before a change is merged, cheapest first.

use std::time::Instant;

use crate::run::{self, Result};
use crate::test::{self, Which};

/// A step that is one cargo command.
struct Step {
    name: &'static str,
    args: &'static [&'static str],
    env: Option<(&'static str, &'static str)>,
}

const STEPS: &[Step] = &[
    step("format", &["fmt", "--all", "--check"]),
    step("lints", &["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"]),
    step("no features", &["check", "-p", "tenure", "--no-default-features"]),
    step("feature redis", &["check", "-p", "tenure", "--no-default-features", "--features", "redis"]),
    step("features redis,tls", &["check", "-p", "tenure", "--no-default-features", "--features", "redis,tls"]),
    step("feature mysql", &["check", "-p", "tenure", "--no-default-features", "--features", "mysql"]),
    step("features mysql,tls", &["check", "-p", "tenure", "--no-default-features", "--features", "mysql,tls"]),
    step("feature sqlite", &["check", "-p", "tenure", "--no-default-features", "--features", "sqlite"]),
    step("feature serde", &["check", "-p", "tenure", "--no-default-features", "--features", "serde"]),
    step("feature toml", &["check", "-p", "tenure", "--no-default-features", "--features", "toml"]),
    Step {
        name: "docs",
        args: &["doc", "--workspace", "--no-deps", "--all-features"],
        env: Some(("RUSTDOCFLAGS", "-D warnings")),
    },
];

const fn step(name: &'static str, args: &'static [&'static str]) -> Step {
    Step { name, args, env: None }
}

/// A promise about what a package depends on.
struct Promise {
    name: &'static str,
    tree: &'static [&'static str],
    /// The packages that must not be in the tree.
    without: Without,
}

enum Without {
    AnyDependency,
    These(&'static [&'static str]),
}

const PROMISES: &[Promise] = &[
    Promise {
        name: "tenure-kernel has no dependencies",
        tree: &["-p", "tenure-kernel", "--all-features", "--edges", "normal"],
        without: Without::AnyDependency,
    },
    Promise {
        name: "tenure without features has no client",
        tree: &["-p", "tenure", "--no-default-features", "--edges", "normal,build"],
        without: Without::These(&["redis", "rustls", "rusqlite", "mysql_async"]),
    },
    Promise {
        name: "SQLite and MySQL are for those who ask for them",
        tree: &["-p", "tenure", "--edges", "normal,build"],
        without: Without::These(&["rusqlite", "libsqlite3-sys", "mysql_async", "mysql_common"]),
    },
    Promise {
        name: "TLS is rustls alone",
        tree: &["--workspace", "--all-features"],
        without: Without::These(&["openssl", "openssl-sys", "native-tls"]),
    },
];

/// Runs every step; the first that fails ends it.
pub(crate) fn run() -> Result<()> {
    let started = Instant::now();
    for step in STEPS {
        let mut cargo = run::cargo(step.args);
        cargo.envs(step.env);
        let line = run::line(&cargo);
        timed(step.name, &line, || run::run(&mut cargo))?;
    }
    for promise in PROMISES {
        // Every platform's dependencies, one to a line.
        let mut tree = run::cargo(["tree", "--target", "all", "--prefix", "none"]);
        tree.args(promise.tree);
        let line = run::line(&tree);
        timed(promise.name, &line, || promise.without.check(&run::read(&mut tree)?))?;
    }
    timed("tests", "cargo xtask test", || test::run(Which::Normal, None))?;
    println!("\nall passed in {}", run::human(started.elapsed()));
    Ok(())
}

fn timed(name: &str, line: &str, work: impl FnOnce() -> Result<()>) -> Result<()> {
    println!("\n== {name}: {line}");
    let started = Instant::now();
    let outcome = work();
    let time = run::human(started.elapsed());
    match outcome {
        Ok(()) => {
            println!("== {name}: passed in {time}");
            Ok(())
        }
        Err(why) => Err(format!("{why}\n\nci stopped at `{name}` after {time}; to repeat it:\n\n    {line}\n")),
    }
}

impl Without {
    /// Looks through `cargo tree`'s output, where a line starts with the package's name.
    fn check(&self, tree: &str) -> Result<()> {
        let names = tree.lines().filter_map(|line| line.split(' ').next());
        let found: Vec<_> = match self {
            // The first line is the package itself.
            Self::AnyDependency => names.skip(1).collect(),
            Self::These(banned) => names.filter(|name| banned.contains(name)).collect(),
        };
        if found.is_empty() {
            return Ok(());
        }
        Err(format!("a dependency that must not be there: {}", found.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_alone_has_one_line() {
        assert_eq!(Without::AnyDependency.check("kernel v0.1.0 (path)\n"), Ok(()));
        assert!(Without::AnyDependency.check("kernel v0.1.0 (path)\nserde v1.0.0\n").is_err());
    }

    #[test]
    fn names_match_whole() {
        let banned = Without::These(&["openssl"]);
        assert_eq!(banned.check("a v1.0.0\nopenssl-probe v0.1.0\n"), Ok(()));
        assert!(banned.check("a v1.0.0\nopenssl v0.10.0 (*)\n").is_err());
    }
}
