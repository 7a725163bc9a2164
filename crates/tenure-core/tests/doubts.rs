//! What the watchdog makes of a store that is far away.

use std::sync::Mutex;
use std::time::Duration;
use tenure_core::{
    Applied, Backend, Batch, Card, Client, Clock, Key, Kind, Label, Memory, Operation, Options, Pattern, Port, Sight,
    StoreError, StoreErrorKind, What,
};

/// How long an answer takes.
const FAR: Duration = Duration::from_millis(45);

/// A memory store in another region, whose ear is lost all the time, so that every hold is always in doubt.
struct Far {
    store: Memory,
    hurried: Mutex<usize>,
}

impl Backend for &'static Far {
    fn label(&self) -> Label {
        self.store.label()
    }

    fn address(&self) -> String {
        self.store.address()
    }

    fn clock(&self) -> Clock {
        self.store.clock()
    }

    async fn reach(&self, within: Duration) -> Result<(), StoreError> {
        self.store.reach(within).await
    }

    async fn apply(&self, batch: Batch<'_>, within: Duration) -> Result<Applied, StoreError> {
        if batch.steps.iter().all(|step| matches!(step.operation, Operation::Renew { .. })) {
            if within < FAR {
                *self.hurried.lock().unwrap() += 1;
                tokio::time::sleep(within).await;
                return Err(StoreError::new(StoreErrorKind::Unanswered, "too far away"));
            }
            tokio::time::sleep(FAR).await;
        }
        self.store.apply(batch, within).await
    }

    async fn list(&self, pattern: &Pattern, within: Duration) -> Result<Vec<(Key, Sight)>, StoreError> {
        self.store.list(pattern, within).await
    }

    async fn announce(&self, client: &str, card: &Card, keep: Duration, within: Duration) -> Result<(), StoreError> {
        self.store.announce(client, card, keep, within).await
    }

    async fn look_up(&self, client: &str, within: Duration) -> Result<Option<Card>, StoreError> {
        self.store.look_up(client, within).await
    }

    fn calls_apart(&self, _: Kind) -> bool {
        false
    }

    async fn listen(&self, port: Port) {
        let pusher = port.pusher();
        loop {
            pusher.may_have_forgotten();
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

#[tokio::test]
async fn a_hold_that_is_only_asked_about_makes_nobody_impatient() {
    let far: &'static Far = Box::leak(Box::new(Far { store: Memory::new(), hurried: Mutex::default() }));
    let client = Client::new(far).unwrap();
    let asked_about = Options::new().lease(Duration::from_secs(60)).no_renew();
    let _once = client.lock("once").unwrap().lock_with(asked_about).await.unwrap();
    let mut events = client.events();
    let guard = client.lock("a").unwrap().lock_with(Options::new().lease(Duration::from_secs(1))).await.unwrap();
    for _ in 0..10 {
        while !matches!(events.next().await.unwrap().what, What::Renewed) {}
    }
    guard.check().unwrap();
    assert_eq!(*far.hurried.lock().unwrap(), 0);
}
