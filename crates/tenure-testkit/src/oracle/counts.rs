//! What is asked of semaphores, permits and latches.

use super::Replay;
use std::time::Duration;
use tenure_core::kernel::{Counting, FIRST_ENTRY, Supplying, Want};
use tenure_core::{Backend, Claim, Kind, Operation, Stay};

/// Whether keys of this kind are counts, of which nobody holds the whole.
pub(super) fn is_counted(kind: Kind) -> bool {
    kind.has_permits() || kind == Kind::Latch
}

/// Whether an operation is about counts alone: another kind of lock is told of it, and not asked.
pub(super) fn is_about(operation: &Operation) -> bool {
    matches!(operation, Operation::Take { .. } | Operation::Supply(_) | Operation::Count(_))
}

/// Names of permits, as Redisson has them.
const IDS: [&str; 4] = [
    "00112233445566778899aabbccddeeff",
    "ffeeddccbbaa99887766554433221100",
    "0123456789abcdef0123456789abcdef",
    "7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f",
];

impl<B: Backend> Replay<'_, B> {
    /// What one of the claims asks of a count.
    pub(super) fn count(&mut self) -> (usize, Operation) {
        let any = self.random.usize(..self.claims.len());
        let again = self.cancelled.filter(|_| self.random.bool());
        let who = again.map_or(any, |(who, _)| who);
        (who, if self.kind == Kind::Latch { self.count_down(who) } else { self.permits(who) })
    }

    fn count_down(&mut self, who: usize) -> Operation {
        let count = self.random.u32(0..4);
        Operation::Count(match self.random.u32(0..12) {
            0 => Counting::Look,
            1 => Counting::Wait(None),
            2..4 => Counting::Begin(count),
            4 => Counting::Set(count),
            5..9 => Counting::Down(self.random.bool().then(|| self.claims[who].clone())),
            9 => Counting::Delete,
            10 => return Operation::Inspect,
            _ => return Operation::ForceRelease,
        })
    }

    fn permits(&mut self, who: usize) -> Operation {
        let (claim, lease) = (self.claims[who].clone(), self.millis(1..100, 40..150));
        let named = self.kind == Kind::Permits;
        match self.random.u32(0..18) {
            0..7 => {
                let want = if named { Want::Named(self.ids()) } else { Want::Some(self.random.u32(1..5)) };
                let of = self.random.bool().then_some(3);
                let stay = match self.random.u32(0..4) {
                    0 => Stay::No,
                    _ if named => Stay::Waits,
                    _ => Stay::InLine { place: self.millis(1..150, 60..250) },
                };
                Operation::Take { claim, want, of, lease, stay }
            }
            7..9 => Operation::Renew { claim: if named { self.ids().swap_remove(0) } else { claim }, lease },
            9..12 => {
                let cancel = self.cancel((who, FIRST_ENTRY));
                if named && self.random.u32(0..4) > 0 {
                    let cancel = cancel.map(|cancel| (claim, cancel));
                    return Operation::GiveBack { ids: self.ids(), all: self.random.bool(), cancel };
                }
                let keep = if self.random.u32(0..6) == 0 { self.millis(1..80, 40..150) } else { Duration::ZERO };
                Operation::Release { claim, left: 0, change: 1, lease, keep, cancel }
            }
            12..16 => Operation::Supply(match self.random.u32(0..8) {
                0..3 => Supplying::Look,
                3..5 => Supplying::Begin(3),
                5 => Supplying::Set(self.random.u32(0..5)),
                6 => Supplying::Add(self.random.i64(-2..3)),
                _ => Supplying::Drain,
            }),
            16 => Operation::ForceRelease,
            _ => Operation::Inspect,
        }
    }

    /// One to three of the names.
    fn ids(&mut self) -> Vec<Claim> {
        let mut ids: Vec<Claim> = IDS.iter().map(|id| Claim::found(id)).collect();
        self.random.shuffle(&mut ids);
        ids.truncate(self.random.usize(1..=3));
        ids
    }
}
