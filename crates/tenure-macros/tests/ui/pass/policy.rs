//! A policy, and what is said beside it.

#![deny(warnings)]

use std::sync::{Arc, LazyLock};
use std::time::Duration;
use tenure::{Client, Error, Memory, Options, Policy};

static SLOW: LazyLock<Policy> = LazyLock::new(|| Policy::seed().prefix("slow:"));

struct Jobs {
    client: Client,
    policy: Policy,
    shared: Arc<Policy>,
}

impl Jobs {
    #[tenure::locked(key = "job:{id}", policy = self.policy, client = self.client)]
    async fn own(&self, id: u32) -> Result<bool, Error> {
        Ok(self.client.lock("jobs:job:7")?.try_lock().await?.is_none() && id == 7)
    }

    #[tenure::locked(key = "job:{id}", policy = &self.policy, prefix = "other:", lease = "1s", client = self.client)]
    async fn by_reference(&self, id: u32) -> Result<bool, Error> {
        Ok(self.client.lock("other:job:7")?.try_lock().await?.is_none() && id == 7)
    }

    #[tenure::locked(
        key = "job",
        policy = self.shared,
        wait = self.wait(),
        renew = false,
        kind = simple,
        client = self.client
    )]
    async fn shared(&self) -> Result<(), Error> {
        Ok(())
    }

    #[tenure::locked(key = "job", policy = SLOW, enabled = true, client = self.client)]
    async fn fixed(&self) -> Result<bool, Error> {
        Ok(self.client.lock("slow:job")?.try_lock().await?.is_none())
    }

    #[tenure::locked(key = "job", policy = Policy::seed(), client = self.client)]
    fn plain(&self) -> Result<(), Error> {
        Ok(())
    }

    fn wait(&self) -> Duration {
        Duration::from_secs(2)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let policy = Policy::new().prefix("jobs:").options(Options::new().lease(Duration::from_secs(5)));
    let jobs = Jobs { client: Client::new(Memory::new())?, shared: Arc::new(policy.clone()), policy };
    assert!(jobs.own(7).await?);
    assert!(jobs.by_reference(7).await?);
    jobs.shared().await?;
    assert!(jobs.fixed().await?);
    std::thread::scope(|scope| scope.spawn(|| jobs.plain()).join()).ok().transpose()?;
    Ok(())
}
