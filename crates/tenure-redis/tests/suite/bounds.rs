//! What the server has to do for one call does not grow with what lies in the key: counted in commands and bytes, not in time.

use crate::bounds_cases::{CASES, Case, KEY, PRELUDE};
use crate::support::{acquire, ask, backend, claim, exists};
use std::collections::HashMap;
use std::time::Duration;
use tenure_core::{
    Applied, Backend, Batch, Claim, Key, Kind, Operation, Outcome, Pattern, Stay, Step, StoreError, StoreErrorKind,
};
use tenure_redis::Redis;
use tenure_testkit::RedisServer;

const WITHIN: Duration = Duration::from_secs(10);
/// Some is gone through at a time, and some is shown: so many commands more may come of it, and so many bytes.
const MORE_COMMANDS: u64 = 120;
const MORE_BYTES: u64 = 10_000;
/// So many entries of one collection at the most go with one script: what one command takes out of it is one command, however much
/// that is. A collection that is unlinked costs the same whatever lies in it.
const MOST_GONE: u64 = 1200;
const FEW: u64 = 200;
const MANY: u64 = 20_000;

/// What one call made the server do.
#[derive(Debug, Clone, Copy)]
struct Work {
    /// Scripts that ran: calls that go over much do so in several.
    scripts: u64,
    /// Commands for each of them.
    commands: u64,
    bytes: u64,
    micros: u64,
}

impl Work {
    fn of(server: &RedisServer) -> Self {
        // First, because what follows is sent as well.
        let sent: String = ask(server, &["INFO", "stats"]);
        let bytes = sent.lines().find_map(|line| line.strip_prefix("total_net_output_bytes:")).unwrap();
        let stats: String = ask(server, &["INFO", "commandstats"]);
        let calls = |line: &str| {
            let (name, rest) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
            let own = name.starts_with("config") || name == "info";
            if own { None } else { rest.split(',').next()?.parse::<u64>().ok() }
        };
        let all: u64 = stats.lines().filter_map(calls).sum();
        let scripts = server.command_calls("evalsha") + server.command_calls("eval");
        let micros = server.command_time("evalsha") + server.command_time("eval");
        Self {
            scripts,
            commands: all / scripts.max(1),
            bytes: bytes.trim().parse::<u64>().unwrap(),
            micros: u64::try_from(micros.as_micros()).unwrap(),
        }
    }
}

#[tokio::test]
async fn no_call_costs_the_server_more_the_more_lies_in_the_key() {
    let server = RedisServer::start();
    let backends = [backend(&server.url()), backend(&format!("{}?layout=redisson", server.url()))];
    let mut failed = Vec::new();
    for case in CASES {
        let backend = &backends[usize::from(case.is_redissons)];
        // The server learns the scripts first.
        run(&server, backend, case, 3, &mut Vec::new()).await;
        let few = run(&server, backend, case, FEW, &mut failed).await;
        let many = run(&server, backend, case, MANY, &mut failed).await;
        for ((what, few), (_, many)) in few.into_iter().zip(many) {
            println!(
                "{:40} {what:28} {:6} -> {:6} commands, {:7} -> {:7} bytes, {:6} -> {:6} µs in {} -> {} scripts",
                case.name,
                few.commands,
                many.commands,
                few.bytes,
                many.bytes,
                few.micros,
                many.micros,
                few.scripts,
                many.scripts
            );
            // Whoever is put out is told in the end, by as many scripts as it takes; and a list goes through all keys.
            let (force, keys) = (what == "force", what == "list beside many keys");
            let more = many.commands > few.commands + MORE_COMMANDS
                || (many.bytes > few.bytes + MORE_BYTES && !keys)
                || (many.scripts > few.scripts && !force);
            if more {
                failed.push(format!("{}, {what}: {few:?} of {FEW}, {many:?} of {MANY}", case.name));
            }
        }
    }
    assert!(failed.is_empty(), "{} calls cost more, or answer wrongly:\n{}", failed.len(), failed.join("\n"));
}

/// The work of each step of a case, with so many entries in the key.
async fn run(
    server: &RedisServer,
    backend: &Redis,
    case: &Case,
    entries: u64,
    failed: &mut Vec<String>,
) -> Vec<(&'static str, Work)> {
    server.command(&["FLUSHALL"]);
    let fill = format!("{PRELUDE}\n{}", case.fill);
    server.command(&["EVAL", &fill, "0", &entries.to_string()]);
    let key = Key::new(KEY).unwrap();
    let mut work = Vec::new();
    for step in case.steps {
        let before = sizes(server);
        server.reset_stats();
        let outcome = match step.operation() {
            Some(operation) => backend.apply_one(step.kind, &key, &operation, WITHIN).await,
            None => {
                let held = backend.list(&Pattern::new("*"), WITHIN).await.unwrap();
                Ok(Outcome::Seen(held.into_iter().next().map(|(_, sight)| sight)))
            }
        };
        let done = Work::of(server);
        let unlinked = ["unlink", "rename"].iter().any(|name| server.command_calls(name) > 0);
        let after = sizes(server);
        for (name, size) in before {
            let left = after.get(&name).copied().unwrap_or(0);
            // One that was unlinked may be made anew, and has little in it then.
            let gone = if left <= 10 && unlinked { 0 } else { size.saturating_sub(left) };
            // Stretches of one client's are few, as they are joined: this many are there in this test only.
            if gone > MOST_GONE * done.scripts.max(1) && !name.starts_with("tenure:cancelled:") {
                failed.push(format!("{}, {} with {entries}: {gone} of {size} went from {name}", case.name, step.what));
            }
        }
        work.push((step.what, done));
        let is_right = match &outcome {
            Ok(outcome) => (step.is_right)(outcome, entries),
            Err(error) => !case.is_lock && error.kind == StoreErrorKind::Conflict,
        };
        if entries > 3 && !is_right {
            failed.push(format!("{}, {} with {entries}: {}", case.name, step.what, clipped(&outcome)));
        }
    }
    work
}

