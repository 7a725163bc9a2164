//! Figures of speed: always printed, but asserted in full runs alone, which have the machine to themselves.

/// Whether this is a full run: `cargo xtask test --full`.
pub fn is_full() -> bool {
    std::env::var_os("TENURE_FULL").is_some()
}

/// A figure of speed, and whether it is as good as it has to be on a machine that has nothing else to do.
///
/// # Panics
///
/// If it is not, in a full run.
#[track_caller]
pub fn figure(good: bool, line: &str) {
    println!("{line}");
    assert!(good || !is_full(), "not as fast as it has to be: {line}");
}
