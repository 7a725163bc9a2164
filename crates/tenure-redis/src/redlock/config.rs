//! From a URL to several servers.

use super::node::Node;
use crate::driver::RedisRs;
use crate::settings::Settings;
use std::collections::HashSet;
use std::time::Duration;
use tenure_core::Error;

const FORM: &str = "write `redlock:redis://a,redis://b,redis://c`";
/// The shortest and the longest that a lease may last on a majority.
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
        let (mut max_lease, mut by_uptime) = (Duration::from_secs(60), false);
        if let Some(last) = urls.last_mut()
            && let Some((base, query)) = last.clone().split_once('?')
        {
            let mut left = Vec::new();
            for pair in query.split('&').filter(|pair| !pair.is_empty()) {
                match pair.split_once('=').unwrap_or((pair, "")) {
                    ("max_lease", length) => max_lease = length_of(length)?,
                    ("abstain", "uptime") => by_uptime = true,
                    ("abstain", _) => return Err(Error::invalid("choose abstain=uptime, or leave it out")),
                    _ => left.push(pair),
                }
            }
            *last = if left.is_empty() { base.to_owned() } else { format!("{base}?{}", left.join("&")) };
        }
        if urls.len() < 3 || urls.len().is_multiple_of(2) || urls.len() > 31 {
            return Err(Error::invalid(format!(
                "a majority needs an odd number of servers, three at the least, {FORM}: servers={}",
                urls.len()
            )));
        }
        let mut nodes = Vec::with_capacity(urls.len());
        for url in &urls {
            let settings = Settings::read(url)?;
            let wakeups = settings.wakeups;
            nodes.push((RedisRs::set_up(settings)?, wakeups));
        }
        let addresses: HashSet<String> =
            nodes.iter().map(|(driver, _)| crate::driver::Driver::address(driver)).collect();
        if addresses.len() < nodes.len() {
            return Err(Error::invalid("a server is named twice, and would vote twice: name independent ones"));
        }
        Ok(Self { nodes, max_lease, by_uptime })
    }

    /// The backend. Nothing is sent before it is used.
    pub fn into_backend(self) -> super::Redlock {
        let Self { nodes, max_lease, by_uptime } = self;
        let node = |(driver, wakeups)| Node::new(driver, wakeups, max_lease, by_uptime);
        super::Redlock::new(nodes.into_iter().map(node).collect(), max_lease)
    }
}

fn length_of(text: &str) -> Result<Duration, Error> {
    let rule = "max_lease is a length from 1s to 24h, such as `60s`";
    let number = |unit: &str| text.strip_suffix(unit).and_then(|number| number.parse::<u64>().ok());
    let seconds = number("ms").map(Duration::from_millis);
    let length = seconds
        .or_else(|| number("s").map(Duration::from_secs))
        .or_else(|| number("m").map(|minutes| Duration::from_secs(minutes.saturating_mul(60))))
        .or_else(|| number("h").map(|hours| Duration::from_secs(hours.saturating_mul(3600))));
    length
        .filter(|length| (LEASES.0..=LEASES.1).contains(length))
        .ok_or_else(|| Error::invalid(format!("{rule}: max_lease=`{text}`")))
}

impl std::fmt::Debug for Redlock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redlock").field("servers", &self.nodes.len()).finish_non_exhaustive()
    }
}
