//! One guard's part in a hold: its terms, when it ends, and what it needs of the store.

use crate::Moment;
use crate::alive::Living;
use crate::event::Loss;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Until when a lease is surely ours: from before the request was sent, less what two clocks may drift apart, and less what it
/// takes to tell whoever is to stop.
///
/// The store's lease starts when it applies the request, which is after `sent`; so the store keeps it at least until
/// then plus the lease. Clocks run up to 1 % apart, and reading one costs up to 2 ms. A busy machine runs a thread some
/// milliseconds after it was woken: a twentieth of the lease is for that, [`NOTICE`] at the most.
pub(crate) fn deadline(sent: Moment, lease: Duration) -> Moment {
    let margin = lease / 100 + Duration::from_millis(2) + (lease / 20).min(NOTICE);
    sent.plus(lease.saturating_sub(margin))
}

const NOTICE: Duration = Duration::from_millis(50);

/// What one guard needs of its hold.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    pub(crate) lease: Duration,
    pub(crate) renew_every: Option<Duration>,
    pub(crate) warn_after: Option<Duration>,
    /// For what is waited for by it, such as an upgrade.
    pub(crate) warn_waiting_after: Duration,
    pub(crate) max_hold: Option<Duration>,
    pub(crate) at_least: Option<Duration>,
}

/// A guard's part in a hold.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) number: u32,
    /// For as long as it is in, if it is a re-entry.
    #[expect(dead_code, reason = "it is there to be dropped")]
    pub(crate) living: Option<Living>,
    pub(crate) terms: Terms,
    pub(crate) since: Moment,
    /// When it ends by itself, if it is not renewed, or not for ever.
    pub(crate) ends: Option<Moment>,
    /// Until when it may be renewed, if not for ever.
    pub(crate) until: Option<Moment>,
    pub(crate) warn_at: Option<Moment>,
    /// Until when the lock is to stay taken, whoever leaves before.
    pub(crate) keep_until: Option<Moment>,
    pub(crate) lost: Option<Loss>,
    /// Cancelled when the entry is lost; made when somebody asks for it.
    pub(crate) lost_token: Option<CancellationToken>,
    /// That of the set it belongs to, if it does.
    pub(crate) set_token: Option<CancellationToken>,
}

impl Entry {
    /// One that begins at this moment.
    pub(crate) fn new(number: u32, terms: Terms, since: Moment) -> Self {
        let mut entry = Self {
            number,
            living: None,
            terms,
            since,
            ends: None,
            until: None,
            warn_at: None,
            keep_until: None,
            lost: None,
            lost_token: None,
            set_token: None,
        };
        entry.start(since);
        entry
    }

    /// It was let in by a request sent at this moment.
    pub(crate) fn start(&mut self, sent: Moment) {
        self.since = sent;
        self.until = self.terms.max_hold.map(|most| sent.plus(most));
        let last = self.terms.max_hold.map(|most| deadline(sent, most));
        let lease = self.terms.renew_every.is_none().then(|| deadline(sent, self.terms.lease));
        self.ends = [last, lease].into_iter().flatten().min();
        self.warn_at = self.terms.warn_after.map(|after| sent.plus(after));
    }

    /// It is in, since this moment: the lock is to stay taken for as long as it asked.
    pub(crate) fn keeps(&mut self, since: Moment) {
        self.keep_until = self.keep_until.max(self.terms.at_least.map(|least| since.plus(least)));
    }

    /// Why it is over by now.
    pub(crate) fn why_it_ends(&self, now: Moment) -> Loss {
        let last = self.terms.max_hold.map(|most| deadline(self.since, most));
        if last.is_some_and(|last| last <= now) { Loss::HeldTooLong } else { Loss::LeaseEnded }
    }

    /// How long the store is to keep the lock for it: a renewed one its whole lease, another what is left of it.
    pub(crate) fn need(&self, now: Moment) -> Duration {
        let left = self.ends.map(|ends| ends.since(now));
        match self.terms.renew_every {
            Some(_) => left.map_or(self.terms.lease, |left| left.min(self.terms.lease)),
            None => left.unwrap_or(self.terms.lease),
        }
    }

    /// For how long to renew it, if at all.
    pub(crate) fn renewal(&self, now: Moment) -> Option<Duration> {
        self.terms.renew_every?;
        Some(self.span(now))
    }

    /// Its lease, or what is left of the longest it may be held.
    pub(crate) fn span(&self, now: Moment) -> Duration {
        self.until.map_or(self.terms.lease, |until| until.since(now).min(self.terms.lease))
    }

    /// Until when it is valid, in a hold that is valid until then.
    pub(crate) fn deadline(&self, hold: Moment) -> Moment {
        self.ends.map_or(hold, |ends| ends.min(hold))
    }

    /// What is cancelled when it is lost.
    pub(crate) fn tokens(&self) -> impl Iterator<Item = &CancellationToken> {
        self.lost_token.iter().chain(&self.set_token)
    }

    /// The same, to be cancelled by who gets them.
    pub(crate) fn take_tokens(&mut self) -> impl Iterator<Item = CancellationToken> + use<> {
        self.lost_token.take().into_iter().chain(self.set_token.take())
    }

    /// Whether anything is.
    pub(crate) fn has_tokens(&self) -> bool {
        self.tokens().next().is_some()
    }
}
