//! The description of a recorded function.

/// A recorded function, in one of its forms.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// The plain C name, also for the variant with large counts.
    pub name: &'static str,
    /// How it is called.
    pub form: Form,
    /// The name of the form that does the same and blocks; its own for that form.
    pub blocking: &'static str,
    /// Which ranks wait for which.
    pub pattern: Pattern,
    /// The meaning of a call's message size.
    pub size: Size,
    /// The parameter that is the root, where it has one.
    pub root: Option<&'static str>,
    /// The parameter that is the reduction operator, where it has one.
    pub reduction: Option<&'static str>,
    /// The parameter that is the communicator, the window or the file, or their address.
    pub communicator: &'static str,
    /// True of a function on files, whose time beside waiting is input and output.
    pub is_on_file: bool,
    /// The kind of collective that it is in OTF2, without `OTF2_COLLECTIVE_OP_`; `None`: OTF2 has no such kind.
    pub otf2: Option<&'static str>,
    /// The name under which ReproMPI measures its blocking form; `None`: ReproMPI does not.
    pub reprompi: Option<&'static str>,
}

/// The forms of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `MPI_X`: returns when this rank's share is done.
    Blocking,
    /// `MPI_IX`: starts it; a request stands for it until it is complete.
    NonBlocking,
    /// `MPI_X_init`: prepares a request that is started many times.
    Persistent,
}

/// Which ranks wait for which: what no implementation can do without, whatever its algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// No rank leaves before all have entered.
    AllToAll,
    /// No other rank leaves before the root has entered.
    OneToAll,
    /// The root does not leave before all others have entered.
    AllToOne,
    /// A rank does not leave before all of lower ranks have entered; its own data counts too.
    Prefix,
    /// A prefix without the rank's own data.
    ExclusivePrefix,
    /// A rank does not leave before its neighbours in the topology have entered.
    Neighbourhood,
    /// In most libraries no rank leaves before all have entered; none has to do so.
    UsuallyAllToAll,
    /// Nothing is claimed.
    None,
}

/// The meaning of a call's message size: the rules of `interpose/src/operation/message_size.rs`, by what can be
/// concluded from their result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// No data: 0 bytes.
    Nothing,
    /// All data, or the block of one peer: equal on each rank. (Over a neighbourhood, ranks may differ.)
    Block,
    /// The data that this rank brings in, which differ between ranks.
    Contributed,
    /// The data that this rank gets, which differ between ranks; on the root all that it sends.
    Received,
    /// A sum over peers: with which of them a rank exchanges data cannot be told.
    Sum,
}

impl Function {
    /// No function: what an empty place holds.
    pub const NONE: Function = Function {
        name: "",
        form: Form::Blocking,
        blocking: "",
        pattern: Pattern::None,
        size: Size::Nothing,
        root: None,
        reduction: None,
        communicator: "",
        is_on_file: false,
        otf2: None,
        reprompi: None,
    };

    /// True if the message size of a call has to be the same on all ranks of an intracommunicator: a block of one peer,
    /// or the sum of counts that each rank passes for all.
    #[must_use]
    pub fn amounts_agree(&self) -> bool {
        let is_summed = self.size == Size::Sum && self.reduction.is_some();
        (self.size == Size::Block || is_summed) && self.pattern != Pattern::Neighbourhood
    }

    /// True if all ranks of an intracommunicator have to pass the same type signature, as far as they pass data. Not
    /// where ranks exchange data that differ from pair to pair.
    #[must_use]
    pub fn types_agree(&self) -> bool {
        let is_exchange = self.size == Size::Sum && self.reduction.is_none();
        !is_exchange && self.pattern != Pattern::Neighbourhood
    }

    /// True if the two groups of an intercommunicator may pass different amounts and types: where each sends to the
    /// other one, or reduces blocks for its own ranks.
    #[must_use]
    pub fn groups_differ(&self) -> bool {
        let is_of_blocks = self.size == Size::Block && self.blocking != "MPI_Allreduce";
        self.root.is_none() && (is_of_blocks || self.reduction.is_none())
    }

    /// True if it is a barrier that blocks. It has no data, and no rank leaves before all have entered.
    #[must_use]
    pub fn is_blocking_barrier(&self) -> bool {
        self.form == Form::Blocking && self.pattern == Pattern::AllToAll && self.size == Size::Nothing
    }
}

impl Form {
    /// True if a call only starts or prepares the operation, and a request stands for it until it is complete.
    #[must_use]
    pub fn has_request(self) -> bool {
        self != Form::Blocking
    }
}
