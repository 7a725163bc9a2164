//! Wake-ups by publish and subscribe, over one connection per client however many keys are waited for.

use crate::channels::Channels;
use crate::driver::{Driver, Ear, Message};
use crate::lines::Lines;
use crate::names;
use std::time::{Duration, Instant};
use tenure_core::{Claim, HeldBack, Interest, Key, Kind, Port, Pusher, StoreError, StoreErrorKind, Topic, report};

const ANSWER_WITHIN: Duration = Duration::from_secs(1);
/// How often a quiet connection is asked whether anybody is there.
const PING_EVERY: Duration = Duration::from_secs(2);

/// An ear that was good for this long was a good one; one that was not is opened anew ever more slowly.
const GOOD: Duration = Duration::from_secs(2);

/// Carries wake-ups to the client for as long as it lives, reconnecting whenever the connection is lost.
pub(crate) async fn listen(driver: &impl Driver, lines: &Lines, mut port: Port) {
    let pusher = port.pusher();
    let mut failures = 0u32;
    loop {
        let opened = Instant::now();
        let error = match open(driver, &mut port).await {
            Ok((mut ear, mut channels, topics)) => {
                for topic in &topics {
                    pusher.live(topic);
                }
                // The server may have been restarted empty, and notices may have been missed: ask about every hold.
                pusher.may_have_forgotten();
                let error = hear(lines, &mut ear, &mut port, &mut channels).await;
                // Messages are missed from now on: everyone looks again, and by themselves until we hear again.
                pusher.interrupted();
                if opened.elapsed() >= GOOD {
                    failures = 0;
                }
                error
            }
            Err(error) => error,
        };
        let pause = pause(&error, failures);
        report(move || tracing::debug!(%error, failures, "no connection for wake-ups"));
        idle(pause, lines, &mut port).await;
        failures = failures.saturating_add(1);
    }
}

/// Lets waiters come and go without an ear for as long as the client lives: they look by themselves.
pub(crate) async fn ignore(lines: &Lines, mut port: Port) {
    loop {
        if let Interest::Unwatch(topic) = port.next().await {
            leave(lines, &topic);
        }
    }
}

/// How long to wait before the next connection is opened.
fn pause(error: &StoreError, failures: u32) -> Duration {
    match error.kind {
        // Whoever lacks the right today will hardly have it within the second, and can do without.
        StoreErrorKind::Denied => Duration::from_secs(1 << failures.min(5)),
        _ => Duration::from_millis(10 << failures.min(6)),
    }
}

/// Lets time pass without an ear. Whoever comes to wait meanwhile is found when there is one; whoever leaves is let go
/// of now, or those who left would pile up for as long as there is none.
async fn idle(pause: Duration, lines: &Lines, port: &mut Port) {
    let mut over = std::pin::pin!(tokio::time::sleep(pause));
    loop {
        tokio::select! {
            () = &mut over => return,
            interest = port.next() => {
                if let Interest::Unwatch(topic) = interest {
                    leave(lines, &topic);
                }
            }
        }
    }
}

/// Nobody waits for a lock any more. Where claims stand in line themselves, the client does not.
fn leave(lines: &Lines, topic: &Topic) {
    if !topic.kind.has_line() {
        lines.leave(&topic.key);
    }
}

/// A connection that listens to all that is wanted now, and what that is.
async fn open<D: Driver>(driver: &D, port: &mut Port) -> Result<(D::Ear, Channels, Vec<Topic>), StoreError> {
    let mut ear = driver.listen(ANSWER_WITHIN).await?;
    let (topics, mut channels) = (port.watched(), Channels::default());
    let mut all: Vec<String> = topics.iter().filter_map(|topic| channels.add(topic)).collect();
    all.push(names::notice(port.client()));
    ear.subscribe(&all, ANSWER_WITHIN).await?;
    Ok((ear, channels, topics))
}

/// Hears and passes on until the connection is lost; says why it was.
async fn hear(lines: &Lines, ear: &mut impl Ear, port: &mut Port, channels: &mut Channels) -> StoreError {
    let pusher = port.pusher();
    let notice = names::notice(port.client());
    let mut quiet = tokio::time::interval(PING_EVERY);
    quiet.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut held_back = HeldBack::default();
    loop {
        let done = tokio::select! {
            message = ear.hear() => match message {
                Some(message) if message.channel == notice => {
                    heed_notice(&message, &pusher, &mut held_back);
                    Ok(())
                }
                Some(message) => {
                    for topic in channels.topics(&message.channel) {
                        match topic.kind {
                            _ if topic.claim.is_some() => topic.claim.iter().for_each(|claim| pusher.call(claim)),
                            // The last reader has left: no news to those who wait to read.
                            Kind::Read if message.payload == b"0" => {}
                            Kind::Reentrant if lines.since(&topic.key, Instant::now()).is_some() => held_back.put(&topic.key),
                            _ => {
                                pusher.wake(topic);
                            }
                        }
                    }
                    Ok(())
                }
                None => Err(crate::error::unanswered()),
            },
            key = held_back.next() => {
                pusher.wake(&Topic::of(Kind::Reentrant, &key));
                Ok(())
            }
            interest = port.next() => heed(lines, interest, ear, port, channels, &pusher).await,
            _ = quiet.tick() => ear.ping(ANSWER_WITHIN).await,
        };
        if let Err(error) = done {
            return error;
        }
    }
}

/// What concerns this client alone: it is its turn, or it was put out.
fn heed_notice(message: &Message, pusher: &Pusher, held_back: &mut HeldBack) {
    let text = String::from_utf8_lossy(&message.payload);
    match text.split_once(' ') {
        Some(("turn", key)) => {
            if let Ok(key) = Key::new(key) {
                held_back.remove(&key);
                pusher.wake(&Topic::of(Kind::Reentrant, &key));
            }
        }
        Some(("call", claim)) => pusher.call(&Claim::found(claim)),
        Some(("forced", claim)) => pusher.forced(&Claim::found(claim)),
        _ => {
            let text = text.into_owned();
            report(move || tracing::debug!(%text, "a notice that means nothing to this version"));
        }
    }
}

/// Subscribes and unsubscribes as waiters come and go, all that has piled up at once.
async fn heed(
    lines: &Lines,
    first: Interest,
    ear: &mut impl Ear,
    port: &mut Port,
    channels: &mut Channels,
    pusher: &Pusher,
) -> Result<(), StoreError> {
    let (come, gone) = port.piled_up(first);
    for topic in &gone {
        leave(lines, topic);
    }
    let names: Vec<String> = gone.iter().filter_map(|topic| channels.remove(topic)).collect();
    if !names.is_empty() {
        ear.unsubscribe(&names, ANSWER_WITHIN).await?;
    }
    let names: Vec<String> = come.iter().filter_map(|topic| channels.add(topic)).collect();
    if !names.is_empty() {
        ear.subscribe(&names, ANSWER_WITHIN).await?;
    }
    for topic in &come {
        pusher.live(topic);
    }
    Ok(())
}
