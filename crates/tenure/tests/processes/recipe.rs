//! The recipe for a service that is told to end, as the documentation has it.

use libtest_mimic::Failed;

// recipe begins
use std::error::Error;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

/// Works until the work is done or the process is told to end, which drops the work. Then every lock is released.
pub(crate) async fn serve(client: tenure::Client, work: impl Future<Output = ()>) -> Result<(), Box<dyn Error>> {
    let mut told = signal(SignalKind::terminate())?;
    tokio::select! {
        () = work => {}
        _ = told.recv() => {}
    }
    // Of these five seconds, spawned tasks that hold locks have half to finish. Then what they run under locks
    // is dropped, `lost` resolves, and their locks are released.
    client.close(Duration::from_secs(5)).await?;
    Ok(())
}
// recipe ends

pub(crate) fn is_in_the_documentation() -> Result<(), Failed> {
    let recipe = include_str!("recipe.rs")
        .split("// recipe begins\n")
        .nth(1)
        .and_then(|text| text.split("// recipe ends").next());
    let recipe = recipe.ok_or("the recipe has a beginning and an end")?.replace("pub(crate) ", "");
    let page = include_str!("../../../../docs/shutting-down.md");
    if page.contains(recipe.trim()) { Ok(()) } else { Err("docs/shutting-down.md has another recipe".into()) }
}
