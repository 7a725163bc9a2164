//! What becomes of locks when a process forks, and when it ends, however it does.

mod ending;
mod forking;
mod recipe;
mod store;
mod thread_locals;

use libtest_mimic::{Arguments, Trial};
use store::{Name, Place};

fn main() {
    if ending::if_it_ends() || forking::if_it_forks() {
        return;
    }
    let mut trials = vec![Trial::test("the_recipe_is_the_one_in_the_documentation", recipe::is_in_the_documentation)];
    for name in Name::ALL {
        trials.push(Trial::test(format!("{name}::a_fork_holds_nothing"), move || forking::a_fork_holds_nothing(name)));
        for way in ending::Way::ALL {
            let trial = move || ending::leaves_nothing_held(&Place::start(name), way);
            trials.push(Trial::test(format!("{name}::{way}_leaves_nothing_held"), trial));
        }
    }
    libtest_mimic::run(&Arguments { test_threads: Some(4), ..Arguments::from_args() }, trials).exit();
}
