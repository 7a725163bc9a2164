//! Functions that return their future in a box, as those that `async_trait` makes of the user's.

use crate::value;
use proc_macro2::Ident;
use syn::{Block, Error, Expr, ExprAsync, Local, Pat, Stmt};

/// The block in `Box::pin(async move { … })`, if that is what the function ends with.
pub(crate) fn block_of(body: &mut Block) -> Option<&mut ExprAsync> {
    let Some(Stmt::Expr(Expr::Call(call), None)) = body.stmts.last_mut() else { return None };
    let Expr::Path(function) = &*call.func else { return None };
    let mut names = function.path.segments.iter().rev().map(|segment| &segment.ident);
    let is_box_pin = names.next().is_some_and(|name| name == "pin") && names.next().is_some_and(|name| name == "Box");
    match call.args.first_mut() {
        Some(Expr::Async(block)) if is_box_pin => Some(block),
        _ => None,
    }
}

/// Nothing may run before the lock is held, so there may be nothing before the block.
pub(crate) fn check_alone(body: &Block) -> syn::Result<()> {
    let mut before = body.stmts.iter().take(body.stmts.len().saturating_sub(1));
    match before.find(|statement| !matches!(statement, Stmt::Item(_))) {
        Some(statement) => {
            Err(Error::new_spanned(statement, "this would run without the lock: move it into the async block"))
        }
        None => Ok(()),
    }
}

/// How the async block begins: arguments that are moved into it, under names that are perhaps others.
pub(crate) struct Moves {
    pub(crate) statements: Vec<Stmt>,
    names: Vec<(Ident, Pat)>,
}

impl Moves {
    /// Takes them from the block.
    pub(crate) fn take(block: &mut Block, arguments: &[Ident]) -> Self {
        let mut names = Vec::new();
        let mut is_move = |statement: &Stmt| match statement {
            Stmt::Local(local) => {
                let moved = moved(local).filter(|name| arguments.contains(name));
                names.extend(moved.map(|name| (name.clone(), local.pat.clone())));
                moved.is_some()
            }
            Stmt::Expr(Expr::If(expr), _) => never_is(&expr.cond),
            _ => false,
        };
        let end = block.stmts.iter().position(|statement| !is_move(statement));
        let rest = block.stmts.split_off(end.unwrap_or(block.stmts.len()));
        Self { statements: std::mem::replace(&mut block.stmts, rest), names }
    }

    /// What `self` is called inside, if it is called otherwise.
    pub(crate) fn name_of_self(&self) -> Option<&Ident> {
        let (own, _) = self.names.iter().find(|(name, _)| name == "self")?;
        self.name_of(own).ok()
    }

    /// What an argument is called inside.
    ///
    /// # Errors
    ///
    /// The pattern, if it was taken apart.
    pub(crate) fn name_of<'a>(&'a self, argument: &'a Ident) -> Result<&'a Ident, &'a Pat> {
        let Some((_, pattern)) = self.names.iter().rev().find(|(name, _)| name == argument) else {
            return Ok(argument);
        };
        match pattern {
            Pat::Ident(inside) if inside.by_ref.is_none() && inside.subpat.is_none() => Ok(&inside.ident),
            pattern => Err(pattern),
        }
    }
}

/// The name that `let … = name;` or `let … = { let name = name; name };` moves.
fn moved(local: &Local) -> Option<&Ident> {
    let init = local.init.as_ref().filter(|init| init.diverge.is_none())?;
    match &*init.expr {
        Expr::Block(block) => match &block.block.stmts[..] {
            [Stmt::Local(inner), Stmt::Expr(last, None)] => {
                moved(inner).filter(|name| value::word(last).is_some_and(|last| last == *name))
            }
            _ => None,
        },
        expr => value::word(expr),
    }
}

/// `let Some(…) = None`, which is there to tell the compiler a type.
fn never_is(condition: &Expr) -> bool {
    let Expr::Let(condition) = condition else { return false };
    let Expr::Path(path) = &*condition.expr else { return false };
    path.path.segments.last().is_some_and(|last| last.ident == "None")
}
