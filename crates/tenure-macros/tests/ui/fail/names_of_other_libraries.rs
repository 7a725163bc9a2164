//! Names that other libraries have for it.

#![allow(unused)]

#[tenure::locked(
    keyExpression = "#productId",
    expire = 6000,
    retryTimes = 100,
    retry_interval = 60,
    interval_strategy = EXPONENTIAL,
    lock_type = FAIR,
    wait_time = 5,
    lock_at_most_for = "5s",
    condition = true,
    fail_strategy = Fail,
)]
async fn f() -> Result<(), tenure::Error> {
    Ok(())
}

fn main() {}
