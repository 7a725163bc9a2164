//! The backend: one script per operation.

use crate::call::{Call, Forced, Hints, Renewal, Renewals, StepCall, Together, Wanted};
use crate::count::reply::Looked;
use crate::count::{self, Count, is_counted};
use crate::driver::{Driver, Failure, Link, RedisRs};
use crate::error::{no_lock, unreachable};
use crate::layout::Layout;
use crate::lines::Lines;
use crate::links::{InUse, Links, Witness};
use crate::script::Scripts;
use crate::{names, reply, wakeups};
use futures_util::future::join_all;
use redis::{Cmd, Value, cmd};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tenure_core::kernel::Piece;
use tenure_core::{
    Applied, Backend, Batch, Busy, Card, Claim, Guarantee, Key, Kind, Label, Operation, Outcome, Pattern, Port, Sight,
    Stay, Step, StoreError, StoreErrorKind,
};

/// A Redis server that keeps locks. Made by [`Config`](crate::Config).
pub struct Redis {
    links: Links<RedisRs>,
    lines: Lines,
    layout: Layout,
    /// Whether the server is listened to.
    wakeups: bool,
}

impl Redis {
    /// All that it guarantees, pushed wake-ups last: they can be off.
    const GUARANTEES: &[Guarantee] =
        &[Guarantee::Fencing, Guarantee::BetweenProcesses, Guarantee::BetweenMachines, Guarantee::PushedWakeups];

    const LABEL: Label = Label {
        name: "redis",
        guarantees: Self::GUARANTEES,
        caveat: "remembers its grants as long as the server keeps its data: a restart without `appendfsync always`, a \
                 fail-over, an eviction or a step of the server's clock can end a lock early; tokens still rise",
    };

    pub(crate) fn new(driver: RedisRs, layout: Layout, wakeups: bool) -> Self {
        Self { links: Links::new(driver, None), lines: Lines::default(), layout, wakeups }
    }

    /// The same, with somebody who sees every connection before it is used.
    pub(crate) fn witnessed(driver: RedisRs, wakeups: bool, witness: Arc<dyn Witness>) -> Self {
        Self { links: Links::new(driver, Some(witness)), lines: Lines::default(), layout: Layout::default(), wakeups }
    }

    /// Where the server is.
    pub(crate) fn place(&self) -> String {
        self.links.driver().address()
    }

    /// Runs a script, sending its text only if the server does not know it.
    pub(crate) async fn run(&self, call: &impl Call, within: Duration) -> Result<Value, StoreError> {
        let began = Instant::now();
        let mut in_use = self.links.get(within).await?;
        run_on(&mut in_use, call, began, within).await
    }

    /// Gives back what a claim was granted of a re-entrant or a simple lock, and tells nobody.
    pub(crate) async fn retract(
        &self,
        kind: Kind,
        key: &Key,
        claim: &Claim,
        operation: &Operation,
        within: Duration,
    ) -> Result<Outcome, StoreError> {
        match self.run(&StepCall::retract(kind, key, claim, operation), within).await {
            // Whoever held it does so no longer, if the key is in use for something else by now.
            Err(StoreError { kind: StoreErrorKind::Conflict, .. }) => Ok(Outcome::NotHeld),
            answer => reply::released(&answer?),
        }
    }

    /// What is in the way of a lock of this kind, if another look can tell more of it than the first did.
    async fn told_apart(
        &self,
        (kind, key): (Kind, &Key),
        told: Result<Outcome, StoreError>,
        within: Duration,
    ) -> Result<Outcome, StoreError> {
        // Each boxed, as all that is rare.
        match told {
            Err(error) if error.kind == StoreErrorKind::Conflict => {
                Box::pin(self.conflict(kind, key, error, within)).await
            }
            // What another library wrote may be its lock; what it counts is none.
            Ok(Outcome::Busy(busy)) if kind == Kind::Simple && may_be_count(&busy) => {
                Box::pin(self.unless_count(key, Outcome::Busy(busy), within)).await
            }
            Ok(simple @ Outcome::Conflict(Kind::Simple)) => Box::pin(self.unless_count(key, simple, within)).await,
            told => told,
        }
    }

