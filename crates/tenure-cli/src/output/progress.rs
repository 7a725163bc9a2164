//! Things that move, for people at a terminal only.

use super::{Talk, plain};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::Duration;

/// A spinner with a sentence, cleared when dropped; nothing at all where nobody looks on.
#[derive(Debug)]
pub(crate) struct Spinner(Option<ProgressBar>);

impl Spinner {
    pub(crate) fn new(talk: Talk, sentence: &str) -> Self {
        let spinner = talk.is_watched().then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        let spinner = Self(spinner);
        spinner.say(sentence);
        spinner
    }

    pub(crate) fn say(&self, sentence: &str) {
        if let Some(bar) = &self.0 {
            bar.set_message(plain(sentence));
        }
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

/// A bar of the buyers served.
pub(crate) fn bar(talk: Talk, length: u32) -> ProgressBar {
    if !talk.is_watched() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(length.into());
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} buyers served {elapsed}") {
        bar.set_style(style);
    }
    bar
}
