//! The texts of `fence::sql`, run by MariaDB.

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Opts, OptsBuilder, Value};
use tenure::fence::Refused;
use tenure::fence::sql::{Dialect, Statement, Table};
use tenure_testkit::MariaDbServer;

/// What a fence's column may be: it holds every token either way.
const TYPES: [&str; 2] = ["BIGINT", "BIGINT UNSIGNED"];

/// Drivers connect in one of two ways, by which rows are counted differently.
async fn connect(server: &MariaDbServer, found_rows: bool) -> Conn {
    let opts = OptsBuilder::from_opts(Opts::from_url(&server.url()).unwrap());
    Conn::new(opts.prefer_socket(false).client_found_rows(found_rows)).await.unwrap()
}

fn table(server: &MariaDbServer, name: &str, fence: &str) -> Table {
    server.execute(&format!("DROP TABLE IF EXISTS {name}"));
    let columns = format!("(id VARCHAR(32) PRIMARY KEY, balance INT, fence {fence} NOT NULL DEFAULT 0)");
    server.execute(&format!("CREATE TABLE {name} {columns}"));
    Table::new(Dialect::MySql, &name.replace('`', ""), "id").unwrap()
}

async fn send(conn: &mut Conn, statement: &Statement, values: &[i64], token: u64) -> mysql_async::Result<u64> {
    let values = values.iter().map(|value| Value::from(*value));
    let parameters = statement.parameters::<Value>("mine".into(), values, token).unwrap();
    conn.exec_drop(statement.text(), parameters).await?;
    Ok(conn.last_insert_id().unwrap_or(0))
}

async fn write(conn: &mut Conn, statement: &Statement, balance: i64, token: u64) -> Result<(), Refused> {
    statement.outcome(token, send(conn, statement, &[balance], token).await.unwrap())
}

fn row(server: &MariaDbServer, table: &str) -> Vec<Vec<String>> {
    server.rows(&format!("SELECT balance, fence FROM {table} WHERE id = 'mine'"))
}

#[tokio::test]
async fn an_upsert_is_guarded_from_the_first_row_on() {
    let server = MariaDbServer::start();
    for found_rows in [false, true] {
        let mut conn = connect(&server, found_rows).await;
        for (name, fence) in [("account", TYPES[0]), ("tenure.shop", TYPES[0]), ("`order`", TYPES[1])] {
            let upsert = table(&server, name, fence).upsert(&["balance"]).unwrap();
            for (balance, token, done) in
                [(100, 5, true), (100, 5, true), (50, 7, true), (30, 6, false), (30, 5, false), (40, 7, true)]
            {
                let outcome = write(&mut conn, &upsert, balance, token).await;
                assert_eq!(outcome.is_ok(), done, "{name} {token} {outcome:?}");
                if !done {
                    assert!(matches!(outcome, Err(Refused::Late { newest: Some(7), .. })), "{outcome:?}");
                }
            }
            assert_eq!(row(&server, name), [["40", "7"]]);
        }
    }
}

#[tokio::test]
async fn an_update_is_guarded_and_makes_no_row() {
    let server = MariaDbServer::start();
    for (found_rows, fence) in [(false, TYPES[0]), (true, TYPES[1])] {
        let mut conn = connect(&server, found_rows).await;
        let update = table(&server, "account", fence).update(&["balance"]).unwrap();
        assert!(write(&mut conn, &update, 1, 9).await.is_err(), "there is no row yet");
        server.execute("INSERT INTO account (id, balance) VALUES ('mine', 100), ('other', 100)");
        for (balance, token, done) in [(100, 5, true), (100, 5, true), (50, 7, true), (30, 6, false), (50, 7, true)] {
            // The id of an earlier write on this connection must not pass for an answer to this one.
            assert_eq!(write(&mut conn, &update, balance, token).await.is_ok(), done, "{token}");
        }
        assert_eq!(row(&server, "account"), [["50", "7"]]);
        assert_eq!(server.one("SELECT fence FROM account WHERE id = 'other'"), "0");
    }
}

#[tokio::test]
async fn a_token_alone_can_be_left_in_a_row() {
    let server = MariaDbServer::start();
    let mut conn = connect(&server, false).await;
    let account = table(&server, "account", TYPES[0]);
    let (update, upsert) = (account.update(&[]).unwrap(), account.upsert(&[]).unwrap());
    for (statement, token, done) in [(&upsert, 7, true), (&update, 8, true), (&upsert, 7, false), (&update, 7, false)] {
        let answer = send(&mut conn, statement, &[], token).await.unwrap();
        assert_eq!(statement.outcome(token, answer).is_ok(), done, "{token} {answer}");
    }
}

