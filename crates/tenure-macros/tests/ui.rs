//! What `#[locked]` accepts and runs, and what it says to those who hold it wrong.

#[test]
fn what_is_right_runs_and_what_is_wrong_is_said_where_it_is_written() {
    // One set of cases: two would build everything twice.
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/pass/*.rs");
    cases.compile_fail("tests/ui/fail/*.rs");
}
