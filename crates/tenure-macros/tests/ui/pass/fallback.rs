//! What is called, with the same arguments, when the lock is not obtained.

#![deny(warnings)]

use tenure::{Client, Error, Memory};

struct Shop {
    client: Client,
    name: &'static str,
}

impl Shop {
    #[tenure::locked(key = "shop:{id}", wait = "0s", client = self.client, fallback = Self::closed, on_lost = finish)]
    async fn visit(&self, id: u32, mut words: Vec<String>) -> String {
        words.push(format!("{} {id}", self.name));
        words.join(" ")
    }

    async fn closed(&self, id: u32, words: Vec<String>) -> String {
        format!("{} closed {id} {}", self.name, words.len())
    }

    #[tenure::locked(key = "shop:{id}", wait = "0s", client = self.client, fallback = closed)]
    fn visit_blocking(&mut self, id: u32) -> Result<u32, Error> {
        Ok(id)
    }

    #[tenure::locked(key = "shop:{id}", wait = "0s", client = self.client, fallback = self::generic::<u32>)]
    async fn keeps_its_error(self, id: u32) -> Result<u32, Error> {
        Ok(id)
    }
}

fn closed(shop: &mut Shop, id: u32) -> Result<u32, Error> {
    shop.name = "closed";
    Ok(id + 100)
}

async fn generic<T: Default>(_: Shop, _: T) -> Result<T, Error> {
    Err(Error::invalid("busy"))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let client = Client::new(Memory::new())?;
    let mut shop = Shop { client: client.clone(), name: "corner" };
    assert_eq!(shop.visit(7, vec!["a".into()]).await, "a corner 7");
    let held = client.lock("shop:7")?.lock().await?;
    assert_eq!(shop.visit(7, vec!["a".into()]).await, "corner closed 7 1");
    let (said, shop) = std::thread::spawn(move || (shop.visit_blocking(7), shop)).join().expect("no panic");
    assert_eq!((said?, shop.name), (107, "closed"));
    assert_eq!(shop.keeps_its_error(7).await.map_err(|error| error.to_string()), Err("busy".to_owned()));
    held.release().await?;
    Ok(())
}
