//! Steps of locks, each or several together in one short transaction.

use crate::error::Failure;
use crate::name::name;
use crate::notices;
use crate::sheet::{Ask, Done, Sheet};
use crate::sides::{Side, Sides};
use crate::table;
use tenure_core::{Key, Outcome};
use tokio::time::Instant;

/// Takes a step of each lock at one moment, and writes them down unless one of them is not granted that was to be.
pub(crate) async fn step_all(
    sides: &Sides,
    asks: &[Ask<'_>],
    until: Instant,
    all_or_none: bool,
) -> Result<Vec<Done>, Failure> {
    loop {
        let mut side = sides.take(until).await?;
        let was_idle = side.was_idle;
        match try_step_all(&mut side, asks, all_or_none).await {
            Ok(Some((done, Some(writing)))) => {
                side.commit_with(&writing).await?;
                return Ok(done);
            }
            Ok(Some((done, None))) => {
                side.roll_back().await?;
                return Ok(done);
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
async fn try_step_all(
    side: &mut Side<'_>,
    asks: &[Ask<'_>],
    all_or_none: bool,
) -> Result<Option<(Vec<Done>, Option<String>)>, Failure> {
    let names: Vec<Vec<u8>> = asks.iter().map(|ask| name(ask.key)).collect();
    let (mut sheets, now) = table::lock(side, &names).await?;
    let missing: Vec<&Key> =
        asks.iter().zip(&names).filter(|(_, name)| !sheets.contains_key(*name)).map(|(ask, _)| ask.key).collect();
    if !missing.is_empty() {
        table::make(side, &missing).await?;
        return Ok(None);
    }
    if asks.iter().any(|ask| ask.operation.counts()) && sheets.values().any(|sheet| sheet.token == 0) {
        let watermark = table::watermark(side).await?;
        for sheet in sheets.values_mut().filter(|sheet| sheet.token == 0) {
            sheet.token = watermark;
        }
    }
    let (mut done, mut changed, mut last) = (Vec::with_capacity(asks.len()), Vec::new(), 0);
    for (ask, name) in asks.iter().zip(&names) {
        let Some(sheet) = sheets.get_mut(name) else { continue };
        let before = sheet.clone();
        // Of those that are taken together no two have the same token.
        if ask.operation.counts() {
            sheet.token = sheet.token.max(last);
        }
        done.push(sheet.step(ask, now));
        last = last.max(sheet.token);
        if all_or_none && !matches!(done.last(), Some(Done { outcome: Outcome::Granted(_), .. })) {
            return Ok(Some((done, None)));
        }
        if *sheet != before && !changed.contains(&name) {
            changed.push(name);
        }
    }
    if changed.is_empty() {
        return Ok(Some((done, None)));
    }
    // Before it is written down: whoever may not put the holder out has changed nothing.
    for done in &done {
        if let Some((_, connection)) = &done.put_out {
            side.end(*connection).await?;
        }
        if let Outcome::Forced(Some(sight)) = &done.outcome {
            notices::leave(side, sight).await?;
        }
    }
    let writing = table::writing(changed.iter().map(|name| (name.as_slice(), &sheets[*name])), now);
    Ok(Some((done, Some(writing))))
}

/// What a step would lead to, without taking it.
pub(crate) async fn look(sides: &Sides, ask: &Ask<'_>, until: Instant) -> Result<Outcome, Failure> {
    let name = name(ask.key);
    let (mut sheets, now) = table::look(sides, std::slice::from_ref(&name), until).await?;
    let mut sheet = sheets.remove(&name).unwrap_or_else(|| Sheet::new(ask.key));
    Ok(sheet.step(ask, now).outcome)
}
