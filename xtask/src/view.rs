//! What of the tests' output a person wants to see: suites, results and, at the end, what failed.

/// A failed test shows so many lines; more of them are in the saved output.
const LINES: usize = 60;

/// Chooses the lines worth showing while the tests run.
#[derive(Default)]
pub(crate) struct View {
    /// Between a suite's first line and its result, where hundreds of tests pass.
    inside: bool,
}

impl View {
    /// Whether to show the next line.
    pub(crate) fn shows(&mut self, line: &str) -> bool {
        if self.inside {
            // A suite that crashed has no result; cargo's next line says so.
            let over = ["test result:", "     Running ", "   Doc-tests ", "error: "];
            self.inside = !over.iter().any(|start| line.starts_with(start));
            return !self.inside || worth_a_line(line);
        }
        self.inside = line.starts_with("running ") && line.contains(" test");
        !self.inside && !line.is_empty()
    }
}

fn worth_a_line(line: &str) -> bool {
    line.starts_with("test ") && (line.ends_with("FAILED") || line.contains("running for over"))
        || super::output::report(line).is_some()
}

/// A test that failed, and what it printed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Failure<'a> {
    pub(crate) name: &'a str,
    lines: Vec<&'a str>,
}

impl Failure<'_> {
    /// What it printed, so far as it is short.
    pub(crate) fn text(&self) -> String {
        let lines: Vec<_> = self.lines.iter().filter(|line| !line.is_empty()).collect();
        let shown = lines.iter().take(LINES).map(|line| format!("    {line}\n"));
        let more = lines.len().saturating_sub(LINES);
        let rest = if more > 0 { format!("    … and {more} lines more\n") } else { String::new() };
        shown.chain([rest]).collect()
    }
}

/// The tests that failed, in the order of their suites.
pub(crate) fn failures(output: &str) -> Vec<Failure<'_>> {
    let mut found: Vec<Failure<'_>> = Vec::new();
    let mut listing = false;
    let mut block = false;
    for line in output.lines() {
        match line {
            // The word heads what they printed, and then the list of their names.
            "failures:" => (listing, block) = (true, false),
            _ if line.starts_with("test result:") => (listing, block) = (false, false),
            _ if !listing => {}
            _ => match heading(line) {
                Some(name) => {
                    block = true;
                    found.push(Failure { name, lines: Vec::new() });
                }
                None if block => found.last_mut().into_iter().for_each(|last| last.lines.push(line)),
                // One that printed nothing has no heading, only its place in the list.
                None => {
                    let name = line.strip_prefix("    ").filter(|_| !block);
                    let new = name.filter(|name| found.iter().all(|failure| failure.name != *name));
                    found.extend(new.map(|name| Failure { name, lines: Vec::new() }));
                }
            },
        }
    }
    found
}

/// The name in `---- name stdout ----`, and in `---- name ----` of the conformance suites.
fn heading(line: &str) -> Option<&str> {
    let name = line.strip_prefix("---- ")?.strip_suffix(" ----")?;
    Some(name.strip_suffix(" stdout").unwrap_or(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "
     Running tests/one.rs (target/debug/deps/one)

running 3 tests
test fine ... ok
test loud ... FAILED
test quiet ... FAILED

successes:

---- fine stdout ----
---- not a heading ----

successes:
    fine

failures:

---- loud stdout ----
thread 'loud' panicked at tests/one.rs:1:1:
it broke

failures:
    loud
    quiet

test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

error: test failed, to rerun pass `--test one`
     Running tests/two.rs (target/debug/deps/two)

running 1 test
error: test failed, to rerun pass `--test two`
";

    #[test]
    fn passing_tests_are_not_shown() {
        let mut view = View::default();
        let shown: Vec<_> = OUTPUT.lines().filter(|line| view.shows(line)).collect();
        assert_eq!(
            shown,
            [
                "     Running tests/one.rs (target/debug/deps/one)",
                "test loud ... FAILED",
                "test quiet ... FAILED",
                "test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s",
                "error: test failed, to rerun pass `--test one`",
                "     Running tests/two.rs (target/debug/deps/two)",
                "error: test failed, to rerun pass `--test two`",
            ]
        );
    }

    #[test]
    fn failures_come_with_what_they_printed() {
        let failures = failures(OUTPUT);
        assert_eq!(failures.iter().map(|failure| failure.name).collect::<Vec<_>>(), ["loud", "quiet"]);
        assert_eq!(failures[0].text(), "    thread 'loud' panicked at tests/one.rs:1:1:\n    it broke\n");
        assert_eq!(failures[1].text(), "");
    }

    #[test]
    fn a_long_story_is_cut() {
        let lines = vec!["a line"; LINES + 2];
        let text = Failure { name: "long", lines }.text();
        assert_eq!(text.lines().count(), LINES + 1);
        assert!(text.ends_with("… and 2 lines more\n"), "{text}");
    }
}
