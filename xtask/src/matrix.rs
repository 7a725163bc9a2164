//! `cargo xtask matrix`: what the README says of each store, from the stores' labels.

use crate::run::{self, Result};

/// Writes it, or only checks that it is as it would be written.
///
/// A test of the crate `tenure` does both, so that this program is built without the stores.
pub(crate) fn run(check: bool) -> Result<()> {
    let mut cargo = run::cargo(["test", "--quiet", "-p", "tenure", "--all-features", "--test", "matrix"]);
    if check {
        cargo.env_remove("TENURE_MATRIX");
    } else {
        cargo.env("TENURE_MATRIX", "write");
    }
    run::run(&mut cargo)
}
