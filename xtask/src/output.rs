//! Reading what the tests printed: totals, planted secrets, reports of long tests.

use std::fmt;

/// Part of every password the tests use; nothing may ever print it.
const CANARY: &str = "hunter2-canary";

/// How the tests of all suites ended.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) ignored: u64,
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { passed, failed, ignored } = self;
        write!(f, "{passed} passed, {failed} failed, {ignored} ignored")
    }
}

/// The sum of all `test result:` lines.
pub(crate) fn totals(output: &str) -> Totals {
    let mut totals = Totals::default();
    for line in output.lines() {
        // ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s
        let Some(result) = line.strip_prefix("test result: ") else {
            continue;
        };
        let words: Vec<_> = result.split_whitespace().collect();
        for pair in words.windows(2) {
            let Ok(count) = pair[0].parse::<u64>() else {
                continue;
            };
            match pair[1] {
                "passed;" => totals.passed += count,
                "failed;" => totals.failed += count,
                "ignored;" => totals.ignored += count,
                _ => {}
            }
        }
    }
    totals
}

/// The numbers, from 1, of the lines that show a planted secret.
pub(crate) fn leaks(output: &str) -> Vec<usize> {
    (1..)
        .zip(output.lines())
        .filter(|(_, line)| line.contains(CANARY) || plain(line).contains(CANARY))
        .map(|(number, _)| number)
        .collect()
}

/// What long tests reported by lines such as `FULL | handoffs | 1000000 | 0 lost`.
pub(crate) fn reports(output: &str) -> Vec<&str> {
    output.lines().filter_map(report).collect()
}

/// What the line reports, if it is such a line.
pub(crate) fn report(line: &str) -> Option<&str> {
    // One test at a time, the harness leaves its line open: `test name ... FULL | …`.
    let line = match line.strip_prefix("test ") {
        Some(open) => open.split_once(" ... ")?.1,
        None => line,
    };
    line.strip_prefix("FULL | ").map(str::trim)
}

/// The output without the escape sequences that colour it, which split what we look for.
pub(crate) fn plain(output: &str) -> String {
    let mut pieces = output.split("\u{1b}[");
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        // Parameters such as `1;32`, then one letter that ends the sequence.
        let rest = piece.trim_start_matches(|c| matches!(c, ' '..='?'));
        plain.push_str(rest.strip_prefix(|c| matches!(c, '@'..='~')).unwrap_or(rest));
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_lines_add_up() {
        let output = "\
running 4 tests
test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s
   Doc-tests tenure
test result: FAILED. 20 passed; 2 failed; 0 ignored; 7 measured; 9 filtered out; finished in 1.00s
";
        let expected = Totals { passed: 23, failed: 2, ignored: 1 };
        assert_eq!(totals(output), expected);
        assert_eq!(expected.to_string(), "23 passed, 2 failed, 1 ignored");
    }

    #[test]
    fn other_lines_do_not_count() {
        let output = "saw test result: ok. 3 passed; 1 failed;\n3 passed; 2 failed;\n";
        assert_eq!(totals(output), Totals::default());
    }

    #[test]
    fn colours_hide_nothing() {
        let output = plain("test result: \u{1b}[1;32mok\u{1b}[0m. 1 passed; 0 failed; 0 ignored;\n");
        assert_eq!(totals(&output).passed, 1);
    }

    #[test]
    fn escapes_swallow_no_text() {
        assert_eq!(plain("a\u{1b}[\nb\u{1b}c\u{1b}[0m\u{1b}[K"), "a\nb\u{1b}c");
        let (left, right) = CANARY.split_at(4);
        let split = format!("{left}\u{1b}[31m{right}");
        let after = format!("\u{1b}[{CANARY}");
        assert_eq!(leaks(&format!("{split}\n{after}")), [1, 2]);
    }

    #[test]
    fn leaks_are_found_by_line() {
        let output = format!("fine\nredis://:{CANARY}-1@host\nfine\nAUTH \"{CANARY}\"");
        // Compared as numbers only: a failure must not print the marker itself.
        assert_eq!(leaks(&output), [2, 4]);
        assert_eq!(leaks("hunter2\ncanary\n"), [0; 0]);
    }

    #[test]
    fn reports_are_found_where_the_harness_leaves_them() {
        let output = "\
test handoffs ... FULL | handoffs | 1000000 | 0 lost
FULL | waits | 12 | p99 3 ms
ok
noise FULL | not | a | report
test quiet ... ok
";
        assert_eq!(reports(output), ["handoffs | 1000000 | 0 lost", "waits | 12 | p99 3 ms"]);
    }
}
