//! What a check found, and how it is told.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use super::Hold;

/// How many violations a failing assertion lists.
const LISTED: usize = 10;

/// The outcome of [`History::check`](super::History::check). Its `Display` is a summary with the
/// first violations, times relative to the start of the history.
#[derive(Clone, Debug)]
pub struct Report {
    /// The number of holds.
    pub holds: usize,
    /// The number of different locks.
    pub keys: usize,
    /// The number of holds whose end nobody recorded.
    pub unended: usize,
    /// The number of holds that somebody else's hold of the lock kept waiting.
    pub contended: usize,
    /// Holds of one lock that overlap in time.
    pub overlaps: Vec<Overlap>,
    /// Tokens that do not increase.
    pub inversions: Vec<Inversion>,
    /// The number of holds of everyone who asked, zero included.
    pub by_who: BTreeMap<String, usize>,
    /// All waits from asking to grant, sorted.
    pub(super) waits: Vec<Duration>,
    /// When the history begins.
    pub(super) start: u64,
}

/// Two holds of one lock at the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// The hold that was granted first.
    pub first: Hold,
    /// The hold that was granted although the first had not ended.
    pub second: Hold,
}

/// Two holds of one lock whose tokens contradict their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inversion {
    /// The hold that was granted before the other was asked for. If the tokens are equal, the
    /// two may also have been asked for at the same time.
    pub earlier: Hold,
    /// The hold whose token should be larger.
    pub later: Hold,
}

impl Report {
    /// The wait that half of the holds did not exceed.
    pub fn wait_p50(&self) -> Duration {
        self.wait_percentile(50)
    }

    /// The wait that 99 of 100 holds did not exceed.
    pub fn wait_p99(&self) -> Duration {
        self.wait_percentile(99)
    }

    /// The longest wait.
    pub fn wait_max(&self) -> Duration {
        self.wait_percentile(100)
    }

    /// The smallest number of holds that anyone who asked got.
    pub fn fewest(&self) -> usize {
        self.by_who.values().copied().min().unwrap_or(0)
    }

    /// The largest number of holds that anyone got.
    pub fn most(&self) -> usize {
        self.by_who.values().copied().max().unwrap_or(0)
    }

    /// Whether nothing was violated.
    pub fn is_clean(&self) -> bool {
        self.overlaps.is_empty() && self.inversions.is_empty()
    }

    /// Panics with the first violations, if there are any.
    #[track_caller]
    pub fn assert_clean(&self) -> &Self {
        assert!(self.is_clean(), "the lock was violated\n{self}");
        self
    }

    /// Panics if there are fewer than `holds` holds, which is too little to have tested anything.
    #[track_caller]
    pub fn assert_at_least(&self, holds: usize) -> &Self {
        assert!(
            self.holds >= holds,
            "only {} of at least {holds} holds happened: run the test longer, or find out what blocks it\n{self}",
            self.holds
        );
        self
    }

    fn wait_percentile(&self, percent: usize) -> Duration {
        let rank = (self.waits.len() * percent).div_ceil(100);
        self.waits.get(rank.saturating_sub(1)).copied().unwrap_or_default()
    }

    fn times(&self, hold: &Hold) -> String {
        let since_start = |time: u64| Duration::from_nanos(time.saturating_sub(self.start));
        let ended = hold.ended.map_or("an unknown time".to_owned(), |ended| format!("+{:?}", since_start(ended)));
        let token = hold.token.map_or("no token".to_owned(), |token| format!("token {token}"));
        format!(
            "{} ({token}, asked at +{:?}) held it from +{:?} to {ended}",
            hold.who,
            since_start(hold.asked),
            since_start(hold.granted),
        )
    }

    fn list(
        &self,
        f: &mut Formatter<'_>,
        what: &str,
        pairs: &mut dyn ExactSizeIterator<Item = (&Hold, &Hold)>,
    ) -> fmt::Result {
        let total = pairs.len();
        for (first, second) in pairs.take(LISTED) {
            writeln!(f, "{what} of {:?}:", first.key)?;
            writeln!(f, "  {}", self.times(first))?;
            writeln!(f, "  {}", self.times(second))?;
        }
        if total > LISTED {
            writeln!(f, "… {} more", total - LISTED)?;
        }
        Ok(())
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} holds of {} keys, {} contended, {} without a known end; {} overlaps, {} token inversions",
            self.holds,
            self.keys,
            self.contended,
            self.unended,
            self.overlaps.len(),
            self.inversions.len(),
        )?;
        writeln!(
            f,
            "waits: p50 {:?}, p99 {:?}, max {:?}; {} to {} holds for each of {} askers",
            self.wait_p50(),
            self.wait_p99(),
            self.wait_max(),
            self.fewest(),
            self.most(),
            self.by_who.len(),
        )?;
        let overlaps = &mut self.overlaps.iter().map(|pair| (&pair.first, &pair.second));
        self.list(f, "overlap", overlaps)?;
        let inversions = &mut self.inversions.iter().map(|pair| (&pair.earlier, &pair.later));
        self.list(f, "token inversion", inversions)
    }
}
