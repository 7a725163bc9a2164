//! From a URL to a backend.

use crate::backend::MySql;
use crate::desk::Desk;
use crate::settings::Settings;
use tenure_core::Error;

/// Where a MySQL or MariaDB server is and how to be let in. Read from a URL:
///
/// * `mysql://[user[:password]@]host[:port]/database`
/// * `mysqls://…`, the same over TLS
///
/// Options: [`connections`](Config::connections), and for TLS `tls_ca`, `tls_cert`, `tls_key`, each the path of a PEM file.
/// Anything else is refused, and so is what is said twice. Everything is percent-encoded.
pub struct Config {
    settings: Settings,
}

impl Config {
    /// The schemes this backend answers to.
    pub const SCHEMES: [&'static str; 2] = ["mysql", "mysqls"];
    /// How many connections a client makes at the most for the locks it holds and waits for, unless it is told otherwise.
    pub const CONNECTIONS: usize = 64;

    /// Reads a URL.
    ///
    /// ```
    /// use tenure_mysql::Config;
    ///
    /// assert!(Config::from_url("mysql://app@db1/shop").is_ok());
    /// assert!(Config::from_url("mysql://app@db1").is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// [`Invalid`](tenure_core::ErrorKind::Invalid) for a URL that says something we do not know or cannot do; the
    /// message never quotes a password.
    pub fn from_url(url: &str) -> Result<Self, Error> {
        Ok(Self { settings: Settings::read(url)? })
    }

    /// How many connections this client makes at the most for re-entrant locks that it holds or waits for: each takes one, and
    /// whoever asks for one more is told so. All else goes over four more.
    #[must_use]
    pub fn connections(mut self, most: usize) -> Self {
        self.settings.connections = most.max(1);
        self
    }

    /// The backend. Nothing is sent before it is used.
    pub fn into_backend(self) -> MySql {
        let Settings { address, opts, connections } = self.settings;
        MySql::new(address, Desk::new(opts, connections))
    }
}

impl std::fmt::Debug for Config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Config({})", self.settings.address)
    }
}
