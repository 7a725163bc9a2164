//! Calls to clients whose bell is full: the kernel keeps only a few for one who is busy, and they are made again soon.

use crate::line::LOOK;
use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

/// So many calls are kept for one client. If there are more, it is told to look at everything instead.
const MOST: usize = 64;
/// The pauses between two tries grow from the first to the last of these.
const PAUSES: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(50));
/// A client that hears nothing for this long was stopped. When it goes on, it looks by itself.
const GIVEN_UP_AFTER: Duration = Duration::from_secs(3);

/// The calls that are still to be made.
#[derive(Debug, Default)]
pub(crate) struct Unrung(HashMap<String, Pile>);

/// Those to one client, and when to try again.
#[derive(Debug)]
struct Pile {
    calls: VecDeque<String>,
    last_heard: Instant,
    pause: Duration,
    next: Instant,
}

impl Unrung {
    /// Whether calls to a client are kept already, which go before any other.
    pub(crate) fn has(&self, client: &str) -> bool {
        self.0.contains_key(client)
    }

    /// Keeps a call.
    pub(crate) fn put(&mut self, client: &str, words: &str, now: Instant) {
        let pile = self.0.entry(client.to_owned()).or_insert_with(|| Pile {
            calls: VecDeque::new(),
            last_heard: now,
            pause: PAUSES.0,
            next: now + PAUSES.0,
        });
        if pile.calls.len() >= MOST {
            pile.calls.clear();
            pile.calls.push_back(LOOK.to_owned());
        } else if pile.calls.front().is_none_or(|first| first != LOOK) {
            pile.calls.push_back(words.to_owned());
        }
    }

    /// Makes the calls whose time has come; says when to do so next, if any are left.
    pub(crate) fn ring(&mut self, now: Instant, ring: impl Fn(&str, &str) -> bool) -> Option<Instant> {
        self.0.retain(|client, pile| {
            if pile.next > now {
                return true;
            }
            pile.pause = (pile.pause * 2).min(PAUSES.1);
            while pile.calls.front().is_some_and(|words| ring(client, words)) {
                pile.calls.pop_front();
                (pile.last_heard, pile.pause) = (now, PAUSES.0);
            }
            pile.next = now + pile.pause;
            !pile.calls.is_empty() && now.duration_since(pile.last_heard) < GIVEN_UP_AFTER
        });
        self.0.values().map(|pile| pile.next).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn calls_are_made_in_order_when_there_is_room() {
        let (mut unrung, now) = (Unrung::default(), Instant::now());
        let heard = RefCell::new(Vec::new());
        for words in ["a", "b", "c"] {
            unrung.put("client", words, now);
        }
        let room_for = |room: usize| {
            let heard = &heard;
            move |_: &str, words: &str| {
                let room = heard.borrow().len() < room;
                if room {
                    heard.borrow_mut().push(words.to_owned());
                }
                room
            }
        };
        assert_eq!(unrung.ring(now, room_for(3)), Some(now + PAUSES.0), "not yet");
        let next = unrung.ring(now + PAUSES.0, room_for(2)).unwrap();
        assert_eq!(*heard.borrow(), ["a", "b"]);
        assert_eq!(unrung.ring(next, room_for(3)), None);
        assert_eq!(*heard.borrow(), ["a", "b", "c"]);
        assert!(!unrung.has("client"));
    }

    #[test]
    fn one_who_hears_nothing_costs_little_and_is_given_up() {
        let (mut unrung, began) = (Unrung::default(), Instant::now());
        for _ in 0..10 * MOST {
            unrung.put("client", "turn", began);
        }
        assert!(unrung.0["client"].calls.len() <= MOST);
        let (mut next, mut tries) = (Some(began), 0);
        while let Some(now) = next {
            (next, tries) = (unrung.ring(now, |_, _| false), tries + 1);
            assert!(now - began <= GIVEN_UP_AFTER + PAUSES.1);
        }
        assert!(tries < 100, "{tries}");
    }

    #[test]
    fn too_many_become_one_that_is_about_everything() {
        let (mut unrung, now) = (Unrung::default(), Instant::now());
        for _ in 0..=MOST + 1 {
            unrung.put("client", "turn", now);
        }
        let heard = RefCell::new(Vec::new());
        let ring = |_: &str, words: &str| {
            heard.borrow_mut().push(words.to_owned());
            true
        };
        assert_eq!(unrung.ring(now + PAUSES.0, ring), None);
        assert_eq!(*heard.borrow(), [LOOK]);
    }
}
