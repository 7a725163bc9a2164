//! The texts of `fence::sql`, run by SQLite.

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use tenure::fence::sql::{Dialect, Statement, Table};

fn table(connection: &Connection, name: &str) -> Table {
    let columns = "(id TEXT PRIMARY KEY, balance INTEGER, fence BIGINT NOT NULL DEFAULT 0)";
    connection.execute_batch(&format!("CREATE TABLE {name} {columns}")).unwrap();
    Table::new(Dialect::Sqlite, name.trim_matches('"'), "id").unwrap()
}

fn write(connection: &Connection, statement: &Statement, balance: i64, token: u64) -> bool {
    let parameters = statement.parameters::<Value>("mine".to_owned().into(), [balance.into()], token).unwrap();
    let rows = connection.execute(statement.text(), params_from_iter(parameters)).unwrap();
    statement.outcome(token, rows as u64).is_ok()
}

fn row(connection: &Connection, table: &str) -> (i64, i64) {
    let text = format!("SELECT balance, fence FROM {table} WHERE id = 'mine'");
    connection.query_row(&text, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
}

#[test]
fn an_upsert_is_guarded_from_the_first_row_on() {
    let connection = Connection::open_in_memory().unwrap();
    for name in ["account", "main.shop", "\"order\""] {
        let upsert = table(&connection, name).upsert(&["balance"]).unwrap();
        for (balance, token, done) in
            [(100, 5, true), (100, 5, true), (50, 7, true), (30, 6, false), (30, 5, false), (40, 7, true)]
        {
            assert_eq!(write(&connection, &upsert, balance, token), done, "{name} {token}");
        }
        assert_eq!(row(&connection, name), (40, 7));
    }
}

#[test]
fn an_update_is_guarded_and_makes_no_row() {
    let connection = Connection::open_in_memory().unwrap();
    let update = table(&connection, "account").update(&["balance"]).unwrap();
    assert!(!write(&connection, &update, 1, 9), "there is no row yet");
    connection.execute("INSERT INTO account (id, balance) VALUES ('mine', 100), ('other', 100)", []).unwrap();
    for (balance, token, done) in [(100, 5, true), (100, 5, true), (50, 7, true), (30, 6, false)] {
        assert_eq!(write(&connection, &update, balance, token), done, "{token}");
    }
    assert_eq!(row(&connection, "account"), (50, 7));
    let others: i64 =
        connection.query_row("SELECT fence FROM account WHERE id = 'other'", [], |row| row.get(0)).unwrap();
    assert_eq!(others, 0);
}

#[test]
fn a_token_alone_can_be_left_in_a_row() {
    let connection = Connection::open_in_memory().unwrap();
    let account = table(&connection, "account");
    for (statement, token, rows) in
        [(account.upsert(&[]), 7, 1), (account.update(&[]), 8, 1), (account.upsert(&[]), 7, 0)]
    {
        let statement = statement.unwrap();
        let parameters = statement.parameters::<Value>("mine".to_owned().into(), [], token).unwrap();
        assert_eq!(connection.execute(statement.text(), params_from_iter(parameters)).unwrap(), rows);
    }
}

/// SQLite takes a name that it does not know for a text.
#[test]
fn a_column_that_is_not_there_is_an_error_and_not_a_refusal() {
    let connection = Connection::open_in_memory().unwrap();
    table(&connection, "account");
    let account = Table::new(Dialect::Sqlite, "account", "ident").unwrap();
    for statement in [account.update(&["balance"]).unwrap(), account.upsert(&["balance"]).unwrap()] {
        assert!(connection.prepare(statement.text()).is_err(), "{}", statement.text());
    }
}

#[test]
fn a_table_without_a_fence_is_an_error_and_not_unguarded() {
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch("CREATE TABLE bare (id TEXT PRIMARY KEY, balance INTEGER)").unwrap();
    let bare = Table::new(Dialect::Sqlite, "bare", "id").unwrap();
    for statement in [bare.update(&["balance"]).unwrap(), bare.upsert(&["balance"]).unwrap()] {
        assert!(connection.prepare(statement.text()).is_err(), "{}", statement.text());
    }
}
