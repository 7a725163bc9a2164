//! What a URL says: where a server is and how to be let in.

use crate::config::Config;
use mysql_async::{Opts, OptsBuilder};
use std::collections::HashMap;
use std::time::Duration;
use tenure_core::Error;
use url::{Host, Url};

const FORM: &str = "write `mysql://user:password@host:port/database`";
const KNOWN: [&str; 4] = ["connections", "tls_ca", "tls_cert", "tls_key"];
/// More than any server takes.
const MOST_CONNECTIONS: usize = 100_000;
/// A connection over which nothing comes for so long is looked after by the operating system.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// What a URL says.
pub(crate) struct Settings {
    /// Where it is, without secrets.
    pub(crate) address: String,
    pub(crate) opts: Opts,
    pub(crate) connections: usize,
}

type Options = HashMap<&'static str, String>;

impl Settings {
    pub(crate) fn read(text: &str) -> Result<Self, Error> {
        // The text may hold a password, so only the error is quoted.
        let url =
            Url::parse(text).map_err(|error| Error::invalid(format!("the url cannot be read, {FORM}: {error}")))?;
        let tls = match url.scheme() {
            "mysql" => false,
            "mysqls" => true,
            other => return Err(Error::invalid(format!("not a mysql url, {FORM}: scheme=`{other}`"))),
        };
        let host = match url.host() {
            Some(Host::Domain(host)) if !host.is_empty() => decoded("host", host)?,
            Some(Host::Ipv4(host)) => host.to_string(),
            Some(Host::Ipv6(host)) => host.to_string(),
            _ => return Err(Error::invalid(format!("the url names no host, {FORM}"))),
        };
        if url.fragment().is_some() {
            return Err(Error::invalid("the url has a fragment, which means nothing here: percent-encode any `#`"));
        }
        let database = decoded("database", url.path().trim_start_matches('/'))?;
        if database.is_empty() || database.contains('/') {
            return Err(Error::invalid(format!(
                "the url names no database, in which the tables of the locks are to be, {FORM}"
            )));
        }
        let port = url.port().unwrap_or(3306);
        let user = (!url.username().is_empty()).then(|| decoded("user", url.username())).transpose()?;
        let password = url.password().map(|password| decoded("password", password)).transpose()?;
        let options = options(&url)?;
        let connections = match options.get("connections") {
            None => Config::CONNECTIONS,
            Some(count) => {
                count.parse().ok().filter(|count| (1..=MOST_CONNECTIONS).contains(count)).ok_or_else(|| {
                    Error::invalid(format!(
                        "connections is a number from 1 to {MOST_CONNECTIONS}: connections=`{count}`"
                    ))
                })?
            }
        };
        let opts = OptsBuilder::default()
            .ip_or_hostname(host.clone())
            .tcp_port(port)
            .user(user)
            .pass(password)
            .db_name(Some(database.clone()))
            // Where the URL says, and not by a socket that the server happens to name.
            .prefer_socket(false)
            .tcp_nodelay(true)
            .tcp_keepalive(Some(KEEP_ALIVE));
        let opts = if tls { with_tls(opts, &options)? } else { opts };
        let shown = if host.contains(':') { format!("[{host}]") } else { host };
        Ok(Self { address: format!("{}://{shown}:{port}/{database}", url.scheme()), opts: opts.into(), connections })
    }
}

fn decoded(what: &str, text: &str) -> Result<String, Error> {
    let decoded = percent_encoding::percent_decode_str(text).decode_utf8();
    // What it is may be a secret, so it is only named.
    decoded
        .map(std::borrow::Cow::into_owned)
        .map_err(|_| Error::invalid(format!("a part of the url is no text, percent-encode it as UTF-8: part=`{what}`")))
}

fn options(url: &Url) -> Result<Options, Error> {
    let mut options = Options::new();
    // Not read as a form is, where a `+` would be a space.
    for pair in url.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let Some(option) = KNOWN.into_iter().find(|known| *known == name) else {
            return Err(unknown(name, url.query().is_some_and(|query| query.contains('@'))));
        };
        if option.starts_with("tls_") && url.scheme() != "mysqls" {
            return Err(Error::invalid(format!("tls options need a `mysqls://` url: option=`{option}`")));
        }
        if options.insert(option, decoded(option, value)?).is_some() {
            return Err(Error::invalid(format!("the url has an option twice, give it once: option=`{option}`")));
        }
    }
    Ok(options)
}

