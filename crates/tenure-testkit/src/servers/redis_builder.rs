//! How a test describes the `redis-server` it wants.

use std::path::Path;

use super::certificates::Certificates;
use super::redis::RedisServer;

/// The settings of a [`RedisServer`] to be started; without any it keeps nothing on disk.
#[derive(Clone, Debug, Default)]
#[must_use = "a builder starts nothing until `start` is called"]
pub struct RedisServerBuilder {
    pub(super) durable: bool,
    pub(super) password: Option<String>,
    pub(super) unix_socket: bool,
    pub(super) tls: bool,
    pub(super) acl: Vec<String>,
    pub(super) args: Vec<(String, String)>,
}

impl RedisServerBuilder {
    /// Every write is on disk before it is answered (`appendonly yes`, `appendfsync always`), so
    /// the data survive [`RedisServer::kill`] and [`RedisServer::restart`].
    pub fn durable(mut self) -> Self {
        self.durable = true;
        self
    }

    /// The password of the default user (`requirepass`).
    pub fn password(mut self, password: &str) -> Self {
        self.password = Some(password.to_owned());
        self
    }

    /// Adds an ACL user, written as in an ACL file: `user alice on >secret ~app:* +@all`.
    ///
    /// Leave the default user its rights: the helpers of [`RedisServer`] speak as that user.
    pub fn acl(mut self, line: &str) -> Self {
        assert!(
            line.starts_with("user "),
            "an ACL line starts with `user `, as in `user alice on >secret ~* +@all`; got {line:?}"
        );
        self.acl.push(line.to_owned());
        self
    }

    /// The server also listens on a Unix socket, see [`RedisServer::socket`].
    pub fn unix_socket(mut self) -> Self {
        self.unix_socket = true;
        self
    }

    /// The TCP port speaks TLS only. Client certificates are verified when one is shown, and not
    /// required; [`RedisServer::ca`], [`RedisServer::cert`] and [`RedisServer::key`] are the files
    /// a client needs.
    pub fn tls(mut self) -> Self {
        self.tls = true;
        self
    }

    /// Any other option of `redis-server`: `.arg("--maxmemory", "2mb")`.
    pub fn arg(mut self, name: &str, value: &str) -> Self {
        assert!(name.starts_with("--"), "write the option as on the command line, `--{name}`");
        self.args.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Starts the server and returns when it answers.
    pub fn start(self) -> RedisServer {
        RedisServer::launch(self)
    }

    /// The command line; `certificates` are there if the server speaks TLS.
    pub(super) fn arguments(
        &self,
        port: u16,
        dir: &Path,
        socket: &Path,
        certificates: Option<&Certificates>,
    ) -> Vec<String> {
        let path = |path: &Path| path.display().to_string();
        let port = port.to_string();
        let mut args: Vec<String> = Vec::new();
        let mut add = |words: &[&str]| args.extend(words.iter().map(ToString::to_string));
        add(&["--bind", "127.0.0.1", "--dir", &path(dir), "--save", ""]);
        if self.durable {
            add(&["--appendonly", "yes", "--appendfsync", "always"]);
        } else {
            add(&["--appendonly", "no"]);
        }
        if let Some(files) = certificates {
            add(&["--port", "0", "--tls-port", &port]);
            add(&["--tls-auth-clients", "optional"]);
            add(&["--tls-ca-cert-file", &path(&files.ca)]);
            add(&["--tls-cert-file", &path(&files.server.cert)]);
            add(&["--tls-key-file", &path(&files.server.key)]);
        } else {
            add(&["--port", &port]);
        }
        if self.unix_socket || self.tls {
            add(&["--unixsocket", &path(socket)]);
        }
        if let Some(password) = &self.password {
            add(&["--requirepass", password]);
        }
        for line in &self.acl {
            add(&["--user"]);
            add(&line.split_whitespace().skip(1).collect::<Vec<_>>());
        }
        for (name, value) in &self.args {
            add(&[name, value]);
        }
        args
    }
}
