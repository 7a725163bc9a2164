//! The table of locks: how sheets are read from it and written to it.

use crate::error::Failure;
use crate::link::NOW;
use crate::name::name;
use crate::sheet::{Seat, Sheet};
use crate::sides::{Side, Sides};
use mysql_async::Value;
use std::collections::HashMap;
use tenure_core::kernel::{Record, Time, step};
use tenure_core::records::{Entry, Liveness, Page};
use tenure_core::{Claim, Key, Kind, Operation, StoreError, StoreErrorKind, Token};
use tokio::time::Instant;

pub(crate) type Sheets = HashMap<Vec<u8>, Sheet>;
type Columns = (Vec<u8>, Vec<u8>, Vec<u8>, Option<Vec<u8>>, Option<String>, Option<u64>, u64, u64, u64);

const COLUMNS: &str = "name, lock_key, record, seat, seat_session, \
                       IF(seat_session IS NULL, NULL, IS_USED_LOCK(seat_session)), token, version";

/// The sheets of these names that there are, each locked, and the time.
pub(crate) async fn lock(side: &mut Side<'_>, names: &[Vec<u8>]) -> Result<(Sheets, Time), Failure> {
    let statement = format!("{} ORDER BY name FOR UPDATE", selecting(&format!("{COLUMNS}, {NOW}"), names.len()));
    sheets(side.rows(&statement, params(names)).await?)
}

/// The same for one who only looks.
pub(crate) async fn look(sides: &Sides, names: &[Vec<u8>], until: Instant) -> Result<(Sheets, Time), Failure> {
    sheets(sides.read(&selecting(&format!("{COLUMNS}, {NOW}"), names.len()), params(names), until).await?)
}

fn selecting(columns: &str, names: usize) -> String {
    format!("SELECT {columns} FROM tenure_locks WHERE name IN ({})", vec!["?"; names].join(", "))
}

fn params(names: &[Vec<u8>]) -> Vec<Value> {
    names.iter().map(|name| name.clone().into()).collect()
}

fn sheets(rows: Vec<Columns>) -> Result<(Sheets, Time), Failure> {
    let (mut sheets, mut now) = (Sheets::with_capacity(rows.len()), Time::default());
    for row in rows {
        let (name, sheet, then) = read(row)?;
        sheets.insert(name, sheet);
        now = now.max(then);
    }
    Ok((sheets, now))
}

/// The next locks after a name, of those that are not to be forgotten yet.
pub(crate) async fn page(sides: &Sides, after: &[u8], most: u64, until: Instant) -> Result<Page, Failure> {
    let statement =
        format!("SELECT {COLUMNS}, {NOW} FROM tenure_locks WHERE name > ? AND forget > {NOW} ORDER BY name LIMIT ?");
    let rows: Vec<Columns> = sides.read(&statement, (after, most), until).await?;
    let next = rows.last().map(|row| row.0.clone()).filter(|_| rows.len() as u64 == most);
    let (mut entries, mut now) = (Vec::with_capacity(rows.len()), Time::default());
    // What a later version has written is not what was asked for.
    for (_, sheet, then) in rows.into_iter().filter_map(|row| read(row).ok()) {
        now = now.max(then);
        entries.push((sheet.key.clone(), sheet.entry()));
    }
    Ok(Page { entries, now, liveness: Liveness::Leases, next })
}

/// For each of these locks how often those who wait were to look again.
pub(crate) async fn versions(
    sides: &Sides,
    names: &[Vec<u8>],
    until: Instant,
) -> Result<HashMap<Vec<u8>, u64>, Failure> {
    Ok(sides.read(&selecting("name, version", names.len()), params(names), until).await?.into_iter().collect())
}

/// Of those who stand in these lines, the ones whose turn it is.
pub(crate) async fn admissible(sides: &Sides, names: &[Vec<u8>], until: Instant) -> Result<Vec<Claim>, Failure> {
    let (sheets, now) = look(sides, names, until).await?;
    let current = |record| step(Kind::Reentrant, record, &Operation::Inspect, now, 0).record;
    Ok(sheets.into_values().flat_map(|sheet| current(sheet.entry.record).admissible()).collect())
}