    /// This, unless the key is in use as a count.
    async fn unless_count(&self, key: &Key, told: Outcome, within: Duration) -> Result<Outcome, StoreError> {
        match self.looked(&Count::Look { key, force: false }, within).await? {
            Looked::Count(kind, _) => Ok(Outcome::Conflict(kind)),
            Looked::Nothing | Looked::Other => Ok(told),
        }
    }

    /// As what a key is held that could not be taken as this kind.
    async fn conflict(
        &self,
        kind: Kind,
        key: &Key,
        error: StoreError,
        within: Duration,
    ) -> Result<Outcome, StoreError> {
        match self.look(kind, key, &Operation::Inspect, within).await {
            Ok((_, Some(sight))) if !is_ours_or_shared(&sight) => Err(no_lock()),
            Ok((Some(held), _)) if !held.goes_with(kind) => Ok(Outcome::Conflict(held)),
            Err(no_lock) if no_lock.kind == StoreErrorKind::Conflict => Err(no_lock),
            // It ended between the two looks, so that the next attempt says more.
            // Of a count there is no telling whether it did.
            Ok((None, None)) if !is_counted(kind) => Err(StoreError::new(
                StoreErrorKind::Unreachable,
                "the key was in use for something else, which has ended since: try again",
            )),
            // There is no telling.
            _ => Err(error),
        }
    }

    /// Looks at a lock of whatever kind, or frees it by force: as what the key is in use, as far as that can be told, and who is
    /// in. What is counted has a script of its own, because it takes rights to keys that no other lock has.
    async fn look(
        &self,
        kind: Kind,
        key: &Key,
        operation: &Operation,
        within: Duration,
    ) -> Result<(Option<Kind>, Option<Sight>), StoreError> {
        let began = Instant::now();
        let count = Count::Look { key, force: *operation == Operation::ForceRelease };
        let left = || within.saturating_sub(began.elapsed());
        if is_counted(kind) {
            let seen = self.run(&count, within).await?;
            match count::reply::looked(&seen)? {
                Looked::Count(kind, sight) => {
                    self.tell_forced(key, &seen, left()).await;
                    return Ok((Some(kind), sight));
                }
                Looked::Nothing => return Ok((None, None)),
                Looked::Other => {}
            }
        }
        let look = StepCall::new((self.layout, kind), key, operation, Hints::default())?;
        let seen = self.run(&look, left()).await?;
        if reply::may_be_count(&seen) {
            match self.looked(&count, left()).await? {
                Looked::Count(kind, sight) => return Ok((Some(kind), sight)),
                // Somebody's number, which is not ours to free.
                _ if *operation == Operation::ForceRelease => return Err(no_lock()),
                _ => {}
            }
        }
        self.tell_forced(key, &seen, left()).await;
        let sight = reply::sight(&seen)?;
        Ok((sight.as_ref().map(|sight| sight.kind), sight))
    }

    /// Tells those who were put out by force, if they were too many for one script: the lock is free already, and whoever
    /// is not told hears of it when it renews.
    async fn tell_forced(&self, key: &Key, seen: &Value, within: Duration) {
        let Some(readers) = reply::to_be_told(seen) else { return };
        let began = Instant::now();
        let mut at = 0;
        while let Ok(next) = self.run(&Forced { key, at, readers }, within.saturating_sub(began.elapsed())).await {
            match reply::number(&next) {
                Ok(next) if next > 0 => at = next,
                _ => break,
            }
        }
    }

    /// What is counted under a key that holds a number; there is no telling for one who has no rights to what lies beside it.
    async fn looked(&self, look: &Count<'_>, within: Duration) -> Result<Looked, StoreError> {
        let began = Instant::now();
        let seen = match self.run(look, within).await {
            Err(error) if error.kind == StoreErrorKind::Denied => return Ok(Looked::Nothing),
            seen => seen?,
        };
        if let Count::Look { key, .. } = look {
            self.tell_forced(key, &seen, within.saturating_sub(began.elapsed())).await;
        }
        count::reply::looked(&seen)
    }

