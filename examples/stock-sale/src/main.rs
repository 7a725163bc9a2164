//! A hundred buyers race for fifty items, and one lock sees to it that each item is sold once.
//!
//! ```text
//! cargo run -p stock-sale                               # a store in this process's memory
//! cargo run -p stock-sale -- --url redis://127.0.0.1    # a Redis server
//! cargo run -p stock-sale -- --without-lock             # what goes wrong without the lock
//! ```
//!
//! Exit code 0: the stock is exactly 0, no two sections overlapped, and every token was larger than the one before.
//! Exit code 1: one of these does not hold. Exit code 2: the sale could not be held.

mod sale;
mod shop;
mod verdict;

use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use sale::Sale;
use std::process::ExitCode;
use std::time::Duration;

/// A hundred buyers, fifty items, one lock.
#[derive(Parser)]
struct Args {
    /// The store that keeps the lock: memory:, redis://…, rediss://… or redis+unix://…
    #[arg(long, env = "TENURE_URL", hide_env_values = true, default_value = "memory:")]
    url: String,
    /// How many buyers come at once; at least as many as there are items
    #[arg(long, default_value_t = 100)]
    buyers: u32,
    /// How many items there are
    #[arg(long, default_value_t = 50)]
    items: u32,
    /// How long one purchase takes, in milliseconds
    #[arg(long, default_value_t = 20)]
    section_ms: u64,
    /// Sells without taking the lock, to show what it is for
    #[arg(long)]
    without_lock: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    match hold(&args).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Holds the sale and prints the verdict. True if all went as it should.
async fn hold(args: &Args) -> Result<bool, Box<dyn std::error::Error>> {
    if args.items == 0 || args.buyers < args.items {
        return Err(format!(
            "choose at least one item and at least as many buyers: items={} buyers={}",
            args.items, args.buyers
        )
        .into());
    }
    let client = tenure::connect(&args.url).await?;
    let lock = client.lock("stock:PROD_001")?;
    let store = client.label().name;
    let how = if args.without_lock { "no lock".to_owned() } else { format!("the lock `{}` on {store}", lock.key()) };
    println!("{} buyers, {} items, {how}", args.buyers, args.items);

    let sale = Sale {
        lock: (!args.without_lock).then_some(lock),
        buyers: args.buyers,
        items: args.items,
        section: Duration::from_millis(args.section_ms),
    };
    let bar = progress(args.buyers);
    let verdict = sale.hold(&bar).await?;
    bar.finish_and_clear();
    println!("{verdict}");
    client.close(Duration::from_secs(5)).await?;
    Ok(verdict.is_right())
}

/// A bar on a terminal, and nothing of it anywhere else.
fn progress(buyers: u32) -> ProgressBar {
    let bar = ProgressBar::new(buyers.into());
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} buyers served {elapsed}") {
        bar.set_style(style);
    }
    bar
}
