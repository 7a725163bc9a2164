//! The watchdog under load: ten thousand locks of one client, while the application's workers are blocked.

use std::time::{Duration, Instant};
use tenure_core::{Client, Guard, Options};
use tenure_testkit::RedisServer;
use tenure_testkit::figures::figure;

const LOCKS: usize = 10_000;
const LEASE: Duration = Duration::from_secs(3);
const HELD: Duration = Duration::from_secs(60);
const BLOCKED: Duration = Duration::from_secs(10);

#[test]
fn ten_thousand_locks_outlive_a_blocked_runtime() {
    let server = RedisServer::start();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let guards = runtime.block_on(take_all(&server.url()));

    server.command(&["CONFIG", "SET", "slowlog-log-slower-than", "1000", "slowlog-max-len", "100000"]);
    server.command(&["SLOWLOG", "RESET"]);
    server.reset_stats();
    let began = Instant::now();
    let blocked = |seconds: Duration| {
        let tasks: Vec<_> = (0..2).map(|_| runtime.spawn(async move { std::thread::sleep(seconds) })).collect();
        runtime.block_on(async {
            for task in tasks {
                task.await.unwrap();
            }
        });
    };
    // The time is the test: leases of 3 s are held for a minute, and nobody drives the runtime for 10 s of it.
    std::thread::sleep(HELD.saturating_sub(BLOCKED) / 2);
    blocked(BLOCKED);
    std::thread::sleep(HELD.saturating_sub(began.elapsed()));

    let calls = server.command_calls("evalsha");
    let each = server.command_time("evalsha") / u32::try_from(calls).unwrap().max(1);
    let slow: i64 = redis::from_redis_value(server.command(&["SLOWLOG", "LEN"])).unwrap();
    let held = guards.iter().filter(|guard| guard.is_held()).count();
    assert_eq!(held, LOCKS, "locks were lost");
    // Every lock was renewed every second.
    let renewals = LOCKS as u64 * (HELD.as_secs() - 2);
    let line = format!(
        "{LOCKS} locks for {HELD:?}: {calls} calls, about {} renewals a call, {each:?} of server time a call, and above \
         1 ms for {slow} of them",
        renewals / calls.max(1)
    );
    figure(each <= Duration::from_millis(2), &line);
    assert!(calls > 0 && calls * 400 <= LOCKS as u64 * (HELD.as_secs() + 2), "{calls} calls are too many");
    runtime.block_on(async {
        for guard in guards {
            drop(guard);
        }
    });
}

async fn take_all(url: &str) -> Vec<Guard> {
    let backend = tenure_redis::Config::from_url(url).unwrap().into_backend();
    let client = Client::builder().options(Options::new().lease(LEASE)).connect(backend).await.unwrap();
    let mut guards = Vec::with_capacity(LOCKS);
    for lock in 0..LOCKS {
        guards.push(client.lock(&format!("watched:{lock}")).unwrap().lock().await.unwrap());
    }
    guards
}
