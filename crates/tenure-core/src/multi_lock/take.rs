//! Taking a set: in one request if that can be, otherwise one lock after the other, in the order of all.
//!
//! Nobody waits for itself or for another in a circle. While one lock is waited for, only those before it in the order are
//! held, so whoever holds what is waited for waits for one further on, if at all. The order of one key in several stores, a
//! tie, is known to those who call the stores by the same names. Two who do not may wait for each other, so with one of a tie
//! another is only waited for for a while: whoever gives up first lets the other in.

use super::set::is_of_one_client;
use crate::acquire::{AtOnce, Contended, Patience, acquire, at_once};
use crate::guard::Guard;
use crate::lock::Lock;
use crate::options::Renew;
use crate::{Batch, Error, ErrorKind, Loss, Moment, Options};
use futures_util::future::{join_all, select_all, try_join_all};
use std::ops::Range;
use std::time::Duration;
use tenure_kernel::{Key, Kind};

/// How long what was taken in vain is given back here at the most, and when the wait is over; the janitor goes on.
const ROLL_BACK: Duration = Duration::from_millis(500);
const ROLL_BACK_LATE: Duration = Duration::from_millis(100);
/// Two who got in each other's way step back for so long at the most, and twice as long each time.
const STEP_BACK: Duration = Duration::from_millis(2);
/// So often at the most does it get longer.
const DOUBLINGS: u32 = 5;
/// With one of a tie, another is waited for for so long at the most, and twice as long each time: then also those who hold it
/// for long, or the line before it, come to an end.
const TIE: Duration = Duration::from_secs(1);

/// The lock that was not obtained, and who has it.
pub(super) struct InTheWay {
    pub(super) at: usize,
    pub(super) contended: Contended,
}

/// Why a set was not obtained.
enum Stop {
    InTheWay(InTheWay),
    /// The lock at this place was lost while another was waited for.
    Lost(usize),
    Failed(Error),
}

/// One caller's way to a set.
pub(super) struct Taking<'a> {
    locks: &'a [Lock],
    options: &'a Options,
    /// Those by which each is taken while others are still to come.
    meanwhile: Options,
    once: bool,
    /// For each lock, by its own client's clock.
    began: Vec<Moment>,
    patience: Vec<Patience>,
    /// What is held so far, with its place in the set.
    held: Vec<(usize, Guard)>,
}

impl<'a> Taking<'a> {
    pub(super) fn new(
        locks: &'a [Lock],
        options: &'a Options,
        patience: impl Fn(Moment) -> Patience,
    ) -> Result<Self, Error> {
        locks.iter().try_for_each(|lock| lock.client().check(options))?;
        let began: Vec<Moment> = locks.iter().map(|lock| lock.client().shared.clock.now()).collect();
        let patience: Vec<Patience> = began.iter().map(|began| patience(*began)).collect();
        let (meanwhile, once) = (meanwhile(options), matches!(patience[..], [Patience::Once, ..]));
        Ok(Self { locks, options, meanwhile, once, began, patience, held: Vec::new() })
    }

    /// The guards in the order of the set, or who is in the way.
    pub(super) async fn run(mut self) -> Result<Result<Vec<Guard>, InTheWay>, Error> {
        if self.locks.len() <= Batch::MOST && is_of_one_client(self.locks) {
            let locks: Vec<(Kind, &Key)> = self.locks.iter().map(|lock| (lock.kind(), lock.key())).collect();
            match at_once(self.locks[0].client(), &locks, self.options, self.patience[0]).await? {
                AtOnce::Taken(guards) => return Ok(Ok(guards)),
                AtOnce::InTheWay(at, contended) if self.once => return Ok(Err(InTheWay { at, contended })),
                AtOnce::InTheWay(..) | AtOnce::OneByOne => {}
            }
        }
        // Boxed, so that a set that is free takes little room.
        Box::pin(self.one_by_one()).await
    }

