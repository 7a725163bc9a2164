//! Guarded writes by SQL, for any driver: texts, the order of their parameters, and what the answer means.
//!
//! The newest token seen lies in a column of the row itself, and goes when the row goes. Make it
//! `BIGINT NOT NULL DEFAULT 0`, call it `fence`, and guard every write to the row:
//!
//! ```
//! # fn execute(text: &str, parameters: &[i64]) -> u64 { assert_eq!(parameters.len(), 3); 1 }
//! # fn main() -> Result<(), tenure_core::Error> {
//! # let token = 1_784_000_000_000_000;
//! use tenure_core::fence::sql::{Dialect, Table};
//!
//! let account = Table::new(Dialect::Postgres, "account", "id")?;
//! let write = account.upsert(&["balance"])?; // once; it is the same for every row and token
//!
//! let rows = execute(write.text(), &write.parameters(7, [50], token)?);
//! write.outcome(token, rows)?;
//! # Ok(()) }
//! ```
//!
//! Within a transaction the answer holds if the transaction is committed. A statement of your own, one that counts up or
//! down for instance, is guarded by the same two clauses: `SET …, fence = token` and `WHERE … AND fence <= token`. A holder
//! that sends such a one twice counts twice.

use super::{Refused, exact};
use crate::{Error, Token};
use std::fmt::Write;

/// Whose SQL is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// MySQL 5.7 or later, and MariaDB 10.2 or later: `?`.
    MySql,
    /// PostgreSQL 9.5 or later: `$1`.
    Postgres,
    /// SQLite 3.24 or later: `?1`.
    Sqlite,
}

/// A table whose rows are guarded, one resource each.
///
/// Names are those of the catalogue: they are quoted, so that upper and lower case matter to PostgreSQL, and words such as
/// `order` may be names. What is no plain name is refused; nothing that is passed here can become SQL.
#[derive(Debug, Clone)]
pub struct Table {
    dialect: Dialect,
    /// This and all names below are quoted.
    name: String,
    key: String,
    fence: String,
}

impl Table {
    /// A table, perhaps with its schema (`shop.account`), and the column that names a row: its primary key, or one that is
    /// unique. The newest token lies in a column called `fence`.
    ///
    /// # Errors
    ///
    /// [`Invalid`](crate::ErrorKind::Invalid) for what is not a name.
    pub fn new(dialect: Dialect, table: &str, key: &str) -> Result<Self, Error> {
        let parts: Vec<String> = table.split('.').map(|part| dialect.quoted(part)).collect::<Result<_, _>>()?;
        if parts.len() > 2 {
            return Err(Error::invalid(format!("a table has one schema at most, write `schema.table`: `{table}`")));
        }
        let made = Self { dialect, name: parts.join("."), key: dialect.quoted(key)?, fence: String::new() };
        made.fence_column("fence")
    }

    /// The same with another name for the column of the newest token.
    ///
    /// # Errors
    ///
    /// As [`Table::new`].
    pub fn fence_column(mut self, name: &str) -> Result<Self, Error> {
        self.fence = self.dialect.quoted(name)?;
        self.distinct(&[])?;
        Ok(self)
    }

