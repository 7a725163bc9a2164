//! The function that has the attribute.

use crate::boxed::{self, Moves};
use crate::output::{self, Output};
use crate::value;
use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, TokenStreamExt, quote};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Block, Error, Expr, FnArg, Item, ItemFn, Pat, PatIdent, PatType, ReturnType, Stmt, TraitItemFn};

/// Attributes that open a transaction, by their last name.
const TRANSACTIONS: [&str; 3] = ["transaction", "transactional", "tx"];

/// A function that can be locked.
pub(crate) struct Function {
    item: ItemFn,
    pub(crate) form: Form,
    pub(crate) output: Output,
    /// What the lock is to be held for.
    pub(crate) body: Block,
    /// What is done before the lock is taken.
    moves: Option<Moves>,
}

/// How the function does its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// In a future that it is.
    Async,
    /// In a future that it returns in a box.
    Boxed,
    /// At once.
    Plain,
}

impl Function {
    pub(crate) fn read(tokens: &TokenStream) -> syn::Result<Self> {
        let mut item: ItemFn = syn::parse2(tokens.clone()).map_err(|error| no_function(tokens, error))?;
        let sig = &item.sig;
        if let Some(constness) = &sig.constness {
            return Err(Error::new_spanned(constness, "a const fn cannot take a lock: leave `const` out"));
        }
        if let Some(abi) = &sig.abi {
            let rule = "what other languages call is not locked: lock a function of yours, and call that";
            return Err(Error::new_spanned(abi, rule));
        }
        check_order(&item.attrs)?;
        let arguments: Vec<Ident> = sig.inputs.iter().filter_map(name_of).collect();
        if sig.asyncness.is_none()
            && let Some(found) = boxed::block_of(&mut item.block)
        {
            let mut body = found.block.clone();
            let moves = Some(Moves::take(&mut body, &arguments));
            boxed::check_alone(&item.block)?;
            let output = Output::of_boxed(&item.sig);
            return Ok(Self { item, form: Form::Boxed, output, body, moves });
        }
        let sig = &item.sig;
        let form = if sig.asyncness.is_some() { Form::Async } else { Form::Plain };
        if form == Form::Plain {
            let rule = "this returns before its work is done, when the lock would be released: make it an async fn";
            if let ReturnType::Type(_, ty) = &sig.output
                && output::is_future(ty)
            {
                return Err(Error::new_spanned(ty, rule));
            }
            if let Some(future) = boxed::future_of(&item.block) {
                return Err(Error::new_spanned(future, rule));
            }
        }
        let (output, body) = (Output::of(sig), (*item.block).clone());
        Ok(Self { item, form, output, body, moves: None })
    }

    pub(crate) fn name(&self) -> String {
        self.item.sig.ident.unraw().to_string()
    }

    /// The arguments, to call another function with.
    pub(crate) fn arguments(&self) -> syn::Result<Vec<Ident>> {
        let refuse = |place: &dyn ToTokens| {
            let rule = "the fallback needs this argument by name: give it one, and take it apart in the body";
            Error::new_spanned(place.to_token_stream(), rule)
        };
        let argument = |argument: &FnArg| {
            let name = name_of(argument).ok_or_else(|| refuse(argument))?;
            match &self.moves {
                None => Ok(name),
                Some(moves) => moves.name_of(&name).cloned().map_err(|pattern| refuse(pattern)),
            }
        };
        self.item.sig.inputs.iter().map(argument).collect()
    }

