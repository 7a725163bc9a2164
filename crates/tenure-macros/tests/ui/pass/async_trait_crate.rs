//! `#[async_trait]`, which has made another function of ours before we see it.

#![deny(warnings)]

use async_trait::async_trait;
use tenure::{Client, Error, Memory};

#[async_trait]
trait Ledger: Send + Sync {
    async fn book(&mut self, amount: i64) -> Result<i64, Error>;

    async fn read(&self, (from, to): (u8, u8), label: &str) -> Result<String, Error>;

    async fn rest(&self);

    #[tenure::locked(key = "default:{mark}")]
    async fn default_body(&self, mark: String) -> Result<String, Error>
    where
        Self: Sized,
    {
        Ok(mark)
    }

    async fn taken(&self, client: &Client, reason: String) -> String;
}

struct Account {
    name: String,
    balance: i64,
}

impl Account {
    async fn when_busy(&self, _client: &Client, reason: String) -> String {
        format!("{}: {reason}", self.name)
    }
}

#[async_trait]
impl Ledger for Account {
    #[tenure::locked(key = "ledger:{self.name}")]
    async fn book(&mut self, amount: i64) -> Result<i64, Error> {
        if amount < 0 {
            return Err(Error::invalid("negative"));
        }
        self.balance += amount;
        Ok(self.balance)
    }

    /// The parts of an argument that is taken apart.
    #[tenure::locked(key = "{self.name}:{from}-:{to}:{label}")]
    async fn read(&self, (from, to): (u8, u8), label: &str) -> Result<String, Error> {
        Ok(format!("{} {from} {to} {label}", self.balance))
    }

    #[tenure::locked(key = "rest:{self.name}", on_busy = skip, fallback = nothing, on_lost = finish)]
    async fn rest(&self) {}

    #[tenure::locked(key = "taken", wait = "0s", client = client, fallback = Self::when_busy, on_lost = finish)]
    async fn taken(&self, client: &Client, mut reason: String) -> String {
        reason.push('!');
        reason
    }
}

async fn nothing(_: &Account) {}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let client = Client::new(Memory::new())?;
    tenure::set_client(client.clone())?;
    let mut account = Account { name: "a".into(), balance: 0 };
    assert_eq!(account.book(5).await?, 5);
    assert!(account.book(-5).await.is_err());
    assert_eq!(account.read((1, 2), "x").await?, "5 1 2 x");
    account.rest().await;
    assert_eq!(account.default_body("m".into()).await?, "m");
    assert_eq!(account.taken(&client, "no".into()).await, "no!");
    let held = client.lock("taken")?.lock().await?;
    assert_eq!(account.taken(&client, "no".into()).await, "a: no");
    drop(held);
    let boxed: Box<dyn Ledger> = Box::new(account);
    assert_eq!(
        tokio::spawn(async move { boxed.read((3, 4), "y").await }).await.ok().transpose()?.as_deref(),
        Some("5 3 4 y")
    );
    Ok(())
}
