//! A lock that is not obtained runs no line of the body, and one that is lost stops it.

use super::stores::{Place, on_every_store};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tenure::{Client, Error, ErrorKind, Options, Policy, Retry};

/// Counts the lines of bodies that were run.
#[derive(Default)]
struct Section {
    lines: AtomicU32,
}

impl Section {
    fn line(&self) {
        self.lines.fetch_add(1, Ordering::SeqCst);
    }

    #[tenure::locked(client = locks, prefix = "", key = "{key}", wait = "60ms")]
    async fn waits(&self, locks: &Client, key: &str) -> Result<(), Error> {
        self.line();
        Ok(())
    }

    #[tenure::locked(client = locks, prefix = "", key = "{key}", retry = fixed("5ms", tries = 3))]
    async fn polls(&self, locks: &Client, key: &str) -> Result<(), Error> {
        self.line();
        Ok(())
    }

    #[tenure::locked(client = locks, prefix = "", key = "{key}", wait = "0s", kind = fair)]
    async fn another_kind(&self, locks: &Client, key: &str) -> Result<(), Error> {
        self.line();
        Ok(())
    }

    #[tenure::locked(client = locks, prefix = "", key = "{key}", wait = "0s", on_busy = skip)]
    async fn skips(&self, locks: &Client, key: &str) -> Result<Option<()>, Error> {
        self.line();
        Ok(Some(()))
    }

    #[tenure::locked(client = locks, prefix = "", key = "{key}", wait = "0s", on_lost = finish, fallback = Self::instead)]
    async fn falls_back(&self, locks: &Client, key: &str) -> &'static str {
        self.line();
        "the body"
    }

    #[allow(clippy::unused_async, clippy::unused_self, reason = "it is called in place of the other")]
    async fn instead(&self, _locks: &Client, _key: &str) -> &'static str {
        "instead"
    }

    #[tenure::locked(client = locks, prefix = "", key = "{key}", wait = "60ms")]
    fn waits_as_a_thread(&self, locks: &Client, key: &str) -> Result<(), Error> {
        self.line();
        Ok(())
    }

    #[tenure::locked(client = locks, prefix = "", key = "{key}")]
    async fn says_nothing(&self, locks: &Client, key: &str) -> Result<Duration, Error> {
        self.line();
        Ok(tenure::current().expect("a section").remaining())
    }

    #[tenure::locked(client = locks, prefix = "", key = "{key}", lease = "9s")]
    async fn says_the_lease(&self, locks: &Client, key: &str) -> Result<Duration, Error> {
        self.line();
        Ok(tenure::current().expect("a section").remaining())
    }

    /// Everything that takes the lock, and what is made of it not being obtained.
    async fn try_all(&self, locks: &Client, key: &str) -> Vec<Option<ErrorKind>> {
        let kind = |outcome: Result<(), Error>| outcome.err().map(|error| error.kind());
        let threads = std::thread::scope(|threads| {
            let waits = threads.spawn(|| self.waits_as_a_thread(locks, key));
            waits.join().expect("no panic")
        });
        vec![
            kind(self.waits(locks, key).await),
            kind(self.polls(locks, key).await),
            kind(self.another_kind(locks, key).await),
            kind(self.skips(locks, key).await.map(|ran| assert_eq!(ran, None))),
            kind(threads),
        ]
    }
}

