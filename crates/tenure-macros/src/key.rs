//! The key: a format string over the arguments, whose parts cannot be taken for one another.

use crate::value;
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Error, Expr, Lit, LitStr};

/// What no part has in it once it is encoded; one of them stands between two parts.
const SEPARATORS: [char; 6] = [':', '/', '|', ',', ';', '#'];
/// The longest key, in bytes.
const MAX_BYTES: usize = 1024;

/// A key, as it was written.
pub(crate) struct Key {
    pieces: Vec<Piece>,
    span: Span,
}

enum Piece {
    Text(String),
    /// `{expr}`, encoded, or `{expr:raw}`, as it is.
    Part {
        expr: Box<Expr>,
        raw: bool,
    },
}

impl Key {
    /// The argument `key`.
    pub(crate) fn of(expr: &Expr) -> syn::Result<Self> {
        let text = text_of(expr, "a key is a text that is written here, such as \"stock:{product_id}\"")?;
        let key = Self::read(text)?;
        if key.pieces.is_empty() {
            let rule = "a key must not be empty: name what is contended for, such as \"stock:{product_id}\"";
            return Err(Error::new(text.span(), rule));
        }
        key.check_parts()?;
        Ok(key)
    }

    fn read(literal: &LitStr) -> syn::Result<Self> {
        let text = literal.value();
        let refuse = |message: &str| Err(Error::new(literal.span(), message));
        let (mut pieces, mut plain, mut rest) = (Vec::new(), String::new(), text.as_str());
        while let Some(at) = rest.find(['{', '}']) {
            let (before, brace) = rest.split_at(at);
            plain.push_str(before);
            let brace_twice = brace.starts_with("{{") || brace.starts_with("}}");
            if brace_twice {
                plain.push_str(&brace[..1]);
                rest = &brace[2..];
                continue;
            }
            let Some(inside) = brace.strip_prefix('{') else {
                return refuse("a `}` closes nothing: write `}}` for a brace in the key");
            };
            let Some(end) = inside.find(['{', '}']) else {
                return refuse("a `{` is not closed: write `{{` for a brace in the key");
            };
            if inside[end..].starts_with('{') {
                return refuse("braces do not nest in a key: compute the part before, or in a method");
            }
            if !plain.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut plain)));
            }
            pieces.push(Piece::part(&inside[..end], literal.span())?);
            rest = &inside[end + 1..];
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        Ok(Self { pieces, span: literal.span() })
    }

    /// Two parts that are encoded have something between them that neither has.
    fn check_parts(&self) -> syn::Result<()> {
        let mut last: Option<&Expr> = None;
        let mut apart = false;
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => apart |= text.contains(SEPARATORS),
                Piece::Part { raw: true, .. } => last = None,
                Piece::Part { expr, raw: false } => {
                    if let Some(last) = last.replace(expr).filter(|_| !apart) {
                        let rule = "two parts need one of : / | , ; # between them, or (\"a\", \"bc\") and \
                                    (\"ab\", \"c\") would be one key";
                        let [one, other] = [last, expr].map(|part| part.to_token_stream().to_string());
                        return Err(Error::new(self.span, format!("{rule}: `{{{one}}}` and `{{{other}}}`")));
                    }
                    apart = false;
                }
            }
        }
        Ok(())
    }

    /// Refuses what is too long whatever its parts are.
    pub(crate) fn check_length(&self, prefix: &str) -> syn::Result<()> {
        let texts = self.pieces.iter().map(|piece| match piece {
            Piece::Text(text) => text.len(),
            Piece::Part { .. } => 0,
        });
        let bytes = prefix.len() + texts.sum::<usize>();
        if bytes <= MAX_BYTES {
            return Ok(());
        }
        Err(Error::new(self.span, format!("a key may have {MAX_BYTES} bytes at most, shorten it: it has {bytes}")))
    }

    /// An expression of type `String`.
    pub(crate) fn tokens(&self, prefix: &str) -> TokenStream {
        let span = value::ours(self.span);
        if let [] | [Piece::Text(_)] = &self.pieces[..] {
            let text = self.pieces.iter().map(Piece::text).fold(prefix.to_owned(), |all, text| all + text);
            let text = LitStr::new(&text, span);
            return quote_spanned!(span=> ::std::string::String::from(#text));
        }
        let mut format = escaped(prefix);
        let mut parts = Vec::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => format.push_str(&escaped(text)),
                Piece::Part { expr, raw } => {
                    format.push_str("{}");
                    parts.push(if *raw {
                        quote!(#expr)
                    } else {
                        let part = value::reference(expr);
                        quote_spanned!(span=> ::tenure::locked::Part(#part))
                    });
                }
            }
        }
        let format = LitStr::new(&format, span);
        quote_spanned!(span=> ::std::format!(#format, #(#parts),*))
    }
}

impl Piece {
    fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Part { .. } => "",
        }
    }

    /// What stands between two braces.
    fn part(inside: &str, span: Span) -> syn::Result<Self> {
        let (name, raw) = match format_of(inside) {
            None => (inside, false),
            Some((name, "raw")) => (name, true),
            Some((name, _)) => {
                let rule = "a part of a key has no format but `raw`";
                let written = format!("write `{{{name}}}`, or `{{{name}:raw}}` to have it as it is");
                return Err(Error::new(span, format!("{rule}: {written}: `{{{inside}}}`")));
            }
        };
        if name.trim().is_empty() {
            return Err(Error::new(span, "a part of a key needs a name, such as `{product_id}`: `{}`"));
        }
        let expr: Expr = LitStr::new(name, span).parse().map_err(|_| {
            let rule = "not an expression, write a part such as `{product_id}`, `{self.region}` or `{order.id()}`";
            Error::new(span, format!("{rule}: `{{{inside}}}`"))
        })?;
        if value::literal(&expr).is_some() {
            let rule = "a part of a key needs a name, such as `{product_id}`, or `{pair.0}` for a field of a tuple";
            return Err(Error::new(span, format!("{rule}: `{{{inside}}}`")));
        }
        Ok(Self::Part { expr: Box::new(expr), raw })
    }
}

/// The argument `prefix`: text, in which braces are written twice as in a key.
pub(crate) fn prefix_of(expr: &Expr) -> syn::Result<String> {
    let literal = text_of(expr, "a prefix is a text that is written here, such as \"stock:\"; another is a policy's")?;
    let read = Key::read(literal)?;
    if read.pieces.iter().any(|piece| matches!(piece, Piece::Part { .. })) {
        return Err(Error::new(
            literal.span(),
            "a prefix has no parts: put them into the key, or write `{{` for a brace",
        ));
    }
    Ok(read.pieces.iter().map(Piece::text).collect())
}

fn text_of<'a>(expr: &'a Expr, rule: &str) -> syn::Result<&'a LitStr> {
    match value::literal(expr) {
        Some(Lit::Str(text)) => Ok(text),
        _ => Err(Error::new_spanned(expr, rule)),
    }
}

