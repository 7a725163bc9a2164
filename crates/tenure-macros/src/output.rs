//! What the function returns, and how it says what became of its lock.

use crate::value;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::visit_mut::{self, VisitMut};
use syn::{
    GenericArgument, ParenthesizedGenericArguments, PathArguments, PathSegment, ReturnType, Signature, Token, Type,
    TypeInfer, TypeParamBound, TypeTraitObject,
};

/// What the function returns, or what its future does.
pub(crate) enum Output {
    /// Nothing; errors point at the function's name.
    Unit(Span),
    /// A type, with `_` for what has no name.
    Named(Box<Type>),
    /// A type that cannot be written here; errors point at what was.
    Unnamed(Span),
    /// It does not return.
    Never(Span),
}

impl Output {
    /// What a function returns.
    pub(crate) fn of(sig: &Signature) -> Self {
        match &sig.output {
            ReturnType::Default => Self::Unit(sig.ident.span()),
            ReturnType::Type(_, ty) => Self::of_type(ty),
        }
    }

    /// What the future returns that a function returns in a box.
    pub(crate) fn of_boxed(sig: &Signature) -> Self {
        match &sig.output {
            ReturnType::Type(_, ty) => output_of_box(ty).map_or_else(|| Self::Unnamed(ty.span()), Self::of_type),
            ReturnType::Default => Self::Unnamed(sig.ident.span()),
        }
    }

    fn of_type(ty: &Type) -> Self {
        match ty {
            Type::Never(never) => Self::Never(never.span()),
            Type::ImplTrait(opaque) => Self::Unnamed(opaque.impl_token.span),
            _ => {
                let mut ty = Box::new(ty.clone());
                Nameless.visit_type_mut(&mut ty);
                Self::Named(ty)
            }
        }
    }

    /// The trait's function for this type: `<Result<u32> as ::tenure::locked::Tells>::tell`.
    pub(crate) fn says(&self, by: &str, function: &str) -> TokenStream {
        let span = value::ours(match self {
            Self::Unit(span) | Self::Unnamed(span) | Self::Never(span) => *span,
            Self::Named(ty) => ty.span(),
        });
        let [by, function] = [by, function].map(|name| Ident::new(name, span));
        match self {
            Self::Named(ty) => quote_spanned!(span=> <#ty as ::tenure::locked::#by>::#function),
            Self::Unit(_) => quote_spanned!(span=> <() as ::tenure::locked::#by>::#function),
            Self::Unnamed(_) | Self::Never(_) => quote_spanned!(span=> ::tenure::locked::#by::#function),
        }
    }

    /// Does not compile if it is a future, or a `Result` or an `Option` with one: what that does would be done unlocked.
    pub(crate) fn refuse_future(&self) -> Option<TokenStream> {
        let Self::Named(ty) = self else { return None };
        let inner = ["Result", "Option"].iter().find_map(|name| argument_of(ty, name)).unwrap_or(ty);
        let mut infers = Infers(false);
        infers.visit_type(inner);
        let span = value::ours(inner.span());
        (!infers.0).then(|| quote_spanned!(span=> let () = <#inner as ::tenure::locked::IsNoFuture<_>>::CHECKED;))
    }

    /// Tells the compiler what an async block returns, for the sake of `?` and `return` in it.
    pub(crate) fn hint(&self) -> Option<TokenStream> {
        let Self::Named(ty) = self else { return None };
        Some(quote_spanned! {Span::mixed_site()=>
            if let ::core::option::Option::Some(value) = ::core::option::Option::None::<#ty> {
                return value;
            }
        })
    }

    /// The same for a closure.
    pub(crate) fn arrow(&self) -> Option<TokenStream> {
        match self {
            Self::Unit(_) | Self::Unnamed(_) => None,
            Self::Named(ty) => Some(quote!(-> #ty)),
            Self::Never(span) => Some(quote_spanned!(*span=> -> !)),
        }
    }
}

/// Whether there is a `_` in a type.
struct Infers(bool);

impl<'a> Visit<'a> for Infers {
    fn visit_type_infer(&mut self, _: &'a TypeInfer) {
        self.0 = true;
    }
}

/// Whether a function that returns this returns before its work is done: there is a future in it, by its own name.
pub(crate) fn is_future(ty: &Type) -> bool {
    let mut futures = Futures(false);
    futures.visit_type(ty);
    futures.0
}

/// Whether there is a future in a type. What a closure in it returns is the closure's.
struct Futures(bool);

impl<'a> Visit<'a> for Futures {
    fn visit_type_param_bound(&mut self, bound: &'a TypeParamBound) {
        self.0 |= is_future_bound(bound);
        visit::visit_type_param_bound(self, bound);
    }

    fn visit_path_segment(&mut self, segment: &'a PathSegment) {
        self.0 |= ["BoxFuture", "LocalBoxFuture"].iter().any(|name| segment.ident == name);
        visit::visit_path_segment(self, segment);
    }

    fn visit_parenthesized_generic_arguments(&mut self, _: &'a ParenthesizedGenericArguments) {}
}

fn is_future_bound(bound: &TypeParamBound) -> bool {
    let TypeParamBound::Trait(bound) = bound else { return false };
    bound.path.segments.last().is_some_and(|last| last.ident == "Future")
}

/// The `T` of `Pin<Box<dyn Future<Output = T> + Send + 'a>>` and of `BoxFuture<'a, T>`.
fn output_of_box(ty: &Type) -> Option<&Type> {
    let Some(pinned) = argument_of(ty, "Pin") else {
        return argument_of(ty, "BoxFuture").or_else(|| argument_of(ty, "LocalBoxFuture"));
    };
    let Type::TraitObject(TypeTraitObject { bounds, .. }) = argument_of(pinned, "Box")? else { return None };
    let TypeParamBound::Trait(future) = bounds.iter().find(|bound| is_future_bound(bound))? else { return None };
    let PathArguments::AngleBracketed(arguments) = &future.path.segments.last()?.arguments else { return None };
    arguments.args.iter().find_map(|argument| match argument {
        GenericArgument::AssocType(output) if output.ident == "Output" => Some(&output.ty),
        _ => None,
    })
}

/// The `T` of `Name<'a, T>`, whatever path the name is at.
fn argument_of<'a>(ty: &'a Type, name: &str) -> Option<&'a Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last().filter(|last| last.ident == name)?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    arguments.args.iter().find_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    })
}

/// Puts `_` in the place of every `impl Trait`.
struct Nameless;

impl VisitMut for Nameless {
    fn visit_type_mut(&mut self, ty: &mut Type) {
        match ty {
            Type::ImplTrait(opaque) => {
                let underscore_token = Token![_](opaque.impl_token.span);
                *ty = Type::Infer(TypeInfer { attrs: Vec::new(), underscore_token });
            }
            _ => visit_mut::visit_type_mut(self, ty),
        }
    }
}
