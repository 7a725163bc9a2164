//! A log subscriber that panics takes the watchdog down, but no guard goes on believing.

use std::time::Duration;
use tenure_core::{Client, Loss, Memory, Options};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};

struct Panics;

impl<S: Subscriber> Layer<S> for Panics {
    fn on_event(&self, _: &Event<'_>, _: Context<'_, S>) {
        assert!(std::thread::current().name() != Some("tenure-keeper"), "this panic is part of the case");
    }
}

#[tokio::test]
async fn every_guard_is_told_although_telling_the_log_panics() {
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(Panics)).unwrap();
    let client = Client::new(Memory::new()).unwrap();
    let mut guards = Vec::new();
    for number in 0..5 {
        guards.push(client.lock(&format!("long {number}")).unwrap().lock().await.unwrap());
    }
    let short = Options::new().lease(Duration::from_millis(200)).no_renew();
    let short = client.lock("short").unwrap().lock_with(short).await.unwrap();
    short.lost().await;
    for guard in &guards {
        let why = tokio::time::timeout(Duration::from_secs(10), guard.lost()).await;
        assert_eq!(why.expect("it is told"), Loss::WatchdogDied);
    }
}
