//! Names that are not arguments, and what was meant by them.

use proc_macro2::Ident;
use syn::Error;

/// Every argument, as it is listed to those who wrote another.
pub(crate) const ARGUMENTS: [&str; 17] = [
    "key",
    "prefix",
    "kind",
    "lease",
    "renew",
    "wait",
    "retry",
    "max_hold",
    "at_least",
    "warn_after",
    "warn_waiting_after",
    "client",
    "enabled",
    "policy",
    "fallback",
    "on_busy",
    "on_lost",
];

/// What other libraries call it, and what to write here.
const ELSEWHERE: [(&[&str], &str); 13] = [
    (&["key_expression", "key_expr", "keys", "name", "value"], "key = \"stock:{product_id}\""),
    (&["expire", "expire_time", "expires", "expiry", "ttl", "lease_time", "time_to_live"], "lease = \"5s\""),
    (&["lock_at_most_for", "at_most"], "lease = \"5s\", renew = false"),
    (&["lock_at_least_for", "auto_release"], "at_least = \"5s\""),
    (&["wait_time", "acquire_timeout", "try_lock_timeout", "timeout"], "wait = \"5s\""),
    (&["retry_times", "retries", "times", "tries", "max_retries"], "retry = linear(\"100ms\", tries = 10)"),
    (&["retry_interval", "interval", "sleep", "delay"], "retry = fixed(\"100ms\")"),
    (&["interval_strategy", "strategy", "backoff"], "retry = exponential(\"60ms\", max = \"2s\")"),
    (&["lock_type", "type", "mode"], "kind = fair"),
    (&["permits"], "kind = semaphore(3)"),
    (&["condition", "switch"], "enabled = expression"),
    (&["fail_strategy", "lock_timeout_strategy", "custom_lock_timeout_strategy", "or_else"], "fallback = path::to::fn"),
    (&["watchdog", "no_renew", "auto_renew"], "renew = false"),
];

/// The error for a name that is no argument.
pub(crate) fn unknown(name: &Ident) -> Error {
    let written = name.to_string();
    let snake = snake_case(&written);
    let elsewhere = ELSEWHERE.iter().find(|(names, _)| names.contains(&snake.as_str()));
    let message = if snake == "renew_every" {
        "a lease is renewed every third of it, another interval is a policy's".to_owned()
            + ": write `policy = …` for one whose options say `renew_every`"
    } else if let Some((_, here)) = elsewhere {
        format!("no such argument, write `{here}`: `{written}`")
    } else if let Some(near) = nearest(&snake, &ARGUMENTS) {
        format!("no such argument, did you mean `{near}`: `{written}`")
    } else {
        format!("no such argument, choose from {}: `{written}`", ARGUMENTS.join(", "))
    };
    Error::new(name.span(), message)
}

/// The name that was meant, if one is near enough.
pub(crate) fn nearest<'a>(written: &str, names: &[&'a str]) -> Option<&'a str> {
    let distances = names.iter().map(|name| (distance(written, name), *name));
    // A third of the letters may be wrong.
    distances.filter(|(distance, name)| *distance <= name.len().div_ceil(3)).min().map(|(_, name)| name)
}

/// How many letters must be put in, left out or changed to make one of the other.
fn distance(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (line, letter) in one.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], line + 1);
        for (column, against) in other.bytes().enumerate() {
            let changed = diagonal + usize::from(letter != against);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}

/// `keyExpression` as we would write it.
fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::*;
    use proc_macro2::Span;

    #[test]
    fn what_was_meant_is_said() {
        for (written, expected) in [
            ("leese", "did you mean `lease`"),
            ("prefx", "did you mean `prefix`"),
            ("on_loss", "did you mean `on_lost`"),
            ("maxHold", "did you mean `max_hold`"),
            ("expire", "write `lease = \"5s\"`"),
            ("keyExpression", "write `key = \"stock:{product_id}\"`"),
            ("retryTimes", "tries = 10"),
            ("renew_every", "policy = …"),
            ("colour", "choose from key, prefix"),
        ] {
            let error = unknown(&Ident::new(written, Span::call_site())).to_string();
            assert!(error.contains(expected), "{written}: {error}");
        }
    }

    #[test]
    fn no_argument_is_taken_for_another() {
        for name in ARGUMENTS {
            assert_eq!(nearest(name, &ARGUMENTS), Some(name));
            assert!(ELSEWHERE.iter().all(|(names, _)| !names.contains(&name)), "{name}");
        }
    }
}
