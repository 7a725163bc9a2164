//! A real server, and what becomes of locks when it hangs, dies, forgets or refuses. In one program, because to link one
//! takes longer than to run it.

#[path = "../support/mod.rs"]
mod support;

mod absent;
mod bounds;
mod bounds_cases;
mod cancel;
mod counts;
mod driver;
mod fault_amnesia;
mod fault_deaf;
mod fault_failover;
mod fault_freeze;
mod fault_noise;
mod fault_partition;
mod fault_refusals;
mod fault_runtimes;
mod fault_storm;
mod fault_wakeups;
mod ghosts;
mod leases;
mod multi;
mod polling;
mod redlock;
mod redlock_cancel;
mod redlock_faults;
mod redlock_leftovers;
mod rights;
