//! Which keys are waited for on which channel.

use crate::names;
use std::collections::HashMap;
use tenure_core::Key;

/// The channels that are listened to, and whom a message there concerns. Two keys may share one: by Redisson's brace rule
/// `x` and `{x}` are two locks, and their releases are made known in the same place.
#[derive(Default)]
pub(crate) struct Channels(HashMap<String, Vec<Key>>);

impl Channels {
    /// Adds a key. Its channel, if nobody has listened to that so far.
    pub(crate) fn add(&mut self, key: &Key) -> Option<String> {
        let name = names::channel(key).to_string();
        match self.0.get_mut(&name) {
            Some(keys) => {
                if !keys.contains(key) {
                    keys.push(key.clone());
                }
                None
            }
            None => {
                self.0.insert(name.clone(), vec![key.clone()]);
                Some(name)
            }
        }
    }

    /// Takes a key away. Its channel, if it was the last there.
    pub(crate) fn remove(&mut self, key: &Key) -> Option<String> {
        let name = names::channel(key).to_string();
        let keys = self.0.get_mut(&name)?;
        keys.retain(|other| other != key);
        if keys.is_empty() { self.0.remove_entry(&name).map(|(name, _)| name) } else { None }
    }

    /// The keys that a message on this channel is about.
    pub(crate) fn keys(&self, channel: &str) -> &[Key] {
        self.0.get(channel).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_is_listened_to_until_the_last_key_is_gone() {
        let [plain, braced] = ["x", "{x}"].map(|key| Key::new(key).unwrap());
        let mut channels = Channels::default();
        let channel = channels.add(&plain).expect("it is new");
        assert_eq!((channels.add(&braced), channels.add(&plain)), (None, None));
        assert_eq!(channels.keys(&channel), [plain.clone(), braced.clone()]);
        assert_eq!(channels.remove(&plain), None);
        assert_eq!(channels.keys(&channel), std::slice::from_ref(&braced));
        assert_eq!(channels.remove(&plain), None);
        assert_eq!(channels.remove(&braced), Some(channel.clone()));
        assert_eq!((channels.remove(&braced), channels.keys(&channel).len()), (None, 0));
    }
}
