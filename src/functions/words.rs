//! The words of the table's lines and their meanings.
#![allow(non_upper_case_globals, missing_docs, reason = "spelled as in the table")]

/// The words behind `as`.
pub mod pattern {
    use crate::Pattern;

    pub const all_to_all: Pattern = Pattern::AllToAll;
    pub const one_to_all: Pattern = Pattern::OneToAll;
    pub const all_to_one: Pattern = Pattern::AllToOne;
    pub const prefix: Pattern = Pattern::Prefix;
    pub const exclusive_prefix: Pattern = Pattern::ExclusivePrefix;
    pub const neighbourhood: Pattern = Pattern::Neighbourhood;
    pub const usually_all_to_all: Pattern = Pattern::UsuallyAllToAll;
    pub const none: Pattern = Pattern::None;
}

/// The sizes that rules count. A new rule is a method in `interpose/src/identity/message_size.rs` and a line here.
pub mod size {
    use crate::Size;

    pub const nothing: Size = Size::Nothing;
    pub const uniform: Size = Size::Block;
    pub const gathered: Size = Size::Block;
    pub const scattered: Size = Size::Block;
    pub const gathered_by_rank: Size = Size::Contributed;
    pub const contributed: Size = Size::Contributed;
    pub const scattered_by_rank: Size = Size::Received;
    pub const exchanged: Size = Size::Sum;
    pub const exchanged_by_type: Size = Size::Sum;
    pub const summed: Size = Size::Sum;
    pub const block_of_neighbours: Size = Size::Block;
    pub const contributed_to_neighbours: Size = Size::Block;
    pub const sent_to_neighbours: Size = Size::Sum;
    pub const sent_to_neighbours_by_type: Size = Size::Sum;
    pub const own: Size = Size::Contributed;
    pub const own_in_bytes: Size = Size::Contributed;
    pub const in_bytes: Size = Size::Block;
}