    async fn one_by_one(&mut self) -> Result<Result<Vec<Guard>, InTheWay>, Error> {
        let mut losses = 0;
        loop {
            let taken = match self.take_all().await {
                Ok(()) => self.settle().await,
                stopped => stopped,
            };
            let Err(stop) = taken else {
                self.held.sort_by_key(|(at, _)| *at);
                return Ok(Ok(self.held.drain(..).map(|(_, guard)| guard).collect()));
            };
            self.roll_back(0).await;
            match stop {
                Stop::Failed(error) => return Err(error),
                Stop::InTheWay(in_the_way) => return Ok(Err(in_the_way)),
                Stop::Lost(at) => {
                    losses += 1;
                    if self.once || !self.step_back(at, losses).await {
                        return Ok(Err(self.in_the_way(at, None)));
                    }
                }
            }
        }
    }

    /// Takes them one after the other.
    async fn take_all(&mut self) -> Result<(), Stop> {
        let mut from = 0;
        for tie in self.locks.chunk_by(|one, next| one.key() == next.key()) {
            let places = from..from + tie.len();
            from = places.end;
            self.take_tie(places).await?;
        }
        Ok(())
    }

    /// Takes one key of one client or of several: waits for the first, and then, for a while, for each of the others. If one
    /// of them takes longer, all of the tie are given back, and it begins anew.
    async fn take_tie(&mut self, places: Range<usize>) -> Result<(), Stop> {
        let before = self.held.len();
        let mut tries = 0;
        loop {
            let first = self.take(places.start, self.patience[places.start], &self.meanwhile).await?;
            self.held.push((places.start, first));
            let mut busy = None;
            for at in places.clone().skip(1) {
                // The clients may lead to one store: then it goes in beside what it has there already, and at once. Those of
                // the second client who wait for the first one's lock are not waited for.
                let beside = beside(&self.meanwhile, self.held[before..].iter().map(|(_, guard)| guard));
                let taken = match self.take(at, Patience::Once, &beside).await {
                    Err(Stop::InTheWay(_)) if !self.once => self.take(at, self.for_a_while(at, tries), &beside).await,
                    taken => taken,
                };
                match taken {
                    Ok(guard) => self.held.push((at, guard)),
                    Err(Stop::InTheWay(in_the_way)) => {
                        busy = Some(in_the_way);
                        break;
                    }
                    // Whoever waits rides out an outage, and lets go of the tie now and then.
                    Err(Stop::Failed(error))
                        if error.kind() == ErrorKind::Unavailable
                            && !self.patience[at].is_worn_out(self.locks[at].client(), self.began[at]) =>
                    {
                        busy = Some(self.in_the_way(at, None));
                        break;
                    }
                    Err(stop) => return Err(stop),
                }
            }
            let Some(in_the_way) = busy else { return Ok(()) };
            self.roll_back(before).await;
            tries += 1;
            if self.once || !self.step_back(in_the_way.at, tries).await {
                return Err(Stop::InTheWay(in_the_way));
            }
        }
    }

    /// The patience for one of a tie while another is held: of two who wait for each other, one has less than the other.
    fn for_a_while(&self, at: usize, tries: u32) -> Patience {
        let now = self.locks[at].client().shared.clock.now();
        let latest = now.plus(TIE.saturating_mul(1 << tries.min(16)).mul_f64(0.5 + 0.5 * fastrand::f64()));
        match self.patience[at] {
            Patience::Until(end) if end <= latest => Patience::Until(end),
            Patience::Once => Patience::Once,
            Patience::Until(_) | Patience::Endless => Patience::Until(latest),
        }
    }

    /// Takes one, for as long as those that are held already are not lost.
    async fn take(&self, at: usize, patience: Patience, options: &Options) -> Result<Guard, Stop> {
        let (lock, clock) = (&self.locks[at], &self.locks[at].client().shared.clock);
        let left = self.patience[at].left(clock.now());
        if left.is_zero() {
            return Err(Stop::InTheWay(self.in_the_way(at, None)));
        }
        let taken = tokio::select! {
            biased;
            taken = acquire(lock.client(), (lock.kind(), lock.key()), options, |_| patience) => taken,
            lost = first_lost(&self.held) => return Err(Stop::Lost(lost)),
        };
        match taken {
            Ok(Ok(guard)) => Ok(guard),
            Ok(Err(contended)) => Err(Stop::InTheWay(self.in_the_way(at, Some(contended)))),
            // There was no time left to be answered in, which says nothing of the store.
            Err(error)
                if error.kind() == ErrorKind::Unavailable
                    && left < lock.client().answer_within
                    && lock.client().shared.begin().is_ok() =>
            {
                Err(Stop::InTheWay(self.in_the_way(at, None)))
            }
            Err(error) => Err(Stop::Failed(error)),
        }
    }

