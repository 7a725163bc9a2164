//! Wake-ups by bell: one socket per client, however many keys are waited for.

use crate::actor::Lane;
use crate::backend::Sqlite;
use crate::bells::LONGEST;
use crate::line::{FORCED, FREE, LOOK, TURN};
use std::time::Duration;
use tenure_core::{Claim, HeldBack, Interest, Key, Port, Pusher, StoreError, StoreErrorKind};
use tokio::net::UnixDatagram;
use tokio::sync::watch;

/// Changes whenever the file is opened anew.
type Openings = watch::Receiver<u64>;

const ANSWER_WITHIN: Duration = Duration::from_secs(1);

/// Carries wake-ups to the client for as long as it lives, with a new bell whenever the file is opened anew.
pub(crate) async fn listen(sqlite: &Sqlite, mut port: Port) {
    let pusher = port.pusher();
    let _leaving = Leaving { sqlite, client: port.client().to_owned() };
    let mut failures = 0u32;
    loop {
        match hang(sqlite, &mut port).await {
            Ok((bell, openings)) => {
                failures = 0;
                // The file may be another than it was, and notices may have been missed: ask about every hold.
                pusher.may_have_forgotten();
                let error = hear(sqlite, &bell, openings, &mut port).await;
                tracing::debug!(%error, "the bell is not heard any more");
                // From now on calls are missed: everyone looks again, and by themselves until we hear again.
                pusher.interrupted();
            }
            Err(error) => {
                failures += 1;
                tracing::debug!(%error, failures, "no bell for wake-ups");
            }
        }
        tokio::time::sleep(Duration::from_millis(10 << failures.min(7))).await;
    }
}

/// A bell, and a place in every line that is wanted now.
async fn hang(sqlite: &Sqlite, port: &mut Port) -> Result<(UnixDatagram, Openings), StoreError> {
    // What has piled up is among what is watched.
    while port.try_next().is_some() {}
    let (client, watched) = (port.client().to_owned(), port.watched());
    let keys = watched.clone();
    let mut openings = sqlite.openings.clone();
    let (bell, openings) = sqlite
        .actor
        .ask(Lane::Second, ANSWER_WITHIN, move |file| {
            let bell = file.bells.hang(&client)?;
            file.leave_all(&client)?;
            file.stand(&client, &keys, &[])?;
            openings.mark_unchanged();
            Ok((bell, openings))
        })
        .await?;
    let bell = UnixDatagram::from_std(bell)
        .map_err(|error| StoreError::new(StoreErrorKind::Unexpected, format!("no ear for the bell: {error}")))?;
    for key in &watched {
        port.pusher().live(key);
    }
    Ok((bell, openings))
}

/// Hears and passes on until the bell is of no use any more; says why.
async fn hear(sqlite: &Sqlite, bell: &UnixDatagram, mut openings: Openings, port: &mut Port) -> StoreError {
    let pusher = port.pusher();
    let mut held_back = HeldBack::default();
    let mut words = vec![0; LONGEST];
    loop {
        tokio::select! {
            heard = bell.recv(&mut words) => match heard {
                Ok(length) => heed(sqlite, &String::from_utf8_lossy(&words[..length]), &pusher, &mut held_back),
                Err(error) => return StoreError::new(StoreErrorKind::Unreachable, error.to_string()),
            },
            key = held_back.next() => pusher.wake(&key),
            interest = port.next() => if let Err(error) = stand(sqlite, interest, port, &pusher).await {
                return error;
            },
            _ = openings.changed() => {
                return StoreError::new(StoreErrorKind::Unreachable, "the file was opened anew");
            }
        }
    }
}

fn heed(sqlite: &Sqlite, words: &str, pusher: &Pusher, held_back: &mut HeldBack) {
    if words == LOOK {
        // Whatever is asked of it, the thread looks first.
        return sqlite.actor.tell(ANSWER_WITHIN, |_| Ok(()));
    }
    match words.split_once(' ').map(|(word, rest)| (word, rest, Key::new(rest))) {
        Some((TURN, _, Ok(key))) => {
            held_back.remove(&key);
            pusher.wake(&key);
        }
        Some((FREE, _, Ok(key))) => held_back.put(&key),
        Some((FORCED, claim, _)) => pusher.forced(&Claim::found(claim)),
        _ => tracing::debug!(words, "a bell that means nothing to this version"),
    }
}

/// Goes in line and out of it as waiters come and go, all that has piled up at once.
async fn stand(sqlite: &Sqlite, first: Interest, port: &mut Port, pusher: &Pusher) -> Result<(), StoreError> {
    let (come, gone) = port.piled_up(first);
    let (client, lines) = (port.client().to_owned(), come.clone());
    sqlite.actor.ask(Lane::Second, ANSWER_WITHIN, move |file| file.stand(&client, &lines, &gone)).await?;
    for key in &come {
        pusher.live(key);
    }
    Ok(())
}

/// Takes down the bell of a client that goes, and takes it out of every line.
struct Leaving<'a> {
    sqlite: &'a Sqlite,
    client: String,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        let client = std::mem::take(&mut self.client);
        self.sqlite.actor.tell(ANSWER_WITHIN, move |file| {
            file.bells.take_down(&client);
            file.leave_all(&client)
        });
    }
}
