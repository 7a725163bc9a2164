//! Redisson itself, to share locks with: a JVM that a test commands, over the driver in `interop/java`.
//!
//! A command is sent when its method is called, and what the method returns is the answer that is still to come: a Java
//! thread that waits for a lock is `let waiting = lock.lock();`.

mod answer;
mod counts;
mod jvm;
mod line;
mod lock;
#[cfg(test)]
mod tests;

pub use self::answer::{Answer, Exception};
pub use self::counts::{JavaLatch, JavaPermits, JavaSemaphore};
pub use self::jvm::{Jvm, jvm};
pub use self::lock::{JavaLock, JavaThread, Redisson};
