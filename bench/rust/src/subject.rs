//! The systems that are measured.

use crate::backend::Backend;
use crate::bare::Bare;
use crate::bare_mysql::BareMySql;
use std::error::Error;

/// A system under measurement.
#[derive(Clone)]
pub(crate) enum Subject {
    /// Two clients, as of two processes.
    Tenure([tenure::Client; 2], tenure::Kind),
    Bare(Bare),
    /// Where it is, for every lock has a connection of its own; and whether something is written under it.
    BareMySql {
        url: String,
        writes: bool,
    },
}

/// One task's lock.
pub(crate) enum Cycle {
    Tenure(tenure::Lock, Option<tenure::Guard>),
    Bare { bare: Bare, key: String, channel: String, owner: String },
    BareMySql(BareMySql),
}

type Failure = Box<dyn Error + Send + Sync>;

impl Subject {
    pub(crate) async fn connect(system: &str, backend: Backend, url: &str) -> Result<Self, Box<dyn Error>> {
        // On MySQL this makes the tables, too.
        let clients = [tenure::connect(url).await?, tenure::connect(url).await?];
        match (system, backend) {
            ("tenure", _) => Ok(Self::Tenure(clients, tenure::Kind::Reentrant)),
            ("tenure-simple", _) => Ok(Self::Tenure(clients, tenure::Kind::Simple)),
            ("bare", Backend::Redis) => Ok(Self::Bare(Bare::connect(url).await?)),
            ("bare", Backend::MySql) => Ok(Self::BareMySql { url: url.to_owned(), writes: false }),
            ("bare-write", Backend::MySql) => Ok(Self::BareMySql { url: url.to_owned(), writes: true }),
            (other, _) => {
                let known = backend.systems().join(", ");
                Err(format!("no such system, choose from {known}: system=`{other}`").into())
            }
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Tenure(_, tenure::Kind::Simple) => "tenure-simple",
            Self::Tenure(..) => "tenure",
            Self::BareMySql { writes: true, .. } => "bare-write",
            Self::Bare(_) | Self::BareMySql { .. } => "bare",
        }
    }

    /// A lock on this key for one task, by one of two clients.
    pub(crate) async fn cycle(&self, key: &str, task: usize, client: usize) -> Result<Cycle, Box<dyn Error>> {
        let key = format!("{key}:{}", self.name());
        Ok(match self {
            Self::Tenure(clients, kind) => Cycle::Tenure(clients[client].lock_of(*kind, &key)?, None),
            Self::Bare(bare) => Cycle::Bare {
                bare: bare.clone(),
                channel: format!("redisson_lock__channel:{{{key}}}"),
                key,
                owner: format!("8b1c1f0e-4a53-4c7e-9b43-0d6c1f5f7a11:{task}"),
            },
            Self::BareMySql { url, writes } => Cycle::BareMySql(BareMySql::connect(url, &key, *writes).await?),
        })
    }
}

impl Cycle {
    /// Takes the lock and gives it back.
    pub(crate) async fn run(&mut self) -> Result<(), Failure> {
        if let Self::Bare { bare, key, channel, owner } = self {
            return Ok(bare.cycle(key, channel, owner).await?);
        }
        self.take().await?;
        self.free().await
    }

    /// Waits for the lock.
    pub(crate) async fn take(&mut self) -> Result<(), Failure> {
        match self {
            Self::Tenure(lock, guard) => *guard = Some(lock.lock().await?),
            Self::Bare { .. } => return Err("the bare client of redis waits for nobody".into()),
            Self::BareMySql(bare) => bare.take().await?,
        }
        Ok(())
    }

    /// Gives it back.
    pub(crate) async fn free(&mut self) -> Result<(), Failure> {
        match self {
            Self::Tenure(_, guard) => {
                guard.take().ok_or("it was taken before")?.release().await?;
            }
            Self::Bare { .. } => {}
            Self::BareMySql(bare) => bare.free().await?,
        }
        Ok(())
    }
}
