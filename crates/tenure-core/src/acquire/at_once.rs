//! Several locks of one client in one request: all or none.

use super::armed::Armed;
use super::{Contended, Patience, Whose, held, own, turned_down};
use crate::entry::deadline;
use crate::guard::Guard;
use crate::inner::Inner;
use crate::{Applied, Batch, Error, Options, Step, StoreError, StoreErrorKind};
use std::sync::Arc;
use tenure_kernel::{Busy, Claim, Grant, Key, Kind, Outcome};

/// So often at the most is a request that was not answered sent again, before the locks are asked for one by one.
const TRIES: u32 = 3;

/// What came of it.
pub(crate) enum AtOnce {
    /// All are held, in the order in which they were named.
    Taken(Vec<Guard>),
    /// None is: this one is not free.
    InTheWay(usize, Contended),
    /// None is: they are to be asked for one after the other.
    OneByOne,
}

/// Asks for all of them once. What is armed here and not handed to a guard is cancelled, each claim for itself.
pub(crate) async fn at_once(
    client: &Arc<Inner>,
    locks: &[(Kind, &Key)],
    options: &Options,
    patience: Patience,
) -> Result<AtOnce, Error> {
    let shared = &client.shared;
    let (whose, under) = (Whose::of(options)?, options.lineage()?);
    if let Some(owner) = &whose.owner
        && locks.iter().any(|(_, key)| !held(client, key, owner).is_empty())
    {
        // What it holds already it goes into again, which is another step.
        return Ok(AtOnce::OneByOne);
    }
    if locks.iter().any(|(_, key)| shared.is_behind(key)) {
        // Each of them waits until the store was told.
        return Ok(AtOnce::OneByOne);
    }
    let once = matches!(patience, Patience::Once);
    if !once && locks.iter().any(|(kind, key)| client.queue.is_in_use(*kind, key)) {
        // Others of this client came before us.
        return Ok(AtOnce::OneByOne);
    }
    let _attempt = shared.attempt()?;
    let began = shared.clock.now();
    let mut armed: Vec<Armed> = locks.iter().map(|lock| Armed::new(client, *lock, &under, options.span())).collect();
    for tries in 1.. {
        let sent = shared.clock.now();
        let within = client.answer_within.min(patience.left(sent));
        let steps: Vec<Step> = armed.iter_mut().map(Armed::asks_with_others).collect();
        let answer = shared.apply_batch(Batch::all_or_none(&steps), within).await;
        let granted = match &answer {
            Ok(applied) => Some(matches!(applied, Applied::Each(_))),
            Err(error) => (error.kind != StoreErrorKind::Unanswered).then_some(false),
        };
        for one in &mut armed {
            one.answered_with_others(granted);
        }
        match answer {
            Ok(Applied::Each(answers)) => {
                let grants = grants(locks, answers)?;
                // The client may have been closed meanwhile: nobody would look after the locks.
                shared.begin()?;
                if shared.clock.now() >= deadline(sent, options.span()) {
                    // Granted, but so late that the leases are over: they never were ours to use.
                    return if once { Err(Error::from_store(None, slow())) } else { Ok(AtOnce::OneByOne) };
                }
                let guards = armed.into_iter().zip(grants);
                let guards = guards.map(|(one, grant)| one.into_guard(grant.token, options, whose.clone(), sent));
                return Ok(AtOnce::Taken(guards.collect()));
            }
            Ok(Applied::Stopped { at, answer }) => {
                let waited = shared.clock.now().since(began);
                return in_the_way(locks[at], &under, answer).map(|holder| {
                    // Somebody is in the way, or comes first.
                    AtOnce::InTheWay(at, Contended { holder, waited, votes: Vec::new() })
                });
            }
            Ok(Applied::Apart) => return Ok(AtOnce::OneByOne),
            Err(error) if !error.is_transient() => return Err(Error::from_store(None, error)),
            Err(error) => {
                let now = shared.clock.now();
                // One attempt is one answer: a connection that was found dead at once gets another chance.
                let again = if once { tries == 1 && now.since(sent) < within / 2 } else { tries < TRIES };
                if again && (once || !patience.is_over(now)) {
                    continue;
                }
                // One by one, an outage is ridden out for as long as the caller waits.
                return if once { Err(Error::from_store(None, error)) } else { Ok(AtOnce::OneByOne) };
            }
        }
    }
    Ok(AtOnce::OneByOne)
}

/// The grants of a store that has granted all.
fn grants(locks: &[(Kind, &Key)], answers: Vec<Result<Outcome, StoreError>>) -> Result<Vec<Grant>, Error> {
    let grant = |((kind, key), answer): (&(Kind, &Key), Result<Outcome, StoreError>)| match answer {
        Ok(Outcome::Granted(grant)) => Ok(grant),
        Ok(other) => Err(turned_down((*kind, key), &other)),
        Err(error) => Err(Error::from_store(Some(key), error)),
    };
    locks.iter().zip(answers).map(grant).collect()
}

/// Who is in the way of all, by what one of them answered.
fn in_the_way(
    (kind, key): (Kind, &Key),
    under: &[Claim],
    answer: Result<Outcome, StoreError>,
) -> Result<Option<tenure_kernel::Holder>, Error> {
    match answer {
        Ok(Outcome::Busy(Busy { holder: Some(holder), .. }))
            if !kind.is_reentrant() && under.contains(&holder.claim) =>
        {
            Err(own(key, kind))
        }
        Ok(Outcome::Busy(busy)) => Ok(busy.holder),
        Ok(other) => Err(turned_down((kind, key), &other)),
        Err(error) => Err(Error::from_store(Some(key), error)),
    }
}

fn slow() -> StoreError {
    StoreError::new(StoreErrorKind::Unreachable, "the store answers later than the lease lasts")
}