fn escaped(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}

/// Splits at the colon that is no path's, and in no text or brackets.
fn format_of(inside: &str) -> Option<(&str, &str)> {
    let mut end = inside.len();
    while let Some(at) = inside[..end].rfind(':') {
        if inside[at..].contains(['"', '\'', ']', ')']) {
            return None;
        }
        if !inside[..at].ends_with(':') {
            return Some((&inside[..at], inside[at + 1..].trim()));
        }
        end = at - 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> syn::Result<String> {
        let literal = LitStr::new(text, Span::call_site());
        Key::of(&syn::parse_quote!(#literal)).map(|key| key.tokens("lock:").to_string().replace(' ', ""))
    }

    #[test]
    fn parts_are_encoded_and_raw_ones_are_not() {
        for (text, expected) in [
            ("nightly", r#"::std::string::String::from("lock:nightly")"#),
            ("a:{b}", r#"::std::format!("lock:a:{}",::tenure::locked::Part(&b))"#),
            ("{b:raw}", r#"::std::format!("lock:{}",b)"#),
            (r#"{b["c:d"]}"#, r#"::std::format!("lock:{}",::tenure::locked::Part(&b["c:d"]))"#),
            ("{ b : raw }", r#"::std::format!("lock:{}",b)"#),
            (
                "{self.region}/{order.id()}",
                r#"::std::format!("lock:{}/{}",::tenure::locked::Part(&self.region),::tenure::locked::Part(&order.id()))"#,
            ),
            ("{pair.0.1}", r#"::std::format!("lock:{}",::tenure::locked::Part(&pair.0.1))"#),
            ("{crate::REGION}", r#"::std::format!("lock:{}",::tenure::locked::Part(&crate::REGION))"#),
            ("{Self::region():raw}", r#"::std::format!("lock:{}",Self::region())"#),
            ("{{{b}}}", r#"::std::format!("lock:{{{}}}",::tenure::locked::Part(&b))"#),
            ("{{b}}", r#"::std::string::String::from("lock:{b}")"#),
            ("{a + b}", r#"::std::format!("lock:{}",::tenure::locked::Part(&(a+b)))"#),
            (
                "{a}{b:raw}-{c}",
                r#"::std::format!("lock:{}{}-{}",::tenure::locked::Part(&a),b,::tenure::locked::Part(&c))"#,
            ),
        ] {
            assert_eq!(key(text).unwrap_or_else(|error| panic!("{text}: {error}")), expected);
        }
    }

    #[test]
    fn what_is_no_key_is_refused() {
        for (text, expected) in [
            ("", "must not be empty"),
            ("{}", "needs a name"),
            ("{:raw}", "needs a name"),
            ("{0}", "needs a name"),
            ("{a", "`{` is not closed"),
            ("a}", "`}` closes nothing"),
            ("{a{b}}", "do not nest"),
            ("{a b}", "not an expression"),
            ("{a:?}", "write `{a}`, or `{a:raw}`"),
            ("{a::b:>5}", "write `{a::b}`, or `{a::b:raw}`"),
            ("{a}{b}", "`{a}` and `{b}`"),
            ("{a}:{b}-{c}", "`{b}` and `{c}`"),
        ] {
            let error = key(text).expect_err(text).to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn every_separator_keeps_parts_apart() {
        for separator in SEPARATORS {
            key(&format!("{{a}}-{separator}-{{b}}")).unwrap();
        }
    }

    #[test]
    fn a_prefix_is_text() {
        let prefix = |text: &str| {
            let literal = LitStr::new(text, Span::call_site());
            prefix_of(&syn::parse_quote!(#literal))
        };
        assert_eq!(prefix("stock:").unwrap(), "stock:");
        assert_eq!(prefix("{{app}}:").unwrap(), "{app}:");
        assert_eq!(prefix("").unwrap(), "");
        assert!(prefix("{app}:").unwrap_err().to_string().contains("no parts"));
    }

    #[test]
    fn a_key_that_is_too_long_is_refused_at_once() {
        let literal = LitStr::new(&"k".repeat(MAX_BYTES), Span::call_site());
        let key = Key::of(&syn::parse_quote!(#literal)).unwrap();
        assert!(key.check_length("").is_ok());
        assert!(key.check_length("p").is_err());
    }
}
