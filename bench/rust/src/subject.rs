//! The systems that are measured.

use crate::bare::Bare;
use std::error::Error;

/// A system under measurement.
#[derive(Clone)]
pub(crate) enum Subject {
    Tenure(tenure::Client, tenure::Kind),
    Bare(Bare),
}

/// One task's lock.
pub(crate) enum Cycle {
    Tenure(tenure::Lock),
    Bare { bare: Bare, key: String, channel: String, owner: String },
}

impl Subject {
    pub(crate) async fn connect(system: &str, url: &str) -> Result<Self, Box<dyn Error>> {
        match system {
            "tenure" => Ok(Self::Tenure(tenure::connect(url).await?, tenure::Kind::Reentrant)),
            "tenure-simple" => Ok(Self::Tenure(tenure::connect(url).await?, tenure::Kind::Simple)),
            "bare" => Ok(Self::Bare(Bare::connect(url).await?)),
            other => {
                Err(format!("no such system, choose from tenure, tenure-simple and bare: system=`{other}`").into())
            }
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Tenure(_, tenure::Kind::Simple) => "tenure-simple",
            Self::Tenure(..) => "tenure",
            Self::Bare(_) => "bare",
        }
    }

    /// A lock on this key for one task.
    pub(crate) fn cycle(&self, key: &str, task: usize) -> Result<Cycle, Box<dyn Error>> {
        Ok(match self {
            Self::Tenure(client, kind) => Cycle::Tenure(client.lock_of(*kind, key)?),
            Self::Bare(bare) => Cycle::Bare {
                bare: bare.clone(),
                key: key.to_owned(),
                channel: format!("redisson_lock__channel:{{{key}}}"),
                owner: format!("8b1c1f0e-4a53-4c7e-9b43-0d6c1f5f7a11:{task}"),
            },
        })
    }
}

impl Cycle {
    /// Takes the lock and gives it back.
    pub(crate) async fn run(&mut self) -> Result<(), Box<dyn Error + Send + Sync>> {
        match self {
            Self::Tenure(lock) => {
                lock.lock().await?.release().await?;
            }
            Self::Bare { bare, key, channel, owner } => bare.cycle(key, channel, owner).await?,
        }
        Ok(())
    }
}
