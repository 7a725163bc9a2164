//! `#[locked]` on memory, SQLite and Redis.

#[path = "../../examples/reentrant/service.rs"]
mod reentrant;
#[path = "../../examples/stock/service.rs"]
mod stock;

mod allocations;
mod empty;
mod refusals;
mod services;
mod stores;