    /// One operation on what is counted.
    async fn count(
        &self,
        kind: Kind,
        key: &Key,
        operation: &Operation,
        within: Duration,
    ) -> Result<Outcome, StoreError> {
        let began = Instant::now();
        let Some(call) = Count::new(kind, key, operation)? else { return Ok(Outcome::NotHeld) };
        let read = match operation {
            Operation::Take { .. } => count::reply::taken,
            Operation::Release { .. } => reply::released,
            Operation::GiveBack { .. } => count::reply::given_back,
            Operation::Supply(_) => count::reply::supply,
            _ => count::reply::latch,
        };
        let mut answer = self.run(&call, within).await;
        // What has ended comes back so much at a time, so that nobody else has to wait for long.
        while matches!(operation, Operation::Supply(_)) && answer.as_ref().is_ok_and(count::reply::is_unsettled) {
            answer = self.run(&call, within.saturating_sub(began.elapsed())).await;
        }
        match answer.and_then(|answer| read(&answer)) {
            Err(error) if error.kind == StoreErrorKind::Conflict && !is_leaving(operation) => {
                // Boxed, as all that is rare.
                Box::pin(self.conflict(kind, key, error, within.saturating_sub(began.elapsed()))).await
            }
            answer => answer,
        }
    }

    /// Takes several locks at one moment, or none.
    async fn take_all(&self, steps: &[Step], within: Duration) -> Result<Applied, StoreError> {
        let Some(all) = steps.iter().map(Wanted::of).collect::<Option<Vec<_>>>() else { return Ok(Applied::Apart) };
        let began = Instant::now();
        let mut in_use = self.links.get(within).await?;
        let look_at_clock = in_use.calendar(|calendar| calendar.is_due(began)).unwrap_or(true);
        let hints = Hints { look_at_clock, ..Hints::default() };
        let answer = run_on(&mut in_use, &Together { all: &all, hints }, began, within).await;
        let granted = |token: &Value| matches!(token, Value::Int(token) if *token > 0);
        let looked = matches!(&answer, Ok(Value::Array(parts))
            if parts.first() == Some(&Value::Int(0)) && parts.iter().any(granted));
        let applied = answer.and_then(|answer| reply::together(steps, &answer));
        if look_at_clock {
            // Only a grant looks at the clock; a claim that held already is told its token of then, as text.
            in_use.calendar(|calendar| if looked { calendar.looked(began) } else { calendar.not_looked() });
        }
        match applied {
            Ok(Applied::Stopped { at, answer }) => {
                let (one, left) = (&steps[at], within.saturating_sub(began.elapsed()));
                Ok(Applied::Stopped { at, answer: self.told_apart((one.kind, &one.key), answer, left).await })
            }
            applied => applied,
        }
    }

