//! Several locks taken in one transaction.

use crate::error::Failure;
use crate::file::{File, Lasting};
use crate::machine;
use tenure_core::kernel::{Grant, Stepped, Time, step};
use tenure_core::{Joint, Outcome, Token, Wanted};

/// What becomes of the locks, before anything is written down.
struct Steps {
    /// Who is in the way, or a grant for each.
    joint: Joint,
    /// For each its record before and after.
    stepped: Vec<(tenure_core::kernel::Record, Stepped)>,
    watermark: Token,
}

impl File {
    /// Takes all of the locks, or none, and tells those whom it concerns.
    pub(crate) fn acquire_all(&self, wanted: &[Wanted]) -> Result<Joint, Failure> {
        // Most of those that are not free are found so without waiting for whoever writes.
        let looked = self.steps(wanted, 0)?.joint;
        if !matches!(looked, Joint::Granted(_)) {
            return Ok(looked);
        }
        let work = |file: &Self| {
            let watermark = file.meta("watermark")?.max(machine::floor());
            let steps = file.steps(wanted, watermark)?;
            let mut calls = Vec::new();
            if let Joint::Granted(grants) = &steps.joint {
                for ((one, grant), (before, stepped)) in wanted.iter().zip(grants).zip(&steps.stepped) {
                    file.note(&one.key, before, &stepped.record)?;
                    calls.extend(file.calls(&one.key, &Outcome::Granted(*grant), &stepped.called)?);
                }
                if steps.watermark != watermark {
                    file.hand_out(steps.watermark)?;
                }
                file.sweep()?;
            }
            Ok((steps.joint, calls))
        };
        let (joint, calls) = match self.write(Lasting::No, work) {
            Err(Failure::MustLast) => self.write(Lasting::Yes, work)?,
            done => done?,
        };
        // After the commit, as for a single lock.
        for call in calls {
            self.bells.ring(&call.client, &call.words);
        }
        Ok(joint)
    }

    /// The steps, at one moment; up to the first that is not granted.
    fn steps(&self, wanted: &[Wanted], mut watermark: Token) -> Result<Steps, Failure> {
        let now: Time = self.now();
        let mut grants: Vec<Grant> = Vec::with_capacity(wanted.len());
        let mut stepped = Vec::with_capacity(wanted.len());
        for (at, one) in wanted.iter().enumerate() {
            let before = self.load(&one.key)?.unwrap_or_default();
            let step = step(one.kind, before.clone(), &one.operation(), now, watermark);
            let Outcome::Granted(grant) = step.outcome else {
                return Ok(Steps { joint: Joint::InTheWay { at, answer: Ok(step.outcome) }, stepped, watermark });
            };
            watermark = step.watermark;
            grants.push(grant);
            stepped.push((before, step));
        }
        Ok(Steps { joint: Joint::Granted(grants), stepped, watermark })
    }
}
