//! `tenure demo`: a hundred buyers race for fifty items, and one lock sees to it that each item is sold once.

mod progress;
mod sale;
mod shop;
mod verdict;

use crate::cli::{Common, Demo};
use crate::exit::{Failure, Reason};
use crate::output::Talk;
use crate::store;
use progress::Progress;
use sale::Sale;
use std::process::ExitCode;
use std::time::Duration;
use tenure::Client;

/// What all buyers want.
const KEY: &str = "stock:PROD_001";

/// Holds the sale and prints the verdict.
pub(crate) async fn run(common: &Common, talk: Talk, args: &Demo) -> Result<ExitCode, Failure> {
    if args.items == 0 || args.buyers < args.items {
        return Err(Failure::invalid(format!(
            "choose at least one item and at least as many buyers: items={} buyers={}",
            args.items, args.buyers
        )));
    }
    let builder = Client::builder().label("demo");
    let client = match common.url() {
        // A show leaves nothing behind, unless it is asked to use a real store.
        None => builder.connect(tenure::Memory::new()).await?,
        Some(_) => store::connect(common, talk, builder).await?,
    };
    let lock = client.lock(KEY)?;
    let how =
        if args.without_lock { "no lock".to_owned() } else { format!("the lock `{KEY}` on {}", client.label().name) };
    talk.say(&format!("{} buyers, {} items, {how}", args.buyers, args.items));

    let sale = Sale {
        lock: (!args.without_lock).then_some(lock),
        buyers: args.buyers,
        items: args.items,
        section: args.section,
    };
    let verdict = sale.hold(Progress::new(talk, args.buyers)).await?;
    client.close(Duration::from_secs(5)).await?;
    talk.show(&verdict, ToString::to_string)?;
    Ok(if verdict.is_right() { ExitCode::SUCCESS } else { Reason::Nothing.code().into() })
}
