//! The backend: one script per operation.

use crate::call::{Call, Renewals, Step};
use crate::error::{from_driver, nonsense, unanswered};
use crate::links::{InUse, Links};
use crate::{names, reply, script, wakeups};
use redis::{Cmd, Pipeline, RedisError, ServerErrorKind, Value, cmd};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tenure_core::{
    Backend, Card, Guarantee, Holder, Key, Label, Operation, Outcome, Pattern, Port, Renewal, StoreError,
    StoreErrorKind,
};

/// A request that has waited this long for nothing has a dead connection, not a slow one.
const DEAD: Duration = Duration::from_millis(250);

/// A Redis server that keeps locks. Made by [`Config`](crate::Config).
pub struct Redis {
    pub(crate) links: Links,
    calendar: Calendar,
}

impl Redis {
    const LABEL: Label = Label {
        name: "redis",
        guarantees: &[
            Guarantee::Fencing,
            Guarantee::BetweenProcesses,
            Guarantee::BetweenMachines,
            Guarantee::PushedWakeups,
        ],
        caveat: "remembers its grants as long as the server keeps its data: a restart without `appendfsync always`, a \
                 fail-over, an eviction or a step of the server's clock can end a lock early; tokens still rise",
    };

    pub(crate) fn new(links: Links) -> Self {
        Self { links, calendar: Calendar::default() }
    }

    /// Runs a script, sending its text only if the server does not know it.
    async fn run(&self, call: &impl Call, within: Duration) -> Result<Value, StoreError> {
        let began = Instant::now();
        let mut in_use = self.links.get(within).await?;
        match send(&mut in_use, &call.known(), within.saturating_sub(began.elapsed())).await {
            Err(error) if error.kind() == redis::ErrorKind::Server(ServerErrorKind::NoScript) => {
                settle(send(&mut in_use, &call.told(), within.saturating_sub(began.elapsed())).await)
            }
            answer => settle(answer),
        }
    }

    /// Runs a plain command.
    pub(crate) async fn command(&self, command: &Cmd, within: Duration) -> Result<Value, StoreError> {
        let began = Instant::now();
        let mut in_use = self.links.get(within).await?;
        settle(send(&mut in_use, command, within.saturating_sub(began.elapsed())).await)
    }
}

/// Sends on a connection, and gives the connection up if it turns out to be dead.
async fn send(in_use: &mut InUse, command: &Cmd, within: Duration) -> Result<Value, RedisError> {
    let answer = in_use.link.send(command, within).await;
    if let Err(error) = &answer {
        give_up_if_dead(in_use, error, within);
    }
    answer
}

fn give_up_if_dead(in_use: &InUse, error: &RedisError, waited: Duration) {
    if error.is_unrecoverable_error() || (error.is_timeout() && waited >= DEAD) {
        in_use.retire();
    }
}

fn settle(answer: Result<Value, RedisError>) -> Result<Value, StoreError> {
    answer.map_err(|error| if error.is_timeout() { unanswered() } else { from_driver(&error) })
}

impl Backend for Redis {
    fn label(&self) -> Label {
        Self::LABEL
    }

