//! Wake-ups by bell: one socket per client, however many keys are waited for.

use crate::actor::Lane;
use crate::backend::Sqlite;
use crate::bells::{Hook, LONGEST};
use crate::file::File;
use crate::line::{CALL, FORCED, FREE, LOOK, TURN};
use std::future::pending;
use std::pin::Pin;
use std::time::Duration;
use tenure_core::{Claim, HeldBack, Key, Kind, Port, Pusher, StoreError, StoreErrorKind, Topic, report};
use tokio::net::UnixDatagram;
use tokio::sync::watch;

/// Changes whenever the file is opened anew.
type Openings = watch::Receiver<u64>;

/// A place in line that is being taken.
type Standing<'a> = Pin<Box<dyn Future<Output = Result<Vec<Topic>, StoreError>> + Send + 'a>>;

const ANSWER_WITHIN: Duration = Duration::from_secs(1);
/// So many calls are heeded before anybody else has a turn on this thread.
const AT_ONCE: usize = 32;

/// Carries wake-ups to the client for as long as it lives, with a new bell whenever the file is opened anew.
pub(crate) async fn listen(sqlite: &Sqlite, mut port: Port) {
    let pusher = port.pusher();
    let _leaving = Leaving { sqlite, client: port.client().to_owned() };
    let mut failures = 0u32;
    loop {
        match hang(sqlite, &mut port).await {
            Ok((bell, _hook, openings)) => {
                failures = 0;
                // The file may be another than it was, and notices may have been missed: ask about every hold.
                pusher.may_have_forgotten();
                let error = hear(sqlite, &bell, openings, &mut port).await;
                report(move || tracing::debug!(%error, "the bell is not heard any more"));
                // From now on calls are missed: everyone looks again, and by themselves until we hear again.
                pusher.interrupted();
            }
            Err(error) => {
                failures += 1;
                report(move || tracing::debug!(%error, failures, "no bell for wake-ups"));
            }
        }
        forget_while(&mut port, tokio::time::sleep(Duration::from_millis(10 << failures.min(7)))).await;
    }
}

/// Lets go of what nobody waits for any more for as long as nothing is heard: without a bell too, which there may never be.
async fn forget_while(port: &mut Port, pause: impl Future<Output = ()>) {
    let mut pause = std::pin::pin!(pause);
    loop {
        tokio::select! {
            () = &mut pause => return,
            // The next bell is hung for all that is watched then.
            _ = port.next() => {}
        }
    }
}

/// A bell, and a place in every line that is wanted now.
async fn hang(sqlite: &Sqlite, port: &mut Port) -> Result<(UnixDatagram, Hook, Openings), StoreError> {
    // What has piled up is among what is watched.
    while port.try_next().is_some() {}
    let (client, watched) = (port.client().to_owned(), port.watched());
    let keys = lines(&watched);
    let mut openings = sqlite.openings.clone();
    let ((bell, hook), openings) = sqlite
        .actor
        .ask(Lane::Others, ANSWER_WITHIN, move |file| {
            let bell = file.bells.hang(&client)?;
            file.leave_all(&client)?;
            file.stand(&client, &keys, &[])?;
            openings.mark_unchanged();
            Ok((bell, openings))
        })
        .await?;
    let bell = UnixDatagram::from_std(bell)
        .map_err(|error| StoreError::new(StoreErrorKind::Unexpected, format!("no ear for the bell: {error}")))?;
    for topic in &watched {
        port.pusher().live(topic);
    }
    Ok((bell, hook, openings))
}

