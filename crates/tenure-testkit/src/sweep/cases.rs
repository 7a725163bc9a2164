//! What is cut off, and what must be so afterwards.

use super::cut::sweep;
use super::{PATIENCE, SOON, Site, eventually, gets_in, is_free_for, is_in, leaves_nothing, releases, soon};
use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;
use tenure_core::{Events, Guard, Kind, Release, What};
use tokio::task::JoinHandle;

/// An acquire cancelled at any poll leaves nothing: as the first that a client sends, and as a later one.
pub async fn acquire<S: Site>(site: &S) {
    let other = site.client().await;
    for (kind, warm) in S::KINDS.iter().flat_map(|kind| [(*kind, false), (*kind, true)]) {
        let what = if warm { "a warm acquire" } else { "a cold acquire" };
        sweep(&format!("{what}, {kind}"), async |cut| {
            let client = site.cold();
            if warm {
                releases(gets_in(&client, kind).await).await;
            }
            if let Some(guard) = cut.off(client.lock_of(kind, "k").unwrap().lock()).await {
                releases(guard.unwrap()).await;
                return true;
            }
            is_free_for(site, kind, &[&other, &client]).await;
            leaves_nothing(site, client).await;
            false
        })
        .await;
    }
}

/// A wait cancelled at any poll leaves nothing: the cancelled one has waited, been called, or just been granted what the
/// holder left.
pub async fn wait<S: Site>(site: &S) {
    let other = site.client().await;
    for kind in S::KINDS {
        sweep(&format!("a wait, {kind}"), async |cut| {
            let client = site.client().await;
            let releasing = releases_when_waited_for(gets_in(&other, *kind).await, client.events());
            let done = cut.off(client.lock_of(*kind, "k").unwrap().lock()).await;
            soon("the holder leaves", releasing).await.unwrap();
            if let Some(guard) = done {
                releases(guard.unwrap()).await;
                return true;
            }
            is_free_for(site, *kind, &[&client]).await;
            leaves_nothing(site, client).await;
            false
        })
        .await;
    }
}

/// A set cancelled at any poll leaves nothing: all of it is free, or one of it is held for a while, so that the cancelled one
/// asks for all, takes some, waits, and takes the rest.
pub async fn set<S: Site>(site: &S) {
    const KEYS: [&str; 3] = ["j", "k", "l"];
    let other = site.client().await;
    for busy in [false, true] {
        sweep(if busy { "a set that is not free" } else { "a set" }, async |cut| {
            let client = site.client().await;
            let mut releasing = None;
            if busy {
                let held = gets_in(&other, Kind::Reentrant).await;
                releasing = Some(releases_when_waited_for(held, client.events()));
            }
            let done = cut.off(client.multi(KEYS).unwrap().lock()).await;
            if let Some(releasing) = releasing {
                soon("the holder leaves", releasing).await.unwrap();
            }
            if let Some(guard) = done {
                assert_eq!(guard.unwrap().release().await.unwrap(), Release::Released);
                return true;
            }
            eventually("all are free", SOON, || KEYS.iter().all(|key| !site.is_held(key))).await;
            leaves_nothing(site, client).await;
            false
        })
        .await;
    }
}

/// A re-entry cancelled at any poll leaves the guard as it was.
pub async fn re_entry<S: Site>(site: &S) {
    let client = site.client().await;
    for kind in S::KINDS {
        sweep(&format!("a re-entry, {kind}"), async |cut| {
            let guard = gets_in(&client, *kind).await;
            let token = guard.token();
            let done = cut.off(guard.reenter()).await;
            let is_done = done.is_some();
            if let Some(again) = done {
                is_in(site, &guard, 2).await;
                assert_eq!(again.unwrap().release().await.unwrap(), Release::StillHeld(1));
            }
            is_in(site, &guard, 1).await;
            assert!(guard.is_held() && guard.token() == token);
            releases(guard).await;
            eventually("the lock is free", SOON, || !site.is_held("k")).await;
            is_done
        })
        .await;
    }
    leaves_nothing(site, client).await;
}

/// A release cancelled at any poll is finished.
pub async fn release<S: Site>(site: &S) {
    let (client, other) = (site.client().await, site.client().await);
    for kind in S::KINDS {
        sweep(&format!("a release, {kind}"), async |cut| {
            let done = cut.off(gets_in(&client, *kind).await.release()).await;
            let is_done = done.is_some();
            assert!(done.is_none_or(|done| done.unwrap() == Release::Released));
            is_free_for(site, *kind, &[&other]).await;
            is_done
        })
        .await;
    }
    leaves_nothing(site, client).await;
}

/// The release of an inner guard cancelled at any poll is finished, and the outer one is as it was.
pub async fn inner_release<S: Site>(site: &S) {
    let (client, other) = (site.client().await, site.client().await);
    for kind in S::KINDS {
        sweep(&format!("an inner release, {kind}"), async |cut| {
            let guard = gets_in(&client, *kind).await;
            let again = guard.reenter().await.unwrap();
            let done = cut.off(again.release()).await;
            let is_done = done.is_some();
            assert!(done.is_none_or(|done| done.unwrap() == Release::StillHeld(1)));
            is_in(site, &guard, 1).await;
            assert!(guard.is_held());
            releases(guard).await;
            is_free_for(site, *kind, &[&other]).await;
            is_done
        })
        .await;
    }
    leaves_nothing(site, client).await;
}

/// A holder that leaves when the client whose events these are waits for it.
fn releases_when_waited_for(held: Guard, mut events: Events) -> JoinHandle<()> {
    tokio::spawn(async move {
        let waits = async { while !matches!(events.next().await.unwrap().what, What::Waiting { .. }) {} };
        // The first polls do not get as far as to wait.
        let _ = tokio::time::timeout(Duration::from_millis(50), waits).await;
        releases(held).await;
    })
}

/// However many requests are given up while they are under way, the store remembers no more of them: beside one that waits
/// all the time, of one client that holds now and then, and for as long as all that was asked for may be late.
pub async fn crowd<S: Site>(site: &S) {
    for kind in S::KINDS {
        let (holder, client) = (site.client().await, site.client().await);
        let held = gets_in(&holder, *kind).await;
        let lock = client.lock_of(*kind, "k").unwrap();
        let mut events = client.events();
        let patient = tokio::spawn({
            let lock = lock.clone();
            async move { lock.lock().await.map(drop) }
        });
        let waits = async { while !matches!(events.next().await.unwrap().what, What::Waiting { .. }) {} };
        soon("it waits", waits).await;
        for _ in 0..200 {
            let mut asking = Box::pin(lock.try_lock());
            // Given up while it is under way, as a rule.
            let _ = poll_fn(|context| Poll::Ready(asking.as_mut().poll(context).is_ready())).await;
        }
        // Every cancellation has been told by then.
        client.close(PATIENCE).await.unwrap();
        assert!(soon("it waits no longer", patient).await.unwrap().is_err());
        assert!(site.tombstones() <= 8, "{kind}: {} of 200", site.tombstones());
        releases(held).await;
        leaves_nothing(site, holder).await;
    }
}
