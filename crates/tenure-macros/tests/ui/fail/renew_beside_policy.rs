//! Whether a policy's lease is renewed is the policy's.

#![allow(unused)]

#[tenure::locked(key = "a", policy = tenure::Policy::new(), renew = true)]
async fn f() -> Result<(), tenure::Error> {
    Ok(())
}

fn main() {}
