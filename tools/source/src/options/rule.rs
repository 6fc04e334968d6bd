//! The rule that sorts repetitions into categories.

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use mpitrace_statistics::categories::Rule;

/// The rule, with its usual factors.
#[derive(Clone, Copy, Debug, Args)]
pub struct RuleOption {
    /// The rule of the categories
    #[arg(long = "method", value_name = "METHOD", default_value = usual(), value_parser = parser(Rule::of_warmup()))]
    pub rule: Rule,
}

/// The rule that reduces a run to its good repetitions: more rules than those of the categories.
#[derive(Clone, Copy, Debug, Args)]
pub struct ReductionOption {
    /// The rule by which repetitions are left out of a run
    #[arg(long = "method", value_name = "METHOD", default_value = usual(), value_parser = parser(Rule::all()))]
    pub rule: Rule,
}

/// The name of the rule where none is asked for.
fn usual() -> &'static str {
    Rule::default().name()
}

fn parser(rules: Vec<Rule>) -> impl TypedValueParser<Value = Rule> {
    let names = rules.iter().map(|rule| PossibleValue::new(rule.name()).help(rule.help()));
    PossibleValuesParser::new(names).map(|name| Rule::named(&name).unwrap_or_default())
}
