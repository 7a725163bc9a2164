//! What kind of lock, as people type it.

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use tenure::{Kind, Sort, Unreadable};

/// Reads a kind; clap knows all there are, for its completions.
#[derive(Clone)]
pub(crate) struct Sorts;

impl TypedValueParser for Sorts {
    type Value = Sort;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<Sort, clap::Error> {
        // What was typed is shown by the one who knows whether it may be.
        let read = |text: String| text.parse::<Sort>().map_err(|error: Unreadable| error.rule());
        StringValueParser::new().try_map(read).parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let locks = Sort::LOCKS.iter().copied().map(Kind::name).map(PossibleValue::new);
        Some(Box::new(locks.chain([PossibleValue::new("semaphore:N")])))
    }
}