    /// All are held: the terms begin now, for all alike.
    async fn settle(&self) -> Result<(), Stop> {
        let since: Vec<Moment> = self.held.iter().map(|(_, guard)| guard.now()).collect();
        if self.held.len() > 1 && self.options.renewal().is_none() {
            // Each begins with its whole lease, the ones that were taken first too.
            let renewed = try_join_all(self.held.iter().map(async |(at, guard)| match guard.renew().await {
                Ok(()) => Ok(()),
                Err(error) if error.kind() == ErrorKind::Lost => Err(Stop::Lost(*at)),
                // Whoever waits rides out an outage.
                Err(error) if error.kind() == ErrorKind::Unavailable && !self.once => Err(Stop::Lost(*at)),
                Err(error) => Err(Stop::Failed(error)),
            }));
            tokio::select! {
                biased;
                renewed = renewed => renewed.map(drop)?,
                // Late is too late: what is held is given back.
                () = self.patience[0].end(&self.locks[0].client().shared) => return Err(Stop::Lost(0)),
            }
        }
        if let Some((at, _)) = self.held.iter().find(|(_, guard)| !guard.is_held()) {
            return Err(Stop::Lost(*at));
        }
        // Last, and without a pause: what is given back from here on may be kept by `at_least`.
        if self.meanwhile != *self.options {
            for ((_, guard), since) in self.held.iter().zip(since) {
                guard.settle(self.options, since);
            }
        }
        Ok(())
    }

    /// Gives back what was taken in vain, but for so many.
    async fn roll_back(&mut self, keep: usize) {
        let clock = &self.locks[0].client().shared.clock;
        let within = self.patience[0].left(clock.now()).clamp(ROLL_BACK_LATE, ROLL_BACK);
        let end = clock.now().plus(within);
        let releases = join_all(self.held.drain(keep..).map(|(_, guard)| guard.release()));
        // A release that fails is tried again in the background, and so is one that is not done in time.
        tokio::select! {
            _ = releases => {}
            () = clock.sleep_until(end) => {}
        }
    }

    fn in_the_way(&self, at: usize, contended: Option<Contended>) -> InTheWay {
        let waited = self.locks[at].client().shared.clock.now().since(self.began[at]);
        let (holder, votes) = contended.map_or((None, Vec::new()), |contended| (contended.holder, contended.votes));
        InTheWay { at, contended: Contended { holder, waited, votes } }
    }

    /// Makes way for whoever is in the way, for a while that nobody else has the length of. False if the patience ended.
    async fn step_back(&self, at: usize, tries: u32) -> bool {
        let clock = &self.locks[at].client().shared.clock;
        let pause = (STEP_BACK * (1 << tries.min(DOUBLINGS))).mul_f64(fastrand::f64());
        let now = clock.now();
        if self.patience[at].left(now) <= pause {
            return false;
        }
        clock.sleep_until(now.plus(pause)).await;
        true
    }
}

/// The options by which each is taken while others are still to come: what counts from when all are held does not yet.
fn meanwhile(options: &Options) -> Options {
    let lease = options.span();
    let renew = match options.renew {
        Renew::Every(interval) if lease == options.lease => Renew::Every(interval),
        _ => Renew::EveryThird,
    };
    Options { lease, renew, warn_after: None, max_hold: None, at_least: None, ..options.clone() }
}

/// The same options for one who goes in beside these.
fn beside<'a>(options: &Options, guards: impl Iterator<Item = &'a Guard>) -> Options {
    let lineage: Vec<String> =
        options.under.iter().map(ToString::to_string).chain(guards.map(Guard::lineage)).collect();
    options.clone().under(&lineage.join("/"))
}

/// Until one of these is lost, and which.
async fn first_lost(held: &[(usize, Guard)]) -> usize {
    if held.is_empty() {
        return std::future::pending().await;
    }
    let losses = held.iter().map(|(at, guard)| {
        Box::pin(async move {
            let _: Loss = guard.lost().await;
            *at
        })
    });
    select_all(losses).await.0
}
