//! What `#[locked]` accepts and runs, and what it says to those who hold it wrong.

#[test]
fn what_is_right_compiles_and_runs() {
    trybuild::TestCases::new().pass("tests/ui/pass/*.rs");
}

#[test]
fn what_is_wrong_is_said_where_it_is_written() {
    trybuild::TestCases::new().compile_fail("tests/ui/fail/*.rs");
}
