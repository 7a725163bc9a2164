//! From a URL to a server.

use crate::backend::Redis;
use crate::driver::Driver;
use crate::links::Links;
use redis::io::tcp::TcpSettings;
use redis::{Client, ConnectionAddr, IntoConnectionInfo, RedisConnectionInfo};
use std::path::PathBuf;
use tenure_core::Error;
use url::Url;

/// Where a Redis server is and how to be let in. Read from a URL:
///
/// * `redis://[user[:password]@]host[:port][/db]`
/// * `rediss://…`, the same over TLS
/// * `redis+unix:///path/to/socket[?db=0&user=…&password=…]`
///
/// Options: `db`, `user`, `password` (for all three), and for TLS `tls_ca`, `tls_cert`, `tls_key`, each the path of a
/// PEM file. Anything else is refused.
pub struct Config {
    client: Client,
}

/// What a URL says, before it is anything's.
struct Parts {
    addr: ConnectionAddr,
    db: i64,
    user: Option<String>,
    password: Option<String>,
    tls: TlsFiles,
}

#[derive(Default)]
struct TlsFiles {
    ca: Option<PathBuf>,
    cert: Option<PathBuf>,
    key: Option<PathBuf>,
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
        let parts = Parts::read(url)?;
        let mut settings = RedisConnectionInfo::default().set_db(parts.db).set_skip_set_lib_name();
        if let Some(user) = parts.user {
            settings = settings.set_username(user);
        }
        if let Some(password) = parts.password {
            settings = settings.set_password(password);
        }
        let info = parts
            .addr
            .into_connection_info()
            .map_err(|_| Error::invalid("the url's address is not one redis can be at: write `redis://host:port`"))?
            .set_redis_settings(settings)
            .set_tcp_settings(TcpSettings::default().set_nodelay(true));
        Ok(Self { client: parts.tls.open(info)? })
    }

    /// Takes over a client that was set up elsewhere. Only its settings are used: connections are opened anew, for
    /// those that exist live on somebody else's runtime.
    pub fn from_client(client: Client) -> Self {
        Self { client }
    }

    /// The backend. Nothing is sent before it is used.
    pub fn into_backend(self) -> Redis {
        Redis::new(Links::new(Driver::new(self.client)))
    }
}

impl Parts {
    fn read(text: &str) -> Result<Self, Error> {
        let url = Url::parse(text).map_err(|error| {
            // The text may hold a password, so only the error is quoted.
            Error::invalid(format!("the url cannot be read, write `redis://host:port/db`: {error}"))
        })?;
        let decoded = |part: &str| {
            percent_encoding::percent_decode_str(part)
                .decode_utf8()
                .map(std::borrow::Cow::into_owned)
                .map_err(|_| Error::invalid("the url's user or password is not percent-encoded UTF-8"))
        };
        let mut parts = Self {
            addr: address(&url)?,
            db: 0,
            user: (!url.username().is_empty()).then(|| decoded(url.username())).transpose()?,
            password: url.password().map(decoded).transpose()?,
            tls: TlsFiles::default(),
        };
        let path = url.path().trim_matches('/');
        if url.scheme() != "redis+unix" && !path.is_empty() {
            // With an `@` behind the host, this is more likely the rest of a password that was not percent-encoded.
            let suspect = text.rfind('@') > text.find(path);
            parts.db = database(path, suspect)?;
        }
        for (option, value) in url.query_pairs() {
            match &*option {
                "db" => parts.db = database(&value, url.query().is_some_and(|query| query.contains('@')))?,
                "user" => parts.user = Some(value.into_owned()),
                "password" => parts.password = Some(value.into_owned()),
                "tls_ca" if url.scheme() == "rediss" => parts.tls.ca = Some(PathBuf::from(&*value)),
                "tls_cert" if url.scheme() == "rediss" => parts.tls.cert = Some(PathBuf::from(&*value)),
                "tls_key" if url.scheme() == "rediss" => parts.tls.key = Some(PathBuf::from(&*value)),
                "tls_ca" | "tls_cert" | "tls_key" => {
                    return Err(Error::invalid(format!("tls options need a `rediss://` url: option=`{option}`")));
                }
                _ => {
                    let known = "use db, user, password, tls_ca, tls_cert or tls_key, and percent-encode `?`, `&`, `/` \
                                 and `@` in passwords";
                    let query = url.query().unwrap_or_default();
                    // What is no option may be a piece of a password that was not encoded.
                    let innocent = option.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
                        && !query.contains('@')
                        && !query.contains("password=");
                    return Err(Error::invalid(if innocent {
                        format!("the url has an option that redis does not know, {known}: option=`{option}`")
                    } else {
                        format!("the url has an option that redis does not know, {known}")
                    }));
                }
            }
        }
        if url.fragment().is_some() {
            return Err(Error::invalid("the url has a fragment, which means nothing here: percent-encode any `#`"));
        }
        Ok(parts)
    }
}

