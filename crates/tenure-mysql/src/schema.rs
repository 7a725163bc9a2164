//! The tables, and how they come to be.

use crate::error::Failure;
use mysql_async::Conn;
use mysql_async::prelude::Queryable;
use tenure_core::{StoreError, StoreErrorKind};

/// The statements that make the tables. They are run at first use, by whoever may; for everybody else, an administrator
/// runs them once.
pub const SCHEMA: &str = include_str!("schema.sql");

/// The version of the tables that this version of ours knows.
const VERSION: u64 = 1;
/// Looks at every table, so that one that is missing is missed.
const LOOK: &str = "SELECT value FROM tenure_meta WHERE name = 'schema' \
     AND (SELECT COUNT(*) FROM tenure_rows WHERE name = '') >= 0 \
     AND (SELECT COUNT(*) FROM tenure_locks WHERE name = '') >= 0 \
     AND (SELECT COUNT(*) FROM tenure_clients WHERE client = '') >= 0 \
     AND (SELECT COUNT(*) FROM tenure_notices WHERE client = '') >= 0";
/// There is no such table.
const NO_TABLE: u16 = 1146;

/// Makes sure that the tables are there and that we know them.
pub(crate) async fn ensure(conn: &mut Conn) -> Result<(), Failure> {
    match version(conn).await {
        Err(failure) if failure.code() == Some(NO_TABLE) => {}
        Ok(None) => {}
        Ok(Some(VERSION)) => return Ok(()),
        Ok(Some(version)) => {
            let message = format!(
                "the tables were made by another version of tenure, use that one or another database: \
                 schema={version} known={VERSION}"
            );
            return Err(StoreError::new(StoreErrorKind::Unsupported, message).into());
        }
        Err(failure) => return Err(failure),
    }
    for statement in statements() {
        conn.query_drop(statement).await.map_err(|error| match Failure::from(error) {
            failure if failure.is_denied() => StoreError::new(
                StoreErrorKind::Denied,
                "the tables are not there and this user may not make them: have somebody who may run what `tenure --url … schema` \
                 prints",
            )
            .into(),
            failure => failure,
        })?;
    }
    conn.query_drop("COMMIT").await?;
    Ok(())
}

async fn version(conn: &mut Conn) -> Result<Option<u64>, Failure> {
    let found = conn.query_first(LOOK).await;
    conn.query_drop("ROLLBACK").await?;
    Ok(found?)
}

/// One by one: most servers take no more at a time. A line that is a comment may have any sign in it.
fn statements() -> impl Iterator<Item = String> {
    let lines: Vec<&str> = SCHEMA.lines().filter(|line| !line.trim_start().starts_with("--")).collect();
    let statements: Vec<String> = lines.join("\n").split(';').map(|statement| statement.trim().to_owned()).collect();
    statements.into_iter().filter(|statement| !statement.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_statement_for_each_table_and_one_for_what_is_in_them_at_first() {
        let statements: Vec<_> = statements().collect();
        assert_eq!(statements.len(), 6, "{statements:?}");
        assert!(statements[..5].iter().all(|statement| statement.starts_with("CREATE TABLE IF NOT EXISTS tenure_")));
    }
}
