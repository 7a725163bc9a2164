//! Closing a client: those who hold are told, and what they held is released.

use crate::hold::{Hold, Leaving};
use crate::shared::{Shared, UnderWay};
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
    /// A close that was cancelled has stopped new locks from being taken. If it has told holders that their locks are lost, these
    /// are released in the background. It can be called again, also while another call goes on.
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
            let told = Told::all(shared);
            let deserted = |_: &Shared| told.holds.iter().all(|(hold, _)| hold.is_deserted());
            let _ = timeout_at(until(0.75), settled(shared, deserted)).await;
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

/// Holds that are lost because their client closes, and are to be released when their holders have dropped what they were doing: at
/// the latest when this is dropped, as it is when the close is cancelled. Until then it counts as a release that is under way:
/// whoever else closes the client waits for it.
struct Told<'a> {
    shared: &'a Shared,
    holds: Vec<(Arc<Hold>, Leaving)>,
    _under_way: UnderWay<'a>,
}

impl<'a> Told<'a> {
    /// Tells every holder that its lock is lost.
    fn all(shared: &'a Shared) -> Self {
        let mut told = Self { shared, holds: Vec::new(), _under_way: shared.under_way() };
        for hold in shared.agenda.all() {
            shared.unwatch(&hold);
            if let Some(leaving) = hold.close() {
                shared.signals.tell(&hold);
                shared.say_lost(&hold, crate::Loss::Closed);
                told.holds.push((hold, leaving));
            }
        }
        told
    }
}

impl Drop for Told<'_> {
    fn drop(&mut self) {
        for (hold, leaving) in self.holds.drain(..) {
            self.shared.leave_later(&hold, leaving);
        }
    }
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