    /// Gives a name to arguments that have none, so that the body can have them.
    pub(crate) fn name_all(&mut self) {
        for (number, argument) in self.item.sig.inputs.iter_mut().enumerate() {
            if let FnArg::Typed(argument) = argument
                && let Pat::Wild(wild) = &*argument.pat
            {
                let name = Ident::new(&format!("_unnamed_{number}"), value::ours(wild.span()));
                *argument.pat = syn::parse_quote!(#name);
            }
        }
    }

    /// The arguments that have names in the body. It is to drop them all, also those that it does not use. What a pattern leaves out
    /// has none.
    pub(crate) fn captures(&self) -> Vec<Ident> {
        if let Some(moves) = &self.moves {
            return moves.names().collect();
        }
        let mut names = Names::default();
        for argument in &self.item.sig.inputs {
            match argument {
                FnArg::Receiver(receiver) => names.0.push(Ident::new("self", receiver.self_token.span)),
                FnArg::Typed(argument) if is_conditional(argument) => {}
                FnArg::Typed(argument) => names.visit_pat(&argument.pat),
            }
        }
        names.0
    }

    /// Those that may not be there, each with the condition.
    pub(crate) fn conditional_captures(&self) -> Vec<TokenStream> {
        let typed = self.item.sig.inputs.iter().filter_map(|argument| match argument {
            FnArg::Typed(argument) if self.moves.is_none() && is_conditional(argument) => Some(argument),
            _ => None,
        });
        let captures = typed.map(|argument| {
            let mut names = Names::default();
            names.visit_pat(&argument.pat);
            let (conditions, names) = (argument.attrs.iter().filter(|attr| is_condition(attr)), names.0);
            quote!(#(#conditions)* ::tenure::locked::inside(&(#(&#names,)*));)
        });
        captures.collect()
    }

    /// The function that first enters and then runs.
    pub(crate) fn with_body(self, enter: TokenStream, run: TokenStream) -> TokenStream {
        let Self { mut item, form, moves, .. } = self;
        let mut statements = TokenStream::new();
        if let Some(moves) = &moves {
            statements.append_all(&moves.statements);
        }
        statements.extend(match moves.as_ref().and_then(Moves::name_of_self) {
            Some(name) => value::with_self_named(enter, name),
            None => enter,
        });
        statements.extend(run);
        let statements = vec![Stmt::Expr(Expr::Verbatim(statements), None)];
        match boxed::block_of(&mut item.block) {
            Some(found) if form == Form::Boxed => found.block.stmts = statements,
            _ => item.block.stmts = statements,
        }
        item.into_token_stream()
    }
}

fn is_condition(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg")
}

fn is_conditional(argument: &PatType) -> bool {
    argument.attrs.iter().any(is_condition)
}

/// The names in a pattern.
#[derive(Default)]
struct Names(Vec<Ident>);

impl<'a> Visit<'a> for Names {
    fn visit_pat_ident(&mut self, pattern: &'a PatIdent) {
        self.0.push(pattern.ident.clone());
        visit::visit_pat_ident(self, pattern);
    }
}

/// A name by which the argument can be passed on.
fn name_of(argument: &FnArg) -> Option<Ident> {
    match argument {
        FnArg::Receiver(receiver) => Some(Ident::new("self", receiver.self_token.span)),
        FnArg::Typed(argument) => match &*argument.pat {
            Pat::Ident(pattern) if pattern.by_ref.is_none() && pattern.subpat.is_none() => Some(pattern.ident.clone()),
            _ => None,
        },
    }
}

/// What is written below us wraps what we make: a transaction would be committed after the lock is released.
fn check_order(attributes: &[Attribute]) -> syn::Result<()> {
    let is_transaction = |attribute: &&Attribute| {
        let last = attribute.path().segments.last();
        last.is_some_and(|last| TRANSACTIONS.iter().any(|name| last.ident == name))
    };
    match attributes.iter().find(is_transaction) {
        Some(attribute) => Err(Error::new_spanned(
            attribute,
            "the lock would be released before this commits: write `#[locked]` below it",
        )),
        None => Ok(()),
    }
}

/// Says what it is instead.
fn no_function(tokens: &TokenStream, error: Error) -> Error {
    if let Ok(method) = syn::parse2::<TraitItemFn>(tokens.clone()) {
        let rule = "a method without a body has nothing to lock: write `#[locked]` on it where it is implemented";
        return Error::new(method.sig.ident.span(), rule);
    }
    match syn::parse2(tokens.clone()) {
        Ok(Item::Impl(item)) => {
            Error::new(item.impl_token.span, "`#[locked]` goes on the functions in this `impl`, not on all of it")
        }
        Ok(Item::Trait(item)) => {
            Error::new(item.trait_token.span, "`#[locked]` goes on the functions that implement this trait")
        }
        Ok(Item::Verbatim(_)) | Err(_) => error,
        Ok(item) => Error::new(item.span(), "`#[locked]` goes on a function"),
    }
}