    /// Takes each of several steps: renewals together, all others by themselves.
    async fn apply_each(&self, steps: &[Step], within: Duration) -> Vec<Result<Outcome, StoreError>> {
        let mut calls: Vec<(Option<&'static Scripts>, Vec<usize>)> = Vec::new();
        for (at, step) in steps.iter().enumerate() {
            let scripts = Renewal::of(step).and_then(|one| Scripts::of(self.layout, one.kind, one.claim).ok());
            // Each sort of claim has its script; most clients have claims of one sort.
            let known = calls.iter_mut().find(|(known, _)| {
                known.zip(scripts).is_some_and(|(one, other): (&Scripts, &Scripts)| std::ptr::eq(one, other))
            });
            match known {
                Some((_, places)) => places.push(at),
                None => calls.push((scripts, vec![at])),
            }
        }
        let asking = calls.into_iter().map(async |(scripts, places)| {
            let answers = match (scripts, &*places) {
                (Some(scripts), _) => {
                    self.renew_all(scripts, &places.iter().map(|at| &steps[*at]).collect::<Vec<_>>(), within).await
                }
                (None, places) => {
                    let Step { kind, key, operation } = &steps[places[0]];
                    vec![self.apply_one(*kind, key, operation, within).await]
                }
            };
            places.into_iter().zip(answers).collect::<Vec<_>>()
        });
        let mut answers: Vec<_> = join_all(asking).await.into_iter().flatten().collect();
        answers.sort_unstable_by_key(|(at, _)| *at);
        answers.into_iter().map(|(_, answer)| answer).collect()
    }

    /// Renews holds, all or none: it is one server that answers or does not.
    pub(crate) async fn renew(&self, steps: &[Step], within: Duration) -> Result<Vec<Outcome>, StoreError> {
        self.apply_each(steps, within).await.into_iter().collect()
    }

    /// Renews holds that have the same scripts.
    async fn renew_all(
        &self,
        scripts: &'static Scripts,
        steps: &[&Step],
        within: Duration,
    ) -> Vec<Result<Outcome, StoreError>> {
        let all: Vec<Renewal<'_>> = steps.iter().filter_map(|step| Renewal::of(step)).collect();
        let call = Renewals { layout: self.layout, scripts, all: &all };
        match self.run(&call, within).await.and_then(|gone| reply::gone(&gone)) {
            Ok(gone) => {
                let answer = |at| Ok(if gone.contains(&at) { Outcome::NotHeld } else { Outcome::Renewed });
                (0..all.len()).map(answer).collect()
            }
            Err(error) => vec![Err(error); all.len()],
        }
    }

    /// Why a server cannot be reached that is there, if it can be told.
    async fn mistaken(&self, within: Duration) -> Option<StoreError> {
        let driver = self.links.driver();
        let hint = driver.mistaken(within.min(Duration::from_millis(500))).await?;
        let message = format!("{hint}: address=`{}`", driver.address());
        Some(StoreError::new(StoreErrorKind::Unreachable, message))
    }

    /// Runs a plain command.
    async fn command(&self, command: &Cmd, within: Duration) -> Result<Value, StoreError> {
        let began = Instant::now();
        let mut in_use = self.links.get(within).await?;
        let sent = Instant::now();
        Ok(in_use.send(command, sent, within.saturating_sub(sent - began)).await?)
    }
}

async fn run_on<L: Link>(
    in_use: &mut InUse<L>,
    call: &impl Call,
    began: Instant,
    within: Duration,
) -> Result<Value, StoreError> {
    // One look at the clock for all that it is needed for.
    let sent = Instant::now();
    match in_use.send(&call.known(), sent, within.saturating_sub(sent - began)).await {
        Err(Failure::NoScript) => {
            let sent = Instant::now();
            // Boxed, because it happens once and would double the room that every call takes.
            Ok(Box::pin(in_use.send(&call.told(), sent, within.saturating_sub(sent - began))).await?)
        }
        answer => Ok(answer?),
    }
}

impl Backend for Redis {
    fn label(&self) -> Label {
        let guarantees = match Self::GUARANTEES {
            [others @ .., Guarantee::PushedWakeups] if !self.wakeups => others,
            all => all,
        };
        Label { guarantees, ..Self::LABEL }
    }

    fn address(&self) -> String {
        format!("redis:{}", self.links.driver().address())
    }

