//! What the attribute costs over taking the lock by hand: nothing, and no more where it is nested.

use allocation_counter::measure;
use tenure::{Client, Error};
use tokio::runtime::Builder;

#[tenure::locked(client = locks, key = "stock:{product}", lease = "6s")]
async fn by_attribute(locks: &Client, product: u32) -> Result<u32, Error> {
    Ok(product)
}

async fn by_hand(locks: &Client, product: u32) -> Result<u32, Error> {
    let options = tenure::Options::new().lease(std::time::Duration::from_secs(6));
    let guard = locks.lock(&format!("stock:{product}"))?.lock_with(options).await?;
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

macro_rules! nested {
    ($($name:ident calls $next:ident;)*) => {$(
        #[tenure::locked(client = locks, key = "nested", lease = "6s")]
        async fn $name(locks: &Client) -> Result<usize, Error> {
            $next(locks).await
        }
    )*};
}

nested! {
    one calls two;
    two calls three;
    three calls four;
    four calls five;
    five calls six;
    six calls seven;
    seven calls eight;
    eight calls innermost;
}

#[tenure::locked(client = locks, key = "nested", lease = "6s")]
async fn innermost(locks: &Client) -> Result<usize, Error> {
    let room = [1u8; 1000];
    locks.lock("nested")?.is_locked().await?;
    Ok(room.len())
}

/// Each level makes room for itself, and not for the one inside it once more.
#[test]
fn nested_sections_take_room_once() {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let locks = runtime.block_on(tenure::connect("memory:")).unwrap();
    let sizes = [
        size_of_val(&innermost(&locks)),
        size_of_val(&eight(&locks)),
        size_of_val(&seven(&locks)),
        size_of_val(&two(&locks)),
        size_of_val(&one(&locks)),
    ];
    println!("innermost, 8, 7, 2 and 1: {sizes:?} bytes");
    let level = sizes[1] - sizes[0];
    assert!(sizes[4] - sizes[0] <= 8 * level + 100, "{sizes:?}");
    assert_eq!(runtime.block_on(one(&locks)).unwrap(), 1000);
}
