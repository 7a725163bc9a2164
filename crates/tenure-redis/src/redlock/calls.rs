//! The calls that a majority needs besides those of a single server.

use super::holds::Held;
use crate::call::{Call, Millis};
use crate::names;
use crate::script::{self, Script};
use redis::Cmd;
use std::time::Duration;
use tenure_core::{Claim, Key, Kind, Token};

/// Gives a hold the token that was agreed on.
pub(super) struct Stamp<'a> {
    pub(super) kind: Kind,
    pub(super) key: &'a Key,
    pub(super) claim: &'a Claim,
    pub(super) token: Token,
    /// A majority has it already.
    pub(super) late: bool,
}

impl Call for Stamp<'_> {
    fn script(&self) -> &'static Script {
        if self.kind == Kind::Simple { &script::STAMP_SIMPLE } else { &script::STAMP }
    }

    fn write(&self, command: &mut Cmd) {
        command.arg(2).arg(self.key.as_str()).arg(names::WATERMARK).arg(self.claim.as_str()).arg(self.token);
        command.arg(if self.late { "late" } else { "" });
    }

    fn size(&self) -> (usize, usize) {
        (6, self.key.as_str().len() + 128)
    }
}

/// Puts a hold into a server that has forgotten it.
pub(super) struct Join<'a> {
    pub(super) kind: Kind,
    pub(super) key: &'a Key,
    pub(super) claim: &'a Claim,
    pub(super) held: &'a Held,
    pub(super) lease: Duration,
}

impl Call for Join<'_> {
    fn script(&self) -> &'static Script {
        if self.kind == Kind::Simple { &script::JOIN_SIMPLE } else { &script::JOIN }
    }

    fn write(&self, command: &mut Cmd) {
        command.arg(3).arg(self.key.as_str()).arg(names::WATERMARK);
        command.arg(names::tombstones(self.key, self.claim));
        let Held { token, under, count, change, .. } = self.held;
        command.arg(self.claim.as_str()).arg(token).arg(Millis(self.lease)).arg(count).arg(change);
        if self.kind == Kind::Reentrant {
            command.arg(under.iter().map(Claim::as_str).collect::<Vec<_>>().join("/"));
        }
    }

    fn size(&self) -> (usize, usize) {
        let under: usize = self.held.under.iter().map(|claim| claim.as_str().len() + 1).sum();
        (10, 2 * self.key.as_str().len() + under + 192)
    }
}