fn address(url: &Url) -> Result<ConnectionAddr, Error> {
    let host = || match url.host() {
        Some(url::Host::Domain(host)) if !host.is_empty() => Ok(host.to_owned()),
        Some(url::Host::Ipv4(host)) => Ok(host.to_string()),
        Some(url::Host::Ipv6(host)) => Ok(host.to_string()),
        _ => Err(Error::invalid("the url names no host: write `redis://host:port/db`")),
    };
    let port = url.port().unwrap_or(6379);
    match url.scheme() {
        "redis" => Ok(ConnectionAddr::Tcp(host()?, port)),
        "rediss" => Ok(ConnectionAddr::TcpTls { host: host()?, port, insecure: false, tls_params: None }),
        "redis+unix" if url.path().len() > 1 && url.host().is_none() => {
            let path = percent_encoding::percent_decode_str(url.path()).decode_utf8();
            let path = path.map_err(|_| Error::invalid("the socket's path is not percent-encoded UTF-8"))?;
            Ok(ConnectionAddr::Unix(PathBuf::from(&*path)))
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

impl TlsFiles {
    #[cfg(feature = "tls")]
    fn open(self, info: redis::ConnectionInfo) -> Result<Client, Error> {
        use rustls::pki_types::CertificateDer;
        use rustls::pki_types::pem::PemObject;

        let read = |what: &str, path: &PathBuf| {
            std::fs::read(path).map_err(|error| {
                Error::invalid(format!("the file of `{what}` cannot be read: {error} path=`{}`", path.display()))
            })
        };
        let client_tls = match (&self.cert, &self.key) {
            (Some(cert), Some(key)) => {
                Some(redis::ClientTlsConfig { client_cert: read("tls_cert", cert)?, client_key: read("tls_key", key)? })
            }
            (None, None) => None,
            _ => return Err(Error::invalid("tls_cert and tls_key go together: give both or neither")),
        };
        let root_cert = self.ca.as_ref().map(|ca| read("tls_ca", ca)).transpose()?;
        if let (Some(ca), Some(pem)) = (&self.ca, &root_cert)
            && !matches!(CertificateDer::pem_slice_iter(pem).next(), Some(Ok(_)))
        {
            return Err(Error::invalid(format!(
                "the file of `tls_ca` holds no certificate, give one in PEM form: path=`{}`",
                ca.display()
            )));
        }
        if !matches!(info.addr(), ConnectionAddr::TcpTls { .. }) {
            return Client::open(info).map_err(|error| refused(&error));
        }
        // Where an application has chosen no provider, or the crates in its tree would bring two, ours is the one.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        Client::build_with_tls(info, redis::TlsCertificates { client_tls, root_cert }).map_err(|error| refused(&error))
    }

    #[cfg(not(feature = "tls"))]
    fn open(self, info: redis::ConnectionInfo) -> Result<Client, Error> {
        if matches!(info.addr(), ConnectionAddr::TcpTls { .. }) {
            return Err(Error::invalid("this build has no TLS: enable the feature `tls` for rediss:// urls"));
        }
        Client::open(info).map_err(|error| refused(&error))
    }
}

fn refused(error: &redis::RedisError) -> Error {
    Error::invalid(format!("the url or its tls files are not usable: {}", error.detail().unwrap_or("no details")))
}

impl std::fmt::Debug for Config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Config({})", crate::error::address(&self.client))
    }
}
