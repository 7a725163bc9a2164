//! Load, in the middle of which a fault comes and goes.

use super::race::{Race, Section};
use super::set::Set;
use std::fmt;
use std::time::{Duration, Instant};
use tenure_testkit::Report;
use tenure_testkit::figures::is_full;

const SERVERS: usize = 5;

/// What happens to so many of the servers.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fault {
    Nothing,
    Down(usize),
    Hung(usize),
    Slow(usize),
    /// To all of them, one by one: restarted empty, as soon as the one before votes again.
    Restarted,
}

impl Fault {
    pub(crate) const ALL: [Self; 7] =
        [Self::Nothing, Self::Down(1), Self::Down(2), Self::Hung(1), Self::Hung(2), Self::Slow(2), Self::Restarted];
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("no fault"),
            Self::Down(many) => write!(f, "{many} down"),
            Self::Hung(many) => write!(f, "{many} hung"),
            Self::Slow(many) => write!(f, "{many} slow"),
            Self::Restarted => f.write_str("restarted one by one"),
        }
    }
}

/// How long a phase is to last at the least: a minute in a long run, and otherwise for one fault.
pub(crate) fn length() -> Duration {
    if is_full() { Duration::from_secs(60) } else { Duration::ZERO }
}

/// How long it takes until something changes: in long runs at times more and at times less than a lease.
fn a_while() -> Duration {
    Duration::from_millis(if is_full() { fastrand::u64(200..3000) } else { 600 })
}

/// Eight clients race, and the fault comes and goes for so long, once at the least.
pub(crate) async fn phase(fault: Fault, length: Duration) -> Report {
    let proxied = if let Fault::Slow(many) = fault { many } else { 0 };
    let set = Set::behind_proxies(SERVERS, proxied);
    let race = Race::start(&set, Section::SHORT, usize::MAX).await;
    let began = Instant::now();
    race.on(a_while()).await;
    loop {
        come_and_go(fault, &set, &race).await;
        race.on(a_while()).await;
        if began.elapsed() >= length {
            break;
        }
    }
    let report = race.end().await;
    println!("{fault}: {report}");
    report.assert_clean();
    report
}

async fn come_and_go(fault: Fault, set: &Set, race: &Race) {
    let mut all: Vec<usize> = (0..SERVERS).collect();
    fastrand::shuffle(&mut all);
    match fault {
        Fault::Nothing => race.on(a_while()).await,
        Fault::Down(many) => {
            all[..many].iter().for_each(|at| set.servers[*at].kill());
            race.on(a_while()).await;
            all[..many].iter().for_each(|at| set.servers[*at].restart());
            // More must not fail before these vote again.
            for at in &all[..many] {
                set.until_votes(*at, &race.clients).await;
            }
        }
        Fault::Hung(many) => {
            all[..many].iter().for_each(|at| set.servers[*at].pause());
            race.on(a_while()).await;
            all[..many].iter().for_each(|at| set.servers[*at].resume());
        }
        Fault::Slow(_) => {
            for (at, proxy) in set.proxies.iter().enumerate() {
                proxy.delay(Duration::from_millis(15 + 20 * at as u64));
            }
            race.on(a_while()).await;
            set.proxies.iter().for_each(tenure_testkit::FaultProxy::heal);
        }
        Fault::Restarted => {
            for at in all {
                set.servers[at].restart();
                race.on(Duration::ZERO).await;
                set.until_votes(at, &race.clients).await;
            }
        }
    }
}
