//! Async functions in traits, as the language has them: in impls, and with a body in the trait.

#![deny(warnings)]
#![allow(async_fn_in_trait)]

use tenure::{Client, Error, Memory};

trait Ledger {
    fn name(&self) -> &str;

    async fn book(&mut self, amount: i64) -> Result<i64, Error>;

    #[tenure::locked(key = "ledger:{self.name()}")]
    async fn twice(&mut self, amount: i64) -> Result<i64, Error> {
        Ok(amount * 2)
    }
}

struct Account {
    name: String,
    balance: i64,
}

impl Ledger for Account {
    fn name(&self) -> &str {
        &self.name
    }

    #[tenure::locked(key = "ledger:{self.name}")]
    async fn book(&mut self, amount: i64) -> Result<i64, Error> {
        self.balance += amount;
        Ok(self.balance)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    tenure::set_client(Client::new(Memory::new())?)?;
    let mut account = Account { name: "a".into(), balance: 0 };
    assert_eq!(account.book(5).await?, 5);
    assert_eq!(account.twice(5).await?, 10);
    Ok(())
}
