//! Distributed locks that hold.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tenure::Error> {
//! let tenure = tenure::connect("memory:").await?;           // or redis://…, mysql://…
//!
//! let lock = tenure.lock("order:pay")?;
//! let guard = lock.lock().await?;                           // waits; a watchdog renews the 30 s lease
//! let paid = guard.run(async { guard.token() }).await?;     // dropped if the lock is lost
//! guard.release().await?;
//! # Ok(()) }
//! ```
//!
//! A lock here is a lease: it makes double work rare, and it makes corruption impossible only if what you write to
//! checks the [fencing token](Guard::token). [`fence`] is a kit for that.
//!
//! [`locked`](macro@locked) is the attribute that runs a function under a lock. Threads have the same by the same names in
//! [`blocking`].

pub use tenure_core::*;
pub use tenure_macros::locked;

/// The MySQL backend, and the lock that ends with a transaction of your own.
#[cfg(feature = "mysql")]
pub use tenure_mysql as mysql;

/// The Redis backend, for those who bring a client of their own.
#[cfg(feature = "redis")]
pub use tenure_redis as redis;

/// The SQLite backend, for those who have a path instead of a URL.
#[cfg(feature = "sqlite")]
pub use tenure_sqlite as sqlite;

pub mod blocking;

/// Connects to the store at a URL, with the default settings, and makes sure that it can be reached.
///
/// * `memory:` — this process's memory, for tests and examples
/// * `mysql://[user[:password]@]host[:port]/database`, `mysqls://…` — MySQL or MariaDB (feature `mysql`)
/// * `redis://[user[:password]@]host[:port][/db]`, `rediss://…`, `redis+unix:///path` (feature `redis`)
/// * `redlock:redis://a,redis://b,redis://c` — a majority of independent Redis servers (feature `redis`); at the end,
///   `?max_lease=60s` and `?abstain=uptime`, as [`RedlockConfig`](redis::RedlockConfig) has them
/// * `sqlite:/path/to/file` — a file that the processes of one machine share (feature `sqlite`, on Linux)
///
/// Other settings: [`Client::builder`] with [`store`].
///
/// # Errors
///
/// [`Invalid`](ErrorKind::Invalid) for a URL that makes no sense, [`Unavailable`](ErrorKind::Unavailable) if the store
/// cannot be reached within 5 s, [`Denied`](ErrorKind::Denied) if it does not let us in.
pub async fn connect(url: &str) -> Result<Client, Error> {
    Client::builder().connect(store(url)?).await
}

/// The store at a URL, to build a client on. Nothing is sent.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tenure::Error> {
/// let client = tenure::Client::builder().label("billing").prefix("billing:").build(tenure::store("memory:")?)?;
/// assert_eq!(client.lock("a")?.key().as_str(), "billing:a");
/// # Ok(()) }
/// ```
///
/// # Errors
///
/// [`Invalid`](ErrorKind::Invalid) for a URL that makes no sense.
pub fn store(url: &str) -> Result<Store, Error> {
    let scheme = url.split_once(':').map_or(url, |(scheme, _)| scheme);
    match scheme {
        "memory" if url == "memory:" => Ok(Memory::new().into()),
        "memory" => Err(Error::invalid("a memory url has nothing after its colon: write `memory:`")),
        #[cfg(feature = "mysql")]
        "mysql" | "mysqls" => Ok(tenure_mysql::Config::from_url(url)?.into_backend().into()),
        #[cfg(feature = "redis")]
        "redis" | "rediss" | "redis+unix" => Ok(tenure_redis::Config::from_url(url)?.into_backend().into()),
        #[cfg(feature = "redis")]
        "redlock" => Ok(tenure_redis::RedlockConfig::from_url(url)?.into_backend().into()),
        #[cfg(feature = "sqlite")]
        "sqlite" => Ok(tenure_sqlite::Config::from_url(url)?.into_backend().into()),
        // A text without a scheme may be anything, a password included, so it is not quoted.
        _ if !scheme.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"+.-".contains(&b))
            || !url.contains(':') =>
        {
            Err(Error::invalid(format!("not a url: write one of {}", schemes())))
        }
        _ => {
            Err(Error::invalid(format!("no store goes by this scheme, write one of {}: scheme=`{scheme}`", schemes())))
        }
    }
}

/// What a URL may begin with, and what it might if the build had more features.
fn schemes() -> String {
    let backends = [
        (cfg!(feature = "mysql"), "mysql", "`mysql://`, `mysqls://`"),
        (cfg!(feature = "redis"), "redis", "`redis://`, `rediss://`, `redis+unix://`, `redlock:`"),
        (cfg!(feature = "sqlite"), "sqlite", "`sqlite:PATH`"),
    ];
    let built = backends.iter().filter(|(built, ..)| *built).map(|(.., schemes)| format!(", {schemes}"));
    let lacking = backends.iter().filter(|(built, ..)| !*built);
    let lacking = lacking.map(|(_, feature, schemes)| format!(" (enable the feature `{feature}` for {schemes})"));
    std::iter::once("`memory:`".to_owned()).chain(built).chain(lacking).collect()
}

/// The programs of the documentation are compiled, and run where they need no server.
#[cfg(all(doctest, feature = "mysql", feature = "toml"))]
mod documentation {
    macro_rules! pages {
        ($($name:ident: $path:literal,)*) => { $(#[doc = include_str!(concat!("../../../", $path))] pub struct $name;)* };
    }

    pages! {
        Readme: "README.md",
        Blocking: "docs/blocking.md",
        Fencing: "docs/fencing.md",
        Kinds: "docs/kinds.md",
        Locked: "docs/locked.md",
        MySql: "docs/mysql.md",
        Policies: "docs/policies.md",
        Redlock: "docs/redlock.md",
        ShuttingDown: "docs/shutting-down.md",
    }
}
