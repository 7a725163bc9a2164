//! The backend: one script per operation.

use crate::error::{from_driver, nonsense, unanswered};
use crate::links::{InUse, Links};
use crate::script::{self, Script};
use crate::{names, reply, wakeups};
use redis::{Cmd, Pipeline, RedisError, ServerErrorKind, Value, cmd};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use tenure_core::{
    Backend, Card, Guarantee, Holder, Key, Label, Operation, Outcome, Pattern, Port, Renewal, StoreError,
};

/// A request that has waited this long for nothing has a dead connection, not a slow one.
const DEAD: Duration = Duration::from_millis(250);

/// A Redis server that keeps locks. Made by [`Config`](crate::Config).
pub struct Redis {
    pub(crate) links: Links,
}

/// A call of a script.
struct Call<'a> {
    script: &'a Script,
    keys: usize,
    /// Keys first, then arguments.
    parts: Vec<Part<'a>>,
}

enum Part<'a> {
    Text(&'a str),
    Owned(String),
    Number(u64),
}

impl<'a> Call<'a> {
    fn new(script: &'a Script) -> Self {
        Self { script, keys: 0, parts: Vec::with_capacity(6) }
    }

    fn key(mut self, key: impl Into<Part<'a>>) -> Self {
        self.keys += 1;
        self.parts.push(key.into());
        self
    }

    fn arg(mut self, arg: impl Into<Part<'a>>) -> Self {
        self.parts.push(arg.into());
        self
    }

    fn command(&self, verb: &str, body: &str) -> Cmd {
        let mut command = cmd(verb);
        command.arg(body).arg(self.keys);
        for part in &self.parts {
            match part {
                Part::Text(text) => command.arg(*text),
                Part::Owned(text) => command.arg(text),
                Part::Number(number) => command.arg(*number),
            };
        }
        command
    }
}

impl<'a> From<&'a str> for Part<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl From<String> for Part<'_> {
    fn from(text: String) -> Self {
        Self::Owned(text)
    }
}

/// Durations go over the wire in whole milliseconds.
impl From<Duration> for Part<'_> {
    fn from(duration: Duration) -> Self {
        Self::Number(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX).max(1))
    }
}

impl From<u32> for Part<'_> {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
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

    /// Runs a script, sending its text only if the server does not know it.
    async fn run(&self, call: Call<'_>, within: Duration) -> Result<Value, StoreError> {
        let began = Instant::now();
        let in_use = self.links.get(within).await?;
        let known = call.command("EVALSHA", &call.script.hash);
        match send(&in_use, &known, within.saturating_sub(began.elapsed())).await {
            Err(error) if error.kind() == redis::ErrorKind::Server(ServerErrorKind::NoScript) => {
                let told = call.command("EVAL", call.script.source);
                settle(send(&in_use, &told, within.saturating_sub(began.elapsed())).await)
            }
            answer => settle(answer),
        }
    }

    /// Runs a plain command.
    pub(crate) async fn command(&self, command: &Cmd, within: Duration) -> Result<Value, StoreError> {
        let began = Instant::now();
        let in_use = self.links.get(within).await?;
        settle(send(&in_use, command, within.saturating_sub(began.elapsed())).await)
    }
}

/// Sends on a connection, and gives the connection up if it turns out to be dead.
async fn send(in_use: &InUse, command: &Cmd, within: Duration) -> Result<Value, RedisError> {
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
        let name = key.as_str();
        match operation {
            Operation::Acquire { claim, lease } => {
                let call = Call::new(&script::ACQUIRE)
                    .key(name)
                    .key(names::WATERMARK)
                    .key(names::tombstone(key, claim, tenure_core::kernel::FIRST_ENTRY))
                    .arg(claim.as_str())
                    .arg(*lease);
                reply::acquired(&self.run(call, within).await?)
            }
            Operation::Reenter { claim, entry, count, lease } => {
                let call = Call::new(&script::REENTER)
                    .key(name)
                    .key(names::tombstone(key, claim, *entry))
                    .arg(claim.as_str())
                    .arg(*count)
                    .arg(*lease);
                reply::reentered(&self.run(call, within).await?, *count)
            }
            Operation::Renew { claim, lease } => {
                let call = Call::new(&script::RENEW).key(name).arg(claim.as_str()).arg(*lease);
                match self.run(call, within).await? {
                    Value::Array(gone) if gone.is_empty() => Ok(Outcome::Renewed),
                    Value::Array(_) => Ok(Outcome::NotHeld),
                    other => Err(nonsense(&other)),
                }
            }
            Operation::Release { claim, left: 0, cancel, .. } => {
                let mut call = Call::new(&script::RELEASE).key(name).key(names::channel(key));
                if let Some(cancel) = cancel {
                    call = call.key(names::tombstone(key, claim, cancel.entry));
                }
                call = call.arg(claim.as_str());
                if let Some(cancel) = cancel {
                    call = call.arg(cancel.remember);
                }
                match self.run(call, within).await? {
                    Value::Int(0) => Ok(Outcome::NotHeld),
                    Value::Int(1) => Ok(Outcome::Released),
                    other => Err(nonsense(&other)),
                }
            }
            Operation::Release { claim, left, lease, cancel } => {
                let mut call = Call::new(&script::LEAVE).key(name);
                if let Some(cancel) = cancel {
                    call = call.key(names::tombstone(key, claim, cancel.entry));
                }
                call = call.arg(claim.as_str()).arg(*left).arg(*lease);
                if let Some(cancel) = cancel {
                    call = call.arg(cancel.remember);
                }
                match self.run(call, within).await? {
                    Value::Int(0) => Ok(Outcome::NotHeld),
                    Value::Int(_) => Ok(Outcome::StillHeld(*left)),
                    other => Err(nonsense(&other)),
                }
            }
            Operation::ForceRelease => {
                let call = Call::new(&script::FORCE).key(name).key(names::channel(key)).arg(names::NOTICE);
                Ok(Outcome::Forced(reply::holder(&self.run(call, within).await?)?))
            }
            Operation::Inspect => {
                let call = Call::new(&script::HOLDER).key(name);
                Ok(Outcome::Seen(reply::holder(&self.run(call, within).await?)?))
            }
            other => Err(StoreError::new(
                tenure_core::StoreErrorKind::Unsupported,
                format!("this version of the redis backend does not know the operation: {other:?}"),
            )),
        }
    }

    async fn renew(&self, renewals: &[Renewal], within: Duration) -> Result<Vec<bool>, StoreError> {
        let mut call = Call::new(&script::RENEW);
        for renewal in renewals {
            call = call.key(renewal.key.as_str());
        }
        for renewal in renewals {
            call = call.arg(renewal.claim.as_str()).arg(renewal.lease);
        }
        let Value::Array(gone) = self.run(call, within).await? else {
            return Err(StoreError::new(tenure_core::StoreErrorKind::Unexpected, "redis gave no list for a renewal"));
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
                let call = Call::new(&script::HOLDER).key(key.as_str());
                looks.add_command(call.command("EVALSHA", &script::HOLDER.hash));
            }
            let in_use = self.links.get(within).await?;
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
