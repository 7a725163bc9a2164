//! An account that loses money to a late writer, and one that does not: `cargo run -p tenure --example fencing`.

use std::time::Duration;
use tenure::fence::{FenceGate, Refused};
use tenure::{Client, Error, ManualClock, Memory, Options};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    println!("An account holds 100. One service pays 70 from it, another 50; both take the lock first.\n");
    for guarded in [false, true] {
        println!("{}", if guarded { "With the gate:" } else { "With the lock alone:" });
        let balance = pay_twice(guarded).await?;
        println!("  the account says {balance}\n");
        assert_eq!(balance, if guarded { 50 } else { 30 });
    }
    Ok(())
}

/// What the account says when both have been there.
async fn pay_twice(guarded: bool) -> Result<i64, Error> {
    // A clock that is moved by hand: a pause of half a minute takes no time here.
    let clock = ManualClock::new();
    let store = Memory::with_clock(clock.clone());
    let (one, other) = (Client::new(store.clone())?, Client::new(store)?);
    let mut account = Account { balance: 100, gate: guarded.then(FenceGate::new) };

    let first = one.lock("account")?.lock_with(Options::new().no_renew()).await?;
    let after_paying_70 = account.read(first.token())? - 70;
    first.check()?;
    println!("  the first holds the lock, has decided on {after_paying_70}, and is paused for longer than its lease");
    clock.advance(Duration::from_secs(31));

    let second = other.lock("account")?.lock().await?;
    let after_paying_50 = account.read(second.token())? - 50;
    account.write(after_paying_50, second.token())?;
    println!("  the second has got the lock and has written {after_paying_50}");
    second.release().await?;

    match account.write(after_paying_70, first.token()) {
        Ok(()) => println!("  the first goes on and writes {after_paying_70}: the 50 were paid and are forgotten"),
        Err(_late) => println!("  the first goes on and is refused: a later holder has been here"),
    }
    Ok(account.balance)
}

/// What the lock protects.
struct Account {
    balance: i64,
    gate: Option<FenceGate>,
}

impl Account {
    /// Leaves the token first: from then on nobody older changes what was read.
    fn read(&self, token: u64) -> Result<i64, Refused> {
        self.gate.as_ref().map_or(Ok(()), |gate| gate.pass("account", token))?;
        Ok(self.balance)
    }

    fn write(&mut self, balance: i64, token: u64) -> Result<(), Refused> {
        let mut write = || self.balance = balance;
        match &self.gate {
            Some(gate) => gate.guard("account", token, write),
            None => {
                write();
                Ok(())
            }
        }
    }
}
