//! Methods, whatever their `self` is.

#![deny(warnings)]

use std::sync::Arc;
use tenure::{Client, Error, Memory};

struct Stock {
    client: Client,
    region: String,
    left: u32,
}

impl Stock {
    #[tenure::locked(key = "{self.region}:{product}", client = self.client)]
    async fn by_reference(&self, product: u32) -> Result<u32, Error> {
        assert!(self.client.lock("eu:7")?.try_lock().await?.is_none());
        Ok(self.left + product)
    }

    #[tenure::locked(key = "{self.region}", client = self.client)]
    async fn by_mutable_reference(&mut self) -> Result<u32, Error> {
        self.left -= 1;
        Ok(self.left)
    }

    #[tenure::locked(key = "{self.region}", client = self.client)]
    async fn by_value(self) -> Result<String, Error> {
        Ok(self.region)
    }

    #[tenure::locked(key = "{self.region}", client = self.client)]
    async fn by_mutable_value(mut self) -> Result<Self, Error> {
        self.left = 0;
        Ok(self)
    }

    #[tenure::locked(key = "{self.region}", client = self.client)]
    async fn by_arc(self: Arc<Self>) -> Result<u32, Error> {
        Ok(self.left)
    }

    #[tenure::locked(key = "{self.region}", client = self.client)]
    async fn by_box(self: Box<Self>) -> Result<Stock, Error> {
        Ok(*self)
    }

    #[tenure::locked(key = "{Self::name()}", client = client)]
    async fn without_self(client: &Client) -> Result<(), Error> {
        assert!(client.lock("stock")?.try_lock().await?.is_none());
        Ok(())
    }

    fn name() -> &'static str {
        "stock"
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let client = Client::new(Memory::new())?;
    let mut stock = Stock { client: client.clone(), region: "eu".into(), left: 3 };
    assert_eq!(stock.by_reference(7).await?, 10);
    assert_eq!(stock.by_mutable_reference().await?, 2);
    let stock = stock.by_mutable_value().await?;
    let stock = Box::new(stock).by_box().await?;
    let stock = Arc::new(stock);
    assert_eq!(Arc::clone(&stock).by_arc().await?, 0);
    let Some(stock) = Arc::into_inner(stock) else { unreachable!() };
    assert_eq!(stock.by_value().await?, "eu");
    Stock::without_self(&client).await
}
