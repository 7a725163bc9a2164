//! Taking the lock, with a word to the person who has to wait for it.

use super::permit;
use super::terms::Terms;
use crate::cli::{Common, Run};
use crate::duration::spoken;
use crate::exit::{Failure, Reason};
use crate::output::{Seen, Spinner, Talk, holder, waiting};
use crate::store;
use std::fmt::Write;
use std::future::pending;
use std::time::{Duration, Instant};
use tenure::{Client, Held, Lock, MultiGuard, MultiLock, Place, Sort};

/// Who has waited for so long is told for whom.
const PATIENCE: Duration = Duration::from_millis(300);
/// How often what is told is brought up to date.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Connects to the store.
pub(super) async fn connect(common: &Common, talk: Talk, args: &Run, terms: &Terms) -> Result<Client, Failure> {
    let label = args.label.clone().unwrap_or_else(|| name_of(args));
    let builder = Client::builder()
        .label(label)
        // Checked before anything is sent.
        .options(terms.options.clone())
        .connect_within(store::reach_within(terms.wait()));
    store::connect(common, talk, builder).await
}

/// Takes the locks.
pub(super) async fn take(talk: Talk, terms: &Terms, client: &Client, began: Instant) -> Result<MultiGuard, Failure> {
    let mut options = terms.options.clone();
    if let Some(wait) = terms.wait() {
        // Reaching the store was a part of it.
        options = options.wait(wait.saturating_sub(began.elapsed()).max(Duration::from_millis(1)));
    }
    let place = Place::new();
    let kind = match terms.kind {
        Sort::Lock(kind) => kind,
        Sort::Semaphore(permits) => {
            return permit::take(talk, terms, client, permits, options.place(&place), &place)
                .await
                .map(MultiGuard::from);
        }
    };
    let locks: Vec<Lock> = terms.keys.iter().map(|key| client.lock_of(kind, key)).collect::<Result<_, _>>()?;
    let locks = MultiLock::new(locks)?;
    if terms.once {
        return attempt(&locks, terms).await;
    }
    // While it waits for one, it has some of the others itself.
    let looks = async || in_the_way(&locks, |held| held.holder().claim.client() != client.id()).await;
    tokio::select! {
        biased;
        taken = locks.lock_with(options.place(&place)) => Ok(taken?),
        never = tell(talk, looks, &place, locks.locks()[0].key().as_str()) => match never {},
    }
}

/// One attempt.
async fn attempt(locks: &MultiLock, terms: &Terms) -> Result<MultiGuard, Failure> {
    let began = Instant::now();
    match locks.try_lock_with(terms.options.clone()).await? {
        Some(guard) => Ok(guard),
        None => Err(busy(&in_the_way(locks, |_| true).await, began.elapsed())),
    }
}

/// The first of the locks that somebody holds who is meant; the first of all if nobody does any more.
async fn in_the_way(locks: &MultiLock, is_meant: impl Fn(&Held) -> bool) -> Seen {
    for lock in locks.locks() {
        // Good to know, never worth failing for.
        if let Some(held) = lock.inspect().await.ok().flatten().filter(&is_meant) {
            return held.into();
        }
    }
    Seen::free(locks.locks()[0].key().as_str())
}

/// Tells a person at a terminal for whom they wait, and nobody else.
pub(super) async fn tell(
    talk: Talk,
    looks: impl AsyncFn() -> Seen,
    place: &Place,
    key: &str,
) -> std::convert::Infallible {
    if !talk.is_watched() {
        return pending().await;
    }
    tokio::time::sleep(PATIENCE).await;
    let spinner = Spinner::new(talk, &waiting(&Seen::free(key), place.position()));
    loop {
        let seen = looks().await;
        if !seen.holders.is_empty() {
            spinner.say(&waiting(&seen, place.position()));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Somebody else holds the lock.
pub(in crate::commands) fn busy(seen: &Seen, waited: Duration) -> Failure {
    let mut message =
        format!("the lock is not free, try again later or wait longer: waited={} key=`{}`", spoken(waited), seen.key);
    for one in &seen.holders {
        let held =
            one.held_ms.map_or(String::new(), |held| format!(" held_for={}", spoken(Duration::from_millis(held))));
        // Writing to a string does not fail.
        let _ = write!(message, " holder=`{}`{held}", holder(one));
    }
    if seen.more > 0 {
        let _ = write!(message, " more_holders={}", seen.more);
    }
    Failure::new(Reason::NotAcquired, message)
}

/// The command's own name: people know it when they see it.
fn name_of(args: &Run) -> String {
    let command = std::path::Path::new(&args.command[0]);
    command.file_name().unwrap_or(command.as_os_str()).to_string_lossy().into_owned()
}