/// What stands behind the `?` may be a piece of a password that was not encoded.
fn unknown(name: &str, torn: bool) -> Error {
    let rule = "the url has an option that mysql does not know, use connections, tls_ca, tls_cert or tls_key, and \
                percent-encode `?`, `&`, `/` and `@` in passwords";
    let innocent = !torn && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    Error::invalid(if innocent { format!("{rule}: option=`{name}`") } else { rule.to_owned() })
}

#[cfg(feature = "tls")]
fn with_tls(opts: OptsBuilder, options: &Options) -> Result<OptsBuilder, Error> {
    use mysql_async::{ClientIdentity, SslOpts};
    let file = |option: &str| -> Result<Option<Vec<u8>>, Error> {
        let Some(path) = options.get(option) else { return Ok(None) };
        let read = std::fs::read(path)
            .map_err(|error| Error::invalid(format!("the file of `{option}` cannot be read: {error} path=`{path}`")))?;
        if !String::from_utf8_lossy(&read).contains("-----BEGIN ") {
            return Err(Error::invalid(format!(
                "the file of `{option}` holds nothing in PEM form, give it so: path=`{path}`"
            )));
        }
        Ok(Some(read))
    };
    let mut tls = SslOpts::default();
    if let Some(ca) = file("tls_ca")? {
        // Whoever names an authority means that one alone.
        tls = tls.with_root_certs(vec![ca.into()]).with_disable_built_in_roots(true);
    }
    match (file("tls_cert")?, file("tls_key")?) {
        (Some(cert), Some(key)) => tls = tls.with_client_identity(Some(ClientIdentity::new(cert.into(), key.into()))),
        (None, None) => {}
        _ => return Err(Error::invalid("tls_cert and tls_key go together: give both or neither")),
    }
    Ok(opts.ssl_opts(tls))
}

#[cfg(not(feature = "tls"))]
fn with_tls(_: OptsBuilder, _: &Options) -> Result<OptsBuilder, Error> {
    Err(Error::invalid("this build has no TLS: enable the feature `tls` for mysqls:// urls"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_say_where_the_server_is() {
        for (url, address, user, password) in [
            ("mysql://db1/shop", "mysql://db1:3306/shop", None, None),
            ("mysql://app@db1:3307/shop", "mysql://db1:3307/shop", Some("app"), None),
            ("mysql://a%40b:p%2Fw@[::1]/a%20b?connections=7", "mysql://[::1]:3306/a b", Some("a@b"), Some("p/w")),
        ] {
            let settings = Settings::read(url).unwrap();
            assert_eq!(settings.address, address);
            assert_eq!((settings.opts.user(), settings.opts.pass()), (user, password), "{url}");
        }
        assert_eq!(Settings::read("mysql://db1/shop?connections=7").unwrap().connections, 7);
    }

    #[test]
    fn what_cannot_be_is_refused_and_passwords_are_not_quoted() {
        for (url, said) in [
            ("mysql://db1", "names no database"),
            ("mysql://db1/a/b", "names no database"),
            ("mysql:///shop", "names no host"),
            ("redis://db1/shop", "not a mysql url"),
            ("mysql://db1/shop#a", "fragment"),
            ("mysql://db1/shop?connections=0", "connections=`0`"),
            ("mysql://db1/shop?connections=many", "connections=`many`"),
            ("mysql://db1/shop?connections=1&connections=2", "twice"),
            ("mysql://db1/shop?pool=2", "option=`pool`"),
            ("mysql://db1/shop?tls_ca=/a", "mysqls://"),
            ("mysqls://db1/shop?tls_ca=/no/such/file", "cannot be read"),
            ("mysqls://db1/shop?tls_cert=/dev/null", "PEM"),
            ("mysql://a:hunter2-canary/x?y@db1/shop", ""),
            ("mysql://a:hunter2-canary?b@db1/shop", ""),
            ("mysql://a:%FFhunter2-canary@db1/shop", "part=`password`"),
        ] {
            let error = Settings::read(url).err().map_or_else(|| panic!("{url}"), |error| error.to_string());
            assert!(error.contains(said), "{url}: {error}");
            assert!(!error.contains("canary"), "{error}");
        }
    }
}
