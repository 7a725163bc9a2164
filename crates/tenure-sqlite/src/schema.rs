//! What is in the file, and how SQLite is to treat it.

use crate::error::Failure;
use crate::patience;
use rusqlite::Connection;
use std::path::Path;
use tenure_core::{StoreError, StoreErrorKind};

/// Marks a file as ours: "Tenu".
const APPLICATION: i32 = 0x5465_6E75;
/// What the tables mean; a later version may mean something else.
const VERSION: i32 = 1;

/// How long the log may stay, in bytes: twice what it grows to before it is moved into the file.
const LONGEST_LOG: u32 = 8 << 20;

/// Times are microseconds since the boot in `meta`. The watermark is the largest token so far; none above the ceiling
/// was ever handed out.
const TABLES: &str = "
    CREATE TABLE meta (name TEXT PRIMARY KEY, value ANY) WITHOUT ROWID;
    CREATE TABLE locks (key BLOB PRIMARY KEY, record TEXT NOT NULL, forget INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE waiters (
        key BLOB, client TEXT, since INTEGER NOT NULL, state INTEGER NOT NULL, PRIMARY KEY (key, client)
    ) WITHOUT ROWID;
    CREATE TABLE clients (
        client TEXT PRIMARY KEY, host TEXT NOT NULL, pid INTEGER NOT NULL, label TEXT NOT NULL, until INTEGER NOT NULL
    ) WITHOUT ROWID;
    INSERT INTO meta VALUES ('boot', ''), ('watermark', 0), ('ceiling', 0);
";

/// Whose file it is.
enum Whose {
    Ours,
    Nobodys,
}

/// Makes sure that the file is ours to use, and that it is used as it must be. Changes nothing in a file of another's.
pub(crate) fn settle(db: &Connection, path: &Path) -> Result<(), Failure> {
    whose(db, path)?;
    // The log instead of a journal: one who looks does not stand in the way of one who writes.
    let mut looks = 0;
    let mode = loop {
        match db.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0)).map_err(Failure::from) {
            // To change the mode SQLite wants the file for itself, and does not wait for it.
            Err(failure) if failure.is_busy() && patience::wait(looks) => looks += 1,
            mode => break mode?,
        }
    };
    if mode != "wal" {
        let rule = "the file system cannot keep a write-ahead log, choose another";
        return Err(refused(StoreErrorKind::Unsupported, &format!("{rule}: mode=`{mode}`"), path));
    }
    // Damage is told instead of believed; what a file says about functions is not.
    db.execute_batch("PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF")?;
    // A log that grew because somebody read for long gives its space back when it starts over.
    db.execute_batch(&format!("PRAGMA journal_size_limit = {LONGEST_LOG}"))?;
    // By way of the log now, which is opened with it if it was not before.
    whose(db, path).map(drop)
}

/// Makes the tables, unless they are there. To be called in a transaction that writes.
pub(crate) fn make(db: &Connection, path: &Path) -> Result<(), Failure> {
    // Asked again: another process may have been faster.
    if let Whose::Nobodys = whose(db, path)? {
        db.execute_batch(TABLES)?;
        db.pragma_update(None, "application_id", APPLICATION)?;
        db.pragma_update(None, "user_version", VERSION)?;
    }
    Ok(())
}

fn whose(db: &Connection, path: &Path) -> Result<Whose, Failure> {
    let (application, version, tables): (i32, i32, i32) = db.query_row(
        "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema)
         FROM pragma_application_id, pragma_user_version",
        [],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    )?;
    match (application, version) {
        (APPLICATION, VERSION) => Ok(Whose::Ours),
        (APPLICATION, _) => {
            let rule = format!("the file was made by a later version, upgrade this one: version={version}");
            Err(refused(StoreErrorKind::Unsupported, &rule, path))
        }
        (0, 0) if tables == 0 => Ok(Whose::Nobodys),
        _ => {
            let rule = format!("the file is another program's database, choose another path: id={application}");
            Err(refused(StoreErrorKind::Conflict, &rule, path))
        }
    }
}

fn refused(kind: StoreErrorKind, rule: &str, path: &Path) -> Failure {
    StoreError::new(kind, format!("{rule} path=`{}`", path.display())).into()
}
