//! From a URL to several servers.

use super::node::Node;
use crate::driver::RedisRs;
use crate::layout::Layout;
use crate::settings::{Place, Settings};
use std::collections::HashSet;
use std::time::Duration;
use tenure_core::{Error, Length};

const FORM: &str = "write `redlock:redis://a,redis://b,redis://c`";
/// What a server's URL begins with.
const SCHEMES: [&str; 3] = ["redis://", "rediss://", "redis+unix://"];
/// So many servers at the most.
const MOST: usize = 31;
/// The longest lease, unless said otherwise.
const MAX_LEASE: Duration = Duration::from_secs(60);
/// The shortest and the longest that the longest lease may be.
const LEASES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(24 * 60 * 60));

/// Which servers keep the locks of a [`Redlock`](super::Redlock), read from a URL: `redlock:` and the URLs of three or more
/// servers, an odd number of them, with commas between; a comma in a password is percent-encoded.
///
/// Options, behind the last: `max_lease`, the longest lease (60 s unless said, and the same for all clients), for which a
/// server that was restarted does not vote; and `abstain=uptime`, by which a server that this client has not seen before does not
/// vote either until it has been up for so long.
pub struct Redlock {
    nodes: Vec<(RedisRs, bool)>,
    max_lease: Duration,
    by_uptime: bool,
}

impl Redlock {
    /// The scheme.
    pub const SCHEMES: [&'static str; 1] = ["redlock"];

    /// Reads a URL.
    ///
    /// ```
    /// use tenure_redis::RedlockConfig;
    ///
    /// assert!(RedlockConfig::from_url("redlock:redis://a,redis://b,redis://c?max_lease=30s").is_ok());
    /// assert!(RedlockConfig::from_url("redlock:redis://a,redis://b").is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// [`Invalid`](tenure_core::ErrorKind::Invalid) for a URL that says something we do not know or cannot do; the message
    /// never quotes a password.
    pub fn from_url(url: &str) -> Result<Self, Error> {
        let rest = url.strip_prefix("redlock:").ok_or_else(|| Error::invalid(format!("not a redlock url, {FORM}")))?;
        let mut urls: Vec<String> = rest.split(',').map(str::to_owned).collect();
        // Before any of them is read: what has no scheme may be the rest of a password, and is not quoted.
        let is_url = |url: &&String| SCHEMES.iter().any(|scheme| url.starts_with(scheme));
        if let Some(at) = urls.iter().position(|url| !is_url(&url)) {
            return Err(Error::invalid(format!(
                "every server begins with `redis://`, `rediss://` or `redis+unix://`, and a comma in a password is written %2C, \
                 {FORM}: server={}",
                at + 1
            )));
        }
        let options = urls.last_mut().map_or_else(|| Ok(Majority::default()), Majority::take_from)?;
        if urls.len() < 3 || urls.len().is_multiple_of(2) || urls.len() > MOST {
            return Err(Error::invalid(format!(
                "a majority needs an odd number of servers, three to {MOST}, {FORM}: servers={}",
                urls.len()
            )));
        }
        let is_for_all = |pair: &str| pair.starts_with("max_lease=") || pair.starts_with("abstain=");
        let query = |url: &String| url.split_once('?').is_some_and(|(_, query)| query.split('&').any(is_for_all));
        if urls.iter().any(query) {
            return Err(Error::invalid(
                "`max_lease` and `abstain` belong behind the last server, write \
                 `redlock:redis://a,redis://b,redis://c?max_lease=30s`",
            ));
        }
        let (mut nodes, mut places) = (Vec::with_capacity(urls.len()), HashSet::new());
        for url in &urls {
            let settings = Settings::read(url)?;
            // Whatever the database: what restarts or hangs is the server.
            places.insert(match &settings.place {
                Place::Tcp { host, port } => format!("{host}:{port}"),
                #[cfg(feature = "tls")]
                Place::Tls { host, port, .. } => format!("{host}:{port}"),
                Place::Unix(path) => path.display().to_string(),
            });
            if settings.layout != Layout::default() {
                return Err(Error::invalid(
                    "a majority has no kinds of which Redisson's layout differs, leave `layout` out of the url",
                ));
            }
            let wakeups = settings.wakeups;
            nodes.push((RedisRs::set_up(settings)?, wakeups));
        }
        if places.len() < nodes.len() {
            return Err(Error::invalid(
                "a server is named twice, and would vote twice (as would another database of it): name independent ones",
            ));
        }
        let Majority { max_lease, by_uptime } = options;
        Ok(Self { nodes, max_lease: max_lease.unwrap_or(MAX_LEASE), by_uptime })
    }

    /// The backend. Nothing is sent before it is used.
    pub fn into_backend(self) -> super::Redlock {
        let Self { nodes, max_lease, by_uptime } = self;
        let node = |(driver, wakeups)| Node::new(driver, wakeups, max_lease, by_uptime);
        super::Redlock::new(nodes.into_iter().map(node).collect(), max_lease)
    }
}

/// The options that are about all servers together.
#[derive(Default)]
struct Majority {
    max_lease: Option<Duration>,
    by_uptime: bool,
}

impl Majority {
    /// Takes them out of the last server's options.
    fn take_from(last: &mut String) -> Result<Self, Error> {
        let mut taken = Self::default();
        let Some((base, query)) = last.split_once('?') else { return Ok(taken) };
        let mut left = Vec::new();
        for pair in query.split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let twice = match (name, value) {
                ("max_lease", length) => taken.max_lease.replace(length_of(length)?).is_some(),
                ("abstain", "uptime") => std::mem::replace(&mut taken.by_uptime, true),
                ("abstain", _) => return Err(Error::invalid("choose abstain=uptime, or leave it out")),
                _ => {
                    left.push(pair);
                    false
                }
            };
            if twice {
                return Err(Error::invalid(format!(
                    "an option is given twice, leave one of them out: option=`{name}`"
                )));
            }
        }
        *last = if left.is_empty() { base.to_owned() } else { format!("{base}?{}", left.join("&")) };
        Ok(taken)
    }
}

fn length_of(text: &str) -> Result<Duration, Error> {
    let length = text.parse().ok().map(|Length(length)| length);
    length.filter(|length| (LEASES.0..=LEASES.1).contains(length)).ok_or_else(|| {
        Error::invalid(format!("max_lease is a length from 1s to 24h, such as `60s`: max_lease=`{text}`"))
    })
}

impl std::fmt::Debug for Redlock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redlock").field("servers", &self.nodes.len()).finish_non_exhaustive()
    }
}
