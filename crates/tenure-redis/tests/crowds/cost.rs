//! What the server has to do for one, while few others are about and while many are.

use crate::support::backend;
use tenure_testkit::RedisServer;
use tenure_testkit::costs::{Call, measure};
use tenure_testkit::figures::figure;

pub(crate) async fn is_the_same_among_many() {
    const FEW: u64 = 10;
    const MANY: u64 = 5000;
    let server = RedisServer::start();
    let costs = measure(&server, &backend(&server.url()), &[FEW, MANY], 5).await;
    for call in Call::ALL {
        let of =
            |crowd| costs.iter().filter(move |cost| cost.call == call && cost.crowd == crowd).map(|cost| cost.micros);
        let (few, many) = (median(of(FEW)), median(of(MANY)));
        let ratio = median(of(MANY).zip(of(FEW)).map(|(many, few)| many / few));
        let line =
            format!("{call:?}: {few:.1} µs of server time among {FEW}, {many:.1} µs among {MANY}, {ratio:.2} times");
        figure(ratio <= 2.0, &line);
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
