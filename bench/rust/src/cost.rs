//! What calls cost the server, with few and with many about.

use std::error::Error;
use tenure::redis::Config;
use tenure_testkit::RedisServer;
use tenure_testkit::costs::{self, Call};

use crate::report::Cost;

/// Few and many, of which the one should cost about as much as the other.
const CROWDS: [u64; 2] = [10, 5000];

/// Every call in every round, on a server that nobody else uses.
pub(crate) async fn costs(rounds: usize) -> Result<Vec<Cost>, Box<dyn Error>> {
    let server = RedisServer::start();
    let backend = Config::from_url(&server.url())?.into_backend();
    let costs = costs::measure(&server, &backend, &CROWDS, rounds).await;
    Ok(costs.into_iter().map(row).collect())
}

fn row(cost: costs::Cost) -> Cost {
    let (workload, reads) = match cost.call {
        Call::FairWait => ("fair-wait-server", false),
        Call::FairAcquire => ("fair-acquire-server", false),
        Call::FairRelease => ("fair-release-server", false),
        Call::ReadAcquire => ("read-acquire-server", true),
        Call::ReadRelease => ("read-release-server", true),
    };
    let (waiters, readers) = if reads { (None, Some(cost.crowd)) } else { (Some(cost.crowd), None) };
    Cost {
        backend: "redis".to_owned(),
        system: "tenure".to_owned(),
        workload: workload.to_owned(),
        waiters,
        readers,
        usec_per_call: (cost.micros * 10.0).round() / 10.0,
    }
}
