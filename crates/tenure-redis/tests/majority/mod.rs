//! A majority of five servers under load: what the short and the long runs share.

// Each of them uses a part of this.
#![allow(dead_code)]

pub(crate) mod cancels;
pub(crate) mod hung;
pub(crate) mod phase;
pub(crate) mod race;
pub(crate) mod set;
pub(crate) mod turns;
