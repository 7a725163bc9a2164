//! How far the sale is: a bar for a person who looks on, otherwise a line now and then.

use crate::output::{self, Talk};
use indicatif::ProgressBar;
use std::convert::Infallible;
use std::time::Duration;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

/// Whoever has a log instead of a terminal hears this often that the sale goes on.
const EVERY: Duration = Duration::from_secs(5);

/// How many buyers were served.
pub(crate) struct Progress {
    talk: Talk,
    bar: ProgressBar,
    served: u32,
    buyers: u32,
    lines: Interval,
}

impl Progress {
    pub(crate) fn new(talk: Talk, buyers: u32) -> Self {
        let mut lines = interval_at(Instant::now() + EVERY, EVERY);
        lines.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { talk, bar: output::bar(talk, buyers), served: 0, buyers, lines }
    }

    /// One more was.
    pub(crate) fn one_more(&mut self) {
        self.served += 1;
        self.bar.inc(1);
    }

    /// Says so now and then, where there is no bar.
    pub(crate) async fn tell(&mut self) -> Infallible {
        loop {
            self.lines.tick().await;
            if self.bar.is_hidden() {
                self.talk.say(&format!("served {} of {} buyers so far", self.served, self.buyers));
            }
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