#[tokio::test]
async fn what_is_left_out_is_as_the_client_has_it() {
    let options = Options::new().lease(Duration::from_secs(5)).wait(Duration::from_millis(60));
    let locks = Client::builder().options(options).build(tenure::store("memory:").unwrap()).unwrap();
    let section = Section::default();
    let (five, nine) = (Duration::from_secs(5), Duration::from_secs(9));
    assert!(section.says_nothing(&locks, "k").await.unwrap() <= five);
    let remaining = section.says_the_lease(&locks, "k").await.unwrap();
    assert!(remaining > five && remaining <= nine, "{remaining:?}");
    let held = locks.lock("k").unwrap().lock().await.unwrap();
    assert_eq!(section.says_nothing(&locks, "k").await.unwrap_err().kind(), ErrorKind::Timeout);
    assert_eq!(section.says_the_lease(&locks, "k").await.unwrap_err().kind(), ErrorKind::Timeout);
    held.release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_that_is_held_runs_nothing() {
    on_every_store(async |place: Place| {
        let (locks, section) = (place.client().await, Section::default());
        let held = place.client().await.lock("k").unwrap().lock().await.unwrap();
        let timeout = Some(ErrorKind::Timeout);
        let told = section.try_all(&locks, "k").await;
        assert_eq!(told, [timeout, timeout, Some(ErrorKind::Conflict), None, timeout]);
        assert_eq!(section.falls_back(&locks, "k").await, "instead");
        assert_eq!(section.lines.load(Ordering::SeqCst), 0);
        held.release().await.unwrap();
        section.waits(&locks, "k").await.unwrap();
        assert_eq!(section.skips(&locks, "k").await.unwrap(), Some(()));
        assert_eq!(section.falls_back(&locks, "k").await, "the body");
        assert_eq!(section.lines.load(Ordering::SeqCst), 3);
    })
    .await;
}

/// A store that is down is not busy: nothing is skipped.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_is_down_runs_nothing() {
    on_every_store(async |place: Place| {
        let Some(server) = &place.redis else { return };
        let (locks, section) = (place.client().await, Section::default());
        server.kill();
        let told = section.try_all(&locks, "k").await;
        assert_eq!(told, vec![Some(ErrorKind::Unavailable); 5]);
        assert_eq!(section.falls_back(&locks, "k").await, "instead");
        assert_eq!(section.lines.load(Ordering::SeqCst), 0);
    })
    .await;
}

