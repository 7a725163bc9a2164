//! `return` leaves the body, not the lock: it is free afterwards.

#![deny(warnings)]

use tenure::{Client, Error, Memory};

#[tenure::locked(key = "search")]
async fn search(wanted: u32) -> Result<Option<usize>, Error> {
    'rows: for row in 0..10_usize {
        for column in 0..10_usize {
            if column > row {
                continue 'rows;
            }
            if u32::try_from(row * 10 + column) == Ok(wanted) {
                return Ok(Some(row));
            }
        }
    }
    Ok(None)
}

#[tenure::locked(key = "search")]
fn plain(wanted: u32) -> Result<bool, Error> {
    let is_even = || {
        if wanted % 2 == 0 {
            return true;
        }
        false
    };
    if is_even() {
        return Ok(true);
    }
    let None = wanted.checked_sub(5) else { return Ok(false) };
    Ok(true)
}

#[tenure::locked(key = "unit", on_lost = finish, fallback = nobody)]
async fn unit(stop: bool) {
    if stop {
        return;
    }
    tokio::task::yield_now().await;
}

async fn nobody(_stop: bool) {
    panic!("the lock is free");
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let client = Client::new(Memory::new())?;
    tenure::set_client(client.clone())?;
    assert_eq!(search(21).await?, Some(2));
    assert_eq!(search(29).await?, None);
    assert!(client.lock("search")?.try_lock().await?.is_some());
    unit(true).await;
    unit(false).await;
    let joined = std::thread::spawn(|| Ok::<_, Error>([plain(4)?, plain(3)?, plain(7)?])).join();
    assert_eq!(joined.ok().transpose()?, Some([true, true, false]));
    Ok(())
}
