//! From what a URL says to a client of redis-rs.

use super::RedisRs;
use crate::settings::{Place, Settings};
use redis::io::tcp::TcpSettings;
use redis::{Client, ConnectionAddr, IntoConnectionInfo, RedisConnectionInfo, RedisError};
use tenure_core::Error;

impl RedisRs {
    /// A driver for the server that the settings are about. Nothing is sent.
    pub(crate) fn set_up(settings: Settings) -> Result<Self, Error> {
        client(settings).map(Self::new).map_err(|error| {
            let why = error.detail().unwrap_or("no details");
            Error::invalid(format!("the url or its tls files are not usable: {why}"))
        })
    }
}

fn client(settings: Settings) -> Result<Client, RedisError> {
    let mut login = RedisConnectionInfo::default().set_db(settings.db).set_skip_set_lib_name();
    if let Some(user) = settings.user {
        login = login.set_username(user);
    }
    if let Some(password) = settings.password {
        login = login.set_password(password);
    }
    let info = |addr: ConnectionAddr| {
        let info = addr.into_connection_info()?;
        Ok::<_, RedisError>(info.set_redis_settings(login).set_tcp_settings(TcpSettings::default().set_nodelay(true)))
    };
    match settings.place {
        Place::Tcp { host, port } => Client::open(info(ConnectionAddr::Tcp(host, port))?),
        Place::Unix(path) => Client::open(info(ConnectionAddr::Unix(path))?),
        #[cfg(feature = "tls")]
        Place::Tls { host, port, tls } => {
            // Where an application has chosen no provider, or the crates in its tree would bring two, ours is the one.
            let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
            let own = tls.identity;
            let client_tls = own.map(|own| redis::ClientTlsConfig { client_cert: own.cert, client_key: own.key });
            let addr = ConnectionAddr::TcpTls { host, port, insecure: false, tls_params: None };
            Client::build_with_tls(info(addr)?, redis::TlsCertificates { client_tls, root_cert: tls.ca })
        }
    }
}
