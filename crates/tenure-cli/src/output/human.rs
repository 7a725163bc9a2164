//! Results as people read them.

use super::view::{Holder, Home, Seen, Voter};
use crate::duration::spoken;
use clap::builder::styling::Style;
use std::time::{Duration, SystemTime};

/// How many characters of a cell are shown in a table.
const WIDEST: usize = 200;

/// Text that cannot play tricks on a terminal: keys and labels are other people's.
pub(crate) fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() || is_direction(c) {
            plain.extend(c.escape_default());
        } else {
            plain.push(c);
        }
    }
    plain
}

/// Whether a character changes the direction in which others are shown.
fn is_direction(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A holder in a few words: `backup.sh on web1 pid 4242`, or until when one that is done keeps the lock taken.
pub(crate) fn holder(holder: &Holder) -> String {
    let who = who(&holder.home, &holder.owner);
    let ends = holder
        .ttl_ms
        .filter(|_| holder.kept)
        .and_then(|left| SystemTime::now().checked_add(Duration::from_millis(left)));
    ends.map_or_else(|| who.clone(), |ends| format!("{who}, kept until {}", humantime::format_rfc3339_seconds(ends)))
}

fn who(home: &Home, owner: &str) -> String {
    let place = match (&home.host, home.pid) {
        (Some(host), Some(pid)) => format!("{host} pid {pid}"),
        (Some(host), None) => host.clone(),
        // No card: another library's, or a client that is gone.
        _ => owner.to_owned(),
    };
    match &home.label {
        Some(label) => plain(&format!("{label} on {place}")),
        None => plain(&place),
    }
}

/// For whom somebody waits, and where in line, in one line.
pub(crate) fn waiting(seen: &Seen, position: Option<u32>) -> String {
    let key = plain(&seen.key);
    let place = position.map_or(String::new(), |position| format!(", place {position} in line"));
    let Some(first) = seen.holders.first() else { return format!("waiting for `{key}`{place}") };
    let held = first.held_ms.map_or(String::new(), |held| format!(" for {}", millis(held)));
    let more = and_more(seen.more.saturating_add(u32::try_from(seen.holders.len() - 1).unwrap_or(u32::MAX)));
    format!("waiting for `{key}`, held by {}{held}{more}{place}", holder(first))
}

/// Those who are left out, if any are: ` and 3 more`.
pub(crate) fn and_more(more: u32) -> String {
    if more == 0 { String::new() } else { format!(" and {more} more") }
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
        let mut lines = vec![if self.holders.is_empty() {
            format!("{key} is free")
        } else {
            format!("{key} is held, {}", or_nothing(self.kind.as_deref()))
        }];
        if let Some(token) = self.token {
            lines.push(format!("  token    {token}"));
        }
        if let Some(waiters) = self.waiters {
            lines.push(format!("  waiting  {waiters}"));
        }
        for one in &self.holders {
            let times = match (one.count, self.kind.as_deref()) {
                (1, _) => String::new(),
                (permits, Some("semaphore")) => format!(", with {permits} permits"),
                (times, _) => format!(", in {times} times"),
            };
            lines.push(format!("  holder   {}{times}", holder(one)));
            let held = one.held_ms.map_or(String::new(), |held| format!("held for {}, ", millis(held)));
            let ends = if one.kept { "kept for another" } else { "lease ends in" };
            let left = one.ttl_ms.map_or("no end was set".to_owned(), |left| format!("{ends} {}", millis(left)));
            lines.push(format!("           {held}{left}"));
        }
        if self.more > 0 {
            lines.push(format!("  holder  {}", and_more(self.more)));
        }
        for (at, one) in self.line.iter().enumerate() {
            let (place, who) = (at + 1, who(&one.home, &one.owner));
            let side = if Some(&one.kind) == self.kind.as_ref() { String::new() } else { format!(" to {}", one.kind) };
            let waited = one.waited_ms.map_or(String::new(), |waited| format!(" for {}", millis(waited)));
            lines.push(format!("  in line  {place}. {who}, has waited{side}{waited}"));
        }
        if self.more_in_line > 0 {
            lines.push(format!("  in line {}", and_more(self.more_in_line)));
        }
        for Voter { server, text, .. } in &self.votes {
            lines.push(format!("  server   {} {}", plain(server), plain(text)));
        }
        lines.join("\n")
    }
}

fn or_nothing(kind: Option<&str>) -> String {
    kind.unwrap_or("unknown kind").to_owned()
}

/// A cell that leaves room for others, whatever somebody wrote into it.
fn clipped(cell: String) -> String {
    match cell.char_indices().nth(WIDEST) {
        Some((end, _)) => format!("{}…", &cell[..end]),
        None => cell,
    }
}

fn padded(cell: &str, width: usize) -> String {
    let room = width.saturating_sub(cell.chars().count());
    format!("{cell}{}", " ".repeat(room))
}

/// Many locks, a line each.
pub(crate) fn table(all: &[Seen]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let heading = ["KEY", "KIND", "HOLDER", "HELD", "LEASE", "WAITING"].map(str::to_owned);
    let rows = all.iter().flat_map(|seen| {
        let row = |who: String, held: Option<u64>, left: Option<u64>| {
            [
                plain(&seen.key),
                or_dash(seen.kind.clone()),
                who,
                or_dash(held.map(millis)),
                or_dash(left.map(millis)),
                or_dash(seen.waiters.map(|waiters| waiters.to_string())),
            ]
        };
        let more = (seen.more > 0).then(|| row(format!("and {} more", seen.more), None, None));
        seen.holders.iter().map(move |one| row(holder(one), one.held_ms, one.ttl_ms)).chain(more)
    });
    let rows: Vec<_> = std::iter::once(heading).chain(rows).map(|row| row.map(clipped)).collect();
    let widths: Vec<_> =
        (0..6).map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)).collect();
    let bold = Style::new().bold();
    let lines = rows.iter().enumerate().map(|(number, row)| {
        let cells = row.iter().zip(&widths).map(|(cell, &width)| padded(cell, width));
        let line = cells.collect::<Vec<_>>().join("  ").trim_end().to_owned();
        if number == 0 { format!("{bold}{line}{bold:#}") } else { line }
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_plays_no_tricks() {
        assert_eq!(plain("a\u{1b}[2Jb\u{202e}c"), r"a\u{1b}[2Jb\u{202e}c");
    }

    #[test]
    fn a_cell_leaves_room_for_others() {
        let cell = clipped("ä".repeat(100_000));
        assert_eq!((cell.chars().count(), cell.chars().last()), (WIDEST + 1, Some('…')));
        assert_eq!(padded("ä", 3), "ä  ");
    }
}
