//! How a test describes the `mariadbd` it wants.

use std::path::Path;

use super::certificates::Certificates;
use super::mariadb::MariaDbServer;
use super::mariadb_template as template;

/// Options of every server. What a committed transaction wrote is on disk, whatever kills the server.
const ALWAYS: [&str; 15] = [
    "--bind-address=127.0.0.1",
    "--skip-name-resolve",
    "--skip-log-bin",
    "--performance-schema=OFF",
    "--character-set-server=utf8mb4",
    "--innodb-flush-log-at-trx-commit=1",
    // Neither a crowd of clients nor a low limit of open files may lower each other.
    "--max-connections=600",
    "--table-open-cache=1000",
    "--table-open-cache-instances=1",
    // Many servers at once must not run out of locked memory.
    "--innodb-use-native-aio=OFF",
    // The rest makes the start fast.
    "--innodb-temp-data-file-path=ibtmp1:1M:autoextend",
    "--innodb-buffer-pool-load-at-startup=OFF",
    "--innodb-buffer-pool-dump-at-shutdown=OFF",
    "--key-buffer-size=1M",
    "--aria-pagecache-buffer-size=1M",
];

/// The settings of a [`MariaDbServer`] to be started; without any it speaks no TLS.
#[derive(Clone, Debug, Default)]
#[must_use = "a builder starts nothing until `start` is called"]
pub struct MariaDbServerBuilder {
    pub(super) tls: bool,
    pub(super) requires_tls: bool,
    options: Vec<String>,
}

impl MariaDbServerBuilder {
    /// The server speaks TLS with those who ask for it; [`MariaDbServer::ca`],
    /// [`MariaDbServer::cert`] and [`MariaDbServer::key`] are the files a client needs.
    pub fn tls(mut self) -> Self {
        self.tls = true;
        self
    }

    /// The TCP port speaks TLS only (`require_secure_transport`).
    pub fn requires_tls(mut self) -> Self {
        self.requires_tls = true;
        self.tls()
    }

    /// Any other option of `mariadbd`, as in its configuration file:
    /// `.option("innodb_lock_wait_timeout=1")`. It overrides the kit's own.
    pub fn option(mut self, option: &str) -> Self {
        assert!(!option.starts_with('-'), "write the option as in a configuration file, without dashes: {option}");
        self.options.push(format!("--{option}"));
        self
    }

    /// Starts the server and returns when it answers.
    pub fn start(self) -> MariaDbServer {
        MariaDbServer::launch(self)
    }

    /// The command line; `certificates` are there if the server speaks TLS.
    pub(super) fn arguments(
        &self,
        port: u16,
        dir: &Path,
        data: &Path,
        socket: &Path,
        certificates: Option<&Certificates>,
    ) -> Vec<String> {
        // First, or it is refused: the machine's own configuration is none of ours.
        let mut args = vec!["--no-defaults".to_owned(), format!("--port={port}")];
        let mut add = |name: &str, path: &Path| args.push(format!("--{name}={}", path.display()));
        add("datadir", data);
        add("tmpdir", dir);
        // There is one as on any machine: a client that strays to it must not pass for one that did not.
        add("socket", socket);
        add("pid-file", &dir.join("mariadb.pid"));
        if let Some(files) = certificates {
            add("ssl-ca", &files.ca);
            add("ssl-cert", &files.server.cert);
            add("ssl-key", &files.server.key);
        } else {
            // Later versions would make a certificate of their own.
            args.push("--skip-ssl".to_owned());
        }
        if self.requires_tls {
            args.push("--require-secure-transport=ON".to_owned());
        }
        args.extend(template::user().into_iter().chain(ALWAYS).chain(template::FILES).map(str::to_owned));
        args.extend_from_slice(&self.options);
        args
    }
}
