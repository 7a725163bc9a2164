//! The systems that are measured.

use crate::backend::{Backend, Urls};
use crate::bare::Bare;
use crate::bare_mysql::BareMySql;
use crate::bare_redlock::BareRedlock;
use std::error::Error;

/// A system under measurement.
#[derive(Clone)]
pub(crate) enum Subject {
    /// Two clients, as of two processes, and by which name.
    Tenure([tenure::Client; 2], tenure::Kind, &'static str),
    Bare(Bare),
    BareRedlock(BareRedlock),
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
    BareRedlock { bare: BareRedlock, key: String, owner: String },
    BareMySql(BareMySql),
}

type Failure = Box<dyn Error + Send + Sync>;

impl Subject {
    pub(crate) async fn connect(system: &str, backend: Backend, urls: &Urls) -> Result<Self, Box<dyn Error>> {
        let url = urls.url.as_str();
        // On MySQL this makes the tables, too.
        let clients = async |url| Ok::<_, tenure::Error>([tenure::connect(url).await?, tenure::connect(url).await?]);
        // Of a majority.
        let servers = || url.trim_start_matches("redlock:").split(['?', ',']).filter(|part| part.contains("://"));
        match (system, backend) {
            ("tenure", _) => Ok(Self::Tenure(clients(url).await?, tenure::Kind::Reentrant, "tenure")),
            ("tenure-simple", _) => Ok(Self::Tenure(clients(url).await?, tenure::Kind::Simple, "tenure-simple")),
            ("tenure-hung", Backend::Redlock) => {
                let url = urls.hung.as_deref().ok_or("leave --url out: servers of ours can be made to hang")?;
                Ok(Self::Tenure(clients(url).await?, tenure::Kind::Reentrant, "tenure-hung"))
            }
            ("tenure-one", Backend::Redlock) => {
                let url = servers().next().ok_or("no server was named")?;
                Ok(Self::Tenure(clients(url).await?, tenure::Kind::Reentrant, "tenure-one"))
            }
            ("bare", Backend::Redis) => Ok(Self::Bare(Bare::connect(url).await?)),
            ("bare", Backend::Redlock) => {
                Ok(Self::BareRedlock(BareRedlock::connect(&servers().collect::<Vec<_>>()).await?))
            }
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
            Self::Tenure(.., name) => name,
            Self::BareMySql { writes: true, .. } => "bare-write",
            Self::Bare(_) | Self::BareMySql { .. } | Self::BareRedlock(_) => "bare",
        }
    }

    /// A lock on this key for one task, by one of two clients.
    pub(crate) async fn cycle(&self, key: &str, task: usize, client: usize) -> Result<Cycle, Box<dyn Error>> {
        let key = format!("{key}:{}", self.name());
        Ok(match self {
            Self::Tenure(clients, kind, _) => Cycle::Tenure(clients[client].lock_of(*kind, &key)?, None),
            Self::Bare(bare) => Cycle::Bare {
                bare: bare.clone(),
                channel: format!("redisson_lock__channel:{{{key}}}"),
                key,
                owner: format!("8b1c1f0e-4a53-4c7e-9b43-0d6c1f5f7a11:{task}"),
            },
            Self::BareRedlock(bare) => Cycle::BareRedlock {
                bare: bare.clone(),
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
        if let Self::BareRedlock { bare, key, owner } = self {
            return bare.cycle(key, owner).await;
        }
        self.take().await?;
        self.free().await
    }

    /// Waits for the lock.
    pub(crate) async fn take(&mut self) -> Result<(), Failure> {
        match self {
            Self::Tenure(lock, guard) => *guard = Some(lock.lock().await?),
            Self::Bare { .. } | Self::BareRedlock { .. } => {
                return Err("the bare client of redis waits for nobody".into());
            }
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
            Self::Bare { .. } | Self::BareRedlock { .. } => {}
            Self::BareMySql(bare) => bare.free().await?,
        }
        Ok(())
    }
}
