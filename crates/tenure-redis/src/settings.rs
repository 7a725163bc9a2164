//! What a URL says: where a server is and how to be let in.

#[cfg(feature = "tls")]
mod tls;

#[cfg(feature = "tls")]
use tls::Tls;

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

const KNOWN: [&str; 6] = ["db", "user", "password", "tls_ca", "tls_cert", "tls_key"];

impl Settings {
    pub(crate) fn read(text: &str) -> Result<Self, Error> {
        let url = Url::parse(text).map_err(|error| {
            // The text may hold a password, so only the error is quoted.
            Error::invalid(format!("the url cannot be read, write `redis://host:port/db`: {error}"))
        })?;
        let mut settings = Self {
            place: place(&url)?,
            db: 0,
            user: (!url.username().is_empty()).then(|| decoded(url.username())).transpose()?,
            password: url.password().map(decoded).transpose()?,
        };
        let path = url.path().trim_matches('/');
        if url.scheme() != "redis+unix" && !path.is_empty() {
            // With an `@` behind the host, this is more likely the rest of a password that was not percent-encoded.
            let suspect = text.rfind('@') > text.find(path);
            settings.db = database(path, suspect)?;
        }
        let mut options = options(&url)?;
        if let Some(db) = options.remove("db") {
            settings.db = database(&db, url.query().is_some_and(|query| query.contains('@')))?;
        }
        settings.user = options.remove("user").or(settings.user);
        settings.password = options.remove("password").or(settings.password);
        if url.fragment().is_some() {
            return Err(Error::invalid("the url has a fragment, which means nothing here: percent-encode any `#`"));
        }
        #[cfg(feature = "tls")]
        if let Place::Tls { tls, .. } = &mut settings.place {
            *tls = Tls::read(&options)?;
        }
        Ok(settings)
    }
}

fn decoded(part: &str) -> Result<String, Error> {
    percent_encoding::percent_decode_str(part)
        .decode_utf8()
        .map(std::borrow::Cow::into_owned)
        .map_err(|_| Error::invalid("the url's user or password is not percent-encoded UTF-8"))
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
            let path = percent_encoding::percent_decode_str(url.path()).decode_utf8();
            let path = path.map_err(|_| Error::invalid("the socket's path is not percent-encoded UTF-8"))?;
            Ok(Place::Unix(PathBuf::from(&*path)))
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
            format!("{rule}, and percent-encode `/` and `@` in passwords")
        } else {
            format!("{rule}: db=`{text}`")
        })
    })
}

fn options(url: &Url) -> Result<Options, Error> {
    let mut options = Options::new();
    for (name, value) in url.query_pairs() {
        let Some(option) = KNOWN.into_iter().find(|known| *known == name) else {
            return Err(unknown(&name, url.query().unwrap_or_default()));
        };
        if option.starts_with("tls_") && url.scheme() != "rediss" {
            return Err(Error::invalid(format!("tls options need a `rediss://` url: option=`{option}`")));
        }
        options.insert(option, value.into_owned());
    }
    Ok(options)
}

fn unknown(name: &str, query: &str) -> Error {
    let known = "use db, user, password, tls_ca, tls_cert or tls_key, and percent-encode `?`, `&`, `/` and `@` in \
                 passwords";
    // What is no option may be a piece of a password that was not encoded.
    let innocent = name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
        && !query.contains('@')
        && !query.contains("password=");
    Error::invalid(if innocent {
        format!("the url has an option that redis does not know, {known}: option=`{name}`")
    } else {
        format!("the url has an option that redis does not know, {known}")
    })
}