    /// Sets columns of a row that is there. A row that is not there reads as refused: [`upsert`](Table::upsert) makes it.
    ///
    /// The parameters are the columns in the order given, the token, the key, and the token again. Without columns it only
    /// leaves the token: do so before reading what a write is to be decided by.
    ///
    /// ```
    /// # fn main() -> Result<(), tenure_core::Error> {
    /// use tenure_core::fence::sql::{Dialect, Table};
    ///
    /// assert_eq!(
    ///     Table::new(Dialect::Postgres, "account", "id")?.update(&["balance"])?.text(),
    ///     r#"UPDATE "account" SET "balance" = $1, "fence" = $2 WHERE "id" = $3 AND "fence" <= $4"#
    /// );
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Invalid`](crate::ErrorKind::Invalid) for what is not a name, or is there twice.
    pub fn update(&self, columns: &[&str]) -> Result<Statement, Error> {
        let columns = self.distinct(columns)?;
        let (dialect, Self { name, key, fence, .. }) = (self.dialect, self);
        let mut text = format!("UPDATE {name} SET ");
        for (column, n) in columns.iter().zip(1..) {
            let _ = write!(text, "{column} = {}, ", dialect.placeholder(n));
        }
        let [token, row, again] = [1, 2, 3].map(|n| dialect.placeholder(columns.len() + n));
        let token = match dialect {
            // Of the column, so that it is worked out for the row or not at all.
            Dialect::MySql => format!("LAST_INSERT_ID(GREATEST({fence}, {token}))"),
            Dialect::Postgres | Dialect::Sqlite => token,
        };
        let key = match dialect {
            // SQLite takes the name of a column that is not there for a text, and finds no row; with the table's it says so.
            Dialect::Sqlite => format!("{}.{key}", self.row()),
            Dialect::MySql | Dialect::Postgres => key.clone(),
        };
        let _ = write!(text, "{fence} = {token} WHERE {key} = {row} AND {fence} <= {again}");
        Ok(Statement { dialect, text, columns: columns.len(), upserts: false })
    }

    /// Sets columns of a row, or makes the row if it is not there: the first write is guarded as well.
    ///
    /// The parameters are the key, the columns in the order given, and the token. The key must be the primary key or have
    /// a unique index; on MySQL no other may be unique, nor may there be an `AUTO_INCREMENT`.
    ///
    /// ```
    /// # fn main() -> Result<(), tenure_core::Error> {
    /// use tenure_core::fence::sql::{Dialect, Table};
    ///
    /// assert_eq!(
    ///     Table::new(Dialect::Sqlite, "account", "id")?.upsert(&["balance"])?.text(),
    ///     r#"INSERT INTO "account" ("id", "balance", "fence") VALUES (?1, ?2, ?3) ON CONFLICT ("id") DO UPDATE SET "balance" = excluded."balance", "fence" = excluded."fence" WHERE "account"."fence" <= excluded."fence""#
    /// );
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`update`](Table::update).
    pub fn upsert(&self, columns: &[&str]) -> Result<Statement, Error> {
        let columns = self.distinct(columns)?;
        let (dialect, Self { name, key, fence, .. }) = (self.dialect, self);
        let mut names = key.clone();
        let mut places = dialect.placeholder(1);
        let mut sets = String::new();
        for (column, n) in columns.iter().zip(2..) {
            let _ = write!(names, ", {column}");
            let _ = write!(places, ", {}", dialect.placeholder(n));
            let _ = match dialect {
                // The columns before the fence: an assignment sees what those before it have set.
                Dialect::MySql => {
                    write!(sets, "{column} = IF({fence} <= VALUES({fence}), VALUES({column}), {column}), ")
                }
                Dialect::Postgres | Dialect::Sqlite => write!(sets, "{column} = excluded.{column}, "),
            };
        }
        let token = dialect.placeholder(columns.len() + 2);
        let text = match dialect {
            // Either way the insert id is the row's fence afterwards.
            Dialect::MySql => format!(
                "INSERT INTO {name} ({names}, {fence}) VALUES ({places}, LAST_INSERT_ID({token})) ON DUPLICATE KEY UPDATE \
                 {sets}{fence} = LAST_INSERT_ID(GREATEST({fence}, VALUES({fence})))"
            ),
            Dialect::Postgres | Dialect::Sqlite => {
                let row = self.row();
                format!(
                    "INSERT INTO {name} ({names}, {fence}) VALUES ({places}, {token}) ON CONFLICT ({key}) DO UPDATE SET \
                     {sets}{fence} = excluded.{fence} WHERE {row}.{fence} <= excluded.{fence}"
                )
            }
        };
        Ok(Statement { dialect, text, columns: columns.len(), upserts: true })
    }

    /// What a row goes by in a condition: the table's name without its schema.
    fn row(&self) -> &str {
        self.name.rsplit('.').next().unwrap_or(&self.name)
    }

    /// The columns, quoted, if none is there twice; upper and lower case are one to most stores.
    fn distinct(&self, columns: &[&str]) -> Result<Vec<String>, Error> {
        let quoted: Vec<String> = columns.iter().map(|name| self.dialect.quoted(name)).collect::<Result<_, _>>()?;
        let all: Vec<&String> = [&self.key, &self.fence].into_iter().chain(&quoted).collect();
        match all.iter().enumerate().find(|(n, name)| all[..*n].iter().any(|other| other.eq_ignore_ascii_case(name))) {
            Some((_, twice)) => Err(Error::invalid(format!(
                "a column is named twice, name the key, the fence and each other column once: {twice}"
            ))),
            None => Ok(quoted),
        }
    }
}

