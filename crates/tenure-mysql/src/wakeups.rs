//! Wake-ups by looking: often at first, then less and less, at all that is waited for in one question.
//!
//! Whoever waits for a row is woken by the server, see `waits`; this is for all other kinds, and for those who stand under
//! others.

use crate::backend::MySql;
use crate::desk::Desk;
use crate::error::Failure;
use crate::name::name;
use crate::table;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use tenure_core::{Claim, Key, Kind, Port, Pusher, Topic, report};
use tokio::time::Instant;

/// How often is looked at first, and at the last.
const SHORTEST: Duration = Duration::from_millis(10);
const LONGEST: Duration = Duration::from_millis(250);
/// How often a client that holds something looks whether it was put out by force.
const NOTICES: Duration = Duration::from_millis(500);
/// How long an answer is waited for.
const ANSWER_WITHIN: Duration = Duration::from_secs(1);

/// What was seen of the locks that are waited for.
struct News {
    versions: HashMap<Vec<u8>, u64>,
    /// Whose turn it is, of those who stand in lines that have changed.
    called: Vec<Claim>,
}

/// Carries wake-ups to the client for as long as it lives.
pub(crate) async fn listen(mysql: &MySql, mut port: Port) {
    let pusher = port.pusher();
    mysql.desk.speak_to(Some(pusher.clone()));
    // Something may have been lost before we could say so: ask about every hold.
    pusher.may_have_forgotten();
    let mut seen: HashMap<Topic, u64> = HashMap::new();
    let mut pause = SHORTEST;
    let mut notified = Instant::now();
    loop {
        let held = *mysql.desk.held.borrow() > Instant::now();
        if held && notified.elapsed() >= NOTICES {
            notified = Instant::now();
            tell_forced(mysql, &port, &pusher).await;
        }
        let looks = !port.watched().is_empty();
        let next_notice = (notified + NOTICES).duration_since(Instant::now());
        let wake = match (looks, held) {
            (true, true) => pause.min(next_notice),
            (true, false) => pause,
            (false, _) => next_notice,
        };
        let interest = if looks || held {
            tokio::time::timeout(wake, port.next()).await.ok()
        } else {
            let mut holding = mysql.desk.held.subscribe();
            tokio::select! {
                interest = port.next() => Some(interest),
                _ = holding.wait_for(|until| *until > Instant::now()) => None,
            }
        };
        if let Some(interest) = interest {
            let (_, gone) = port.piled_up(interest);
            for topic in gone.iter().filter(|topic| topic.kind == Kind::Reentrant) {
                mysql.give_up_wait(&topic.key);
            }
            pause = SHORTEST;
        }
        let watched = port.watched();
        seen.retain(|topic, _| watched.contains(topic));
        if watched.is_empty() {
            continue;
        }
        let keys: HashSet<Key> = watched.iter().map(|topic| topic.key.clone()).collect();
        let lines: HashSet<Key> =
            watched.iter().filter(|topic| topic.claim.is_some()).map(|topic| topic.key.clone()).collect();
        let known: HashMap<Vec<u8>, u64> = seen.iter().map(|(topic, version)| (name(&topic.key), *version)).collect();
        let desk = Arc::clone(&mysql.desk);
        let look = async move { desk.news(&keys, &lines, &known, Instant::now() + ANSWER_WITHIN).await };
        match mysql.work(ANSWER_WITHIN, look).await {
            Ok(News { versions, called }) => {
                let mut changed = false;
                for topic in watched {
                    let version = versions.get(&name(&topic.key)).copied().unwrap_or(0);
                    match seen.insert(topic.clone(), version) {
                        None => pusher.live(&topic),
                        Some(before) if before == version => {}
                        Some(_) => {
                            changed = true;
                            // The server wakes whoever waits for a row.
                            if topic.claim.is_none() && !mysql.desk.is_waited_for(&topic.key) {
                                pusher.wake(&topic);
                            }
                        }
                    }
                }
                for claim in &called {
                    pusher.call(claim);
                }
                pause = if changed { SHORTEST } else { (pause * 2).min(LONGEST) };
            }
            Err(error) => {
                report(move || tracing::debug!(%error, "what is waited for could not be looked at"));
                // Everyone looks by itself until we can again.
                if !seen.is_empty() {
                    seen.clear();
                    pusher.interrupted();
                }
                pause = LONGEST;
            }
        }
    }
}

/// Tells those whose locks were freed by force.
async fn tell_forced(mysql: &MySql, port: &Port, pusher: &Pusher) {
    let (desk, client) = (Arc::clone(&mysql.desk), port.client().to_owned());
    let look = async move { desk.notices(&client, Instant::now() + ANSWER_WITHIN).await };
    let told = match mysql.work(ANSWER_WITHIN, look).await {
        Ok(claims) if claims.is_empty() => return,
        Ok(claims) => {
            for claim in &claims {
                pusher.forced(claim);
            }
            let (desk, client) = (Arc::clone(&mysql.desk), port.client().to_owned());
            let tell = async move { desk.told(&client, &claims, Instant::now() + ANSWER_WITHIN).await };
            mysql.work(ANSWER_WITHIN, tell).await
        }
        Err(error) => Err(error),
    };
    if let Err(error) = told {
        report(move || tracing::debug!(%error, "notices could not be looked for"));
    }
}

impl Desk {
    /// What has become of these locks, some of which have lines, since these versions.
    async fn news(
        &self,
        keys: &HashSet<Key>,
        lines: &HashSet<Key>,
        known: &HashMap<Vec<u8>, u64>,
        until: Instant,
    ) -> Result<News, Failure> {
        let names: Vec<Vec<u8>> = keys.iter().map(name).collect();
        let versions = table::versions(&self.sides, &names, until).await?;
        let has_changed = |name: &Vec<u8>| known.get(name).is_some_and(|known| versions.get(name) != Some(known));
        let changed: Vec<Vec<u8>> = lines.iter().map(name).filter(has_changed).collect();
        let called = match &*changed {
            [] => Vec::new(),
            changed => table::admissible(&self.sides, changed, until).await?,
        };
        Ok(News { versions, called })
    }
}