    async fn reach(&self, within: Duration) -> Result<(), StoreError> {
        // A wait for a server that is just starting up is part of reaching it.
        let began = Instant::now();
        loop {
            let left = within.saturating_sub(began.elapsed());
            match self.command(&cmd("PING"), left.min(Duration::from_secs(1))).await {
                Err(error) if error.is_transient() && left > Duration::from_millis(100) => {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                answer => return answer.map(drop),
            }
        }
    }

    async fn apply(&self, key: &Key, operation: &Operation, within: Duration) -> Result<Outcome, StoreError> {
        let opened = self.links.opened();
        let look_at_clock = matches!(operation, Operation::Acquire { .. }) && self.calendar.is_old(opened);
        let call = Step::new(key, operation, look_at_clock)?;
        let answer = self.run(&call, within).await?;
        match operation {
            Operation::Acquire { .. } => {
                let outcome = reply::acquired(&answer)?;
                if look_at_clock && matches!(outcome, Outcome::Granted(_)) {
                    self.calendar.is_new(opened);
                }
                Ok(outcome)
            }
            Operation::Reenter { count, .. } => reply::reentered(&answer, *count),
            Operation::Renew { .. } => reply::renewed(&answer),
            Operation::Release { left, .. } => reply::released(&answer, *left),
            Operation::ForceRelease => Ok(Outcome::Forced(reply::holder(&answer)?)),
            _ => Ok(Outcome::Seen(reply::holder(&answer)?)),
        }
    }

    async fn renew(&self, renewals: &[Renewal], within: Duration) -> Result<Vec<bool>, StoreError> {
        let Value::Array(gone) = self.run(&Renewals(renewals), within).await? else {
            return Err(StoreError::new(StoreErrorKind::Unexpected, "redis gave no list for a renewal"));
        };
        let mut held = vec![true; renewals.len()];
        for position in gone {
            let Value::Int(position) = position else { return Err(nonsense(&position)) };
            if let Some(held) = usize::try_from(position - 1).ok().and_then(|at| held.get_mut(at)) {
                *held = false;
            }
        }
        Ok(held)
    }

    async fn list(&self, pattern: &Pattern, within: Duration) -> Result<Vec<(Key, Holder)>, StoreError> {
        let began = Instant::now();
        let mut names = BTreeSet::new();
        let mut cursor: u64 = 0;
        loop {
            let scan = cmd("SCAN")
                .arg(cursor)
                .arg("MATCH")
                .arg(glob(pattern))
                .arg("COUNT")
                .arg(1000)
                .arg("TYPE")
                .arg("hash")
                .take();
            let answer = self.command(&scan, within.saturating_sub(began.elapsed())).await?;
            let (next, found): (u64, Vec<Vec<u8>>) =
                redis::from_redis_value(answer).map_err(|error| from_driver(&error.into()))?;
            names.extend(found.into_iter().filter_map(|name| String::from_utf8(name).ok()));
            cursor = next;
            if cursor == 0 {
                break;
            }
        }
        let keys: Vec<Key> = names.iter().filter_map(|name| Key::new(name).ok()).collect();
        let mut held = Vec::new();
        for keys in keys.chunks(500) {
            // The text is sent once, so that the rest find it known.
            let mut looks = Pipeline::new();
            looks.cmd("SCRIPT").arg("LOAD").arg(script::HOLDER.source).ignore();
            looks.ignore_errors();
            for key in keys {
                looks.add_command(Step::new(key, &Operation::Inspect, false)?.known());
            }
            let mut in_use = self.links.get(within).await?;
            let answers = in_use.link.send_all(&looks, within.saturating_sub(began.elapsed())).await;
            let answers = answers.map_err(|error| from_driver(&error))?;
            // A hash that is no lock is not what was asked for.
            let seen = keys
                .iter()
                .zip(&answers)
                .filter_map(|(key, answer)| reply::holder(answer).ok().flatten().map(|holder| (key.clone(), holder)));
            held.extend(seen);
        }
        Ok(held)
    }

    async fn announce(&self, client: &str, card: &Card, keep: Duration, within: Duration) -> Result<(), StoreError> {
        let key = names::card(client);
        let command = if keep.is_zero() {
            cmd("DEL").arg(key).take()
        } else {
            let text = format!("{}\n{}\n{}", card.host, card.pid, card.label);
            let keep = u64::try_from(keep.as_millis()).unwrap_or(u64::MAX);
            cmd("SET").arg(key).arg(text).arg("PX").arg(keep).take()
        };
        self.command(&command, within).await.map(drop)
    }

    async fn look_up(&self, client: &str, within: Duration) -> Result<Option<Card>, StoreError> {
        let answer = self.command(cmd("GET").arg(names::card(client)), within).await?;
        let Value::BulkString(bytes) = answer else { return Ok(None) };
        let text = String::from_utf8_lossy(&bytes);
        let mut lines = text.splitn(3, '\n');
        let mut next = || lines.next().unwrap_or_default().to_owned();
        Ok(Some(Card { host: next(), pid: next().parse().unwrap_or(0), label: next() }))
    }

    async fn listen(&self, port: Port) {
        wakeups::listen(self, port).await;
    }
}

/// When the watermark was last brought up to the server's clock by this client.
///
/// Tokens are counted on from the watermark, which costs the server less than looking at its clock for each of them.
/// They then lie behind the clock by this long at most, which is how precisely a token tells since when a lock is held.
/// A new connection may lead to another server, so it starts anew.
#[derive(Default)]
struct Calendar(Mutex<Option<(Instant, u64)>>);

impl Calendar {
    const GOOD_FOR: Duration = Duration::from_millis(50);

    fn is_old(&self, opened: u64) -> bool {
        let last = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.is_none_or(|(at, connection)| connection != opened || at.elapsed() >= Self::GOOD_FOR)
    }

    fn is_new(&self, opened: u64) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), opened));
    }
}

/// Redis's own patterns know more than ours: what is special to it alone is taken literally.
fn glob(pattern: &Pattern) -> String {
    let mut glob = String::with_capacity(pattern.as_str().len());
    for c in pattern.as_str().chars() {
        if matches!(c, '[' | ']' | '\\') {
            glob.push('\\');
        }
        glob.push(c);
    }
    glob
}

impl std::fmt::Debug for Redis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Redis({})", self.links.driver().address())
    }
}
