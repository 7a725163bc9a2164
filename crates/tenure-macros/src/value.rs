//! Looking at expressions, and where what we write points to.

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::quote_spanned;
use syn::spanned::Spanned;
use syn::{Expr, ExprLit, Lit};

/// The place of the user's token, with names that the user's own do not meet.
pub(crate) fn ours(place: Span) -> Span {
    Span::mixed_site().located_at(place)
}

/// Without the invisible brackets of a macro that handed it on.
pub(crate) fn bare(expr: &Expr) -> &Expr {
    match expr {
        Expr::Group(group) => bare(&group.expr),
        _ => expr,
    }
}

/// The literal that it is, if it is one.
pub(crate) fn literal(expr: &Expr) -> Option<&Lit> {
    match bare(expr) {
        Expr::Lit(ExprLit { lit, .. }) => Some(lit),
        _ => None,
    }
}

/// The one word that it is, if it is one.
pub(crate) fn word(expr: &Expr) -> Option<&Ident> {
    match bare(expr) {
        Expr::Path(path) if path.qself.is_none() => path.path.get_ident(),
        _ => None,
    }
}

/// A reference to it, in its place: an error points there.
pub(crate) fn reference(expr: &Expr) -> TokenStream {
    let span = ours(expr.span());
    match bare(expr) {
        Expr::Path(_) | Expr::Field(_) | Expr::MethodCall(_) | Expr::Call(_) | Expr::Index(_) | Expr::Paren(_) => {
            quote_spanned!(span=> &#expr)
        }
        _ => quote_spanned!(span=> &(#expr)),
    }
}

/// The same code where `self` goes by another name.
pub(crate) fn with_self_named(tokens: TokenStream, name: &Ident) -> TokenStream {
    let mut tokens = tokens.into_iter().peekable();
    let mut named = TokenStream::new();
    while let Some(token) = tokens.next() {
        let next_is_colon = matches!(tokens.peek(), Some(TokenTree::Punct(next)) if next.as_char() == ':');
        named.extend([match token {
            // `self::name` is a path.
            TokenTree::Ident(word) if word == "self" && !next_is_colon => {
                TokenTree::Ident(Ident::new(&name.to_string(), word.span()))
            }
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), with_self_named(group.stream(), name));
                inner.set_span(group.span());
                TokenTree::Group(inner)
            }
            other => other,
        }]);
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::quote;

    #[test]
    fn self_has_another_name_and_paths_have_not() {
        let name = Ident::new("own", Span::call_site());
        let named = with_self_named(quote!(f(&self.a, [self]) + self::A + itself.b), &name);
        assert_eq!(named.to_string(), quote!(f(&own.a, [own]) + self::A + itself.b).to_string());
    }
}
