//! Over TLS, or not at all.

use crate::support::{backend, client, gets_in};
use tenure_core::{Client, Error, ErrorKind};
use tenure_testkit::MariaDbServer;

fn over_tls(server: &MariaDbServer, options: &str) -> String {
    // Certificates are for a name, which the port of a test has not: that of the machine will do.
    format!("{}{options}", server.url().replacen("mysql://", "mysqls://", 1))
}

async fn refused(url: &str) -> Error {
    Client::builder().connect(backend(url)).await.map(|_| ()).unwrap_err()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_demands_tls_is_spoken_to_over_tls() {
    let server = MariaDbServer::builder().requires_tls().start();
    let ca = format!("?tls_ca={}", server.ca().display());
    let client = client(&over_tls(&server, &ca)).await;
    gets_in(&client, "k").await.release().await.unwrap();
    assert_eq!(client.lock("k").unwrap().inspect().await.unwrap().map(|_| ()), None);
    let own = format!("{ca}&tls_cert={}&tls_key={}", server.cert().display(), server.key().display());
    gets_in(&crate::support::client(&over_tls(&server, &own)).await, "k").await.release().await.unwrap();

    let error = refused(&server.url()).await;
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    assert!(error.to_string().contains("mysqls://"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_of_another_authority_is_not_trusted() {
    let (server, stranger) = (MariaDbServer::builder().requires_tls().start(), MariaDbServer::builder().tls().start());
    for options in [String::new(), format!("?tls_ca={}", stranger.ca().display())] {
        let error = refused(&over_tls(&server, &options)).await;
        assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
        assert!(error.to_string().contains("tls_ca"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_tls_is_refused_to_those_who_want_it() {
    let server = MariaDbServer::start();
    let error = refused(&over_tls(&server, "")).await;
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    assert!(error.to_string().contains("mysql://"), "{error}");
}
