//! Where the client comes from.

#![deny(warnings)]

use std::sync::{Arc, Mutex, OnceLock};
use tenure::{Client, Error, Memory};

static CLIENT: OnceLock<Client> = OnceLock::new();

struct State {
    client: Client,
    shared: Arc<Client>,
    guarded: Mutex<Client>,
}

fn client() -> Client {
    CLIENT.get().cloned().expect("a client")
}

impl State {
    #[tenure::locked(key = "a", client = self.client)]
    async fn field(&self) -> Result<(), Error> {
        Ok(())
    }

    #[tenure::locked(key = "a", client = &self.client)]
    async fn reference(&self) -> Result<(), Error> {
        Ok(())
    }

    #[tenure::locked(key = "a", client = self.shared)]
    async fn shared(&self) -> Result<(), Error> {
        Ok(())
    }

    /// The guard is let go of before the wait.
    #[tenure::locked(key = "a", client = self.guarded.lock().expect("no panic"))]
    async fn guarded(&self) -> Result<(), Error> {
        tokio::task::yield_now().await;
        Ok(())
    }
}

#[tenure::locked(key = "a", client = client())]
async fn made() -> Result<(), Error> {
    Ok(())
}

fn sent<T: Send>(future: T) -> T {
    future
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let one = Client::new(Memory::new())?;
    let state = State { client: one.clone(), shared: Arc::new(one.clone()), guarded: Mutex::new(one.clone()) };
    assert!(CLIENT.set(one).is_ok());
    sent(state.field()).await?;
    sent(state.reference()).await?;
    sent(state.shared()).await?;
    sent(state.guarded()).await?;
    sent(made()).await
}