/// A guarded write: a text for any row and token. Prepare it once if you like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    dialect: Dialect,
    text: String,
    columns: usize,
    upserts: bool,
}

impl Statement {
    /// The text, with the placeholders of its dialect.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The parameters in the order of the placeholders, for drivers whose values are of one type. With others bind them
    /// one by one: the order is said at [`Table::update`] and [`Table::upsert`], and the token is an `i64`.
    ///
    /// # Errors
    ///
    /// [`Invalid`](crate::ErrorKind::Invalid) if there are more or fewer values than columns, or for a token that no lock
    /// has handed out.
    pub fn parameters<V: From<i64>>(
        &self,
        key: V,
        values: impl IntoIterator<Item = V>,
        token: Token,
    ) -> Result<Vec<V>, Error> {
        let token = exact(token)?;
        let values: Vec<V> = values.into_iter().collect();
        if values.len() != self.columns {
            let (columns, values) = (self.columns, values.len());
            return Err(Error::invalid(format!("pass one value for each column: columns={columns} values={values}")));
        }
        Ok(if self.upserts {
            [key].into_iter().chain(values).chain([token.into()]).collect()
        } else {
            values.into_iter().chain([token.into(), key, token.into()]).collect()
        })
    }

    /// What the answer means. With PostgreSQL and SQLite the answer is how many rows were affected.
    ///
    /// With MySQL and MariaDB it is the **last insert id** that came with it. How many rows were affected does not tell
    /// there: a write that changes nothing, such as the same one again, counts as none or as one, by how the driver has
    /// connected, and so does a refused upsert. The text sets the insert id to the row's fence instead.
    ///
    /// # Errors
    ///
    /// [`Refused::Late`] if a later holder has been here; nothing was written. After an update also if there is no such
    /// row.
    pub fn outcome(&self, token: Token, answer: u64) -> Result<(), Refused> {
        let (done, newest) = match self.dialect {
            Dialect::MySql => (answer == token, Some(answer).filter(|newest| *newest > token)),
            Dialect::Postgres | Dialect::Sqlite => (answer > 0, None),
        };
        if done { Ok(()) } else { Err(Refused::Late { token, newest }) }
    }
}

impl Dialect {
    /// The longest name that all of them take.
    const LONGEST: usize = 63;

    fn quoted(self, name: &str) -> Result<String, Error> {
        let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && name.bytes().next().is_some_and(|first| !first.is_ascii_digit())
            && name.len() <= Self::LONGEST;
        if !plain {
            let name: String = name.chars().take(Self::LONGEST).collect();
            return Err(Error::invalid(format!(
                "not the name of a table or column, use letters, digits and `_`, 63 at most, no digit first: `{}`",
                name.escape_debug()
            )));
        }
        Ok(match self {
            Self::MySql => format!("`{name}`"),
            Self::Postgres | Self::Sqlite => format!("\"{name}\""),
        })
    }

