//! Lengths that each make sense, but not beside each other.

use tenure::Error;

#[tenure::locked(key = "a", retry = exponential("3s"))]
async fn beyond_the_usual_max() -> Result<(), Error> {
    Ok(())
}

#[tenure::locked(key = "a", retry = exponential("3s", max = "1s"))]
async fn beyond_the_max() -> Result<(), Error> {
    Ok(())
}

#[tenure::locked(key = "a", wait = "1s", retry = linear("1s"))]
async fn beyond_the_wait() -> Result<(), Error> {
    Ok(())
}

#[tenure::locked(key = "a", lease = "5s", renew = false, warn_after = "10s")]
async fn beyond_the_lease() -> Result<(), Error> {
    Ok(())
}

#[tenure::locked(key = "a", max_hold = "5s", warn_after = "10s")]
async fn beyond_the_longest() -> Result<(), Error> {
    Ok(())
}

fn main() {}
