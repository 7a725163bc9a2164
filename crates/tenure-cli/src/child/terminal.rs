//! The terminal that we share with our command: one process group at a time has it.

use nix::sys::signal::{SigSet, Signal};
use rustix::process::{Pid, getpgrp};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr, tcsetpgrp};
use std::fs::{File, OpenOptions};

/// Our terminal.
pub(super) struct Terminal {
    tty: File,
    /// Our own group, which a shell gives the terminal to.
    own: Pid,
    modes: Termios,
    handed: bool,
}

impl Terminal {
    /// None if we have none.
    pub(super) fn open() -> Option<Self> {
        let tty = OpenOptions::new().read(true).write(true).open("/dev/tty").ok()?;
        let modes = tcgetattr(&tty).ok()?;
        // Whoever is in the background and takes the terminal, or prints to it, is stopped unless this is blocked. Only
        // here, on the thread that does: the signal itself still reaches us on another.
        let mut stop = SigSet::empty();
        stop.add(Signal::SIGTTOU);
        stop.thread_block().ok()?;
        Some(Self { tty, own: getpgrp(), modes, handed: false })
    }

    /// Whether our own group has it.
    pub(super) fn is_ours(&self) -> bool {
        tcgetpgrp(&self.tty).is_ok_and(|group| group == self.own)
    }

    /// Hands it to a group, if it is ours to give.
    pub(super) fn hand_to(&mut self, group: Pid) {
        if self.is_ours() {
            self.handed = tcsetpgrp(&self.tty, group).is_ok();
        }
    }

    /// Whether the command has it from us.
    pub(super) fn is_handed(&self) -> bool {
        self.handed
    }

    /// Takes it back from the command, if the command has it from us.
    pub(super) fn take_back(&mut self) {
        if std::mem::take(&mut self.handed) {
            // Fails only if the terminal is gone.
            let _ = tcsetpgrp(&self.tty, self.own);
        }
    }

    /// Undoes what a command that was killed did to the terminal's modes.
    pub(super) fn restore_modes(&self) {
        if self.is_ours() {
            let _ = tcsetattr(&self.tty, OptionalActions::Drain, &self.modes);
        }
    }
}
