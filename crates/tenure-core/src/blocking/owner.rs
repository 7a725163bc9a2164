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

/// The same options, for this thread unless they name somebody.
pub(crate) fn for_this_thread(options: Options) -> Options {
    match options.owner {
        Ownership::Given(_) => options,
        // A thread that ends, and has no owner any more, holds nothing that it could go into again.
        Ownership::Fresh | Ownership::Ambient => options.owner(OWNER.try_with(Owner::clone).unwrap_or_default()),
    }
}
