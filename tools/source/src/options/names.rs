//! Options whose values are those of a library's choice.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use mpitrace_statistics::names::Named;

/// Takes the names of the values.
pub fn named<T: Named + Send + Sync>() -> impl TypedValueParser<Value = T> {
    let names = T::VALUES.iter().map(|value| value.name());
    PossibleValuesParser::new(names).try_map(|name| T::named(&name).ok_or("no such value"))
}
