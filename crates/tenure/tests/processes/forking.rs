//! A process that forks after it has connected, as those do that become daemons or start workers.

use crate::store::{Name, Place, as_another, role, runtime};
use fork::{Fork, fork, waitpid};
use libtest_mimic::Failed;
use std::time::Duration;
use tenure::{Client, ErrorKind, Guard, Loss, Options, Release, Standing, What};
use tokio::time::timeout;

const LEASE: Duration = Duration::from_secs(3);
/// However busy the machine is.
const SOON: Duration = Duration::from_secs(60);

pub(crate) fn a_fork_holds_nothing(name: Name) -> Result<(), Failed> {
    let place = Place::start(name);
    // A program of its own, in which no other test's threads are amid something when it forks.
    let output = as_another("forks", &place.url, "").output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(format!("{}\n{said}", output.status).into()) }
}

/// Forks and looks at both sides, if this program was started for that.
pub(crate) fn if_it_forks() -> bool {
    let Some((url, _)) = role("forks") else { return false };
    let runtime = runtime();
    let options = Options::new().lease(LEASE);
    let (client, guard, other) = runtime.block_on(async {
        let client = tenure::connect(&url).await.unwrap();
        let guard = client.lock("a").unwrap().lock_with(options.clone()).await.unwrap();
        let other = client.lock("b").unwrap().lock_with(options).await.unwrap();
        (client, guard, other)
    });
    // Blocking callers have a runtime by then, whose thread the child does not have.
    drop(tenure::blocking::connect(&url).unwrap().lock("d").unwrap().lock().unwrap());
    match fork().expect("a fork") {
        Fork::Child => {
            // The parent's runtime has no threads here, and its sockets are the parent's.
            std::mem::forget(runtime);
            // Blocking calls have no time-out of their own.
            std::thread::spawn(|| {
                std::thread::sleep(2 * SOON);
                std::process::exit(2);
            });
            let looked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| child(&url, client, guard, other)));
            std::process::exit(i32::from(looked.is_err()));
        }
        Fork::Parent(child) => {
            let status = waitpid(child).expect("the child");
            assert_eq!(status, 0, "what the child saw was wrong");
            runtime.block_on(parent(&url, client, guard, other));
        }
    }
    true
}

/// It has copies of everything, and holds nothing.
fn child(url: &str, client: Client, guard: Guard, other: Guard) {
    let looks = async {
        assert_eq!(guard.standing(), Standing::Lost(Loss::Forked));
        assert_eq!(timeout(SOON, guard.lost()).await.expect("it is told"), Loss::Forked);
        assert!(guard.cancellation_token().is_cancelled());

        let refused = client.lock("c").unwrap().try_lock().await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Unavailable);
        assert!(refused.to_string().contains("connect a new client after the fork"), "{refused}");
        assert_eq!(client.lock("a").unwrap().try_lock().await.unwrap_err().kind(), ErrorKind::Unavailable);
        assert_eq!(client.list("*").await.unwrap_err().kind(), ErrorKind::Unavailable);
        assert_eq!(client.close(SOON).await.unwrap_err().kind(), ErrorKind::Unavailable);

        assert_eq!(guard.run(std::future::pending::<()>()).await.unwrap_err().kind(), ErrorKind::Lost);
        assert_eq!(guard.renew().await.unwrap_err().kind(), ErrorKind::Lost);
        assert_eq!(guard.reenter().await.unwrap_err().kind(), ErrorKind::Lost);
        assert_eq!(guard.release().await.unwrap_err().kind(), ErrorKind::Lost);
        drop(other);
        drop(client);

        let own = tenure::connect(url).await.unwrap();
        for key in ["a", "b"] {
            assert!(own.lock(key).unwrap().try_lock().await.unwrap().is_none(), "both hold it: {key}");
        }
        let fresh = own.lock("c").unwrap().try_lock().await.unwrap().expect("it is free");
        assert_eq!(fresh.release().await.unwrap(), Release::Released);
    };
    // What belongs to the parent may never answer.
    runtime().block_on(async { timeout(SOON, looks).await.expect("it is answered") });
    let thread = tenure::blocking::Client::from(runtime().block_on(tenure::connect(url)).unwrap());
    assert!(thread.lock("a").unwrap().try_lock().unwrap().is_none(), "threads are told otherwise");
}

/// Nothing has changed for it.
async fn parent(url: &str, client: Client, guard: Guard, other: Guard) {
    let mut events = client.events();
    let renewed = async { while !matches!(events.next().await.expect("the client lives").what, What::Renewed) {} };
    timeout(SOON, renewed).await.expect("it is renewed");
    assert!(guard.is_held() && other.is_held());
    let rival = tenure::connect(url).await.unwrap();
    assert!(rival.lock("a").unwrap().try_lock().await.unwrap().is_none(), "two hold it");
    let token = guard.token();
    assert_eq!(guard.release().await.unwrap(), Release::Released);
    let next = rival.lock("a").unwrap().lock_timeout(SOON).await.unwrap();
    assert!(next.token() > token);
    assert_eq!(other.release().await.unwrap(), Release::Released);
    let late = client.lock("c").unwrap().try_lock().await.unwrap();
    assert!(late.is_some(), "it is used as before");
}
