//! Steps of locks, each or several together in one short transaction.

use crate::error::Failure;
use crate::name::name;
use crate::notices;
use crate::sheet::{Ground, Sheet};
use crate::sides::{Side, Sides};
use crate::table::{self, Sheets};
use tenure_core::kernel::Time;
use tenure_core::records::{Done, Entry, Liveness, Loaded, Notices, run};
use tenure_core::{Applied, Batch, Key, Outcome};
use tokio::time::Instant;

/// The steps of one call, each with the ground on which it is asked for: the same for all, or one for each.
#[derive(Clone, Copy)]
pub(crate) struct Ask<'a> {
    pub(crate) batch: Batch<'a>,
    pub(crate) grounds: &'a [Ground<'a>],
}

impl<'a> Ask<'a> {
    /// These steps, on the ground of what is written down alone.
    pub(crate) fn plain(batch: Batch<'a>) -> Self {
        Self { batch, grounds: &[Ground::Sheet] }
    }

    fn ground(&self, at: usize) -> Ground<'a> {
        self.grounds.get(at).or(self.grounds.last()).copied().unwrap_or(Ground::Sheet)
    }
}

/// What became of them.
#[derive(Debug)]
pub(crate) struct Taken {
    pub(crate) applied: Applied,
    pub(crate) notices: Notices,
    /// The sessions whose row locks are taken away by it, and the server's numbers for them.
    pub(crate) put_out: Vec<(String, u64)>,
}

/// Takes the steps at one moment, and writes down what has changed.
pub(crate) async fn take(sides: &Sides, ask: Ask<'_>, until: Instant) -> Result<Taken, Failure> {
    loop {
        let mut side = sides.take(until).await?;
        let was_idle = side.was_idle;
        match try_take(&mut side, ask).await {
            Ok(Some((taken, Some(writing)))) => {
                side.commit_with(&writing).await?;
                return Ok(taken);
            }
            Ok(Some((taken, None))) => {
                side.roll_back().await?;
                return Ok(taken);
            }
            // Sheets were missing, and were made: on their own, or those who come first at the same time would lock each
            // other out.
            Ok(None) => side.commit().await?,
            Err(failure) => {
                if failure.spares_connection() {
                    side.roll_back().await?;
                }
                sides.again(failure, was_idle, until).await?;
            }
        }
    }
}

/// The steps and what writes them down, if they changed anything; or nothing if there was a sheet missing.
async fn try_take(side: &mut Side<'_>, ask: Ask<'_>) -> Result<Option<(Taken, Option<String>)>, Failure> {
    let keys = ask.batch.keys();
    let names: Vec<Vec<u8>> = keys.iter().map(|key| name(key)).collect();
    let (mut sheets, now) = table::lock(side, &names).await?;
    let missing: Vec<&Key> =
        keys.iter().zip(&names).filter(|(_, name)| !sheets.contains_key(*name)).map(|(key, _)| *key).collect();
    if !missing.is_empty() {
        table::make(side, &missing).await?;
        return Ok(None);
    }
    if ask.batch.counts() && sheets.values().any(|sheet| sheet.entry.watermark == 0) {
        let watermark = table::watermark(side).await?;
        for sheet in sheets.values_mut().filter(|sheet| sheet.entry.watermark == 0) {
            sheet.entry.watermark = watermark;
        }
    }
    let before = sheets.clone();
    let taken = steps(ask, &names, &mut sheets, now);
    let changed: Vec<&Vec<u8>> = names.iter().filter(|name| sheets.get(*name) != before.get(*name)).collect();
    if changed.is_empty() || matches!(taken.applied, Applied::Stopped { .. }) {
        return Ok(Some((taken, None)));
    }
    // Before it is written down: whoever may not put the holder out has changed nothing.
    for (_, connection) in &taken.put_out {
        side.end(*connection).await?;
    }
    notices::leave(side, &taken.notices.forced).await?;
    let writing = table::writing(changed.into_iter().map(|name| (name.as_slice(), &sheets[name])), now);
    Ok(Some((taken, Some(writing))))
}

/// Takes the steps on these sheets, of which there is one for each key.
fn steps(ask: Ask<'_>, names: &[Vec<u8>], sheets: &mut Sheets, now: Time) -> Taken {
    let turned_away = ask.batch.steps.iter().enumerate().find_map(|(at, step)| {
        let sheet = sheets.get(&name(&step.key))?;
        Some((at, sheet.turns_away(ask.ground(at), &step.operation, now)?))
    });
    let entries: Vec<Entry> = names.iter().map(|name| sheets.get(name).map(Sheet::entry).unwrap_or_default()).collect();
    let Done { entries, applied, notices } = run(ask.batch, Loaded { entries, now, liveness: Liveness::Leases });
    let mut put_out = Vec::new();
    match (turned_away, applied) {
        // Another one before it is in the way, and nothing was changed.
        (Some((first, _)), Applied::Stopped { at, answer }) if at < first => {
            let applied = Applied::Stopped { at, answer };
            Taken { applied, notices, put_out }
        }
        (Some((at, answer)), _) if ask.batch.all_or_none => {
            let applied = Applied::Stopped { at, answer: Ok(answer) };
            Taken { applied, notices: Notices::default(), put_out }
        }
        // Who asks without a row asks for nothing else.
        (Some((_, answer)), _) => Taken { applied: Applied::one(answer), notices: Notices::default(), put_out },
        (None, applied) => {
            for (name, entry) in names.iter().zip(entries) {
                if let Some(sheet) = sheets.get_mut(name) {
                    sheet.update(entry);
                }
            }
            if let Applied::Each(answers) = &applied {
                for (at, (step, answer)) in ask.batch.steps.iter().zip(answers).enumerate() {
                    if let (Some(sheet), Ok(outcome)) = (sheets.get_mut(&name(&step.key)), answer) {
                        put_out.extend(sheet.reseat(ask.ground(at), &step.operation, outcome));
                    }
                }
            }
            Taken { applied, notices, put_out }
        }
    }
}

/// What a step would lead to, without taking it.
pub(crate) async fn look(sides: &Sides, ask: Ask<'_>, until: Instant) -> Result<Outcome, Failure> {
    let names: Vec<Vec<u8>> = ask.batch.keys().into_iter().map(name).collect();
    let (mut sheets, now) = table::look(sides, &names, until).await?;
    for step in ask.batch.steps {
        sheets.entry(name(&step.key)).or_insert_with(|| Sheet::new(&step.key));
    }
    Ok(steps(ask, &names, &mut sheets, now).applied.single()?)
}
