//! What a case is.

use super::bench::Bench;
use futures_util::future::LocalBoxFuture;
use tenure_core::{Guarantee, Kind};

/// One thing that every backend has to get right.
pub(super) struct Case {
    pub(super) name: String,
    /// Without these it does not apply.
    pub(super) needs: &'static [Guarantee],
    /// And without these, which it uses besides the kind that it is tried on.
    pub(super) uses: &'static [Kind],
    pub(super) run: for<'a> fn(&'a Bench) -> LocalBoxFuture<'a, ()>,
}

/// Lists the cases of a file under the file's name; a case that needs more than any store can give says so.
macro_rules! cases {
    ($topic:literal: $($name:ident $(needs $guarantee:ident)? $(uses $kind:ident)?),+ $(,)?) => {
        pub(super) fn cases() -> Vec<super::case::Case> {
            vec![$(super::case::Case {
                name: concat!($topic, "::", stringify!($name)).to_owned(),
                needs: &[$(tenure_core::Guarantee::$guarantee)?],
                uses: &[$(tenure_core::Kind::$kind)?],
                run: |bench| Box::pin($name(bench)),
            }),+]
        }
    };
}
pub(super) use cases;
