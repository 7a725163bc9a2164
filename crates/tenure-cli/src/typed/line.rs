//! The words that were typed, and which of them may be shown.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};

/// How many characters of a word are shown.
const WIDEST: usize = 100;
/// What a word has in it that may have a password in it too.
const SUSPECT: [&str; 7] = ["@", "://", "mysql:", "mysqls:", "redis:", "rediss:", "password="];

/// The words that were typed.
#[derive(Debug)]
pub(super) struct Line(Vec<OsString>);

impl Line {
    pub(super) fn new(words: impl IntoIterator<Item = OsString>) -> Self {
        Self(words.into_iter().collect())
    }

    pub(super) fn words(&self) -> &[OsString] {
        &self.0
    }

    /// Whether there is a `--` in it.
    pub(super) fn has_dashes(&self) -> bool {
        self.0.iter().any(|word| word == "--")
    }

    /// A word, or a part of one, as it may be shown; none if it may have a password in it.
    pub(super) fn shown(&self, word: impl AsRef<OsStr>) -> Option<String> {
        let word = word.as_ref();
        if self.is_secret(&word.to_string_lossy()) {
            return None;
        }
        let chunks = word.as_encoded_bytes().utf8_chunks();
        let text: String =
            chunks.flat_map(|chunk| [chunk.valid().to_owned(), chunk.invalid().escape_ascii().to_string()]).collect();
        Some(match text.char_indices().nth(WIDEST) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        })
    }

    /// A word as it can be typed again; if that is not so easy, what stands for it.
    pub(super) fn typed(&self, word: impl AsRef<OsStr>, otherwise: &str) -> String {
        let is_plain = |word: &String| {
            !word.is_empty()
                && word.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '/' | ':' | '+' | '-'))
        };
        self.shown(word).filter(is_plain).unwrap_or_else(|| otherwise.to_owned())
    }

    fn is_secret(&self, text: &str) -> bool {
        let is_it = |word: &OsString| {
            let word = word.to_string_lossy();
            word == text || word.split_once('=').is_some_and(|(name, value)| name == text || value == text)
        };
        has(text, &SUSPECT) || self.torn().any(is_it) || self.urls().any(|url| *url == *text)
    }

    /// Whether a word that was taken for a key is a URL, or the rest of one that should have been quoted.
    pub(super) fn is_of_url(&self, word: &str) -> bool {
        let begins = |scheme: &&str| word.starts_with(*scheme);
        has(word, &["://", "password="])
            || ["redis:", "rediss:"].iter().any(begins)
            // A password there has an `@` behind it, and what has none may well be a key.
            || (["mysql:", "mysqls:"].iter().any(begins) && word.contains('@'))
            || (self.0.iter().any(|url| is_cut_off(&url.to_string_lossy())) && self.torn().any(|torn| *torn == *word))
    }

    /// The rest of URLs whose passwords have spaces in them, and which should have been quoted.
    fn torn(&self) -> impl Iterator<Item = &OsString> {
        // A command after `--` that has an `@` in it ends no URL of ours.
        self.0.split(|word| word == "--").flat_map(|words| {
            let with = |part| move |word: &OsString| has(&word.to_string_lossy(), &[part]);
            let first = words.iter().position(with("://")).unwrap_or(words.len());
            let rest = words.get(first + 1..).unwrap_or_default();
            let ends = if words.get(first).is_some_and(with("password=")) {
                rest.len()
            } else {
                rest.iter().rposition(with("@")).map_or(0, |last| last + 1)
            };
            &rest[..ends]
        })
    }

    /// What was typed as `--url`, whatever it looks like.
    fn urls(&self) -> impl Iterator<Item = Cow<'_, str>> {
        self.0.windows(2).filter(|pair| pair[0] == "--url").map(|pair| pair[1].to_string_lossy())
    }
}

/// Whether a URL has a password that has not come to its end: what looks like a port is no number.
fn is_cut_off(url: &str) -> bool {
    let Some((_, rest)) = url.split_once("://") else { return false };
    let host = rest.split(['/', '?']).next().unwrap_or_default();
    !host.contains('@') && host.rsplit_once(':').is_some_and(|(_, port)| !port.bytes().all(|b| b.is_ascii_digit()))
}

fn has(text: &str, parts: &[&str]) -> bool {
    parts.iter().any(|part| text.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Line {
        Line::new(text.split(' ').map(OsString::from))
    }

    #[test]
    fn a_word_is_shown_unless_it_may_be_a_secret() {
        let line = line("tenure --url secret run redis://:p order:42 ./a.sh q@host --lease=1 -- a me@host ls");
        for word in ["tenure", "run", "a", "ls", "--url", "--lease", "1", "-5s", "", "it's \"it\""] {
            assert_eq!(line.shown(word).as_deref(), Some(word));
        }
        for word in
            ["secret", "redis://:p", "order:42", "./a.sh", "q@host", "me@host", "redis:x", "mysql:x", "?password=x"]
        {
            assert_eq!(line.shown(word), None, "{word}");
        }
        assert_eq!(line.shown("ä".repeat(100_000)), Some(format!("{}…", "ä".repeat(100))));
    }

    #[test]
    fn a_url_is_no_key_among_others() {
        let torn = line("tenure --url redis://:one run two three@host k -- true");
        for word in ["redis://h", "rediss:x", "mysql:me:x@h/db", "two", "three@host"] {
            assert!(torn.is_of_url(word), "{word}");
        }
        for word in ["k", "mysql:backup"] {
            assert!(!torn.is_of_url(word), "{word}");
        }
        for url in ["redis://db1", "redis://db1:6379/0", "redis://me:pw@db1:6379", "sqlite:/a"] {
            assert!(!line(&format!("tenure --url {url} run a me@host -- true")).is_of_url("me@host"), "{url}");
        }
    }

    #[test]
    fn a_word_is_repeated_if_it_is_one() {
        let line = line("tenure run k");
        for word in ["k", "order:42", "./a.sh", "größe"] {
            assert_eq!(line.typed(word, "KEY"), word);
        }
        for word in ["", "two words", "a\nb", "$x", "'", "a*", "me@host", &"k".repeat(1000)] {
            assert_eq!(line.typed(word, "KEY"), "KEY", "{word}");
        }
    }
}
