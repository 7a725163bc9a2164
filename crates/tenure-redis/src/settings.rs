//! What a URL says: where a server is and how to be let in.

#[cfg(feature = "tls")]
mod tls;

#[cfg(feature = "tls")]
use tls::Tls;

use crate::layout::Layout;
use std::borrow::Cow;
use std::collections::HashMap;
use std::path::PathBuf;
use tenure_core::Error;
use url::Url;

/// What a URL says, in no types but our own.
pub(crate) struct Settings {
    pub(crate) place: Place,
    pub(crate) db: i64,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
    pub(crate) layout: Layout,
    /// Whether the server is listened to.
    pub(crate) wakeups: bool,
}

/// Where a server is, and how it is spoken to there.
pub(crate) enum Place {
    Tcp {
        host: String,
        port: u16,
    },
    #[cfg(feature = "tls")]
    Tls {
        host: String,
        port: u16,
        tls: Tls,
    },
    Unix(PathBuf),
}

/// What stands behind the `?`.
type Options = HashMap<&'static str, String>;

const KNOWN: [&str; 8] = ["db", "user", "password", "layout", "wakeups", "tls_ca", "tls_cert", "tls_key"];

impl Settings {
    pub(crate) fn read(text: &str) -> Result<Self, Error> {
        let url = Url::parse(text).map_err(|error| {
            // The text may hold a password, so only the error is quoted.
            Error::invalid(format!("the url cannot be read, write `redis://host:port/db`: {error}"))
        })?;
        let place = place(&url)?;
        let user = (!url.username().is_empty()).then(|| decoded("user", url.username())).transpose()?;
        let password = url.password().map(|password| decoded("password", password)).transpose()?;
        let path = url.path().trim_matches('/');
        let db = if url.scheme() == "redis+unix" || path.is_empty() {
            None
        } else {
            // With an `@` behind the host, this is more likely the rest of a password that was not percent-encoded.
            Some(database(path, text.rfind('@') > text.find(path))?)
        };
        let mut options = options(&url)?;
        let layout = options.remove("layout").map(|name| layout(&name, may_be_torn(&url))).transpose()?;
        let wakeups = options.remove("wakeups").map(|word| on_or_off(&word, may_be_torn(&url))).transpose()?;
        let db_option = options.remove("db").map(|db| database(&db, may_be_torn(&url))).transpose()?;
        if url.fragment().is_some() {
            return Err(Error::invalid("the url has a fragment, which means nothing here: percent-encode any `#`"));
        }
        #[cfg(feature = "tls")]
        let place = match place {
            Place::Tls { host, port, .. } => Place::Tls { host, port, tls: Tls::read(&options)? },
            plain => plain,
        };
        Ok(Self {
            place,
            db: either("db", "its path", db, db_option)?.unwrap_or(0),
            user: either("user", "front of the host", user, options.remove("user"))?,
            password: either("password", "front of the host", password, options.remove("password"))?,
            layout: layout.unwrap_or_default(),
            wakeups: wakeups.unwrap_or(true),
        })
    }
}

fn decoded(what: &str, text: &str) -> Result<String, Error> {
    let decoded = percent_encoding::percent_decode_str(text).decode_utf8();
    // What it is may be a secret, so it is only named.
    decoded
        .map(Cow::into_owned)
        .map_err(|_| Error::invalid(format!("a part of the url is no text, percent-encode it as UTF-8: part=`{what}`")))
}

/// What was said in one of two places. Of two, one would be dropped in silence.
fn either<T>(option: &str, place: &str, said: Option<T>, given: Option<T>) -> Result<Option<T>, Error> {
    if said.is_some() && given.is_some() {
        return Err(Error::invalid(format!(
            "the url has an option for what it says in {place} already, give it once: option=`{option}`"
        )));
    }
    Ok(said.or(given))
}

/// Whether a piece of what stands behind the `?` may be a piece of a password that was not encoded.
fn may_be_torn(url: &Url) -> bool {
    url.query().is_some_and(|query| query.contains('@') || query.contains("password="))
}

fn place(url: &Url) -> Result<Place, Error> {
    let host = || match url.host() {
        Some(url::Host::Domain(host)) if !host.is_empty() => Ok(host.to_owned()),
        Some(url::Host::Ipv4(host)) => Ok(host.to_string()),
        Some(url::Host::Ipv6(host)) => Ok(host.to_string()),
        _ => Err(Error::invalid("the url names no host: write `redis://host:port/db`")),
    };
    let port = url.port().unwrap_or(6379);
    match url.scheme() {
        "redis" => Ok(Place::Tcp { host: host()?, port }),
        #[cfg(feature = "tls")]
        "rediss" => Ok(Place::Tls { host: host()?, port, tls: Tls::default() }),
        #[cfg(not(feature = "tls"))]
        "rediss" => Err(Error::invalid("this build has no TLS: enable the feature `tls` for rediss:// urls")),
        "redis+unix" if url.path().len() > 1 && url.host().is_none() => {
            Ok(Place::Unix(PathBuf::from(decoded("path", url.path())?)))
        }
        "redis+unix" => {
            Err(Error::invalid("a unix url needs the socket's whole path: write `redis+unix:///run/redis.sock`"))
        }
        other => Err(Error::invalid(format!(
            "not a redis url: write redis://, rediss:// or redis+unix://: scheme=`{other}`"
        ))),
    }
}

fn database(text: &str, suspect: bool) -> Result<i64, Error> {
    text.parse().ok().filter(|db| *db >= 0).ok_or_else(|| {
        let rule = "a redis database is a number from 0 on: write `redis://host:port/0`";
        Error::invalid(if suspect {
            format!("{rule}, and percent-encode `/`, `&` and `@` in passwords")
        } else {
            format!("{rule}: db=`{text}`")
        })
    })
}

fn layout(name: &str, suspect: bool) -> Result<Layout, Error> {
    Layout::of(name).ok_or_else(|| {
        let rule = "choose a layout, tenure or redisson";
        Error::invalid(if suspect { rule.to_owned() } else { format!("{rule}: layout=`{name}`") })
    })
}

fn on_or_off(word: &str, suspect: bool) -> Result<bool, Error> {
    match word {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => {
            let rule = "choose wakeups, on or off";
            Err(Error::invalid(if suspect { rule.to_owned() } else { format!("{rule}: wakeups=`{word}`") }))
        }
    }
}

fn options(url: &Url) -> Result<Options, Error> {
    let mut options = Options::new();
    // Not read as a form is, where a `+` would be a space.
    for pair in url.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let Some(option) = KNOWN.into_iter().find(|known| *known == name) else {
            return Err(unknown(name, may_be_torn(url)));
        };
        if option.starts_with("tls_") && url.scheme() != "rediss" {
            return Err(Error::invalid(format!("tls options need a `rediss://` url: option=`{option}`")));
        }
        if options.insert(option, decoded(option, value)?).is_some() {
            return Err(Error::invalid(format!("the url has an option twice, give it once: option=`{option}`")));
        }
    }
    Ok(options)
}

fn unknown(name: &str, torn: bool) -> Error {
    let known = "use db, user, password, layout, wakeups, tls_ca, tls_cert or tls_key, and percent-encode `?`, `&`, `/` and \
                 `@` in passwords";
    let innocent = !torn && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    Error::invalid(if innocent {
        format!("the url has an option that redis does not know, {known}: option=`{name}`")
    } else {
        format!("the url has an option that redis does not know, {known}")
    })
}
