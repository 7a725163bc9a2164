//! The watchdog: renews every hold of a client in deadline order, many per call, and says so when one is lost.
//!
//! One failed attempt is jeopardy, not loss; it is tried again until the hold's own deadline, which is judged by the
//! client's clock alone. While a renewal hangs, deadlines are watched all the same.

use crate::event::{Loss, What};
use crate::hold::Hold;
use crate::janitor::Chore;
use crate::report::report;
use crate::shared::Shared;
use crate::wakeups::Notice;
use crate::{Batch, Moment, Options, Step, StoreError};
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::sync::Arc;
use std::time::Duration;
use tenure_kernel::{Operation, Outcome};

/// No renewal is waited for longer than this; a shorter lease shortens it to a third of that.
const PATIENCE: Duration = Duration::from_secs(1);

/// A call under way: what it renews, when it was sent, and what came of it.
struct Flight {
    holds: Vec<(Arc<Hold>, Duration)>,
    sent: Moment,
    result: Result<Vec<Result<Outcome, StoreError>>, StoreError>,
}

/// Looks after a client's holds until dropped.
pub(crate) async fn watch(shared: Arc<Shared>) {
    let mut flights: FuturesUnordered<BoxFuture<'static, Flight>> = FuturesUnordered::new();
    loop {
        for batch in look(&shared) {
            flights.push(Box::pin(renew(Arc::clone(&shared), batch)));
        }
        let next = shared.agenda.plan_next();
        tokio::select! {
            () = async {
                match next {
                    Some(at) => shared.clock.sleep_until(at).await,
                    None => std::future::pending().await,
                }
            } => {}
            () = shared.agenda.bell.notified() => {}
            Some(flight) = flights.next() => land(&shared, flight),
        }
        // However busy the watchdog is, the janitor on the same thread comes to its turn between two rounds.
        tokio::task::yield_now().await;
    }
}

/// Tends to everything that is due and collects what is to be renewed, in calls of a bearable size.
fn look(shared: &Arc<Shared>) -> Vec<Vec<(Arc<Hold>, Duration)>> {
    let now = shared.clock.now();
    let mut renewals = Vec::new();
    let mut soonest: Option<Duration> = None;
    for hold in shared.agenda.due_by(now) {
        if let Some(lease) = tend(shared, &hold, now, now) {
            soonest = Some(soonest.map_or(lease, |soonest| soonest.min(lease)));
            renewals.push((hold, lease));
        }
    }
    // Whoever is due soon comes along: holds taken at about the same time are renewed in the same calls from then on.
    if let Some(lease) = soonest {
        let soon = now.plus(lease / 6);
        for hold in shared.agenda.due_by(soon) {
            if let Some(lease) = tend(shared, &hold, now, soon) {
                renewals.push((hold, lease));
            }
        }
    }
    in_batches(renewals)
}

/// Calls of a bearable size, of leases of about the same length: the shortest in a call says how long an answer can be
/// waited for, and must not make those with time to spare impatient.
fn in_batches(mut renewals: Vec<(Arc<Hold>, Duration)>) -> Vec<Vec<(Arc<Hold>, Duration)>> {
    renewals.sort_by_key(|(_, lease)| *lease);
    let mut batches: Vec<Vec<(Arc<Hold>, Duration)>> = Vec::new();
    for (hold, lease) in renewals {
        match batches.last_mut() {
            Some(batch) if batch.len() < Batch::MOST && lease <= batch[0].1 * 4 => batch.push((hold, lease)),
            _ => batches.push(vec![(hold, lease)]),
        }
    }
    batches
}

/// Does what is due for one hold; says for how long to renew it, if it is to be.
fn tend(shared: &Arc<Shared>, hold: &Arc<Hold>, now: Moment, soon: Moment) -> Option<Duration> {
    let due = hold.due(now, soon);
    for (held, lease) in &due.too_long {
        shared.alarm(hold, *held, *lease, crate::AlarmReason::HeldTooLong);
    }
    if let Some(why) = due.lost {
        shared.signals.tell(hold);
        shared.say_lost(hold, why);
    }
    if let Some(leaving) = due.leave {
        shared.leave_later(hold, leaving);
    }
    match due.next {
        Some(next) => shared.agenda.move_to(hold, next),
        None => shared.unwatch(hold),
    }
    due.renew
}

