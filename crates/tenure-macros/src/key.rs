//! The key: a format string over the arguments, whose parts cannot be taken for one another.

use crate::value;
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::{Error, Expr, Lit, LitStr};

/// What no part has in it once it is encoded; one of them stands between two parts.
const SEPARATORS: [char; 6] = [':', '/', '|', ',', ';', '#'];
/// The longest key, in bytes.
const MAX_BYTES: usize = 1024;
/// What most parts have room in, in bytes: then the key is allocated once.
const ROOM: usize = 24;

/// A key, as it was written.
pub(crate) struct Key {
    pieces: Vec<Piece>,
    span: Span,
}

enum Piece {
    Text(String),
    Part {
        expr: Box<Expr>,
        /// What was written, with its braces.
        written: String,
        form: Form,
    },
}

/// How a part is put in.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    /// `{expr}`: as it is shown, encoded.
    Shown,
    /// `{expr:?}`: as it is shown to programmers, encoded.
    Debug,
    /// `{expr:raw}`: as it is shown, and as it is.
    Raw,
}

impl Key {
    /// The argument `key`.
    pub(crate) fn of(expr: &Expr) -> syn::Result<Self> {
        let text = text_of(expr, || {
            let rule = "a key is a text that is written here";
            match instead(expr) {
                Some(text) => format!("{rule}: write `key = {text}`"),
                None => format!("{rule}, such as \"stock:{{product_id}}\""),
            }
        })?;
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
                Piece::Part { form: Form::Raw, .. } => last = None,
                Piece::Part { expr, .. } => {
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

    /// An expression that makes the `Parts`.
    pub(crate) fn tokens(&self, prefix: &str) -> TokenStream {
        let span = value::ours(self.span);
        if let [] | [Piece::Text(_)] = &self.pieces[..] {
            let text = self.pieces.iter().map(Piece::text).fold(prefix.to_owned(), |all, text| all + text);
            let text = LitStr::new(&text, span);
            return quote_spanned!(span=> ::tenure::locked::Parts::from(#text));
        }
        let pieces = self.pieces.iter().map(|piece| match piece {
            Piece::Text(text) => {
                let text = LitStr::new(text, span);
                quote_spanned!(span=> .text(#text))
            }
            Piece::Part { expr, written, form } => {
                let part = value::reference(expr);
                let written = LitStr::new(written, span);
                let format = LitStr::new(if *form == Form::Debug { "{:?}" } else { "{}" }, span);
                let part = quote_spanned!(span=> ::core::format_args!(#format, #part));
                match form {
                    Form::Raw => quote_spanned!(span=> .raw(#part)),
                    Form::Shown | Form::Debug => quote_spanned!(span=> .part(#written, #part)),
                }
            }
        });
        let room = prefix.len() + self.pieces.iter().map(Piece::room).sum::<usize>();
        let prefix = LitStr::new(prefix, span);
        quote_spanned!(span=> ::tenure::locked::Parts::new(#prefix, #room)#(#pieces)*)
    }
}

impl Piece {
    fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Part { .. } => "",
        }
    }

    /// How many bytes to make room for.
    fn room(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Part { .. } => ROOM,
        }
    }

    /// What stands between two braces.
    fn part(inside: &str, span: Span) -> syn::Result<Self> {
        let (name, form) = match format_of(inside) {
            None => (inside, Form::Shown),
            Some((name, "?")) => (name, Form::Debug),
            Some((name, "raw")) => (name, Form::Raw),
            Some((name, _)) => {
                let rule = "a part of a key has no format but `?` and `raw`";
                let written = format!("write `{{{name}}}`, `{{{name}:?}}`, or `{{{name}:raw}}` to have it as it is");
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
        Ok(Self::Part { expr: Box::new(expr), written: format!("{{{}}}", name.trim()), form })
    }
}

/// The argument `prefix`: text, in which braces are written twice as in a key.
pub(crate) fn prefix_of(expr: &Expr) -> syn::Result<String> {
    let rule = "a prefix is a text that is written here, such as \"stock:\"; another is a policy's";
    let literal = text_of(expr, || rule.to_owned())?;
    let read = Key::read(literal)?;
    if read.pieces.iter().any(|piece| matches!(piece, Piece::Part { .. })) {
        return Err(Error::new(
            literal.span(),
            "a prefix has no parts: put them into the key, or write `{{` for a brace",
        ));
    }
    Ok(read.pieces.iter().map(Piece::text).collect())
}

fn text_of(expr: &Expr, rule: impl FnOnce() -> String) -> syn::Result<&LitStr> {
    match value::literal(expr) {
        Some(Lit::Str(text)) => Ok(text),
        _ => Err(Error::new_spanned(expr, rule())),
    }
}

/// The text that was meant, where something else was written: the compiler itself advises to write a bare name.
fn instead(expr: &Expr) -> Option<String> {
    match value::bare(expr) {
        Expr::Reference(reference) => instead(&reference.expr),
        Expr::Macro(call) if call.mac.path.is_ident("format") => {
            Some(call.mac.parse_body::<LitStr>().ok()?.token().to_string())
        }
        Expr::Lit(literal) => {
            Some(format!("\"{}\"", literal.to_token_stream())).filter(|text| text.matches('"').count() == 2)
        }
        part => is_plain(part).then(|| format!("\"{{{}}}\"", part.to_token_stream()).replace(' ', "")),
    }
}

/// Whether it is a name, or a field or the result of a method of one: nothing that a text would need to escape.
fn is_plain(expr: &Expr) -> bool {
    match value::bare(expr) {
        Expr::Path(path) => path.qself.is_none(),
        Expr::Field(field) => is_plain(&field.base),
        Expr::MethodCall(call) => call.args.is_empty() && call.turbofish.is_none() && is_plain(&call.receiver),
        _ => false,
    }
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
            ("nightly", r#"::from("lock:nightly")"#),
            ("a:{b}", r#"::new("lock:",31usize).text("a:").part("{b}",::core::format_args!("{}",&b))"#),
            ("{b:raw}", r#"::new("lock:",29usize).raw(::core::format_args!("{}",&b))"#),
            (r#"{b["c:d"]}"#, r#"::new("lock:",29usize).part("{b[\"c:d\"]}",::core::format_args!("{}",&b["c:d"]))"#),
            ("{ b : raw }", r#"::new("lock:",29usize).raw(::core::format_args!("{}",&b))"#),
            ("{b:?}", r#"::new("lock:",29usize).part("{b}",::core::format_args!("{:?}",&b))"#),
            ("{ b }", r#"::new("lock:",29usize).part("{b}",::core::format_args!("{}",&b))"#),
            (
                "{self.region}/{order.id()}",
                r#"::new("lock:",54usize).part("{self.region}",::core::format_args!("{}",&self.region)).text("/").part("{order.id()}",::core::format_args!("{}",&order.id()))"#,
            ),
            ("{pair.0.1}", r#"::new("lock:",29usize).part("{pair.0.1}",::core::format_args!("{}",&pair.0.1))"#),
            (
                "{crate::REGION}",
                r#"::new("lock:",29usize).part("{crate::REGION}",::core::format_args!("{}",&crate::REGION))"#,
            ),
            ("{Self::region():raw}", r#"::new("lock:",29usize).raw(::core::format_args!("{}",&Self::region()))"#),
            ("{{{b}}}", r#"::new("lock:",31usize).text("{").part("{b}",::core::format_args!("{}",&b)).text("}")"#),
            ("{{b}}", r#"::from("lock:{b}")"#),
            ("{a+b}", r#"::new("lock:",29usize).part("{a+b}",::core::format_args!("{}",&(a+b)))"#),
            (
                "{a}{b:raw}-{c}",
                r#"::new("lock:",78usize).part("{a}",::core::format_args!("{}",&a)).raw(::core::format_args!("{}",&b)).text("-").part("{c}",::core::format_args!("{}",&c))"#,
            ),
        ] {
            let made = key(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(made, format!("::tenure::locked::Parts{expected}"));
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
            ("{a:#?}", "write `{a}`, `{a:?}`, or `{a:raw}`"),
            ("{a::b:>5}", "write `{a::b}`, `{a::b:?}`, or `{a::b:raw}`"),
            ("{a}{b}", "`{a}` and `{b}`"),
            ("{a}:{b}-{c}", "`{b}` and `{c}`"),
        ] {
            let error = key(text).expect_err(text).to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn the_text_that_was_meant_is_said() {
        for (written, expected) in [
            (syn::parse_quote!(id), r#": write `key = "{id}"`"#),
            (syn::parse_quote!(&id), r#": write `key = "{id}"`"#),
            (syn::parse_quote!(&self.order.id()), r#": write `key = "{self.order.id()}"`"#),
            (syn::parse_quote!(pair.0), r#": write `key = "{pair.0}"`"#),
            (syn::parse_quote!(crate::REGION), r#": write `key = "{crate::REGION}"`"#),
            (syn::parse_quote!(format!("stock:{id}")), r#": write `key = "stock:{id}"`"#),
            (syn::parse_quote!(7), r#": write `key = "7"`"#),
            (syn::parse_quote!(true), r#": write `key = "true"`"#),
            (syn::parse_quote!(format!("stock:{}", id)), r#", such as "stock:{product_id}""#),
            (syn::parse_quote!(map["a"]), r#", such as "stock:{product_id}""#),
            (syn::parse_quote!(b"bytes"), r#", such as "stock:{product_id}""#),
        ] {
            let error = Key::of(&written).err().expect("no text").to_string();
            assert_eq!(error, format!("a key is a text that is written here{expected}"));
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