/// How much lies in each collection. A list of many keys has none that is large.
fn sizes(server: &RedisServer) -> HashMap<String, u64> {
    let size = |key: String| {
        let kind: String = ask(server, &["TYPE", &key]);
        let count = match kind.as_str() {
            "hash" => "HLEN",
            "zset" => "ZCARD",
            "list" => "LLEN",
            "set" => "SCARD",
            _ => return None,
        };
        let size = ask(server, &[count, &key]);
        Some((key, size))
    };
    let keys: u64 = ask(server, &["DBSIZE"]);
    if keys > 100 { HashMap::new() } else { server.keys("*").into_iter().filter_map(size).collect() }
}

fn clipped(outcome: &Result<Outcome, StoreError>) -> String {
    format!("{outcome:?}").chars().take(300).collect()
}

/// What others keep in a few fields, however large, is told from a lock without being read.
#[tokio::test]
async fn few_large_fields_are_not_read() {
    /// Lua that fills `k`.
    const LARGE: &[(&str, &str)] = &[
        ("large values", "for i = 1, 60 do call('HSET', 'k', 'field' .. i, large(2)) end"),
        ("large names", "for i = 1, 60 do call('HSET', 'k', i .. large(2), '1') end"),
        ("large values under claims", "for i = 1, 60 do call('HSET', 'k', claim(i), large(2)) end"),
        (
            "large values under claims and a fence",
            "call('HSET', 'k', 'fence', '7') for i = 1, 60 do call('HSET', 'k', claim(i), large(2)) end",
        ),
        (
            "large values of marks",
            "for _, mark in ipairs({'fence', 'line', 'nested', 'change', 'fair', 'fenced'}) do call('HSET', 'k', mark, large(30)) end",
        ),
        ("a large mode", "call('HSET', 'k', 'mode', large(150), claim(1), '1')"),
        (
            "a large mode among many fields",
            "call('HSET', 'k', 'mode', large(150)) for i = 1, 1000 do call('HSET', 'k', claim(i), '1') end",
        ),
        (
            "large values and a mode",
            "call('HSET', 'k', 'mode', 'read') for i = 1, 60 do call('HSET', 'k', claim(i), large(2)) end",
        ),
        (
            "large names and a mode",
            "call('HSET', 'k', 'mode', 'write') for i = 1, 60 do call('HSET', 'k', i .. large(2), '1') end",
        ),
        (
            "large values among our readers",
            "call('HSET', 'k', 'mode', 'tenure') for i = 1, 60 do call('HSET', 'k', claim(i), large(2)) end",
        ),
        (
            "many rather large values and a mode",
            "call('HSET', 'k', 'mode', 'read') for i = 1, 1000 do call('HSET', 'k', claim(i), string.sub(large(1), 1, 200000)) end",
        ),
    ];
    let server = RedisServer::start();
    let backends = [backend(&server.url()), backend(&format!("{}?layout=redisson", server.url()))];
    let key = Key::new(KEY).unwrap();
    let mut failed = Vec::new();
    for (what, fill) in LARGE {
        server.command(&["FLUSHALL"]);
        let large = "local megabyte = string.rep('x', 1000000)
                     local function large(megabytes) return string.rep(megabyte, megabytes) end";
        server.command(&["EVAL", &format!("{PRELUDE}\n{large}\n{fill}"), "0", "0"]);
        for backend in &backends {
            for (kind, operation) in operations() {
                let before = cpu(&server);
                let outcome = backend.apply_one(kind, &key, &operation, WITHIN).await;
                let took = cpu(&server).saturating_sub(before);
                let is_right = match &outcome {
                    Err(error) => error.kind == StoreErrorKind::Conflict,
                    // Whoever is in is not in there.
                    Ok(outcome) => *outcome == Outcome::NotHeld,
                };
                if !is_right || took > Duration::from_millis(60) {
                    failed.push(format!("{what}, {kind} {operation:.20?}: {took:?}, {}", clipped(&outcome)));
                }
            }
            let steps = [&key, &Key::new("other").unwrap()].map(|key| Step::new(Kind::Reentrant, key, acquire(1)));
            let before = cpu(&server);
            let applied = backend.apply(Batch::all_or_none(&steps), WITHIN).await;
            let listed = backend.list(&Pattern::new("*"), WITHIN).await;
            let took = cpu(&server).saturating_sub(before);
            let is_right = matches!(&applied, Ok(Applied::Stopped { at: 0, answer: Err(error) }) if error.kind == StoreErrorKind::Conflict);
            if !is_right || listed != Ok(Vec::new()) || took > Duration::from_millis(120) {
                let said: String = format!("{applied:?}, {listed:?}").chars().take(300).collect();
                failed.push(format!("{what}, together and listed: {took:?}, {said}"));
            }
        }
    }
    assert!(failed.is_empty(), "{} calls read what is large, or answer wrongly:\n{}", failed.len(), failed.join("\n"));
}

