//! Of which ranks the entries and exits count, by the table of functions.

use mpitrace_functions::{Function, Size};

use crate::account::waits::Order;

/// The facts that count beside the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    /// Only the entries of ranks that passed bytes count.
    pub entries_with_bytes: bool,
    /// Only the exits of such ranks are checked.
    pub exits_with_bytes: bool,
}

impl Rule {
    /// The rule of a function, by its plain C name, with this order; `None`: it implies nothing that could be checked.
    pub fn of_function(function: &str, order: Order) -> Option<Rule> {
        let (entries_with_bytes, exits_with_bytes) = match (order, Function::named(function)?.size) {
            // A library may do without what is usual.
            (Order::MostlyAll, _) => return None,
            (_, Size::Nothing) => (false, false),
            // Only the root brings anything; what another rank passed is what it got.
            (Order::Root(_), Size::Block | Size::Received) => (false, true),
            // Only the root gets anything.
            (Order::AtRoot(_), Size::Block | Size::Contributed) => (true, false),
            (_, Size::Block) => (true, true),
            // All get what any rank brings.
            (Order::All, Size::Contributed) => (true, false),
            // Who exchanged anything with whom cannot be told.
            (_, Size::Contributed | Size::Received | Size::Sum) => return None,
        };
        Some(Rule { entries_with_bytes, exits_with_bytes })
    }
}