fn read(columns: Columns) -> Result<(Vec<u8>, Sheet, Time), Failure> {
    let (name, key, record, seat, session, connection, token, version, now) = columns;
    let text = String::from_utf8_lossy(&record);
    let record = if text.is_empty() { Record::default() } else { text.parse()? };
    let key = Key::new(&String::from_utf8_lossy(&key)).map_err(|error| {
        StoreError::new(StoreErrorKind::Unexpected, format!("a row of tenure_locks has a key that is none: {error}"))
    })?;
    let seat = seat.zip(session).map(|(claim, session)| {
        let claim = Claim::found(&String::from_utf8_lossy(&claim));
        Seat { claim, session, connection }
    });
    Ok((name, Sheet { key, entry: Entry::new(record, token), seat, version }, Time::from_micros(now)))
}

/// Makes sheets that are missing.
pub(crate) async fn make(side: &mut Side<'_>, keys: &[&Key]) -> Result<(), Failure> {
    for key in keys {
        let statement = format!(
            "INSERT IGNORE INTO tenure_locks (name, lock_key, holder_count, token, record, version, used, forget)
             VALUES (?, ?, 0, 0, '', 0, {NOW}, 0)"
        );
        side.run(&statement, (name(key), key.as_str().as_bytes())).await?;
    }
    Ok(())
}

/// The largest token of the locks that were forgotten.
pub(crate) async fn watermark(side: &mut Side<'_>) -> Result<Token, Failure> {
    let found: Vec<Token> = side.rows("SELECT value FROM tenure_meta WHERE name = 'watermark'", ()).await?;
    Ok(found.first().copied().unwrap_or(0))
}

/// The statement that writes these sheets down. All that is not a number is in hexadecimal digits, which mean nothing to SQL,
/// so that it can be sent together with the commit.
pub(crate) fn writing<'a>(sheets: impl Iterator<Item = (&'a [u8], &'a Sheet)>, now: Time) -> String {
    let rows: Vec<String> = sheets.map(|(name, sheet)| row(name, sheet, now)).collect();
    format!(
        "INSERT INTO tenure_locks \
             (name, lock_key, holder, holder_count, token, seat, seat_session, record, version, used, forget) \
         VALUES {} \
         ON DUPLICATE KEY UPDATE holder = VALUES(holder), holder_count = VALUES(holder_count), token = VALUES(token), \
             seat = VALUES(seat), seat_session = VALUES(seat_session), record = VALUES(record), \
             version = VALUES(version), used = VALUES(used), forget = VALUES(forget)",
        rows.join(", ")
    )
}

fn row(name: &[u8], Sheet { key, entry, seat, version }: &Sheet, now: Time) -> String {
    let Entry { record, watermark: token, .. } = entry;
    let hold = record.hold.as_ref().and_then(|hold| hold.claims.first());
    let share = record.shares.first().map(|share| (&share.claim, share.count));
    let holder = hold.map(|entered| (&entered.claim, entered.count)).or(share);
    let record_text = if record.is_empty() { String::new() } else { record.to_string() };
    let written = [
        literal(name),
        literal(key.as_str().as_bytes()),
        holder.map_or_else(null, |(claim, _)| literal(claim.as_str().as_bytes())),
        holder.map_or(0, |(_, count)| count).to_string(),
        token.to_string(),
        seat.as_ref().map_or_else(null, |seat| literal(seat.claim.as_str().as_bytes())),
        seat.as_ref().map_or_else(null, |seat| literal(seat.session.as_bytes())),
        literal(record_text.as_bytes()),
        version.to_string(),
        now.as_micros().to_string(),
        record.forget_at().as_micros().to_string(),
    ];
    format!("({})", written.join(", "))
}

fn null() -> String {
    "NULL".to_owned()
}

/// Bytes as SQL has them.
fn literal(bytes: &[u8]) -> String {
    let mut literal = String::with_capacity(bytes.len() * 2 + 3);
    literal.push_str("X'");
    for byte in bytes {
        for digit in [byte >> 4, byte & 15] {
            literal.push(char::from_digit(digit.into(), 16).unwrap_or('0'));
        }
    }
    literal.push('\'');
    literal
}
