//! The first in line is killed, with many behind it.

use crate::crowd::{KEY, assert_served_in_order, finish, length, line, shares, start, until_in_line};
use crate::support::{client_of, eventually, ms};
use std::time::Duration;
use tenure_core::Kind;
use tenure_testkit::RedisServer;
use tenure_testkit::history::boottime_now;

/// Its place is kept for three seconds.
const NEXT_WITHIN: Duration = Duration::from_secs(4);
/// What each of those behind it may send meanwhile.
const COMMANDS: u64 = 10;

/// Few as well as many: those next to the dead look more often than the others, and are lost in a large crowd.
pub(crate) async fn killed_in_line() {
    for behind in [8, 1000] {
        killed_before(behind).await;
    }
}

async fn killed_before(behind: usize) {
    let server = RedisServer::start();
    let client = client_of(&server).await;
    let guard = client.fair(KEY).unwrap().lock().await.unwrap();
    let mut head = start(&server, Kind::Fair, &[1], ms(0));
    until_in_line(&server, "queue", 1).await;
    let takers = start(&server, Kind::Fair, &shares(behind, 4), ms(0));
    until_in_line(&server, "queue", 1 + behind).await;
    let line = line(&server);

    head[0].kill();
    server.reset_stats();
    let released = boottime_now();
    guard.release().await.unwrap();
    eventually("the next is served", NEXT_WITHIN, || length(&server, "queue") < behind).await;
    let commands = server.command_calls("evalsha");

    let holds = finish(takers).await;
    let took = Duration::from_nanos(holds[0].granted - released);
    println!("{behind} behind one who was killed: {commands} commands until the next was in, after {took:?}");
    assert!(
        commands > 0 && commands < COMMANDS * behind as u64,
        "{commands} commands of {behind} waiters are too many"
    );
    assert_served_in_order(holds, &line[1..]);
}
