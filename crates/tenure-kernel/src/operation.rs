//! What can be asked of a lock, and what can be answered.

use crate::{Claim, Kind, Span, Spot, Time, Vote};
use std::time::Duration;

/// A fencing token: larger for every later grant of a key, for ever.
pub type Token = u64;

/// The number of the entry that an acquire makes; re-entries count on from it.
pub const FIRST_ENTRY: u32 = 0;

/// What is asked of a lock. Every operation names the claim it is about, never merely an owner, and says the state
/// it wants rather than a change to it, so that one sent twice does what it does once.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Operation {
    /// Take the lock for a fresh claim.
    Acquire {
        /// Who asks.
        claim: Claim,
        /// The claims that the asker stands under, outermost first, as a program does that another one runs. It is let
        /// in beside them, and waits for everyone else.
        under: Vec<Claim>,
        /// For how long.
        lease: Duration,
        /// Whether the asker stays if the lock is busy. It makes no difference to the outcome, but a store that keeps
        /// a line of those who wait knows whom to call.
        stay: Stay,
    },
    /// Go in once more under a claim that already holds.
    Reenter {
        /// The claim that holds.
        claim: Claim,
        /// Which entry of the claim this is, so that it can be cancelled by name.
        entry: u32,
        /// How often the claim will then be in.
        count: u32,
        /// Which of the claim's changes of count this is: a later one that arrived first is not undone.
        change: u32,
        /// How long at least it must then last.
        lease: Duration,
    },
    /// Make the hold last.
    Renew {
        /// The claim that holds.
        claim: Claim,
        /// How long at least it must then last.
        lease: Duration,
    },
    /// Leave once, or for good.
    Release {
        /// The claim that holds.
        claim: Claim,
        /// How often the claim stays in; none frees the lock.
        left: u32,
        /// Which of the claim's changes of count this is: a later one that arrived first is not undone.
        change: u32,
        /// How long at least what stays must last.
        lease: Duration,
        /// How long the lock stays taken all the same, if nobody stays; for no time it is free at once.
        keep: Duration,
        /// What was given up while its request may still be under way: it is refused if it arrives after this.
        cancel: Option<Cancelled>,
    },
    /// Take permits of a semaphore.
    Take {
        /// Who asks.
        claim: Claim,
        /// How many.
        want: Want,
        /// How many permits there are, should nobody have said so yet.
        of: Option<u32>,
        /// For how long.
        lease: Duration,
        /// Whether the asker stays if there are too few now.
        stay: Stay,
    },
    /// Give permits back that have names.
    GiveBack {
        /// Which.
        ids: Vec<Claim>,
        /// Whether to give none back unless all are there to be given back.
        all: bool,
        /// The claim whose request for them may still be under way: it is refused if it arrives after this.
        cancel: Option<(Claim, Cancelled)>,
    },
    /// Look how many permits there are, or change it.
    Supply(Supplying),
    /// Look at a latch, or change it.
    Count(Counting),
    /// Free the lock whoever holds it.
    ForceRelease,
    /// Look.
    Inspect,
}

/// Which permits are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Want {
    /// So many, which the claim has together.
    Some(u32),
    /// These, each of which can be given back, and ends, by itself.
    Named(Vec<Claim>),
}

impl Want {
    /// How many.
    pub fn count(&self) -> u32 {
        match self {
            Self::Some(count) => *count,
            Self::Named(ids) => u32::try_from(ids.len()).unwrap_or(u32::MAX),
        }
    }
}

/// What is done to a semaphore's permits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Supplying {
    /// Nothing.
    Look,
    /// Let there be so many, unless that was said before.
    Begin(u32),
    /// Let there be so many, whoever has some of them now.
    Set(u32),
    /// So many more, or fewer.
    Add(i64),
    /// Away with those that nobody has.
    Drain,
}

/// What is done to a latch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Counting {
    /// Nothing.
    Look,
    /// Nothing, by one who waits, and came in this round if it knows one: a store that has forgotten the round takes it from
    /// there.
    Wait(Option<Token>),
    /// Shut it, to be counted down so often, unless it is shut.
    Begin(u32),
    /// Shut it, to be counted down so often, whatever was before.
    Set(u32),
    /// Count down, once for this id if there is one.
    Down(Option<Claim>),
    /// Away with it; nobody waits for it any more.
    Delete,
}

