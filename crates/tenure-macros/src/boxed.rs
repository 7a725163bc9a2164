//! Functions that return their future in a box, as those that `async_trait` makes of the user's.

use crate::value;
use proc_macro2::Ident;
use syn::{Block, Error, Expr, ExprAsync, ExprCall, Local, Pat, Path, Stmt};

/// The block in `Box::pin(async move { … })`, if that is what the function ends with.
pub(crate) fn block_of(body: &mut Block) -> Option<&mut ExprAsync> {
    let Some(Stmt::Expr(Expr::Call(call), None)) = body.stmts.last_mut() else { return None };
    match (is_box_pin(call), call.args.first_mut()) {
        (true, Some(Expr::Async(block))) => Some(block),
        _ => None,
    }
}

/// A future that the function ends with in another way, whatever its return type is called.
pub(crate) fn future_of(body: &Block) -> Option<&Expr> {
    let Some(Stmt::Expr(last, None)) = body.stmts.last() else { return None };
    let is_future = match last {
        Expr::Async(_) => true,
        Expr::Call(call) => is_box_pin(call),
        Expr::MethodCall(call) => call.method == "boxed" || call.method == "boxed_local",
        _ => false,
    };
    is_future.then_some(last)
}

fn is_box_pin(call: &ExprCall) -> bool {
    let Expr::Path(function) = &*call.func else { return false };
    let mut names = function.path.segments.iter().rev().map(|segment| &segment.ident);
    names.next().is_some_and(|name| name == "pin") && names.next().is_some_and(|name| name == "Box")
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
            Stmt::Expr(Expr::If(expr), _) => expr.else_branch.is_none() && never_is(&expr.cond),
            _ => false,
        };
        let end = block.stmts.iter().position(|statement| !is_move(statement));
        let rest = block.stmts.split_off(end.unwrap_or(block.stmts.len()));
        Self { statements: std::mem::replace(&mut block.stmts, rest), names }
    }

    /// What the arguments are called inside, but for those that were taken apart.
    pub(crate) fn names(&self) -> impl Iterator<Item = Ident> {
        self.names.iter().filter_map(|(name, _)| self.name_of(name).ok().cloned())
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
    let is = |path: &Path, name: &str| path.segments.last().is_some_and(|last| last.ident == name);
    let Expr::Let(condition) = condition else { return false };
    match (&*condition.pat, &*condition.expr) {
        (Pat::TupleStruct(some), Expr::Path(none)) => is(&some.path, "Some") && is(&none.path, "None"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proc_macro2::Span;
    use syn::parse_quote;

    fn moves(mut block: Block) -> (usize, usize) {
        let arguments = ["self", "id", "__arg1"].map(|name| Ident::new(name, Span::call_site()));
        (Moves::take(&mut block, &arguments).statements.len(), block.stmts.len())
    }

    #[test]
    fn arguments_are_moved_before_the_lock_is_taken() {
        let made = parse_quote!({
            if let ::core::option::Option::Some(__ret) = ::core::option::Option::None::<u32> {
                return __ret;
            }
            let __self = self;
            let id = id;
            let (a, b) = {
                let __arg1 = __arg1;
                __arg1
            };
            let __ret: u32 = { a + b };
            __ret
        });
        assert_eq!(moves(made), (4, 2));
    }

    #[test]
    fn nothing_else_is() {
        for (name, block) in [
            (
                "another name",
                parse_quote!({
                    let a = other;
                }),
            ),
            (
                "a call",
                parse_quote!({
                    let a = id.get();
                }),
            ),
            (
                "a way out",
                parse_quote!({
                    let Some(a) = id else { work() };
                }),
            ),
            (
                "another branch",
                parse_quote!({
                    if let Some(a) = None::<u32> {
                    } else {
                        work()
                    }
                }),
            ),
            (
                "a match",
                parse_quote!({
                    if let None = None::<u32> {
                        work()
                    }
                }),
            ),
            (
                "a block",
                parse_quote!({
                    let a = {
                        let id = id;
                        work(id)
                    };
                }),
            ),
        ] {
            assert_eq!(moves(block), (0, 1), "{name}");
        }
    }
}