async fn renew(shared: Arc<Shared>, holds: Vec<(Arc<Hold>, Duration)>) -> Flight {
    let renewal = |(hold, lease): &(Arc<Hold>, Duration)| {
        Step::new(hold.kind, &hold.key, Operation::Renew { claim: hold.claim.clone(), lease: *lease })
    };
    let renewals: Vec<Step> = holds.iter().map(renewal).collect();
    // A hold that is only asked about asks for less than any lease, and is in no hurry.
    let leases = holds.iter().map(|(_, lease)| *lease).filter(|lease| *lease >= Options::MIN_LEASE);
    let patience = leases.min().map_or(PATIENCE, |shortest| (shortest / 3).min(PATIENCE));
    let sent = shared.clock.now();
    let result = shared.apply_each(&renewals, patience).await;
    Flight { holds, sent, result }
}

fn land(shared: &Arc<Shared>, flight: Flight) {
    let Flight { holds, sent, result } = flight;
    let now = shared.clock.now();
    match result {
        Ok(answers) => {
            for ((hold, lease), answer) in holds.iter().zip(answers) {
                match answer {
                    Ok(Outcome::Renewed) => {
                        if let Some(next) = hold.renewed(now, sent, *lease) {
                            shared.agenda.move_to(hold, next);
                            if *lease >= Options::MIN_LEASE && hold.is_live(now) {
                                shared.say(hold, || What::Renewed);
                            }
                        }
                    }
                    Ok(_) => {
                        lose(shared, hold, Loss::Gone);
                    }
                    Err(error) => fail(shared, hold, &error),
                }
            }
        }
        Err(error) => {
            for (hold, _) in &holds {
                fail(shared, hold, &error);
            }
        }
    }
    for (hold, _) in &holds {
        if hold.renewal_ended() {
            shared.signals.tell(hold);
        }
    }
}

/// A renewal failed: it is tried again while the lease runs.
fn fail(shared: &Shared, hold: &Arc<Hold>, error: &StoreError) {
    if let Some((next, remaining)) = hold.renewal_failed(shared.clock.now()) {
        shared.agenda.move_to(hold, next);
        let (key, claim, said) = (hold.key.clone(), hold.claim.clone(), error.clone());
        report(move || tracing::warn!(%key, %claim, ?remaining, error = %said, "lock in jeopardy"));
        let (cause, votes) = (&error.message, &error.votes);
        shared.say(hold, || What::Jeopardy { cause: cause.clone(), remaining, votes: votes.clone() });
    }
}

/// Ends a hold that is over. Says whether it was not over already.
pub(crate) fn lose(shared: &Shared, hold: &Arc<Hold>, why: Loss) -> bool {
    shared.unwatch(hold);
    let news = hold.lose(why);
    if news {
        if hold.is_ghost() {
            // A request for it may yet arrive, and would take the lock for nobody.
            let (kind, key, claim) = (hold.kind, hold.key.clone(), hold.claim.clone());
            shared.later(Chore::Cancel {
                kind,
                key,
                claim,
                ids: Vec::new(),
                lease: Options::MIN_LEASE,
                remember: true,
            });
        }
        shared.signals.tell(hold);
        shared.say_lost(hold, why);
    }
    news
}

/// Heeds what the store pushed.
pub(crate) fn heed(shared: &Arc<Shared>, notice: &Notice) {
    match notice {
        Notice::Lost(claim, why) => {
            let find = || shared.agenda.all().into_iter().find(|hold| hold.claim == *claim);
            // A hold that is not found may be put on the agenda at this very moment: it then either sees the note, or
            // was there before the second look.
            let hold = find().or_else(|| {
                shared.lost_unknown(claim, *why);
                find()
            });
            if let Some(hold) = hold {
                lose(shared, &hold, *why);
            }
        }
        Notice::MayHaveForgotten => shared.agenda.doubt(shared.clock.now()),
    }
}

/// Ends every hold, because nobody will look after them any more. Says how many there were.
pub(crate) fn abandon(shared: &Shared, why: Loss) -> usize {
    let mut holds = shared.agenda.all();
    holds.retain(|hold| hold.lose(why));
    let now = shared.clock.now();
    for hold in &holds {
        shared.unwatch(hold);
        // Here and now: the thread that would do it may be the one that died.
        shared.signals.tell_now(hold, now);
        shared.say_lost(hold, why);
    }
    holds.len()
}