    /// The `n`th parameter, counted from one.
    fn placeholder(self, n: usize) -> String {
        match self {
            Self::MySql => "?".to_owned(),
            Self::Postgres => format!("${n}"),
            Self::Sqlite => format!("?{n}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    fn texts(dialect: Dialect) -> (String, String) {
        let table = Table::new(dialect, "shop.account", "id").unwrap();
        let columns = ["balance", "owner"];
        (table.update(&columns).unwrap().text, table.upsert(&columns).unwrap().text)
    }

    #[test]
    fn texts_for_mysql() {
        let (update, upsert) = texts(Dialect::MySql);
        assert_eq!(
            update,
            "UPDATE `shop`.`account` SET `balance` = ?, `owner` = ?, `fence` = LAST_INSERT_ID(GREATEST(`fence`, ?)) \
             WHERE `id` = ? AND `fence` <= ?"
        );
        assert_eq!(
            upsert,
            "INSERT INTO `shop`.`account` (`id`, `balance`, `owner`, `fence`) VALUES (?, ?, ?, LAST_INSERT_ID(?)) \
             ON DUPLICATE KEY UPDATE `balance` = IF(`fence` <= VALUES(`fence`), VALUES(`balance`), `balance`), \
             `owner` = IF(`fence` <= VALUES(`fence`), VALUES(`owner`), `owner`), \
             `fence` = LAST_INSERT_ID(GREATEST(`fence`, VALUES(`fence`)))"
        );
    }

    #[test]
    fn texts_for_postgres() {
        let (update, upsert) = texts(Dialect::Postgres);
        assert_eq!(
            update,
            r#"UPDATE "shop"."account" SET "balance" = $1, "owner" = $2, "fence" = $3 WHERE "id" = $4 AND "fence" <= $5"#
        );
        assert_eq!(
            upsert,
            "INSERT INTO \"shop\".\"account\" (\"id\", \"balance\", \"owner\", \"fence\") VALUES ($1, $2, $3, $4) \
             ON CONFLICT (\"id\") DO UPDATE SET \"balance\" = excluded.\"balance\", \"owner\" = excluded.\"owner\", \
             \"fence\" = excluded.\"fence\" WHERE \"account\".\"fence\" <= excluded.\"fence\""
        );
    }

    #[test]
    fn texts_for_sqlite() {
        let (update, upsert) = texts(Dialect::Sqlite);
        assert!(update.ends_with(r#""fence" = ?3 WHERE "account"."id" = ?4 AND "fence" <= ?5"#), "{update}");
        assert!(upsert.contains("VALUES (?1, ?2, ?3, ?4) ON CONFLICT (\"id\") DO UPDATE"), "{upsert}");
    }

    #[test]
    fn what_is_no_name_is_refused() {
        let long = "x".repeat(64);
        for dialect in [Dialect::MySql, Dialect::Postgres, Dialect::Sqlite] {
            for name in ["", "1st", "a b", "a\"b", "a`b", "a;--", "a'", "é", "a\0", "a.b", &long] {
                let good = Table::new(dialect, "order", "id").unwrap();
                for refused in [
                    Table::new(dialect, "t", name).map(drop),
                    good.clone().fence_column(name).map(drop),
                    good.update(&[name]).map(drop),
                    good.upsert(&["fine", name]).map(drop),
                ] {
                    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Invalid, "{name}");
                }
            }
            for table in ["", ".", "a.", "a.b.c", "a.b;"] {
                assert_eq!(Table::new(dialect, table, "id").unwrap_err().kind(), ErrorKind::Invalid, "{table}");
            }
        }
    }

    #[test]
    fn a_column_is_named_once() {
        let table = Table::new(Dialect::MySql, "t", "id").unwrap();
        for columns in [&["id"][..], &["fence"], &["Fence"], &["a", "A"]] {
            assert_eq!(table.upsert(columns).unwrap_err().kind(), ErrorKind::Invalid, "{columns:?}");
        }
        assert_eq!(Table::new(Dialect::MySql, "t", "fence").unwrap_err().kind(), ErrorKind::Invalid);
        assert!(table.fence_column("newest").unwrap().update(&["fence"]).is_ok());
    }

    #[test]
    fn parameters_come_in_the_order_of_the_placeholders() {
        let table = Table::new(Dialect::Postgres, "t", "id").unwrap();
        let (update, upsert) = (table.update(&["a", "b"]).unwrap(), table.upsert(&["a", "b"]).unwrap());
        assert_eq!(update.parameters(1i64, [2, 3], 9).unwrap(), [2, 3, 9, 1, 9]);
        assert_eq!(upsert.parameters(1i64, [2, 3], 9).unwrap(), [1, 2, 3, 9]);
        assert_eq!(upsert.parameters(1i64, [2], 9).unwrap_err().kind(), ErrorKind::Invalid);
        assert_eq!(upsert.parameters(1i64, [2, 3], u64::MAX).unwrap_err().kind(), ErrorKind::Invalid);
    }

    #[test]
    fn answers_are_read_as_the_dialect_gives_them() {
        let of = |dialect| Table::new(dialect, "t", "id").unwrap().upsert(&[]).unwrap();
        assert!(of(Dialect::Sqlite).outcome(7, 1).is_ok());
        assert!(matches!(of(Dialect::Postgres).outcome(7, 0), Err(Refused::Late { token: 7, newest: None })));
        assert!(of(Dialect::MySql).outcome(7, 7).is_ok());
        assert!(matches!(of(Dialect::MySql).outcome(7, 9), Err(Refused::Late { newest: Some(9), .. })));
        assert!(matches!(of(Dialect::MySql).outcome(7, 0), Err(Refused::Late { newest: None, .. })));
    }
}