#[tokio::test]
async fn tokens_are_told_apart_up_to_the_last() {
    let server = MariaDbServer::start();
    let mut conn = connect(&server, false).await;
    let last = (1u64 << 53) - 1;
    for fence in TYPES {
        let account = table(&server, "account", fence);
        let (update, upsert) = (account.update(&["balance"]).unwrap(), account.upsert(&["balance"]).unwrap());
        assert!(write(&mut conn, &upsert, 1, last - 1).await.is_ok());
        assert!(write(&mut conn, &update, 2, last).await.is_ok());
        for statement in [&update, &upsert] {
            assert!(write(&mut conn, statement, 3, last - 1).await.is_err(), "{fence}");
        }
        assert_eq!(row(&server, "account"), [["2", &last.to_string()]]);
    }
}

/// The table in `docs/fencing.md` that says why rows cannot tell.
#[tokio::test]
async fn rows_and_insert_ids_are_as_the_document_says() {
    let server = MariaDbServer::start();
    for (found_rows, expected) in [(false, [1, 0, 2, 0]), (true, [1, 1, 2, 1])] {
        let mut conn = connect(&server, found_rows).await;
        let upsert = table(&server, "account", TYPES[0]).upsert(&["balance"]).unwrap();
        let writes = [(100, 5, 5), (100, 5, 5), (50, 7, 7), (30, 6, 7)];
        for ((balance, token, id), rows) in writes.into_iter().zip(expected) {
            assert_eq!(send(&mut conn, &upsert, &[balance], token).await.unwrap(), id);
            assert_eq!(conn.affected_rows(), rows, "found_rows={found_rows} token={token}");
        }
    }
}

#[tokio::test]
async fn a_write_that_is_rolled_back_was_none() {
    let server = MariaDbServer::start();
    let mut conn = connect(&server, false).await;
    let upsert = table(&server, "account", TYPES[0]).upsert(&["balance"]).unwrap();
    assert!(write(&mut conn, &upsert, 100, 5).await.is_ok());
    conn.query_drop("START TRANSACTION").await.unwrap();
    assert!(write(&mut conn, &upsert, 50, 7).await.is_ok());
    conn.query_drop("ROLLBACK").await.unwrap();
    assert!(write(&mut conn, &upsert, 30, 6).await.is_ok());
    assert_eq!(row(&server, "account"), [["30", "6"]]);
}

#[tokio::test]
async fn a_column_that_is_not_there_is_an_error_and_not_a_refusal() {
    let server = MariaDbServer::start();
    let mut conn = connect(&server, false).await;
    table(&server, "account", TYPES[0]);
    let account = Table::new(Dialect::MySql, "account", "ident").unwrap();
    for statement in [account.update(&["balance"]).unwrap(), account.upsert(&["balance"]).unwrap()] {
        let error = send(&mut conn, &statement, &[1], 7).await.unwrap_err().to_string();
        assert!(error.contains("ident"), "{error}");
    }
}

/// The lock in the same database as what it guards, and a holder that writes when its lease is over.
#[cfg(feature = "mysql")]
#[tokio::test]
async fn who_comes_too_late_is_refused() {
    use std::time::Duration;
    let server = MariaDbServer::start();
    let mut conn = connect(&server, false).await;
    let upsert = table(&server, "account", TYPES[0]).upsert(&["balance"]).unwrap();
    let [one, two] = [tenure::connect(&server.url()).await.unwrap(), tenure::connect(&server.url()).await.unwrap()];
    for kind in [tenure::Kind::Reentrant, tenure::Kind::Simple, tenure::Kind::Fair, tenure::Kind::Fenced] {
        server.execute("DELETE FROM account");
        let key = format!("account:mine:{}", kind.name());
        let brief = tenure::Options::new().lease(Duration::from_millis(300)).no_renew();
        let late = one.lock_of(kind, &key).unwrap().lock_with(brief).await.unwrap();
        let next = two.lock_of(kind, &key).unwrap().lock_timeout(Duration::from_secs(20)).await.unwrap();
        assert!(next.token() > late.token(), "{kind:?}: {} {}", late.token(), next.token());
        assert!(write(&mut conn, &upsert, 50, next.token()).await.is_ok());
        let refused = write(&mut conn, &upsert, 30, late.token()).await.unwrap_err();
        assert_eq!(tenure::Error::from(refused).kind(), tenure::ErrorKind::Lost);
        assert_eq!(row(&server, "account"), [["50".to_owned(), next.token().to_string()]]);
        next.release().await.unwrap();
        drop(late);
    }
}