    async fn reach(&self, within: Duration) -> Result<(), StoreError> {
        // A wait for a server that is just starting up is part of reaching it.
        let began = Instant::now();
        let mut is_first = true;
        loop {
            let left = within.saturating_sub(began.elapsed());
            match self.command(&cmd("PING"), left.min(Duration::from_secs(1))).await {
                Err(error) if error.is_transient() => {
                    // No wait mends that.
                    if std::mem::take(&mut is_first)
                        && let Some(hint) = self.mistaken(within.saturating_sub(began.elapsed())).await
                    {
                        return Err(hint);
                    }
                    if left <= Duration::from_millis(100) {
                        // One that says so already says where.
                        let address = self.links.driver().address();
                        let said = error.message.contains(&address);
                        return Err(if said { error } else { unreachable(&address, &error.message) });
                    }
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                answer => return answer.map(drop),
            }
        }
    }

    async fn apply(&self, batch: Batch<'_>, within: Duration) -> Result<Applied, StoreError> {
        match batch.steps {
            steps if batch.all_or_none => self.take_all(steps, within).await,
            [step] => self.apply_one(step.kind, &step.key, &step.operation, within).await.map(Applied::one),
            steps => Ok(Applied::Each(self.apply_each(steps, within).await)),
        }
    }

    async fn apply_one(
        &self,
        kind: Kind,
        key: &Key,
        operation: &Operation,
        within: Duration,
    ) -> Result<Outcome, StoreError> {
        let began = Instant::now();
        match operation {
            Operation::Inspect | Operation::ForceRelease => {
                return match (self.look(kind, key, operation, within).await?.1, operation) {
                    (sight, Operation::ForceRelease) => Ok(Outcome::Forced(sight)),
                    // A string that another library wrote may be a simple lock, but no other kind.
                    (Some(sight), _) if kind != Kind::Simple && !is_ours_or_shared(&sight) => Err(no_lock()),
                    (sight, _) => Ok(Outcome::Seen(sight)),
                };
            }
            Operation::Renew { .. } if kind.has_permits() => {}
            _ if is_counted(kind) => return self.count(kind, key, operation, within).await,
            // No lock is taken in permits, or counted down.
            Operation::Take { .. } | Operation::GiveBack { .. } | Operation::Supply(_) | Operation::Count(_) => {
                return Ok(Outcome::NotHeld);
            }
            _ => {}
        }
        let mut in_use = self.links.get(within).await?;
        let hints = match operation {
            Operation::Acquire { stay, .. } => Hints {
                look_at_clock: kind != Kind::Fenced
                    && in_use.calendar(|calendar| calendar.is_due(began)).unwrap_or(true),
                since: matches!(stay, Stay::Waited { .. }).then(|| self.lines.since(key, began)).flatten(),
            },
            _ => Hints::default(),
        };
        let call = StepCall::new((self.layout, kind), key, operation, hints)?;
        let answer = run_on(&mut in_use, &call, began, within).await;
        if hints.look_at_clock {
            // Only a grant looks at the clock; a claim that held already is told its token of then.
            let looked = matches!(answer, Ok(Value::Int(token)) if token > 0);
            in_use.calendar(|calendar| if looked { calendar.looked(began) } else { calendar.not_looked() });
        }
        if let Operation::Acquire { stay, .. } = operation {
            let outcome = match &answer {
                Ok(answer) => reply::acquired(kind, answer),
                Err(error) => Err(error.clone()),
            };
            if let Ok(outcome) = &outcome {
                let now = answer.ok().as_ref().and_then(reply::moment);
                self.lines.heed((kind, key), *stay, outcome, now, Instant::now());
            }
            return self.told_apart((kind, key), outcome, within.saturating_sub(began.elapsed())).await;
        }
        let answer = match (operation, answer) {
            // Whoever held it does so no longer, if the key is in use for something else by now.
            (
                Operation::Reenter { .. } | Operation::Renew { .. } | Operation::Release { .. },
                Err(StoreError { kind: StoreErrorKind::Conflict, .. }),
            ) => return Ok(Outcome::NotHeld),
            (_, answer) => answer?,
        };
        match operation {
            Operation::Reenter { .. } => reply::reentered(&answer),
            Operation::Renew { .. } => reply::renewed(&answer),
            Operation::Release { left: 0, .. } => reply::released(&answer),
            _ => reply::left(&answer),
        }
    }

    async fn list(&self, pattern: &Pattern, within: Duration) -> Result<Vec<(Key, Sight)>, StoreError> {
        let mut names = BTreeSet::new();
        let mut cursor: u64 = 0;
        loop {
            let scan = cmd("SCAN").arg(cursor).arg("MATCH").arg(glob(pattern)).arg("COUNT").arg(1000).take();
            let answer = self.command(&scan, within).await?;
            let (next, found) = reply::scanned(&answer)?;
            names.extend(found.into_iter().filter(|name| pattern.matches(name)).map(str::to_owned));
            cursor = next;
            if cursor == 0 {
                break;
            }
        }
        // What lies beside locks need not be looked at.
        let is_key = |key: &Key| names::refused(key).is_none();
        let keys: Vec<Key> = names.iter().filter_map(|name| Key::new(name).ok()).filter(is_key).collect();
        let mut held = Vec::new();
        for keys in keys.chunks(500) {
            let mut looks = Vec::with_capacity(keys.len());
            for (at, key) in keys.iter().enumerate() {
                let look = StepCall::new((self.layout, Kind::Reentrant), key, &Operation::Inspect, Hints::default())?;
                // The text is sent once, so that the rest find it known.
                looks.push(if at == 0 { look.told() } else { look.known() });
            }
            let mut in_use = self.links.get(within).await?;
            let answers = in_use.send_all(looks, within).await?;
            let mut counts = Vec::new();
            for (key, answer) in keys.iter().zip(answers) {
                match answer.map_err(StoreError::from) {
                    Ok(seen) if reply::may_be_count(&seen) => counts.push(key),
                    seen => match seen.and_then(|seen| reply::sight(&seen)) {
                        // A string of another library may be a lock or anything else: it is not shown as one.
                        Ok(sight) => held.extend(sight.filter(is_ours_or_shared).map(|sight| (key.clone(), sight))),
                        // What is no lock is not what was asked for.
                        Err(error) if error.kind == StoreErrorKind::Conflict => {}
                        Err(error) => return Err(error),
                    },
                }
            }
            if counts.is_empty() {
                continue;
            }
            let look = |(at, key): (usize, &&Key)| {
                let look = Count::Look { key, force: false };
                if at == 0 { look.told() } else { look.known() }
            };
            let answers = in_use.send_all(counts.iter().enumerate().map(look).collect(), within).await?;
            for (key, answer) in counts.into_iter().zip(answers) {
                match answer.map_err(StoreError::from).and_then(|seen| count::reply::looked(&seen)) {
                    Ok(Looked::Count(_, Some(sight))) => held.push((key.clone(), sight)),
                    Ok(_) => {}
                    // Numbers of others need no rights of ours.
                    Err(error) if matches!(error.kind, StoreErrorKind::Conflict | StoreErrorKind::Denied) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        held.sort_by(|(one, _), (other, _)| one.cmp(other));
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

    fn calls_apart(&self, kind: Kind) -> bool {
        self.layout == Layout::Redisson && kind == Kind::Fair
    }

    fn refuses_key(&self, key: &Key) -> Option<&'static str> {
        names::refused(key)
    }

    async fn listen(&self, port: Port) {
        if self.wakeups {
            wakeups::listen(self.links.driver(), &self.lines, port).await;
        } else {
            wakeups::ignore(&self.lines, port).await;
        }
    }
}

/// Whether what is in the way of a simple lock may be a count.
fn may_be_count(busy: &Busy) -> bool {
    let holder = busy.holder.as_ref().filter(|holder| holder.token.is_none());
    holder.is_some_and(|holder| reply::is_number(holder.claim.as_str().as_bytes()))
}

/// Whether an operation gives back what the asker has, which is nothing if the key is in use for something else.
fn is_leaving(operation: &Operation) -> bool {
    matches!(operation, Operation::Release { .. } | Operation::GiveBack { .. })
}

/// Whether this is surely a lock: a hash with claims in it is, also one of Redisson's; a string only if we wrote it.
fn is_ours_or_shared(sight: &Sight) -> bool {
    sight.kind != Kind::Simple || sight.holders.iter().all(|holder| holder.token.is_some())
}

/// The nearest pattern of Redis's own: what is special to it is taken literally, and what is one character to us, but
/// may be several bytes to it, is anything.
fn glob(pattern: &Pattern) -> String {
    let mut glob = String::with_capacity(pattern.pieces().len());
    for piece in pattern.pieces() {
        match piece {
            Piece::Exactly(c @ ('*' | '?' | '[' | ']' | '\\')) => glob.extend(['\\', *c]),
            Piece::Exactly(c) => glob.push(*c),
            Piece::One | Piece::Any => glob.push('*'),
        }
    }
    glob
}

impl std::fmt::Debug for Redis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Redis({})", self.links.driver().address())
    }
}
