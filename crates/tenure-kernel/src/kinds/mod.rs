//! One file per kind of lock.

pub mod reentrant;
