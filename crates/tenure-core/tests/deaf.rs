//! A store that tells nobody of a release: whoever waits in the client that released hears of it all the same.

use std::time::Duration;
use tenure_core::{
    Applied, Backend, Batch, Card, Client, Clock, Guarantee, Key, Kind, Label, ManualClock, Memory, Pattern, Port,
    Sight, StoreError, What,
};

/// However busy the machine is. By the clock of the store no time passes, so that nobody looks by itself.
const SOON: Duration = Duration::from_secs(20);
/// As many of a line as look when somebody leaves.
const TASKS: u32 = 8;

/// A memory store that nobody can listen to.
struct Deaf(Memory);

impl Backend for Deaf {
    fn label(&self) -> Label {
        Label { guarantees: &[Guarantee::Fencing], ..self.0.label() }
    }

    fn address(&self) -> String {
        self.0.address()
    }

    fn clock(&self) -> Clock {
        self.0.clock()
    }

    async fn reach(&self, within: Duration) -> Result<(), StoreError> {
        self.0.reach(within).await
    }

    async fn apply(&self, batch: Batch<'_>, within: Duration) -> Result<Applied, StoreError> {
        self.0.apply(batch, within).await
    }

    async fn list(&self, pattern: &Pattern, within: Duration) -> Result<Vec<(Key, Sight)>, StoreError> {
        self.0.list(pattern, within).await
    }

    async fn announce(&self, client: &str, card: &Card, keep: Duration, within: Duration) -> Result<(), StoreError> {
        self.0.announce(client, card, keep, within).await
    }

    async fn look_up(&self, client: &str, within: Duration) -> Result<Option<Card>, StoreError> {
        self.0.look_up(client, within).await
    }

    fn calls_apart(&self, _: Kind) -> bool {
        false
    }

    async fn listen(&self, _: Port) {
        std::future::pending::<()>().await;
    }
}

#[tokio::test]
async fn a_release_is_heard_by_those_who_wait_in_the_same_client() {
    for kind in [Kind::Reentrant, Kind::Simple, Kind::Fair, Kind::Write] {
        for drops in [false, true] {
            println!("{kind}, drops: {drops}");
            let client = Client::new(Deaf(Memory::with_clock(ManualClock::new()))).unwrap();
            let lock = client.lock_of(kind, "k").unwrap();
            let (held, mut events) = (lock.lock().await.unwrap(), client.events());
            let mut tasks = tokio::task::JoinSet::new();
            for _ in 0..TASKS {
                let lock = lock.clone();
                tasks.spawn(async move {
                    let guard = lock.lock().await.unwrap();
                    if drops {
                        drop(guard);
                    } else {
                        guard.release().await.unwrap();
                    }
                });
            }
            for _ in 0..TASKS {
                while !matches!(events.next().await.unwrap().what, What::Waiting { .. }) {}
            }
            held.release().await.unwrap();
            let served = async { while tasks.join_next().await.is_some() {} };
            tokio::time::timeout(SOON, served).await.expect("each is woken by the one before");
        }
    }
}
