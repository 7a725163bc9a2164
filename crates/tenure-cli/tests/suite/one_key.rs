//! One key is one lock, in whichever way it is taken: by the library, the attribute, a policy, or the command.

use crate::support::Store;
use std::time::Duration;
use tenure::{Client, Error, ErrorKind, Options, Policy};

crate::on_every_store!(the_ways_to_take_a_key_exclude_each_other);

const KEY: &str = "stock:42";
/// The command last: its lock is freed by the end of its lease.
const WAYS: [Way; 4] = [Way::Library, Way::Attribute, Way::Policy, Way::Command];

#[derive(Debug, Clone, Copy)]
enum Way {
    Library,
    Attribute,
    Policy,
    Command,
}

impl Way {
    /// Does the work under the lock, and says whether it was free.
    fn take(self, store: &Store, client: &Client, work: impl FnOnce()) -> Result<bool, Error> {
        let done = match self {
            Self::Library => match client.blocking().lock(KEY)?.try_lock()? {
                Some(_guard) => {
                    work();
                    Ok(())
                }
                None => return Ok(false),
            },
            Self::Attribute => sell(client, 42, work),
            Self::Policy => {
                let once = Policy::new().options(Options::new().wait(Duration::ZERO));
                client.blocking().run(&once, KEY, work)
            }
            Self::Command => {
                let _holder = store.hold(KEY);
                work();
                Ok(())
            }
        };
        match done {
            Err(error) if error.kind() == ErrorKind::Timeout => Ok(false),
            done => done.map(|()| true),
        }
    }

    fn is_shut_out(self, store: &Store, client: &Client) -> bool {
        match self {
            Self::Command => store.run(&["run", "--no-wait", KEY, "--", "true"]).code == 75,
            _ => !self.take(store, client, || ()).unwrap(),
        }
    }
}

#[tenure::locked(key = "stock:{id}", wait = "0s", client = client)]
fn sell(client: &Client, id: u32, work: impl FnOnce()) -> Result<(), Error> {
    work();
    Ok(())
}

fn the_ways_to_take_a_key_exclude_each_other(store: &Store) {
    let connect = || tenure::blocking::connect(&store.url()).unwrap().as_async().clone();
    let (client, other) = (connect(), connect());
    let mut let_in = Vec::new();
    for holder in WAYS {
        let others = || let_in.extend(WAYS.into_iter().filter(|way| !way.is_shut_out(store, &other)));
        assert!(holder.take(store, &client, others).unwrap(), "{holder:?}");
        assert!(let_in.is_empty(), "beside {holder:?} were let in: {let_in:?}");
    }
}
