//! A key of which nothing is left but what goes before it: one lock would stand for all that have no name.

use tenure::{Client, Error, ErrorKind, Memory, Policy};

fn held() -> String {
    tenure::current().map(|guard| guard.key().to_string()).unwrap_or_default()
}

#[tenure::locked(client = locks, key = "stock:{id}", enabled = enabled)]
async fn by_task(locks: &Client, id: &str, enabled: bool) -> Result<String, Error> {
    Ok(held())
}

#[tenure::locked(client = locks, key = "{shop.0}:{id}")]
fn by_thread(locks: &Client, shop: (&str,), id: &str) -> Result<String, Error> {
    Ok(held())
}

#[tenure::locked(client = locks, key = "stock:{id:raw}")]
async fn as_it_is(locks: &Client, id: &str) -> Result<String, Error> {
    Ok(held())
}

#[tenure::locked(client = locks, prefix = "stock:", key = "{id:raw}")]
async fn behind_a_prefix(locks: &Client, id: &str) -> Result<String, Error> {
    Ok(held())
}

#[tenure::locked(client = locks, policy = policy, key = "{id:raw}")]
async fn behind_a_policy(locks: &Client, policy: &Policy, id: &str) -> Result<String, Error> {
    Ok(held())
}

fn told(outcome: Result<String, Error>) -> String {
    let error = outcome.expect_err("nothing is run");
    assert_eq!(error.kind(), ErrorKind::Invalid);
    error.to_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_empty_part_is_refused() {
    let locks = Client::new(Memory::new()).unwrap();
    let by_thread = |shop, id| tokio::task::block_in_place(|| by_thread(&locks, (shop,), id));
    let rule = "a part of the key is empty, and one lock would stand for all that have none: give it a value, or write";
    let one = told(by_task(&locks, "", true).await);
    assert_eq!(one, format!("{rule} `{{id:raw}}` if that is meant: part=`{{id}}` key=`stock:`"));
    let first = told(by_thread("", "7"));
    assert_eq!(first, format!("{rule} `{{shop.0:raw}}` if that is meant: part=`{{shop.0}}` key=`:7`"));
    assert!(told(by_thread("eu", "")).ends_with("part=`{id}` key=`eu:`"));

    assert_eq!(by_task(&locks, "7", true).await.unwrap(), "stock:7");
    assert_eq!(by_thread("eu", "7").unwrap(), "eu:7");
    assert_eq!(as_it_is(&locks, "").await.unwrap(), "stock:");
    assert_eq!(by_task(&locks, "", false).await.unwrap(), "", "what is switched off has no key");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prefix_alone_is_no_key() {
    let locks = Client::new(Memory::new()).unwrap();
    let policy = Policy::new().prefix("stock:");
    let rule = "a lock's key must not be empty: name what is contended for, such as `order:42`";
    assert_eq!(told(locks.run(&policy, "", async { held() }).await), rule);
    assert_eq!(told(tokio::task::block_in_place(|| locks.blocking().run(&policy, "", held))), rule);
    assert_eq!(told(behind_a_policy(&locks, &policy, "").await), rule);
    assert_eq!(told(behind_a_prefix(&locks, "").await), rule);
    let prefixed = Client::builder().prefix("stock:").build(Memory::new()).unwrap();
    assert_eq!(told(prefixed.lock("").map(|_| String::new())), rule);

    assert_eq!(locks.run(&policy, "7", async { held() }).await.unwrap(), "stock:7");
    assert_eq!(behind_a_policy(&locks, &policy, "7").await.unwrap(), "stock:7");
    assert_eq!(behind_a_prefix(&locks, "7").await.unwrap(), "stock:7");
}
