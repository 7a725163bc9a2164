//! From a URL to a backend.

use crate::backend::Redis;
use crate::driver::{Driver, RedisRs};
use crate::layout::Layout;
use crate::settings::Settings;
use tenure_core::Error;

/// Where a Redis server is and how to be let in. Read from a URL:
///
/// * `redis://[user[:password]@]host[:port][/db]`
/// * `rediss://…`, the same over TLS
/// * `redis+unix:///path/to/socket[?db=0&user=…&password=…]`
///
/// Options: `db`, `user`, `password`, [`layout`](Layout) and [`wakeups`](Config::wakeups) (for all three), and for TLS
/// `tls_ca`, `tls_cert`, `tls_key`, each the path of a PEM file. Anything else is refused, and so is what is said twice. Everything is percent-encoded, and nothing but: a
/// `+` is a `+`.
pub struct Config {
    driver: RedisRs,
    layout: Layout,
    wakeups: bool,
}

impl Config {
    /// The schemes this backend answers to.
    pub const SCHEMES: [&'static str; 3] = ["redis", "rediss", "redis+unix"];

    /// Reads a URL.
    ///
    /// # Errors
    ///
    /// [`Invalid`](tenure_core::ErrorKind::Invalid) for a URL that says something we do not know or cannot do; the
    /// message never quotes a password.
    pub fn from_url(url: &str) -> Result<Self, Error> {
        let settings = Settings::read(url)?;
        let (layout, wakeups) = (settings.layout, settings.wakeups);
        Ok(Self { driver: RedisRs::set_up(settings)?, layout, wakeups })
    }

    /// Takes over a client that was set up elsewhere. Only its settings are used: connections are opened anew, for
    /// those that exist live on somebody else's runtime.
    pub fn from_client(client: redis::Client) -> Self {
        Self { driver: RedisRs::new(client), layout: Layout::default(), wakeups: true }
    }

    /// Lays fair and read-write locks out in this way.
    #[must_use]
    pub fn layout(mut self, layout: Layout) -> Self {
        self.layout = layout;
        self
    }

    /// Whether to listen for wake-ups: on unless said. For servers and proxies without publish and subscribe they are
    /// off: whoever waits asks once a second and when a lease ends, or as often as its
    /// [retry policy](tenure_core::Options::retry) says, and a lock that was released by force is lost at its next renewal.
    #[must_use]
    pub fn wakeups(mut self, on: bool) -> Self {
        self.wakeups = on;
        self
    }

    /// The backend. Nothing is sent before it is used.
    pub fn into_backend(self) -> Redis {
        Redis::new(self.driver, self.layout, self.wakeups)
    }
}

impl std::fmt::Debug for Config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Config({})", self.driver.address())
    }
}
