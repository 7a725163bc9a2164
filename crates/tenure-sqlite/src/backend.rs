//! The backend: every call is a piece of work for the store's thread.

use crate::actor::{Actor, Lane};
use crate::desk::Desk;
use crate::file::File;
use crate::machine::Machine;
use crate::wakeups;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tenure_core::{
    Backend, Card, Clock, Guarantee, Joint, Key, Kind, Label, Lasts, Operation, Outcome, Pattern, Port, Renewal, Sight,
    StoreError, Wanted,
};
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

impl Backend for Sqlite {
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
        self.actor.ask(Lane::Second, within, |_| Ok(())).await
    }

    async fn apply(
        &self,
        kind: Kind,
        key: &Key,
        operation: &Operation,
        within: Duration,
    ) -> Result<Outcome, StoreError> {
        let lane = match operation {
            Operation::Renew { .. } | Operation::Release { .. } => Lane::First,
            _ => Lane::Second,
        };
        let (key, operation, answers) = (key.clone(), operation.clone(), Arc::clone(&self.actor.answers));
        let work = move |file: &mut File| {
            let outcome = file.apply(kind, &key, &operation)?;
            if let (Outcome::Granted(_) | Outcome::Renewed, Some(lease)) = (&outcome, operation.lease()) {
                answers.holds_for(lease);
            }
            Ok(outcome)
        };
        self.actor.ask(lane, within, work).await
    }

    async fn acquire_all(&self, wanted: &[Wanted], within: Duration) -> Result<Joint, StoreError> {
        let (wanted, answers) = (wanted.to_vec(), Arc::clone(&self.actor.answers));
        let work = move |file: &mut File| {
            let joint = file.acquire_all(&wanted)?;
            if let Joint::Granted(_) = &joint {
                for one in &wanted {
                    answers.holds_for(one.lease);
                }
            }
            Ok(joint)
        };
        self.actor.ask(Lane::Second, within, work).await
    }

    async fn renew(&self, renewals: &[Renewal], within: Duration) -> Result<Vec<Lasts>, StoreError> {
        let (renewals, answers) = (renewals.to_vec(), Arc::clone(&self.actor.answers));
        let work = move |file: &mut File| {
            let held = file.renew(&renewals)?;
            for one in &renewals {
                answers.holds_for(one.lease);
            }
            Ok(held)
        };
        let held = self.actor.ask(Lane::First, within, work).await?;
        Ok(held.into_iter().map(Lasts::from).collect())
    }

    async fn list(&self, pattern: &Pattern, within: Duration) -> Result<Vec<(Key, Sight)>, StoreError> {
        let began = Instant::now();
        let (mut held, mut next) = (Vec::new(), Some(Vec::new()));
        // A page at a time: what keeps a hold goes between two of them.
        while let Some(after) = next {
            let (pattern, left) = (pattern.clone(), within.saturating_sub(began.elapsed()));
            let page = self.actor.ask(Lane::Second, left, move |file| file.page(&pattern, &after)).await?;
            held.extend(page.held);
            next = page.next;
        }
        Ok(held)
    }

    async fn announce(&self, client: &str, card: &Card, keep: Duration, within: Duration) -> Result<(), StoreError> {
        let (client, card) = (client.to_owned(), card.clone());
        self.actor.ask(Lane::Second, within, move |file| file.announce(&client, &card, keep)).await
    }

    async fn look_up(&self, client: &str, within: Duration) -> Result<Option<Card>, StoreError> {
        let client = client.to_owned();
        self.actor.ask(Lane::Second, within, move |file| file.look_up(&client)).await
    }

    fn calls_apart(&self, _: Kind) -> bool {
        false
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
