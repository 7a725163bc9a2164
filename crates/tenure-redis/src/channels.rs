//! Which locks are listened for on which channel.

use crate::names;
use std::collections::HashMap;
use tenure_core::Topic;

/// The channels that are listened to, and whom a message there concerns. Two keys may share one: by Redisson's brace rule
/// `x` and `{x}` are two locks, and their releases are made known in the same place.
#[derive(Default)]
pub(crate) struct Channels(HashMap<String, Vec<Topic>>);

fn name(topic: &Topic) -> String {
    let channel = names::channel(topic.kind, &topic.key);
    match &topic.claim {
        None => channel.to_string(),
        // Redisson calls those who wait in line each in a channel of its own.
        Some(claim) => format!("{channel}:{claim}"),
    }
}

impl Channels {
    /// Adds a lock. Its channel, if nobody has listened to that so far.
    pub(crate) fn add(&mut self, topic: &Topic) -> Option<String> {
        let name = name(topic);
        match self.0.get_mut(&name) {
            Some(topics) => {
                if !topics.contains(topic) {
                    topics.push(topic.clone());
                }
                None
            }
            None => {
                self.0.insert(name.clone(), vec![topic.clone()]);
                Some(name)
            }
        }
    }

    /// Takes a lock away. Its channel, if it was the last there.
    pub(crate) fn remove(&mut self, topic: &Topic) -> Option<String> {
        let name = name(topic);
        let topics = self.0.get_mut(&name)?;
        topics.retain(|other| other != topic);
        if topics.is_empty() { self.0.remove_entry(&name).map(|(name, _)| name) } else { None }
    }

    /// The locks that a message on this channel is about.
    pub(crate) fn topics(&self, channel: &str) -> &[Topic] {
        self.0.get(channel).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_core::{Key, Kind};

    #[test]
    fn a_channel_is_listened_to_until_the_last_key_is_gone() {
        let [plain, braced] = ["x", "{x}"].map(|key| Topic::of(Kind::Simple, &Key::new(key).unwrap()));
        let mut channels = Channels::default();
        let channel = channels.add(&plain).expect("it is new");
        assert_eq!((channels.add(&braced), channels.add(&plain)), (None, None));
        assert_eq!(channels.topics(&channel), [plain.clone(), braced.clone()]);
        assert_eq!(channels.remove(&plain), None);
        assert_eq!(channels.topics(&channel), std::slice::from_ref(&braced));
        assert_eq!(channels.remove(&plain), None);
        assert_eq!(channels.remove(&braced), Some(channel.clone()));
        assert_eq!((channels.remove(&braced), channels.topics(&channel).len()), (None, 0));
    }
}
