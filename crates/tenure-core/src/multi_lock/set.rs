//! Which locks a set has, each of them once, in the order in which everybody takes them.

use crate::Error;
use crate::lock::Lock;
use std::cmp::Ordering;
use std::sync::Arc;
use tenure_kernel::Kind;

/// Sorts the locks, and makes one of those that are the same.
pub(super) fn in_order(mut locks: Vec<Lock>) -> Result<Vec<Lock>, Error> {
    if locks.is_empty() {
        return Err(Error::invalid("a multi lock has one key at the least: name those that are to be held together"));
    }
    locks.sort_by(compare);
    let mut set: Vec<Lock> = Vec::with_capacity(locks.len());
    for lock in locks {
        let mut tie = set.iter().rev().take_while(|known| known.key() == lock.key());
        match tie.find(|known| Arc::ptr_eq(known.client(), lock.client())) {
            None => set.push(lock),
            // Of the two sides, the one that writes came first.
            Some(known) if known.kind().goes_with(lock.kind()) => {}
            Some(known) => {
                return Err(Error::invalid(format!(
                    "one key cannot be held as two kinds of lock at once, choose one of them: kinds={} and {}",
                    known.kind(),
                    lock.kind()
                ))
                .about(lock.key()));
            }
        }
    }
    Ok(set)
}

/// By key, which is the same to everybody, and of one key by where its store is, which is if they call it by one name. Of one
/// store, the side that writes comes first: it can go on to read at once, but not the other way round.
fn compare(one: &Lock, other: &Lock) -> Ordering {
    fn by(lock: &Lock) -> impl Ord {
        (lock.key(), &lock.client().shared.address, lock.kind() == Kind::Read, Arc::as_ptr(lock.client()))
    }
    by(one).cmp(&by(other))
}

/// Whether all are of one client.
pub(super) fn is_of_one_client(locks: &[Lock]) -> bool {
    locks.windows(2).all(|pair| Arc::ptr_eq(pair[0].client(), pair[1].client()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Client, ErrorKind, Memory};

    fn names(locks: &[Lock]) -> Vec<String> {
        locks.iter().map(|lock| format!("{} {}", lock.kind(), lock.key())).collect()
    }

    #[test]
    fn sets_are_sorted_and_have_each_lock_once() {
        let (client, other) = (Client::new(Memory::new()).unwrap(), Client::new(Memory::new()).unwrap());
        let of = |client: &Client, kind, key| client.lock_of(kind, key).unwrap();
        let named = vec![
            of(&client, Kind::Simple, "c"),
            of(&client, Kind::Read, "b"),
            of(&client, Kind::Reentrant, "a"),
            of(&client, Kind::Write, "b"),
            of(&client, Kind::Read, "b"),
            of(&client, Kind::Simple, "c"),
        ];
        let set = in_order(named.clone()).unwrap();
        assert_eq!(names(&set), ["reentrant a", "write b", "simple c"]);
        assert!(is_of_one_client(&set));
        let all = in_order(named.into_iter().chain([of(&other, Kind::Simple, "b")]).collect()).unwrap();
        assert_eq!((all.len(), is_of_one_client(&all)), (4, false));
    }

    #[test]
    fn sets_that_cannot_be_held_are_refused() {
        let client = Client::new(Memory::new()).unwrap();
        let of = |kind| client.lock_of(kind, "a").unwrap();
        for pair in [[Kind::Reentrant, Kind::Simple], [Kind::Fair, Kind::Reentrant], [Kind::Write, Kind::Fair]] {
            let error = in_order(pair.map(of).into()).unwrap_err();
            let text = error.to_string();
            assert_eq!(error.kind(), ErrorKind::Invalid);
            assert!(pair.iter().all(|kind| text.contains(kind.name())) && text.contains("key=`a`"), "{text}");
        }
        assert_eq!(in_order(Vec::new()).unwrap_err().kind(), ErrorKind::Invalid);
    }
}
