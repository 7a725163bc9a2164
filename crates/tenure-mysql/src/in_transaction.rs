//! The lock that ends with a transaction of the user's own.

use crate::name::name;
use mysql_async::prelude::Queryable;
use mysql_async::{Error as DriverError, Params, ServerError, Value};
use tenure_core::{Error, Key};

/// Makes the row of a name, unless it is there: without waiting for whoever has it, if the transaction is one that sees what
/// is committed. A stricter one locks what it reads, also where it finds nothing.
pub(crate) const MAKE: &str = "INSERT IGNORE INTO tenure_rows (name, made) \
     SELECT CAST(? AS BINARY), CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS UNSIGNED) FROM DUAL \
     WHERE NOT EXISTS (SELECT 1 FROM tenure_rows WHERE name = ?)";
/// What makes the next transaction such a one.
const SEE_COMMITTED: &str = "SET TRANSACTION ISOLATION LEVEL READ COMMITTED";
/// Looks for it without locking anything.
const LOOK: &str = "SELECT name FROM tenure_rows WHERE name = ?";
/// Locks it.
const LOCK: &str = "SELECT name FROM tenure_rows WHERE name = ? FOR UPDATE";
/// Locks it, or fails at once.
const TRY_LOCK: &str = "SELECT name FROM tenure_rows WHERE name = ? FOR UPDATE NOWAIT";

/// The lock of a key inside a transaction of your own, which ends when that is committed or rolled back.
///
/// It is the one lock that needs no fencing: what the transaction writes and the lock end at the same moment, in the same
/// place. It excludes everybody who takes the same key in this way, and everybody who holds the re-entrant lock of the key by
/// a [`MySql`](crate::MySql) store in the same database. It knows nothing of other kinds of locks, and not of a lock that is
/// still kept or held by a nested process when the client that took it is gone.
///
/// A key that is typed to a client with a prefix has that prefix here too.
///
/// With `mysql_async`, [`lock`](InTransaction::lock) does everything. With any other driver, run the
/// [statements](InTransaction::make_statement) with [`name`](InTransaction::name) for each question mark:
///
/// ```
/// # fn main() -> Result<(), tenure_core::Error> {
/// use tenure_mysql::InTransaction;
///
/// let order = InTransaction::of("order:42")?;
/// assert_eq!(order.lock_statement(), "SELECT name FROM tenure_rows WHERE name = ? FOR UPDATE");
/// assert_eq!(order.name(), b"order:42");
/// # Ok(()) }
/// ```
///
/// 1. `SET TRANSACTION ISOLATION LEVEL READ COMMITTED` and [`make_statement`](InTransaction::make_statement), before the
///    transaction or on another connection, and committed: a row that is made in the transaction itself makes those who come
///    first at the same time wait for each other, and under a stricter level the statement waits for whoever has the row.
/// 2. In the transaction, [`lock_statement`](InTransaction::lock_statement), or
///    [`try_lock_statement`](InTransaction::try_lock_statement). If it finds no row, begin anew: a row that nobody has used for
///    a day is swept out.
/// 3. Your own statements, and `COMMIT` or `ROLLBACK`.
///
/// How long the database waits for the row is up to `innodb_lock_wait_timeout` of your session; error 1205 means that
/// somebody else has it. The transaction is then still open: roll it back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InTransaction {
    key: Key,
}

impl InTransaction {
    /// The lock of a key.
    ///
    /// # Errors
    ///
    /// [`Invalid`](tenure_core::ErrorKind::Invalid) for a name that is no key.
    pub fn of(key: &str) -> Result<Self, Error> {
        Ok(Self { key: Key::new(key).map_err(|error| Error::invalid(error.to_string()))? })
    }

    /// The key's name in the tables: its bytes, or a hash of them if there are more than 255.
    pub fn name(&self) -> Vec<u8> {
        name(&self.key)
    }

    /// Makes the row, if it is missing. It has two question marks, both for the name, and is to be run under
    /// `READ COMMITTED`.
    pub fn make_statement(&self) -> &'static str {
        MAKE
    }

    /// Waits for the row and locks it.
    pub fn lock_statement(&self) -> &'static str {
        LOCK
    }

    /// Locks the row, or fails at once with error 1205 (on MySQL 3572) if somebody else has it.
    pub fn try_lock_statement(&self) -> &'static str {
        TRY_LOCK
    }

    /// Waits for the lock in a transaction, which must be open on `transaction`. `connection` is any other one that is
    /// in no transaction: by it is looked whether the row is there, and the row is made if the key was never locked before, or
    /// not for a day.
    ///
    /// ```no_run
    /// # async fn pay(pool: mysql_async::Pool) -> Result<(), Box<dyn std::error::Error>> {
    /// use mysql_async::{TxOpts, prelude::Queryable};
    /// use tenure_mysql::InTransaction;
    ///
    /// let mut other = pool.get_conn().await?;
    /// let mut transaction = pool.start_transaction(TxOpts::default()).await?;
    /// InTransaction::of("order:42")?.lock(&mut transaction, &mut other).await?;
    /// transaction.query_drop("UPDATE orders SET paid = 1 WHERE id = 42").await?;
    /// transaction.commit().await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// Those of the driver. After any of them the transaction is to be rolled back. Error 1213, as always, means that it may
    /// be begun anew at once: here, if the row was swept out at this very moment.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the transaction is to be rolled back; that frees the lock, if it was granted.
    pub async fn lock(
        &self,
        transaction: &mut impl Queryable,
        connection: &mut impl Queryable,
    ) -> Result<(), DriverError> {
        self.make(connection).await?;
        if self.found(transaction, LOCK).await? { Ok(()) } else { self.swept(connection).await }
    }

    /// The same, unless somebody else has the lock: then says no at once. The transaction is to be rolled back all the same.
    ///
    /// # Errors
    ///
    /// Those of the driver.
    ///
    /// # Cancel safety
    ///
    /// As for [`lock`](InTransaction::lock).
    pub async fn try_lock(
        &self,
        transaction: &mut impl Queryable,
        connection: &mut impl Queryable,
    ) -> Result<bool, DriverError> {
        self.make(connection).await?;
        match self.found(transaction, TRY_LOCK).await {
            Ok(true) => Ok(true),
            Ok(false) => self.swept(connection).await.map(|()| false),
            Err(DriverError::Server(error)) if matches!(error.code, 1205 | 3572) => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn found(&self, transaction: &mut impl Queryable, statement: &str) -> Result<bool, DriverError> {
        let found: Option<Value> = transaction.exec_first(statement, (self.name(),)).await?;
        Ok(found.is_some())
    }

    /// Makes the row before the transaction asks for it: one that asks for a row that is not there locks the place where it
    /// would be, and nobody could make it any more.
    async fn make(&self, connection: &mut impl Queryable) -> Result<(), DriverError> {
        let found = self.found(connection, LOOK).await?;
        // A transaction in which we have looked would not do, and none is to be left open.
        connection.query_drop("COMMIT").await?;
        if found {
            return Ok(());
        }
        connection.query_drop(SEE_COMMITTED).await?;
        connection.exec_drop(MAKE, Params::Positional(vec![self.name().into(), self.name().into()])).await?;
        connection.query_drop("COMMIT").await
    }

    /// The row was there, and is not any more.
    async fn swept(&self, connection: &mut impl Queryable) -> Result<(), DriverError> {
        // Or it would be seen as it was for ever.
        connection.query_drop("COMMIT").await?;
        let message = "the row was swept out as nobody had used it for a day: roll back and begin anew".to_owned();
        Err(DriverError::Server(ServerError { code: 1213, message, state: "40001".to_owned() }))
    }
}
