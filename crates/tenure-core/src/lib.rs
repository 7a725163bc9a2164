//! The client side of Tenure: acquiring, waiting, renewing, losing and releasing locks, written once for every store.
//!
//! Users depend on the `tenure` crate; backends depend on this one and implement [`Backend`].

mod acquire;
mod agenda;
mod alive;
mod answers;
mod backend;
mod backlog;
mod bell;
pub mod blocking;
mod busy;
mod card;
mod client;
mod clock;
mod close;
mod current;
mod entry;
mod error;
mod event;
pub mod fence;
mod guard;
mod held_back;
mod hold;
mod inner;
mod janitor;
mod keeper;
mod label;
mod latch;
mod length;
mod lock;
#[doc(hidden)]
pub mod locked;
mod memory;
mod multi_lock;
mod options;
mod origin;
mod owner;
mod permits;
mod place;
mod policy;
mod process;
mod queue;
pub mod records;
mod report;
mod retry;
mod rw_lock;
mod scope;
mod section;
mod semaphore;
mod shared;
mod signals;
mod sort;
mod supply;
mod unreadable;
mod voices;
mod wakeups;
mod watchdog;
#[cfg(feature = "serde")]
mod written;

pub use alive::Over;
pub use answers::{Answer, Answers};
pub use backend::{Applied, Backend, Batch, Step, Store, StoreError, StoreErrorKind};
pub use card::Card;
pub use client::{Builder, Client};
pub use clock::{Clock, ManualClock, Moment};
pub use current::Current;
pub use error::{Error, ErrorKind};
pub use event::{Alarm, AlarmReason, Event, Events, Loss, WaitEnd, What};
pub use guard::{Guard, Release};
pub use held_back::HeldBack;
pub use hold::Standing;
pub use label::{Guarantee, Label};
pub use latch::Latch;
pub use length::Length;
pub use lock::{Held, HeldBy, InLine, Lock};
pub use locked::unlocked_runs;
pub use memory::Memory;
pub use multi_lock::{MultiGuard, MultiLock};
pub use options::Options;
pub use owner::Owner;
pub use permits::{PermitId, Permits};
pub use place::Place;
pub use policy::Policy;
pub use process::set_client;
pub use report::{keep_apart, report};
pub use retry::{Pauses, Retry};
pub use rw_lock::RwLock;
pub use scope::current;
pub use semaphore::Semaphore;
pub use sort::Sort;
pub use tenure_kernel as kernel;
pub use tenure_kernel::{
    Busy, Claim, Holder, Key, Kind, Operation, Outcome, Pattern, Said, Sight, Stay, Token, UnknownKind, Vote, Waiting,
};
pub use unreadable::Unreadable;
pub use wakeups::{Interest, Port, Pusher, Topic};
