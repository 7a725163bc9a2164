//! A client that can have no socket: it waits by looking, and keeps nothing of the locks that it waits for no more.

mod support;

use std::fs;
use std::path::PathBuf;
use std::time::Duration;
use support::{PATIENCE, Place, backend, ms, soon};
use tenure_core::{Applied, Backend, Batch, Card, Client, Key, Kind, Label, Pattern, Port, Sight, StoreError};
use tenure_sqlite::Sqlite;
use tokio::sync::watch;

/// The store, for a client in whose socket's place something else lies.
struct Deaf {
    sqlite: Sqlite,
    sockets: PathBuf,
    /// How many locks are listened for.
    watched: watch::Sender<usize>,
}

impl Backend for Deaf {
    fn label(&self) -> Label {
        self.sqlite.label()
    }

    fn address(&self) -> String {
        self.sqlite.address()
    }

    async fn reach(&self, within: Duration) -> Result<(), StoreError> {
        self.sqlite.reach(within).await
    }

    async fn apply(&self, batch: Batch<'_>, within: Duration) -> Result<Applied, StoreError> {
        self.sqlite.apply(batch, within).await
    }

    async fn list(&self, pattern: &Pattern, within: Duration) -> Result<Vec<(Key, Sight)>, StoreError> {
        self.sqlite.list(pattern, within).await
    }

    async fn announce(&self, client: &str, card: &Card, keep: Duration, within: Duration) -> Result<(), StoreError> {
        self.sqlite.announce(client, card, keep, within).await
    }

    async fn look_up(&self, client: &str, within: Duration) -> Result<Option<Card>, StoreError> {
        self.sqlite.look_up(client, within).await
    }

    fn calls_apart(&self, kind: Kind) -> bool {
        self.sqlite.calls_apart(kind)
    }

    async fn listen(&self, port: Port) {
        fs::create_dir_all(self.sockets.join(port.client())).unwrap();
        // The second is only to look by: nothing is heard of what waiters want but by the first.
        let (mut ports, _telling) = port.split(2);
        let (looking, listening) = (ports.pop().unwrap(), ports.pop().unwrap());
        let look = async {
            loop {
                self.watched.send_replace(looking.watched().len());
                tokio::time::sleep(ms(5)).await;
            }
        };
        tokio::select! {
            () = self.sqlite.listen(listening) => {}
            () = look => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_socket_nothing_is_kept_of_what_was_given_up() {
    let place = Place::new();
    let holder = place.client().await;
    let (watched, mut watching) = watch::channel(0);
    let sockets = format!("{}-wake", place.path.display()).into();
    let deaf = Deaf { sqlite: backend(&place.path), sockets, watched };
    let client = Client::builder().connect(deaf).await.unwrap();
    let (mut held, mut waiting) = (Vec::new(), Vec::new());
    for number in 0..50 {
        let key = format!("k{number}");
        held.push(holder.lock(&key).unwrap().lock().await.unwrap());
        let lock = client.lock(&key).unwrap();
        waiting.push(tokio::spawn(async move { lock.lock().await }));
    }
    soon("all are waited for", watching.wait_for(|watched| *watched == 50)).await.unwrap();
    for given_up in waiting {
        given_up.abort();
        assert!(given_up.await.is_err(), "it is held");
    }
    let none = watching.wait_for(|watched| *watched == 0);
    tokio::time::timeout(PATIENCE, none).await.expect("what was given up is let go of").unwrap();
    // It still gets in, by looking.
    held.remove(0).release().await.unwrap();
    soon("it gets in", client.lock("k0").unwrap().lock()).await.unwrap().release().await.unwrap();
}
