//! The backend: every call is a piece of work for the store's thread.

use crate::actor::{Actor, Lane};
use crate::desk::Desk;
use crate::file::File;
use crate::machine::Machine;
use crate::wakeups;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::records::{Page, Records};
use tenure_core::{Applied, Batch, Card, Clock, Guarantee, Label, Operation, Port, Step, StoreError};
use tokio::sync::watch;

/// A file that keeps locks. Made by [`Config`](crate::Config).
pub struct Sqlite {
    path: PathBuf,
    clock: Clock,
    pub(crate) actor: Actor,
    /// How often the file was opened.
    pub(crate) openings: watch::Receiver<u64>,
}

impl Sqlite {
    const LABEL: Label = Label {
        name: "sqlite",
        guarantees: &[
            Guarantee::Fencing,
            Guarantee::BetweenProcesses,
            Guarantee::PushedWakeups,
            Guarantee::SurvivesRestart,
        ],
        caveat: "one machine and a local disk only; a reboot ends every lease, and so does removing the file; a process \
                 that is stopped in the middle of a write keeps every lock of the file as it is until it goes on; containers \
                 share a file only if they show the machine's own boot id, as docker does and lxc does not",
    };

    pub(crate) fn new(path: PathBuf, pretended: Option<(String, Clock)>) -> Self {
        let (sender, openings) = watch::channel(0);
        let clock = pretended.as_ref().map_or_else(Clock::system, |(_, clock)| clock.clone());
        let machine = pretended.map(|(boot, clock)| Machine::pretended(&boot, clock));
        let desk = Desk::new(path.clone(), machine, Arc::new(sender));
        Self { path, clock, actor: Actor::new(desk), openings }
    }
}

impl Records for Sqlite {
    fn label(&self) -> Label {
        Self::LABEL
    }

    fn address(&self) -> String {
        format!("sqlite:{}", self.path.display())
    }

    fn clock(&self) -> Clock {
        self.clock.clone()
    }

    async fn reach(&self, within: Duration) -> Result<(), StoreError> {
        self.actor.ask(Lane::Others, within, |_| Ok(())).await
    }

    async fn transact(&self, batch: Batch<'_>, within: Duration) -> Result<Applied, StoreError> {
        let all = |wanted: fn(&Operation) -> bool| batch.steps.iter().all(|Step { operation, .. }| wanted(operation));
        let lane = match () {
            () if all(|operation| matches!(operation, Operation::Renew { .. })) => Lane::Renewals,
            () if all(|operation| matches!(operation, Operation::Release { .. })) => Lane::Releases,
            () => Lane::Others,
        };
        let (steps, all_or_none) = (batch.steps.to_vec(), batch.all_or_none);
        let answers = Arc::clone(&self.actor.answers);
        let work = move |file: &mut File| {
            let applied = file.apply(Batch { steps: &steps, all_or_none })?;
            if let Some(lease) = applied.holds_for(&steps) {
                answers.holds_for(lease);
            }
            Ok(applied)
        };
        self.actor.ask(lane, within, work).await
    }

    async fn page(&self, after: Option<Vec<u8>>, within: Duration) -> Result<Page, StoreError> {
        self.actor.ask(Lane::Others, within, move |file| file.page(&after.unwrap_or_default())).await
    }

    async fn announce(&self, client: &str, card: &Card, keep: Duration, within: Duration) -> Result<(), StoreError> {
        let (client, card) = (client.to_owned(), card.clone());
        self.actor.ask(Lane::Others, within, move |file| file.announce(&client, &card, keep)).await
    }

    async fn look_up(&self, client: &str, within: Duration) -> Result<Option<Card>, StoreError> {
        let client = client.to_owned();
        self.actor.ask(Lane::Others, within, move |file| file.look_up(&client)).await
    }

    async fn listen(&self, port: Port) {
        wakeups::listen(self, port).await;
    }
}

impl fmt::Debug for Sqlite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sqlite({})", self.path.display())
    }
}
