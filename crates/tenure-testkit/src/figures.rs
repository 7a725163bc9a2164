//! Long tests, and figures of speed: always printed, but asserted in full runs alone, which have the machine to themselves.

/// Whether long tests are to run: `cargo xtask test --full`, when the others are through.
pub fn is_full() -> bool {
    std::env::var_os("TENURE_FULL").is_some()
}

/// Whether the machine has nothing else to do, says `cargo xtask test --full`.
fn is_idle() -> bool {
    std::env::var_os("TENURE_IDLE").is_some()
}

/// A figure of speed, and whether it is as good as it has to be on a machine that has nothing else to do.
///
/// # Panics
///
/// If it is not, in a full run.
#[track_caller]
pub fn figure(good: bool, line: &str) {
    println!("{line}");
    assert!(good || !is_idle(), "not as fast as it has to be: {line}");
}
