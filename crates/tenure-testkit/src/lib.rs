//! Test kit for Tenure: real servers, a network that breaks on command, and a checker of what
//! locks promised.
//!
//! - [`servers`]: real server processes that a test may pause, kill and restart.
//! - [`proxy`]: a TCP proxy that cuts, hangs, delays, loses replies and delivers requests late.
//! - [`taker`]: a process that takes locks, to be killed or to compete with.
//! - [`redisson`]: Redisson in a JVM of its own, to share locks with.
//! - [`history`]: records who held which lock when, and finds overlaps and tokens out of order.
//! - [`figures`]: speeds, which only a machine with nothing else to do can be held to.
//! - [`costs`]: what calls cost the server, by its own account, with few and with many about.
//! - [`conformance`]: what every backend has to get right, run by one line.
//! - [`sweep`]: drops acquire, wait, re-enter and release after every number of polls.
//! - [`oracle`]: replays random operations on a backend and on the specification.
//!
//! ```
//! use tenure_testkit::{FaultProxy, RedisServer};
//!
//! let server = RedisServer::start();
//! let proxy = FaultProxy::start(server.addr());
//! let client = redis::Client::open(proxy.url()).unwrap();
//! let mut connection = client.get_connection().unwrap();
//!
//! let dropped = proxy.drop_reply_after("INCR");
//! let lost = redis::cmd("INCR").arg("n").exec(&mut connection);
//! dropped.wait();
//! assert!(lost.is_err(), "the client cannot know");
//! assert_eq!(server.keys("*"), ["n"], "and yet it happened");
//! ```

pub mod conformance;
pub mod costs;
pub mod figures;
pub mod history;
pub mod oracle;
pub mod proxy;
pub mod redisson;
pub mod servers;
pub mod sweep;
pub mod taker;

pub use self::history::{History, Report};
pub use self::proxy::FaultProxy;
pub use self::servers::{MariaDbServer, RedisServer};
pub use self::taker::Taker;
