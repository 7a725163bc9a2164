//! What the scripts' replies mean.

use crate::error::{no_lock, nonsense};
use redis::Value;
use std::time::Duration;
use tenure_core::kernel::{Grant, Time};
use tenure_core::{Claim, Holder, Outcome, StoreError, Token};

/// Reads the reply of `acquire.lua`.
pub(crate) fn acquired(value: &Value) -> Result<Outcome, StoreError> {
    match value {
        Value::Int(0) => Ok(Outcome::Refused),
        Value::Int(_) => Ok(Outcome::Granted(Grant { token: number(value)?, count: 1 })),
        Value::Array(parts) => match parts.as_slice() {
            [token, count] => Ok(Outcome::Granted(grant(token, count)?)),
            // Whoever held it was gone by the time the script looked, which cannot be within one script.
            _ => holder(value)?.map(Outcome::Busy).ok_or_else(|| nonsense(value)),
        },
        _ => Err(nonsense(value)),
    }
}

/// Reads the reply of `reenter.lua`.
pub(crate) fn reentered(value: &Value) -> Result<Outcome, StoreError> {
    match value {
        Value::Int(-1) => Ok(Outcome::Refused),
        Value::Int(0) => Ok(Outcome::NotHeld),
        Value::Array(parts) => match parts.as_slice() {
            [token, count] => Ok(Outcome::Granted(grant(token, count)?)),
            _ => Err(nonsense(value)),
        },
        _ => Err(nonsense(value)),
    }
}

fn grant(token: &Value, count: &Value) -> Result<Grant, StoreError> {
    Ok(Grant { token: number(token)?, count: u32::try_from(number(count)?).unwrap_or(u32::MAX) })
}

/// Reads the reply of `holder.lua` and `force.lua`.
pub(crate) fn holder(value: &Value) -> Result<Option<Holder>, StoreError> {
    let Value::Array(parts) = value else { return Err(nonsense(value)) };
    let [Value::Int(ttl), now, Value::Array(fields)] = parts.as_slice() else { return Err(nonsense(value)) };
    if fields.is_empty() {
        return Ok(None);
    }
    let now = Time::from_micros(number(now)?);
    let mut token: Option<Token> = None;
    let mut claim = None;
    for pair in fields.chunks_exact(2) {
        match text(&pair[0])? {
            "fence" => token = Some(number(&pair[1])?),
            "line" | "change" => drop(number(&pair[1])?),
            name if is_claim(name) => claim = Some((Claim::found(name), number(&pair[1])?)),
            _ => return Err(no_lock()),
        }
    }
    let Some((claim, count)) = claim else { return Err(no_lock()) };
    Ok(Some(Holder {
        claim,
        count: u32::try_from(count).unwrap_or(u32::MAX),
        token,
        remaining: u64::try_from(*ttl).ok().map(Duration::from_millis),
        held_for: token.map(|token| Holder::held_since(token, now)),
    }))
}

/// Reads the reply of `renew.lua` for one hold.
pub(crate) fn renewed(value: &Value) -> Result<Outcome, StoreError> {
    match value {
        Value::Array(gone) if gone.is_empty() => Ok(Outcome::Renewed),
        Value::Array(_) => Ok(Outcome::NotHeld),
        other => Err(nonsense(other)),
    }
}

/// Reads the reply of `release.lua`.
pub(crate) fn released(value: &Value) -> Result<Outcome, StoreError> {
    match value {
        Value::Int(0) => Ok(Outcome::NotHeld),
        Value::Int(1) => Ok(Outcome::Released),
        other => Err(nonsense(other)),
    }
}

/// Reads the reply of `leave.lua`.
pub(crate) fn left(value: &Value) -> Result<Outcome, StoreError> {
    match value {
        Value::Int(0) => Ok(Outcome::NotHeld),
        Value::Array(parts) => match parts.as_slice() {
            [_, count] => Ok(Outcome::StillHeld(u32::try_from(number(count)?).unwrap_or(u32::MAX))),
            _ => Err(nonsense(value)),
        },
        _ => Err(nonsense(value)),
    }
}

/// Reads the reply of `SCAN`: where to go on, and the names that were found, without those that are no text.
pub(crate) fn scanned(value: &Value) -> Result<(u64, Vec<&str>), StoreError> {
    let Value::Array(parts) = value else { return Err(nonsense(value)) };
    let [next, Value::Array(found)] = parts.as_slice() else { return Err(nonsense(value)) };
    Ok((number(next)?, found.iter().filter_map(|name| text(name).ok()).collect()))
}

/// Whether a hash's field is the claim of Tenure or Redisson: a client's uuid, a colon, and something.
fn is_claim(field: &str) -> bool {
    field.split_once(':').is_some_and(|(client, rest)| {
        client.len() == 36 && client.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-') && !rest.is_empty()
    })
}

fn text(value: &Value) -> Result<&str, StoreError> {
    match value {
        Value::BulkString(bytes) => std::str::from_utf8(bytes).map_err(|_| no_lock()),
        Value::SimpleString(text) => Ok(text),
        _ => Err(nonsense(value)),
    }
}

fn number(value: &Value) -> Result<u64, StoreError> {
    match value {
        Value::Int(number) => u64::try_from(*number).map_err(|_| nonsense(value)),
        _ => text(value)?.parse().map_err(|_| no_lock()),
    }
}