#[tokio::test]
async fn a_client_that_is_closed_or_missing_runs_nothing() {
    #[tenure::locked(key = "k")]
    async fn nowhere(section: &Section) -> Result<(), Error> {
        section.line();
        Ok(())
    }

    let (locks, section) = (tenure::connect("memory:").await.unwrap(), Section::default());
    let error = nowhere(&section).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("set_client"), "{error}");
    locks.scope(nowhere(&section)).await.unwrap();
    locks.close(Duration::from_secs(5)).await.unwrap();
    assert_eq!(section.waits(&locks, "k").await.unwrap_err().kind(), ErrorKind::Unavailable);
    assert_eq!(section.lines.load(Ordering::SeqCst), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_that_is_lost_stops_the_body_in_time() {
    #[tenure::locked(client = locks, key = "lost", lease = "400ms", renew = false)]
    async fn too_long(locks: &Client, stopped: &std::sync::Mutex<Option<Instant>>) -> Result<(), Error> {
        /// When the body was dropped.
        struct Stopped<'a>(&'a std::sync::Mutex<Option<Instant>>);
        impl Drop for Stopped<'_> {
            fn drop(&mut self) {
                *self.0.lock().unwrap() = Some(Instant::now());
            }
        }
        let _stopped = Stopped(stopped);
        std::future::pending().await
    }

    #[tenure::locked(client = locks, key = "lost", lease = "400ms", renew = false, on_lost = finish)]
    async fn to_the_end(locks: &Client, ran: &AtomicU32) -> Result<(), Error> {
        tenure::current().expect("a section").lost().await;
        ran.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    on_every_store(async |place: Place| {
        let (locks, stopped, ran) = (place.client().await, std::sync::Mutex::new(None), AtomicU32::new(0));
        let others = place.client().await.lock("lost").unwrap();
        let next = async {
            // Until somebody is in.
            while !others.is_locked().await.unwrap() {
                tokio::task::yield_now().await;
            }
            let other = others.lock_timeout(Duration::from_secs(5)).await.unwrap();
            (Instant::now(), other)
        };
        let (lost, (got_in, other)) = tokio::join!(too_long(&locks, &stopped), next);
        assert_eq!(lost.unwrap_err().kind(), ErrorKind::Lost);
        let stopped = stopped.into_inner().unwrap().expect("the body was begun");
        assert!(stopped < got_in, "it ran on when another was in");
        other.release().await.unwrap();
        assert_eq!(to_the_end(&locks, &ran).await.unwrap_err().kind(), ErrorKind::Lost);
        assert_eq!(ran.load(Ordering::SeqCst), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_panics_or_is_cancelled_releases() {
    #[tenure::locked(client = locks, key = "k")]
    async fn stays(locks: &Client, panics: bool, entered: tokio::sync::oneshot::Sender<()>) -> Result<(), Error> {
        assert!(!panics, "this is meant to happen");
        entered.send(()).unwrap();
        std::future::pending().await
    }

    on_every_store(async |place: Place| {
        let (locks, lock) = (place.client().await, place.client().await.lock("k").unwrap());
        for panics in [true, false] {
            let (entered, is_in) = tokio::sync::oneshot::channel();
            let locks = locks.clone();
            let stays = tokio::spawn(async move { stays(&locks, panics, entered).await });
            if !panics {
                is_in.await.unwrap();
                stays.abort();
            }
            stays.await.unwrap_err();
            lock.lock_timeout(Duration::from_secs(5)).await.unwrap().release().await.unwrap();
        }
    })
    .await;
}

/// What the attribute says, a policy can say, and the attribute has the last word.
#[tokio::test]
async fn a_policy_is_data() {
    #[tenure::locked(client = locks, policy = policy, key = "{key}", wait = "0s")]
    async fn by_policy(locks: &Client, policy: &Policy, key: &str) -> Result<String, Error> {
        Ok(tenure::current().map(|guard| guard.key().to_string()).unwrap_or_default())
    }

    let locks = tenure::connect("memory:").await.unwrap();
    let policy = Policy::new().prefix("p:").options(Options::new().wait(Duration::from_secs(60)));
    assert_eq!(by_policy(&locks, &policy, "k").await.unwrap(), "p:k");
    let _held = locks.lock("p:k").unwrap().lock().await.unwrap();
    assert_eq!(by_policy(&locks, &policy, "k").await.unwrap_err().kind(), ErrorKind::Timeout, "it does not wait");
    assert_eq!(by_policy(&locks, &policy.clone().enabled(false), "k").await.unwrap(), "", "it is switched off");
    let polls = Policy::new().options(Options::new().retry(Retry::fixed(Duration::from_millis(1))));
    assert_eq!(by_policy(&locks, &polls, "k").await.unwrap(), "k", "one attempt has no retries");
}

/// The seats of an owner's sections do not depend on which of its holds they find: that of a section which was lost, or a guard's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sections_of_one_owner_exclude_each_other_when_one_around_them_was_lost() {
    #[derive(Default)]
    struct Alone {
        inside: AtomicU32,
        runs: AtomicU32,
    }

    impl Alone {
        async fn work(&self) {
            assert_eq!(self.inside.fetch_add(1, Ordering::SeqCst), 0, "two are in at once");
            for _ in 0..5 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            self.inside.fetch_sub(1, Ordering::SeqCst);
            self.runs.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[tenure::locked(client = locks, prefix = "", key = "a", lease = "300ms", renew = false, on_lost = finish)]
    async fn to_the_end(locks: &Client, guarded: &tokio::sync::Barrier, alone: &Alone) -> Result<(), Error> {
        tenure::current().expect("a section").lost().await;
        guarded.wait().await;
        locks.lock("a")?.run(alone.work()).await
    }

    on_every_store(async |place: Place| {
        let (locks, alone, guarded) = (place.client().await, Alone::default(), tokio::sync::Barrier::new(3));
        let lock = locks.lock("a").unwrap();
        let by_hand = async {
            while !lock.is_locked().await.unwrap() {
                tokio::task::yield_now().await;
            }
            let guard = lock.lock_with(Options::new().reentrant()).await.unwrap();
            guarded.wait().await;
            guard
        };
        let beside = async {
            guarded.wait().await;
            lock.run(alone.work()).await
        };
        let all = async { tokio::join!(to_the_end(&locks, &guarded, &alone), by_hand, beside) };
        let (lost, guard, beside) = tenure::Owner::new().scope(Box::pin(all)).await;
        assert_eq!(lost.unwrap_err().kind(), ErrorKind::Lost);
        beside.unwrap();
        assert_eq!(alone.runs.load(Ordering::SeqCst), 2);
        guard.release().await.unwrap();
    })
    .await;
}