/// A semaphore's permits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Supply {
    /// How many were to be had before, if there was a semaphore.
    pub was: Option<i64>,
    /// How many are to be had; fewer than none, if there were made to be fewer than are taken.
    pub available: i64,
    /// How many there are with those that are taken, where the store knows.
    pub total: Option<i64>,
}

/// A latch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Latch {
    /// How often it was still to be counted down before.
    pub was: u32,
    /// How often it is still to be counted down: not at all, if it is open.
    pub count: u32,
    /// Which time it is shut, where the store knows: once it has been open, it is another.
    pub round: Option<Token>,
}

/// Whether somebody who asks for a busy lock stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stay {
    /// One attempt; it goes away.
    No,
    /// Its first attempt; it will wait.
    Waits,
    /// It has been waiting.
    Waited {
        /// Others of its client wait behind it: the client stays in line when this one is in.
        more: bool,
    },
    /// It waits in a place of its own, where the kind of lock [has a line](Kind::has_line).
    InLine {
        /// For how long the place is kept for it, unless it asks again.
        place: Duration,
    },
}

impl Stay {
    /// For how long a place in line is to be kept, if one is wanted.
    pub fn place(self) -> Option<Duration> {
        match self {
            Self::InLine { place } => Some(place),
            _ => None,
        }
    }
}

/// What was given up before its answer was known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cancelled {
    /// What is over of all that the claim's client asks for, what was given up among it.
    pub spans: Vec<Span>,
    /// How long to remember that.
    pub remember: Duration,
}

impl Cancelled {
    /// As late as a request may come: so long does TCP try to deliver it.
    const LATEST: Duration = Duration::from_secs(20 * 60);

    /// This entry alone.
    pub fn one(claim: &Claim, entry: u32, remember: Duration) -> Self {
        Self { spans: Spot::of(claim, entry).map(Span::one).into_iter().collect(), remember }
    }

    /// How long to remember that a request for such a lease was given up: as long as it would take the lock for nobody, but no
    /// longer than it can be late, and a minute at least.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tenure_kernel::Cancelled;
    ///
    /// assert_eq!(Cancelled::memory(Duration::from_secs(5)), Duration::from_secs(60));
    /// assert_eq!(Cancelled::memory(Duration::from_secs(86_400)), Duration::from_secs(1200));
    /// ```
    pub fn memory(lease: Duration) -> Duration {
        lease.clamp(Duration::from_secs(60), Self::LATEST)
    }
}

/// What a lock answers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The claim holds now.
    Granted(Grant),
    /// Not now: others hold the lock, or come first.
    Busy(Busy),
    /// The key is held as another kind; nothing was changed.
    Conflict(Kind),
    /// Never: there are only so many permits. Nothing was changed.
    Short(i64),
    /// Never: this claim waits for the asker to leave, and the asker would wait for it. Nothing was changed.
    Deadlock(Claim),
    /// The entry was cancelled before it arrived; nothing was taken.
    Refused,
    /// The hold lasts at least as long as was asked.
    Renewed,
    /// The lock is free.
    Released,
    /// The claim is out; others, under it or above it, are still in.
    Left,
    /// The claim is out; the lock stays taken for as long as was asked.
    Kept,
    /// The claim is still in this often.
    StillHeld(u32),
    /// The claim does not hold (any more); nothing was changed.
    NotHeld,
    /// So many permits were given back.
    GivenBack(u32),
    /// How many permits there are.
    Supply(Supply),
    /// How often the latch is to be counted down.
    Latch(Latch),
    /// The lock is free now; these were put out, if anybody held it.
    Forced(Option<Sight>),
    /// Who holds, if anyone.
    Seen(Option<Sight>),
}

impl Operation {
    /// Whether it leaves the record as it is.
    pub fn is_look(&self) -> bool {
        matches!(self, Self::Inspect | Self::Supply(Supplying::Look) | Self::Count(Counting::Look | Counting::Wait(_)))
    }

