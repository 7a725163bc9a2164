//! What the attribute costs over taking the lock by hand: nothing.

use allocation_counter::measure;
use tenure::{Client, Error};
use tokio::runtime::Builder;

#[tenure::locked(client = locks, key = "stock:{product}", lease = "6s")]
async fn by_attribute(locks: &Client, product: u32) -> Result<u32, Error> {
    Ok(product)
}

async fn by_hand(locks: &Client, product: u32) -> Result<u32, Error> {
    let options = tenure::Options::new().lease(std::time::Duration::from_secs(6));
    let guard = locks.lock(&format!("lock:stock:{product}"))?.lock_with(options).await?;
    let done = guard.run(async { Ok(product) }).await?;
    guard.release().await?;
    done
}

#[test]
fn the_attribute_allocates_nothing_but_the_key() {
    // Counted are the allocations of this thread, which runs all but the client's own thread.
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let locks = runtime.block_on(tenure::connect("memory:")).unwrap();
    let count = |attribute: bool| {
        let counted = measure(|| {
            for product in 100..200 {
                let done = async {
                    if attribute { by_attribute(&locks, product).await } else { by_hand(&locks, product).await }
                };
                assert_eq!(runtime.block_on(done).unwrap(), product);
            }
        });
        counted.count_total
    };
    // What is made once is made before.
    let _ = (count(true), count(false));
    let (attribute, hand) = (count(true), count(false));
    println!("per call: {} by attribute, {} by hand", attribute / 100, hand / 100);
    assert!(attribute <= hand + 5, "{attribute} by attribute, {hand} by hand");
}
