//! First come, first served, whatever process one waits in.

use crate::crowd::{KEY, assert_served_in_order, finish, line, shares, start, until_in_line};
use crate::support::{client_of, ms};
use tenure_core::{Kind, Release};
use tenure_testkit::RedisServer;

pub(crate) async fn served_in_order() {
    const WAITERS: usize = 500;
    let server = RedisServer::start();
    let client = client_of(&server).await;
    let first = client.fair(KEY).unwrap().lock().await.unwrap();
    let takers = start(&server, Kind::Fair, &shares(WAITERS, 8), ms(1));
    until_in_line(&server, "queue", WAITERS).await;
    let line = line(&server);
    let token = first.token();
    assert_eq!(first.release().await.unwrap(), Release::Released);
    let holds = finish(takers).await;
    assert!(holds[0].token > Some(token));
    let (began, ended) = (holds[0].granted, holds[WAITERS - 1].granted);
    println!("{WAITERS} waiters of 8 processes were served in order, within {} ms", (ended - began) / 1_000_000);
    assert_served_in_order(holds, &line);
}