    /// For how long something is held if it is granted or renewed.
    pub fn lease(&self) -> Option<Duration> {
        match self {
            Self::Acquire { lease, .. }
            | Self::Reenter { lease, .. }
            | Self::Renew { lease, .. }
            | Self::Take { lease, .. } => Some(*lease),
            _ => None,
        }
    }

    /// Whether it may count the watermark up.
    pub fn counts(&self) -> bool {
        matches!(self, Self::Acquire { .. } | Self::Take { .. } | Self::Count(_))
    }
}

impl Outcome {
    /// Whether all who wait for permits with names, or for a latch, may go on now.
    pub fn concerns_all(&self) -> bool {
        match self {
            Self::GivenBack(count) => *count > 0,
            Self::Supply(supply) => supply.available > supply.was.unwrap_or(0),
            Self::Latch(latch) => latch.count != latch.was,
            _ => false,
        }
    }
}

/// A held lock as others see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sight {
    /// As what it is held.
    pub kind: Kind,
    /// Who is in, outermost first; never empty. Whoever only looks is shown [so many](Self::MOST) at the most: of those who
    /// hold together, those whose leases last longest. Of a lock that was freed by force a store may name all.
    pub holders: Vec<Holder>,
    /// How many more are in, who are left out.
    pub more: u32,
    /// How many wait for it, where the store knows.
    pub waiters: Option<u32>,
    /// The first of those who stand in line, if the kind of lock [has one](Kind::has_line).
    pub line: Vec<Waiting>,
    /// What each server says, where a majority of several keeps the lock.
    pub votes: Vec<Vote>,
}

impl Sight {
    /// So many who hold, and so many who stand in line, are seen at the most.
    pub const MOST: usize = 100;

    /// Leaves out, and counts, those holders who are too many to be seen.
    #[must_use]
    pub fn shortened(mut self) -> Self {
        let Some(more) = self.holders.len().checked_sub(Self::MOST).filter(|more| *more > 0) else { return self };
        if self.kind.is_side() || self.kind.has_permits() {
            // They stay in the order in which they came.
            let rank = |holder: &Holder| (holder.remaining.unwrap_or(Duration::MAX), holder.claim.clone());
            let mut ranks: Vec<_> = self.holders.iter().map(rank).collect();
            ranks.sort_unstable();
            let first = ranks.swap_remove(more);
            self.holders.retain(|holder| rank(holder) >= first);
        }
        self.holders.truncate(Self::MOST);
        self.more = self.more.saturating_add(u32::try_from(more).unwrap_or(u32::MAX));
        self
    }
}

/// One who stands in line, as others see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// The claim that waits.
    pub claim: Claim,
    /// As what it wants the lock.
    pub kind: Kind,
    /// For how long it has waited, where the store can tell.
    pub waited: Option<Duration>,
}

/// Why a lock is not granted now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Busy {
    /// Who is in the way: of several, the one that holds for longest. None if the lock is free, but others come first.
    pub holder: Option<Holder>,
    /// How many stand before the asker, if it stands in line.
    pub ahead: Option<u32>,
    /// When it changes by itself if nobody does anything: the lease of all who hold ends then, or, of a free lock, the
    /// place of the one who comes first. None if it never does.
    pub again: Option<Duration>,
    /// What each server said, where a majority of several keeps the lock.
    pub votes: Vec<Vote>,
}

impl Busy {
    /// Somebody holds it, and there is no line.
    pub fn behind(holder: Holder) -> Self {
        Self { again: holder.remaining, holder: Some(holder), ahead: None, votes: Vec::new() }
    }
}

/// A hold as its holder sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    /// The fencing token, the same for every entry of one claim.
    pub token: Token,
    /// How often the claim is in.
    pub count: u32,
}

/// A hold as others see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The claim that holds.
    pub claim: Claim,
    /// How often it is in.
    pub count: u32,
    /// Its fencing token; none if another library took the lock without one.
    pub token: Option<Token>,
    /// How long the lease still runs; none if the holder set no end.
    pub remaining: Option<Duration>,
    /// For how long the claim has held, where the store can tell.
    pub held_for: Option<Duration>,
}

impl Holder {
    /// How long a claim has held that was granted with this token, if the token was made from the store's time.
    pub fn held_since(token: Token, now: Time) -> Duration {
        now.since(Time::from_micros(token))
    }
}
