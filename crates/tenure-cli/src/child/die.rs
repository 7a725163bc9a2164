//! `tenure __die N`: dies of a signal.
//!
//! A script that waits for us goes on unless we die of Ctrl-C as our command did. We handle that signal ourselves, and
//! a handler is only gone once another program has taken our place.

use super::{DIE, ourselves};
use crate::exit::of_signal;
use rustix::process::{Signal, getpid, kill_process};
use std::env::ArgsOs;
use std::iter::Skip;
use std::os::unix::process::CommandExt;
use std::process::ExitCode;

/// Dies of a signal. Returns only if that cannot be done.
pub(crate) fn die_of(signal: i32) {
    let _ = ourselves(DIE).arg(signal.to_string()).exec();
}

pub(super) fn main(mut words: Skip<ArgsOs>) -> ExitCode {
    let signal = words.next().and_then(|word| word.to_str()?.parse().ok()).unwrap_or_default();
    if let Some(signal) = Signal::from_named_raw(signal) {
        let _ = kill_process(getpid(), signal);
    }
    of_signal(signal).into()
}