/// Hears and passes on until the bell is of no use any more; says why.
async fn hear(sqlite: &Sqlite, bell: &UnixDatagram, mut openings: Openings, port: &mut Port) -> StoreError {
    let mut ear = Ear { sqlite, pusher: port.pusher(), held_back: HeldBack::default() };
    let mut words = vec![0; LONGEST];
    // The bell is heard while the file is busy with this: it holds only a few calls.
    let mut standing: Option<Standing<'_>> = None;
    loop {
        let stands = standing.is_some();
        let stood = async {
            match &mut standing {
                Some(standing) => standing.await,
                None => pending().await,
            }
        };
        tokio::select! {
            heard = bell.recv(&mut words) => match heard {
                Ok(length) => {
                    ear.heed(&String::from_utf8_lossy(&words[..length]), port);
                    for _ in 1..AT_ONCE {
                        match bell.try_recv(&mut words) {
                            Ok(length) => ear.heed(&String::from_utf8_lossy(&words[..length]), port),
                            // Nothing more, or a fault that is met again above.
                            Err(_) => break,
                        }
                    }
                }
                Err(error) => return StoreError::new(StoreErrorKind::Unreachable, error.to_string()),
            },
            key = ear.held_back.next() => {
                ear.pusher.wake(&Topic::of(Kind::Reentrant, &key));
            }
            stood = stood => match stood {
                Ok(come) => {
                    standing = None;
                    for topic in &come {
                        ear.pusher.live(topic);
                    }
                }
                Err(error) => return error,
            },
            interest = port.next(), if !stands => {
                let (come, gone) = port.piled_up(interest);
                standing = Some(Box::pin(stand(sqlite, port.client().to_owned(), come, gone)));
            }
            _ = openings.changed() => {
                return StoreError::new(StoreErrorKind::Unreachable, "the file was opened anew");
            }
        }
    }
}

/// Understands what the bell says.
struct Ear<'a> {
    sqlite: &'a Sqlite,
    pusher: Pusher,
    held_back: HeldBack,
}

impl Ear<'_> {
    fn heed(&mut self, words: &str, port: &Port) {
        match words.split_once(' ').map(|(word, rest)| (word, rest, Key::new(rest))) {
            Some((TURN, _, Ok(key))) => {
                self.held_back.remove(&key);
                // A bell does not say what the key is in use for; few are watched as more than one kind.
                let kinds = [Kind::Reentrant, Kind::Permits, Kind::Latch];
                let waiting = kinds.map(|kind| self.pusher.wake(&Topic::of(kind, &key)));
                if !waiting.contains(&true) {
                    // Whoever waited here has given up; those behind would wait for their own next look.
                    let client = port.client().to_owned();
                    self.sqlite.actor.tell(ANSWER_WITHIN, move |file| file.pass_on(&key, &client));
                }
            }
            Some((FREE, _, Ok(key))) => self.held_back.put(&key),
            Some((CALL, claim, _)) => self.pusher.call(&Claim::found(claim)),
            Some((FORCED, claim, _)) => self.pusher.forced(&Claim::found(claim)),
            None if words == LOOK => {
                // Whatever the thread is asked, it looks first whether the file is the one that it has.
                self.sqlite.actor.tell(ANSWER_WITHIN, |_| Ok(()));
                for topic in port.watched() {
                    self.pusher.wake(&topic);
                }
                self.pusher.may_have_forgotten();
            }
            _ => {
                let words = words.to_owned();
                report(move || tracing::debug!(words, "a bell that means nothing to this version"));
            }
        }
    }
}

/// Goes in line and out of it as waiters come and go; those it came for can hear now.
async fn stand(sqlite: &Sqlite, client: String, come: Vec<Topic>, gone: Vec<Topic>) -> Result<Vec<Topic>, StoreError> {
    let stand = move |file: &mut File| file.stand(&client, &lines(&come), &lines(&gone)).map(|()| come);
    sqlite.actor.ask(Lane::Others, ANSWER_WITHIN, stand).await
}

/// The locks whose line is one of clients. Where every claim has a place of its own, nobody else has to be told.
fn lines(topics: &[Topic]) -> Vec<Key> {
    topics.iter().filter(|topic| !topic.kind.has_line()).map(|topic| topic.key.clone()).collect()
}

/// Takes a client that goes out of every line.
struct Leaving<'a> {
    sqlite: &'a Sqlite,
    client: String,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        let client = std::mem::take(&mut self.client);
        self.sqlite.actor.tell(ANSWER_WITHIN, move |file| file.leave_all(&client));
    }
}
