//! The order of entries and exits that a function implies, by the table of functions.

use mpitrace_functions::{Function, Pattern, Size};

/// Whose entries precede whose exits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    AllBeforeAll,
    RootBeforeOthers,
    OthersBeforeRoot,
    LowerBeforeHigher,
}

/// The order that a function implies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    pub order: Order,
    /// Only the entries of ranks that passed bytes count.
    pub entries_with_bytes: bool,
    /// Only the exits of such ranks are checked.
    pub exits_with_bytes: bool,
}

impl Rule {
    /// The rule of a function, by its plain C name; `None`: it implies nothing that could be checked, or it is not in
    /// the table.
    pub fn of_function(function: &str) -> Option<Rule> {
        let function = Function::named(function)?;
        let order = match function.pattern {
            Pattern::AllToAll => Order::AllBeforeAll,
            Pattern::OneToAll => Order::RootBeforeOthers,
            Pattern::AllToOne => Order::OthersBeforeRoot,
            Pattern::Prefix | Pattern::ExclusivePrefix => Order::LowerBeforeHigher,
            // A trace does not have the topology.
            // A library may do without what is usual.
            Pattern::Neighbourhood | Pattern::UsuallyAllToAll | Pattern::None => return None,
        };
        let (entries_with_bytes, exits_with_bytes) = match (order, function.size) {
            (_, Size::Nothing) => (false, false),
            // Only the root brings anything; what another rank passed is what it got.
            (Order::RootBeforeOthers, Size::Block | Size::Received) => (false, true),
            // Only the root gets anything.
            (Order::OthersBeforeRoot, Size::Block | Size::Contributed) => (true, false),
            (_, Size::Block) => (true, true),
            // All get what any rank brings.
            (Order::AllBeforeAll, Size::Contributed) => (true, false),
            // Who exchanged anything with whom cannot be told.
            (_, Size::Contributed | Size::Received | Size::Sum) => return None,
        };
        Some(Rule { order, entries_with_bytes, exits_with_bytes })
    }
}
