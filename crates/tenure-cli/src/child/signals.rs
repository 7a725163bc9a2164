//! The signals that we get in our command's stead.

use super::procfs::is_ignored;
use rustix::process::Signal;
use std::future::poll_fn;
use std::io;
use std::task::Poll;
use tokio::signal::unix::{self, SignalKind};

/// What ends a program unless it says otherwise.
const DEADLY: &[Signal] = &[Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM];
/// What else matters while a command runs.
const OTHERS: &[Signal] = &[
    Signal::USR1,
    Signal::USR2,
    Signal::ALARM,
    Signal::WINCH,
    Signal::TSTP,
    Signal::TTIN,
    Signal::TTOU,
    Signal::CONT,
    Signal::CHILD,
];

/// The signals listened for.
#[derive(Debug, Default)]
pub(crate) struct Signals(Vec<(Signal, unix::Signal)>);

impl Signals {
    /// Listens for what would end us.
    pub(crate) fn deadly() -> io::Result<Self> {
        let mut signals = Self::default();
        signals.listen(DEADLY)?;
        Ok(signals)
    }

    /// Listens for all that concerns a command that runs.
    pub(crate) fn all(&mut self) -> io::Result<()> {
        self.listen(OTHERS)
    }

    fn listen(&mut self, signals: &[Signal]) -> io::Result<()> {
        for &signal in signals {
            // What is ignored now is ignored by the command as well, as it would be without us.
            if signal == Signal::CHILD || !is_ignored(signal.as_raw()) {
                self.0.push((signal, unix::signal(SignalKind::from_raw(signal.as_raw()))?));
            }
        }
        Ok(())
    }

    /// The next signal.
    ///
    /// # Cancel safety
    ///
    /// No signal is lost when the future is dropped.
    pub(crate) async fn next(&mut self) -> Signal {
        poll_fn(|context| {
            for (signal, stream) in &mut self.0 {
                if let Poll::Ready(Some(())) = stream.poll_recv(context) {
                    return Poll::Ready(*signal);
                }
            }
            Poll::Pending
        })
        .await
    }
}