/// How long the server has computed so far.
fn cpu(server: &RedisServer) -> Duration {
    let info: String = ask(server, &["INFO", "cpu"]);
    let of = |name: &str| info.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().parse::<f64>().unwrap();
    Duration::from_secs_f64(of("used_cpu_user_main_thread:") + of("used_cpu_sys_main_thread:"))
}

/// What is asked of a lock of any kind, also by those who stand under others.
fn operations() -> Vec<(Kind, Operation)> {
    let mut all = Vec::new();
    for kind in [Kind::Reentrant, Kind::Fair, Kind::Fenced, Kind::Read, Kind::Write] {
        for claim in [claim(2), Claim::found(&format!("{}^", claim(3)))] {
            for stay in [Stay::No, Stay::InLine { place: WITHIN }] {
                let under = if claim.is_nested() { vec![self::claim(1)] } else { Vec::new() };
                all.push((kind, Operation::Acquire { claim: claim.clone(), under, lease: WITHIN, stay }));
            }
            let claim = || claim.clone();
            let (lease, keep) = (WITHIN, Duration::ZERO);
            all.extend([
                (kind, Operation::Reenter { claim: claim(), entry: 1, count: 2, change: 1, lease }),
                (kind, Operation::Renew { claim: claim(), lease }),
                (kind, Operation::Release { claim: claim(), left: 0, change: 1, lease, keep, cancel: None }),
            ]);
        }
        all.extend([(kind, Operation::Inspect), (kind, Operation::ForceRelease)]);
    }
    all.extend([(Kind::Simple, acquire(2)), (Kind::Simple, Operation::ForceRelease)]);
    all
}

/// However often each of many readers of Redisson's went in, one call looks for about a thousand of their leases.
#[tokio::test]
async fn the_leases_of_readers_who_died_are_looked_for_a_thousand_at_a_time() {
    const DEAD: usize = 50;
    let server = RedisServer::start();
    let backend = backend(&format!("{}?layout=redisson", server.url()));
    let fill = "call('HSET', 'k', 'mode', 'read') for i = 1, n do call('HSET', 'k', claim(i), '900') end keep('k')";
    server.command(&["EVAL", &format!("{PRELUDE}\n{fill}"), "0", &DEAD.to_string()]);
    let key = Key::new(KEY).unwrap();
    let mut looked = Vec::new();
    loop {
        server.reset_stats();
        let outcome = backend.apply_one(Kind::Write, &key, &acquire(1), WITHIN).await.unwrap();
        let stats: String = ask(&server, &["INFO", "stats"]);
        let misses = stats.lines().find_map(|line| line.strip_prefix("keyspace_misses:")).unwrap();
        looked.push(misses.trim().parse::<u64>().unwrap());
        assert!(looked.iter().all(|looked| *looked < 1200), "so many keys were looked for at each call: {looked:?}");
        if matches!(outcome, Outcome::Granted(_)) {
            break;
        }
        assert!(looked.len() <= DEAD, "nobody who died is gone: {looked:?} {outcome:?}");
    }
}

/// Of readers whose hash comes as a whole, some are told by one script.
#[tokio::test]
async fn force_tells_some_at_a_time_where_hashes_are_packed() {
    let server = RedisServer::start();
    server.command(&["CONFIG", "SET", "hash-max-listpack-entries", "100000"]);
    let backend = backend(&server.url());
    let fill = "for i = 1, n do reader(i, later) end keep('k', 'tenure:reading:{k}')";
    server.command(&["EVAL", &format!("{PRELUDE}\n{fill}"), "0", "5000"]);
    server.reset_stats();
    let forced =
        backend.apply_one(Kind::Read, &Key::new(KEY).unwrap(), &Operation::ForceRelease, WITHIN).await.unwrap();
    assert!(matches!(forced, Outcome::Forced(Some(_))), "{forced:?}");
    let (told, scripts) =
        (server.command_calls("publish"), server.command_calls("evalsha") + server.command_calls("eval"));
    assert!(told > 5000 && told / scripts < 1200, "{told} messages by {scripts} scripts");
    assert!(!exists(&server, "tenure:forced:{k}"), "all were told");
}
