//! What is written to: an account of 100, in each of the forms, guarded or not.

use crate::PATIENCE;
use libtest_mimic::Failed;
use rusqlite::params_from_iter;
use rusqlite::types::Value;
use std::fs;
use std::path::PathBuf;
use tenure::Error;
use tenure::fence::sql::{Dialect, Statement, Table};
use tenure::fence::{self, FenceGate, Refused};
use tenure::redis::redis::{Client, Cmd, Connection};

/// What is written to, and how it is guarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Redis,
    SqlUpdate,
    SqlUpsert,
    Gate,
    /// The gate's check, and then a write that is not its own.
    GatePass,
}

impl Form {
    pub(crate) const ALL: [Self; 5] = [Self::Redis, Self::SqlUpdate, Self::SqlUpsert, Self::Gate, Self::GatePass];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Redis => "redis",
            Self::SqlUpdate => "sql_update",
            Self::SqlUpsert => "sql_upsert",
            Self::Gate => "gate",
            Self::GatePass => "gate_pass",
        }
    }
}

/// An account of 100.
pub(crate) struct Account {
    pub(crate) form: Form,
    pub(crate) guarded: bool,
    pub(crate) url: String,
    pub(crate) dir: PathBuf,
}

impl Account {
    pub(crate) fn to_text(&self) -> String {
        format!("{}\n{}\n{}\n{}", self.url, self.dir.display(), self.form.name(), self.guarded)
    }

    pub(crate) fn from_text(text: &str) -> Option<Self> {
        let [url, dir, form, guarded] = text.split('\n').collect::<Vec<_>>().try_into().ok()?;
        let form = Form::ALL.into_iter().find(|known| known.name() == form)?;
        Some(Self { form, guarded: guarded == "true", url: url.to_owned(), dir: dir.into() })
    }

    pub(crate) fn open(&self) -> Result<(), Failed> {
        match self.form {
            Form::Redis => Cmd::new().arg("SET").arg("account").arg(100).exec(&mut self.redis()?)?,
            Form::SqlUpdate | Form::SqlUpsert => self.sqlite()?.execute_batch(
                "CREATE TABLE account (id TEXT PRIMARY KEY, balance INTEGER NOT NULL, fence BIGINT NOT NULL DEFAULT 0);
                 INSERT INTO account (id, balance) VALUES ('mine', 100)",
            )?,
            Form::Gate | Form::GatePass => fs::write(self.dir.join("balance"), "100")?,
        }
        Ok(())
    }

    pub(crate) fn read(&self) -> Result<i64, Failed> {
        Ok(match self.form {
            Form::Redis => Cmd::new().arg("GET").arg("account").query(&mut self.redis()?)?,
            Form::SqlUpdate | Form::SqlUpsert => {
                self.sqlite()?.query_row("SELECT balance FROM account WHERE id = 'mine'", [], |row| row.get(0))?
            }
            Form::Gate | Form::GatePass => fs::read_to_string(self.dir.join("balance"))?.parse()?,
        })
    }

    /// What the kit says of the write; without it there is nobody to say no.
    pub(crate) fn write(&self, balance: i64, token: u64) -> Result<Result<(), Refused>, Failed> {
        match self.form {
            Form::Redis if self.guarded => {
                let words = fence::redis::set("account", balance.to_string(), token)?;
                Ok(fence::redis::outcome(token, Cmd::new().arg(&words).query(&mut self.redis()?)?))
            }
            Form::Redis => Ok(Ok(Cmd::new().arg("SET").arg("account").arg(balance).exec(&mut self.redis()?)?)),
            Form::SqlUpdate | Form::SqlUpsert if self.guarded => {
                let statement = self.statement()?;
                let parameters = statement.parameters::<Value>("mine".to_owned().into(), [balance.into()], token)?;
                let rows = self.sqlite()?.execute(statement.text(), params_from_iter(parameters))?;
                Ok(statement.outcome(token, rows as u64))
            }
            Form::SqlUpdate | Form::SqlUpsert => {
                self.sqlite()?.execute("UPDATE account SET balance = ? WHERE id = 'mine'", [balance])?;
                Ok(Ok(()))
            }
            Form::Gate if self.guarded => match self.gate()?.guard("balance", token, || self.write_file(balance)) {
                Ok(written) => Ok(Ok(written?)),
                Err(refused) => Ok(Err(refused)),
            },
            Form::Gate | Form::GatePass => Ok(Ok(self.write_file(balance)?)),
        }
    }

    /// Leaves a token before a read.
    pub(crate) fn pass(&self, token: u64) -> Result<(), Failed> {
        match self.form {
            _ if !self.guarded => {}
            Form::Redis => {
                let words = fence::redis::pass("account", token)?;
                fence::redis::outcome(token, Cmd::new().arg(&words).query(&mut self.redis()?)?)?;
            }
            Form::SqlUpdate | Form::SqlUpsert => {
                let statement = Table::new(Dialect::Sqlite, "account", "id")?.update(&[])?;
                let parameters = statement.parameters::<Value>("mine".to_owned().into(), [], token)?;
                let rows = self.sqlite()?.execute(statement.text(), params_from_iter(parameters))?;
                statement.outcome(token, rows as u64)?;
            }
            Form::Gate | Form::GatePass => self.gate()?.pass("balance", token)?,
        }
        Ok(())
    }

    pub(crate) fn gate(&self) -> Result<FenceGate, Refused> {
        FenceGate::persistent(self.dir.join("gate"))
    }

    pub(crate) fn write_file(&self, balance: i64) -> std::io::Result<()> {
        fs::write(self.dir.join("balance"), balance.to_string())
    }

    fn statement(&self) -> Result<Statement, Error> {
        let table = Table::new(Dialect::Sqlite, "account", "id")?;
        if self.form == Form::SqlUpdate { table.update(&["balance"]) } else { table.upsert(&["balance"]) }
    }

    fn redis(&self) -> Result<Connection, Failed> {
        Ok(Client::open(self.url.as_str())?.get_connection_with_timeout(PATIENCE)?)
    }

    fn sqlite(&self) -> rusqlite::Result<rusqlite::Connection> {
        let connection = rusqlite::Connection::open(self.dir.join("account.db"))?;
        connection.busy_timeout(PATIENCE)?;
        Ok(connection)
    }
}
