//! The thread as the owner of what it takes.

use crate::options::Ownership;
use crate::{Options, Owner};
use std::marker::PhantomData;
use std::sync::MutexGuard;
use std::thread;

/// What has this stays on its thread, and may be looked at from others.
pub(super) type OnItsThread = PhantomData<MutexGuard<'static, ()>>;

thread_local! {
    static OWNER: Owner = Owner::labelled(thread::current().name().unwrap_or_default());
}

/// The same options, for this thread unless they name somebody, or it runs in somebody's scope: that of a task which may block,
/// for instance. What the thread itself holds, by what is told here, it goes into again from inside of any scope, or it would wait
/// for itself.
pub(crate) fn for_this_thread(options: Options, holds: impl FnOnce(&Owner) -> bool) -> Options {
    match options.owner {
        Ownership::Given(_) => options,
        // A thread that ends, and has no owner any more, holds nothing that it could go into again.
        Ownership::Fresh | Ownership::Ambient => {
            let own = OWNER.try_with(Owner::clone).unwrap_or_default();
            let scope = Owner::current().filter(|_| !holds(&own));
            options.owner(scope.unwrap_or(own))
        }
    }
}
