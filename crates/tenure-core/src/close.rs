//! Closing a client: those who hold are told, and what they held is released.

use crate::hold::{Hold, Leaving};
use crate::shared::Shared;
use crate::{Client, Error, ErrorKind};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

impl Client {
    /// Takes no new locks, and releases all that are held. Of `within`,
    ///
    /// 1. the first half is for holders to finish by themselves;
    /// 2. then the guards that are left are [lost](crate::Loss::Closed): work in [`Guard::run`](crate::Guard::run),
    ///    [`Lock::run`](crate::Lock::run) and `#[locked]` functions is dropped, [`lost`](crate::Guard::lost) resolves. A quarter
    ///    is for holders to drop what they were doing;
    /// 3. what is left of it is for telling the store that their locks are free.
    ///
    /// Each part ends as soon as there is nothing to wait for.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tenure_core::Error> {
    /// use std::time::Duration;
    /// use tenure_core::{Client, Loss, Memory, Standing};
    ///
    /// let client = Client::new(Memory::new())?;
    /// let guard = client.lock("report")?.lock().await?;
    /// client.close(Duration::from_millis(200)).await?;
    /// assert_eq!(guard.standing(), Standing::Lost(Loss::Closed));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Timeout`](ErrorKind::Timeout) if the store could not be told of every release: the leases end what is left.
    /// [`Unavailable`](ErrorKind::Unavailable) in the child of a fork, whose client it is not.
    ///
    /// # Cancel safety
    ///
    /// A close that was cancelled has stopped new locks from being taken. It may have told holders that their locks are lost;
    /// the leases end those.
    pub async fn close(&self, within: Duration) -> Result<(), Error> {
        let shared = &self.inner().shared;
        shared.check_origin()?;
        shared.close();
        let began = Instant::now();
        let until = |part: f64| began + within.mul_f64(part);
        if timeout_at(until(0.5), settled(shared, |shared| shared.agenda.is_empty() && shared.is_quiet()))
            .await
            .is_err()
        {
            let closed = tell_all(shared);
            let deserted = |_: &Shared| closed.iter().all(|(hold, _)| hold.is_deserted());
            let _ = timeout_at(until(0.75), settled(shared, deserted)).await;
            for (hold, leaving) in closed {
                shared.leave_later(&hold, leaving);
            }
        }
        timeout_at(until(1.0), settled(shared, Shared::is_quiet)).await.map_err(|_| {
            let chores = shared.chores_open();
            let message = "not every release was confirmed in time, the leases will end the rest: unfinished releases=";
            Error::new(ErrorKind::Timeout, format!("{message}{chores}"))
        })?;
        // What remains is for the client's threads to end. All is released by now.
        let ended = async { self.inner().keeper.lock().await.end().await };
        let _ = timeout_at(until(1.0), ended).await;
        Ok(())
    }
}

/// Tells every holder that its lock is lost. What the store is to be told of each.
fn tell_all(shared: &Shared) -> Vec<(Arc<Hold>, Leaving)> {
    let mut closed = Vec::new();
    for hold in shared.agenda.all() {
        shared.unwatch(&hold);
        if let Some(leaving) = hold.close() {
            shared.signals.tell(&hold);
            shared.say_lost(&hold, crate::Loss::Closed);
            closed.push((hold, leaving));
        }
    }
    closed
}

/// Until this is so. It is looked at whenever a hold, a chore or a release is gone.
async fn settled(shared: &Shared, wanted: impl Fn(&Shared) -> bool) {
    loop {
        let mut settling = pin!(shared.signals.settling.notified());
        // Registered before the look, so that a change between look and sleep is not missed.
        settling.as_mut().enable();
        if wanted(shared) {
            return;
        }
        settling.await;
    }
}
