//! Results as people read them.

use super::view::{Holder, Seen};
use crate::duration::spoken;
use clap::builder::styling::Style;
use std::time::Duration;

/// Text that cannot play tricks on a terminal: keys and labels are other people's.
pub(crate) fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() {
            plain.extend(c.escape_default());
        } else {
            plain.push(c);
        }
    }
    plain
}

/// A holder in a few words: `backup.sh on web1 pid 4242`.
pub(crate) fn holder(holder: &Holder) -> String {
    let place = match (&holder.host, holder.pid) {
        (Some(host), Some(pid)) => format!("{host} pid {pid}"),
        // No card: another library's, or a client that is gone.
        _ => holder.owner.clone(),
    };
    match &holder.label {
        Some(label) => plain(&format!("{label} on {place}")),
        None => plain(&place),
    }
}

/// For whom somebody waits, in one line.
pub(crate) fn waiting(seen: &Seen) -> String {
    let key = plain(&seen.key);
    let Some(first) = seen.holders.first() else { return format!("waiting for `{key}`") };
    let held = first.held_ms.map_or(String::new(), |held| format!(" for {}", millis(held)));
    format!("waiting for `{key}`, held by {}{held}", holder(first))
}

fn millis(millis: u64) -> String {
    spoken(Duration::from_millis(millis))
}

fn or_dash(value: Option<String>) -> String {
    value.unwrap_or_else(|| "-".to_owned())
}

impl Seen {
    /// All there is to know of one lock, over a few lines.
    pub(crate) fn paragraph(&self) -> String {
        let key = plain(&self.key);
        if self.holders.is_empty() {
            return format!("{key} is free");
        }
        let mut lines = vec![format!("{key} is held, {}", or_nothing(self.kind.as_deref()))];
        if let Some(token) = self.token {
            lines.push(format!("  token    {token}"));
        }
        if let Some(waiters) = self.waiters {
            lines.push(format!("  waiting  {waiters}"));
        }
        for one in &self.holders {
            let times = if one.count == 1 { String::new() } else { format!(", in {} times", one.count) };
            lines.push(format!("  holder   {}{times}", holder(one)));
            let held = one.held_ms.map_or(String::new(), |held| format!("held for {}, ", millis(held)));
            let left = one.ttl_ms.map_or("no end was set".to_owned(), |left| format!("lease ends in {}", millis(left)));
            lines.push(format!("           {held}{left}"));
        }
        lines.join("\n")
    }
}

fn or_nothing(kind: Option<&str>) -> String {
    kind.unwrap_or("unknown kind").to_owned()
}

/// Many locks, a line each.
pub(crate) fn table(all: &[Seen]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let heading = ["KEY", "KIND", "HOLDER", "HELD", "LEASE", "WAITING"].map(str::to_owned);
    let rows = all.iter().flat_map(|seen| {
        seen.holders.iter().map(|one| {
            [
                plain(&seen.key),
                or_dash(seen.kind.clone()),
                holder(one),
                or_dash(one.held_ms.map(millis)),
                or_dash(one.ttl_ms.map(millis)),
                or_dash(seen.waiters.map(|waiters| waiters.to_string())),
            ]
        })
    });
    let rows: Vec<_> = std::iter::once(heading).chain(rows).collect();
    let widths: Vec<_> =
        (0..6).map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)).collect();
    let bold = Style::new().bold();
    let lines = rows.iter().enumerate().map(|(number, row)| {
        let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}"));
        let line = cells.collect::<Vec<_>>().join("  ").trim_end().to_owned();
        if number == 0 { format!("{bold}{line}{bold:#}") } else { line }
    });
    lines.collect::<Vec<_>>().join("\n")
}
