//! A fallback has the same arguments, returns the same, and is async if the function is.

#![allow(unused)]

type Answer = Result<u32, tenure::Error>;

async fn fewer() -> Answer {
    Ok(0)
}

async fn others(id: String) -> Answer {
    Ok(0)
}

async fn returns_another(id: u32) -> u32 {
    0
}

fn is_not_async(id: u32) -> Answer {
    Ok(0)
}

#[tenure::locked(key = "a", fallback = fewer)]
async fn a(id: u32) -> Answer {
    Ok(id)
}

#[tenure::locked(key = "a", fallback = others)]
async fn b(id: u32) -> Answer {
    Ok(id)
}

#[tenure::locked(key = "a", fallback = returns_another)]
async fn c(id: u32) -> Answer {
    Ok(id)
}

#[tenure::locked(key = "a", fallback = is_not_async)]
async fn d(id: u32) -> Answer {
    Ok(id)
}

#[tenure::locked(key = "a", fallback = is_nowhere)]
async fn e(id: u32) -> Answer {
    Ok(id)
}

fn main() {}
