//! Wake-ups by publish and subscribe, over one connection per client however many keys are waited for.

use crate::backend::Redis;
use crate::driver::{Ear, Message};
use crate::names;
use redis::{Value, cmd};
use std::collections::HashMap;
use std::time::Duration;
use tenure_core::{Claim, Interest, Key, Port, Pusher, StoreError};

const ANSWER_WITHIN: Duration = Duration::from_secs(1);
/// How often a quiet connection is asked whether anybody is there.
const PING_EVERY: Duration = Duration::from_secs(2);

/// Carries wake-ups to the client for as long as it lives, reconnecting whenever the connection is lost.
pub(crate) async fn listen(redis: &Redis, mut port: Port) {
    let pusher = port.pusher();
    let mut server = None;
    let mut failures = 0u32;
    loop {
        match open(redis, &mut port).await {
            Ok((mut ear, mut channels)) => {
                failures = 0;
                for key in channels.values() {
                    pusher.live(key);
                }
                heed_restart(redis, &mut server, &pusher).await;
                let error = hear(&mut ear, &mut port, &mut channels).await;
                tracing::debug!(%error, "the connection for wake-ups was lost");
                // Messages are missed from now on: everyone looks again, and by themselves until we hear again.
                pusher.interrupted();
            }
            Err(error) => {
                failures += 1;
                tracing::debug!(%error, failures, "no connection for wake-ups");
            }
        }
        tokio::time::sleep(Duration::from_millis(10 << failures.min(6))).await;
    }
}

/// A connection that listens to all that is wanted now.
async fn open(redis: &Redis, port: &mut Port) -> Result<(Ear, HashMap<String, Key>), StoreError> {
    let mut ear = redis.links.driver().listen(ANSWER_WITHIN).await?;
    let channels: HashMap<String, Key> = port.watched().into_iter().map(|key| (names::channel(&key), key)).collect();
    let mut all: Vec<String> = channels.keys().cloned().collect();
    all.push(names::notice(port.client()));
    ear.subscribe(&all, ANSWER_WITHIN).await?;
    Ok((ear, channels))
}

/// Hears and passes on until the connection is lost; says why it was.
async fn hear(ear: &mut Ear, port: &mut Port, channels: &mut HashMap<String, Key>) -> StoreError {
    let pusher = port.pusher();
    let notice = names::notice(port.client());
    let mut quiet = tokio::time::interval(PING_EVERY);
    quiet.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        let done = tokio::select! {
            message = ear.hear() => match message {
                Some(message) => {
                    pass_on(&message, &notice, channels, &pusher);
                    Ok(())
                }
                None => Err(crate::error::unanswered()),
            },
            interest = port.next() => heed(interest, ear, port, channels, &pusher).await,
            _ = quiet.tick() => ear.ping(ANSWER_WITHIN).await,
        };
        if let Err(error) = done {
            return error;
        }
    }
}

fn pass_on(message: &Message, notice: &str, channels: &HashMap<String, Key>, pusher: &Pusher) {
    if message.channel == notice {
        pusher.forced(&Claim::found(&String::from_utf8_lossy(&message.payload)));
    } else if let Some(key) = channels.get(&message.channel) {
        pusher.wake(key);
    }
}

/// Subscribes and unsubscribes as waiters come and go, all that has piled up at once.
async fn heed(
    first: Interest,
    ear: &mut Ear,
    port: &mut Port,
    channels: &mut HashMap<String, Key>,
    pusher: &Pusher,
) -> Result<(), StoreError> {
    let mut wanted: HashMap<Key, bool> = HashMap::new();
    let mut next = Some(first);
    while let Some(interest) = next {
        match interest {
            Interest::Watch(key) => wanted.insert(key, true),
            Interest::Unwatch(key) => wanted.insert(key, false),
        };
        next = port.try_next();
    }
    let (come, gone): (Vec<_>, Vec<_>) = wanted.into_iter().partition(|(_, wanted)| *wanted);
    if !gone.is_empty() {
        let names: Vec<String> = gone.iter().map(|(key, _)| names::channel(key)).collect();
        for name in &names {
            channels.remove(name);
        }
        ear.unsubscribe(&names, ANSWER_WITHIN).await?;
    }
    if !come.is_empty() {
        let names: Vec<String> = come.iter().map(|(key, _)| names::channel(key)).collect();
        channels.extend(names.iter().cloned().zip(come.iter().map(|(key, _)| key.clone())));
        ear.subscribe(&names, ANSWER_WITHIN).await?;
        for (key, _) in &come {
            pusher.live(key);
        }
    }
    Ok(())
}

/// A server that is not the one we knew may have forgotten its grants: holders ask at once. If it does not say which
/// one it is, it is taken for another.
async fn heed_restart(redis: &Redis, known: &mut Option<String>, pusher: &Pusher) {
    let first = known.is_none();
    let now = run_id(redis).await;
    if !first && (now.is_none() || now != *known) {
        tracing::warn!("redis was restarted or replaced: asking about every lock held");
        pusher.may_have_forgotten();
    }
    *known = Some(now.unwrap_or_default());
}

async fn run_id(redis: &Redis) -> Option<String> {
    let answer = redis.command(cmd("INFO").arg("server"), ANSWER_WITHIN).await.ok()?;
    let text = match answer {
        Value::BulkString(bytes) => String::from_utf8(bytes).ok()?,
        Value::VerbatimString { text, .. } => text,
        _ => return None,
    };
    text.lines().find_map(|line| line.strip_prefix("run_id:")).map(|id| id.trim().to_owned())
}
