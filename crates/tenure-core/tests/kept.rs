//! A lock that is kept taken by one who has left names no process that is gone.

use std::time::Duration;
use tenure_core::{Card, Client, Memory, Options, Release};

#[tokio::test]
async fn a_lock_that_is_kept_names_no_process_that_is_gone() {
    let store = Memory::new();
    let other = Client::new(store.clone()).unwrap();
    let seen =
        async || other.lock("k").unwrap().inspect().await.unwrap().and_then(|held| held.card().cloned()).unwrap();
    let client = Client::builder().label("tick").build(store).unwrap();
    let options = Options::new().at_least(Duration::from_secs(60));
    let guard = client.lock("k").unwrap().lock_with(options).await.unwrap();
    assert!(matches!(guard.release().await.unwrap(), Release::Kept(_)));
    client.close(Duration::from_secs(20)).await.unwrap();
    let card: Card = seen().await;
    assert!(card.has_left() && card.label == "tick", "{card:?}");
    assert!(card.to_string().starts_with("tick on ") && !card.to_string().contains(" pid "), "{card}");
}
