//! Holds as lines of text: `key who token asked granted ended`.

use std::num::ParseIntError;

use super::Hold;

impl Hold {
    /// The hold as one line, without the newline. Spaces and the like in names are written as
    /// `%20`, an unknown end or no token as `-`.
    pub fn to_line(&self) -> String {
        let Self { asked, granted, .. } = self;
        let (key, who) = (escape(&self.key), escape(&self.who));
        let (token, ended) = (or_dash(self.token), or_dash(self.ended));
        format!("{key} {who} {token} {asked} {granted} {ended}")
    }

    /// Reads what [`to_line`](Self::to_line) wrote.
    ///
    /// # Errors
    ///
    /// Says what a line should look like.
    pub fn from_line(line: &str) -> Result<Self, String> {
        parse(line).ok_or_else(|| format!("expected a line of `key who token asked granted ended`, got {line:?}"))
    }
}

fn parse(line: &str) -> Option<Hold> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [key, who, token, asked, granted, ended] = words[..] else {
        return None;
    };
    Some(Hold {
        key: unescape(key)?,
        who: unescape(who)?,
        token: unless_dash(token).ok()?,
        asked: asked.parse().ok()?,
        granted: granted.parse().ok()?,
        ended: unless_dash(ended).ok()?,
    })
}

fn or_dash(number: Option<u64>) -> String {
    number.map_or("-".to_owned(), |number| number.to_string())
}

fn unless_dash(word: &str) -> Result<Option<u64>, ParseIntError> {
    (word != "-").then(|| word.parse()).transpose()
}

/// Percent-escapes what is not visible ASCII; the empty name becomes a lone `%`.
fn escape(name: &str) -> String {
    if name.is_empty() {
        return "%".to_owned();
    }
    name.bytes()
        .map(|byte| match byte {
            b'%' => "%25".to_owned(),
            byte if byte.is_ascii_graphic() => char::from(byte).to_string(),
            byte => format!("%{byte:02x}"),
        })
        .collect()
}

fn unescape(word: &str) -> Option<String> {
    if word == "%" {
        return Some(String::new());
    }
    let mut parts = word.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(part.get(..2)?, 16).ok()?);
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::Hold;

    #[test]
    fn lines_come_back_as_they_were() {
        for (key, token, ended) in
            [("plain", Some(7), Some(9)), ("", None, None), ("a b%\n\u{e9}", Some(7), Some(u64::MAX))]
        {
            let hold = Hold { key: key.to_owned(), who: "worker 1".to_owned(), token, asked: 1, granted: 2, ended };
            let line = hold.to_line();
            assert!(!line.contains('\n'));
            assert_eq!(Hold::from_line(&line), Ok(hold));
        }
    }

    #[test]
    fn other_lines_are_refused() {
        for line in ["", "k w 1 2 3", "k w 1 2 3 4 5", "k w x 2 3 4", "%2 w 1 2 3 4"] {
            let error = Hold::from_line(line).unwrap_err();
            assert!(error.contains("key who token asked granted ended"));
        }
    }
}
