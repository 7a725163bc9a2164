//! What is counted in the JVM, as Rust sees it.

use super::answer::{Answer, done, read, value};
use super::lock::{JavaLock, JavaThread, millis};
use std::time::Duration;

/// A semaphore as one Java thread uses it.
#[derive(Clone)]
pub struct JavaSemaphore(JavaLock);

/// Permits that have ids and end by themselves, as one Java thread uses them.
#[derive(Clone)]
pub struct JavaPermits(JavaLock);

/// A latch as one Java thread uses it.
#[derive(Clone)]
pub struct JavaLatch(JavaLock);

impl JavaThread {
    /// Redisson's semaphore (`getSemaphore`).
    pub fn semaphore(&self, key: &str) -> JavaSemaphore {
        JavaSemaphore(self.of_kind("semaphore", key))
    }

    /// Redisson's permits that end by themselves (`getPermitExpirableSemaphore`).
    pub fn permits(&self, key: &str) -> JavaPermits {
        JavaPermits(self.of_kind("permits", key))
    }

    /// Redisson's latch (`getCountDownLatch`).
    pub fn latch(&self, key: &str) -> JavaLatch {
        JavaLatch(self.of_kind("latch", key))
    }
}

impl JavaSemaphore {
    /// Waits for so many.
    pub fn acquire(&self, permits: u32) -> impl Future<Output = Answer<()>> + Send + use<> {
        self.0.tell("acquire", &[&permits.to_string()], done)
    }

    /// Waits for so many, for so long; whether it got them.
    pub fn try_acquire(&self, permits: u32, wait: Duration) -> impl Future<Output = Answer<bool>> + Send + use<> {
        self.0.tell("tryAcquire", &[&permits.to_string(), &millis(wait)], value)
    }

    /// Gives so many back.
    pub fn release(&self, permits: u32) -> impl Future<Output = Answer<()>> + Send + use<> {
        self.0.tell("release", &[&permits.to_string()], done)
    }

    /// So many more, or fewer.
    pub fn add_permits(&self, permits: i32) -> impl Future<Output = Answer<()>> + Send + use<> {
        self.0.tell("addPermits", &[&permits.to_string()], done)
    }

    /// Takes all that are to be had away; how many those were.
    pub fn drain_permits(&self) -> impl Future<Output = Answer<i32>> + Send + use<> {
        self.0.tell("drainPermits", &[], value)
    }

    /// How many are to be had.
    pub fn available_permits(&self) -> impl Future<Output = Answer<i32>> + Send + use<> {
        self.0.tell("availablePermits", &[], value)
    }

    /// Lets there be so many, unless there is a semaphore; whether there was none.
    pub fn try_set_permits(&self, permits: u32) -> impl Future<Output = Answer<bool>> + Send + use<> {
        self.0.tell("trySetPermits", &[&permits.to_string()], value)
    }
}

impl JavaPermits {
    /// Waits for one, for so long a lease; its id.
    pub fn acquire(&self, lease: Duration) -> impl Future<Output = Answer<String>> + Send + use<> {
        self.0.tell("acquire", &[&millis(lease)], value)
    }

    /// Waits for one, for so long; its id if it got one.
    pub fn try_acquire(
        &self,
        wait: Duration,
        lease: Duration,
    ) -> impl Future<Output = Answer<Option<String>>> + Send + use<> {
        self.0.tell("tryAcquire", &[&millis(wait), &millis(lease)], |text| {
            read(text, |id| Some((id != "-").then(|| id.to_owned())))
        })
    }

    /// Gives one back; whether it was taken.
    pub fn try_release(&self, id: &str) -> impl Future<Output = Answer<bool>> + Send + use<> {
        self.0.tell("tryRelease", &[id], value)
    }

    /// Has one end so long from now; whether it was taken.
    pub fn update_lease_time(&self, id: &str, lease: Duration) -> impl Future<Output = Answer<bool>> + Send + use<> {
        self.0.tell("updateLeaseTime", &[id, &millis(lease)], value)
    }

    /// For how many milliseconds one is still taken.
    pub fn lease_time(&self, id: &str) -> impl Future<Output = Answer<i64>> + Send + use<> {
        self.0.tell("getLeaseTime", &[id], value)
    }

    /// How many are to be had.
    pub fn available_permits(&self) -> impl Future<Output = Answer<i32>> + Send + use<> {
        self.0.tell("availablePermits", &[], value)
    }

    /// Lets there be so many, unless that was said before; whether it was not.
    pub fn try_set_permits(&self, permits: u32) -> impl Future<Output = Answer<bool>> + Send + use<> {
        self.0.tell("trySetPermits", &[&permits.to_string()], value)
    }
}

impl JavaLatch {
    /// Shuts it, to be counted down so often, unless it is shut; whether it was open.
    pub fn try_set_count(&self, count: u32) -> impl Future<Output = Answer<bool>> + Send + use<> {
        self.0.tell("trySetCount", &[&count.to_string()], value)
    }

    /// Counts down.
    pub fn count_down(&self) -> impl Future<Output = Answer<()>> + Send + use<> {
        self.0.tell("countDown", &[], done)
    }

    /// How often it is still to be counted down.
    pub fn count(&self) -> impl Future<Output = Answer<i64>> + Send + use<> {
        self.0.tell("getCount", &[], value)
    }

    /// Waits for it to open, for so long; whether it did.
    pub fn wait(&self, wait: Duration) -> impl Future<Output = Answer<bool>> + Send + use<> {
        self.0.tell("await", &[&millis(wait)], value)
    }

    /// Away with it; whether it was there.
    pub fn delete(&self) -> impl Future<Output = Answer<bool>> + Send + use<> {
        self.0.tell("delete", &[], value)
    }
}
