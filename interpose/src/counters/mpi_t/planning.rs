//! Which variables of those that are asked for can be had: bound, started and read once, at Init.

use std::sync::atomic::{AtomicUsize, Ordering};

use mpitrace_format::layout::NO_VALUE;

use crate::counters::mpi_t::interface::{self, Handle, Object, Performance, Session};
use crate::counters::mpi_t::kinds::{Class, Number, Rule};
use crate::counters::mpi_t::{Variable, bound, choice, openmpi, transport};
use crate::counters::source::no_column;

/// Elements of an array that get a column each; of a longer one the sum is kept.
pub const MOST_ELEMENTS: usize = 16;

/// What is read around each call.
pub struct Plan {
    pub session: Session,
    pub readers: Vec<Reader>,
    /// The variables that have a handle for each communicator: their index in the library, and whether they count all
    /// the time.
    pub bound: Vec<(usize, bool)>,
    /// Elements that a reading has room for, for each of these.
    pub rooms: Vec<usize>,
    /// Words of a reading.
    pub words: usize,
}

/// Reads one variable.
pub struct Reader {
    pub rule: Rule,
    pub source: Reads,
    /// Where it lies in a reading, in words: the number of elements that were read (0: it could not be), then these.
    pub offset: usize,
    /// Columns.
    pub columns: usize,
    /// Whether there is one column, for the sum of all elements.
    pub summed: bool,
}

/// Whose handle a variable is read by.
pub enum Reads {
    /// One of its own; 0: it is gone. Its elements.
    Own { handle: AtomicUsize, count: usize, of_world: bool },
    /// One for each communicator: the number among [`Plan::bound`].
    Communicator(usize),
}

/// A variable that was asked for and is not read.
pub struct LeftOut {
    /// As it was asked for, or as the library names it.
    pub name: String,
    /// What follows its name, and the same text for all of a kind.
    pub why: String,
}

impl LeftOut {
    /// The whole sentence.
    pub fn reason(&self) -> String {
        format!("{}{}", self.name, self.why)
    }
}

/// What came of it.
#[derive(Default)]
pub struct Planned {
    pub plan: Option<Plan>,
    pub variables: Vec<Variable>,
    pub left_out: Vec<LeftOut>,
}

/// Binds and starts the variables that the patterns mean, for at most `room` columns. `world` is MPI_COMM_WORLD, where
/// there is one. A program that reaches MPI by sessions alone gets none: MPI_T keeps parts of the library open that a
/// session opens and closes. Open MPI 5.0.11, which cannot open a second session in any case, fails in another way
/// then.
pub fn plan(patterns: &[String], room: usize, world: Option<usize>) -> Planned {
    let mut planned = Planned::default();
    let none = |why: &str| Planned {
        left_out: patterns.iter().map(|name| LeftOut { name: name.clone(), why: why.to_owned() }).collect(),
        ..Planned::default()
    };
    let Some(world) = world else {
        return none(": not with sessions alone, as MPI_T keeps parts of the library open that a session closes");
    };
    if !interface::begin() || !Session::is_offered() {
        return none(": this MPI library has no tools interface (MPI_T)");
    }
    let Some(session) = Session::open() else {
        return none(": MPI_T gives no session to read it in");
    };
    let offered = interface::performance_variables();
    if offered.is_empty() {
        return none(": this MPI library has no MPI_T pvars");
    }
    let names = choice::names(&offered);
    let (chosen, unknown) = choice::choose(patterns, &offered, &names);
    planned.left_out.extend(
        unknown
            .into_iter()
            .map(|(name, text)| LeftOut { why: text.strip_prefix(&name).unwrap_or(&text).to_owned(), name }),
    );
    let mut plan = Plan { session, readers: Vec::new(), bound: Vec::new(), rooms: Vec::new(), words: 0 };
    let mut left = room;
    for place in chosen {
        match plan.add(&offered[place], &names[place], left, world) {
            Ok(columns) => {
                left -= columns.len();
                planned.variables.extend(columns);
            }
            Err(why) => planned.left_out.push(LeftOut { name: names[place].clone(), why }),
        }
    }
    planned.plan = (!plan.readers.is_empty()).then_some(plan);
    planned
}

impl Plan {
    /// Adds a variable: what its columns hold, or why it cannot be had.
    fn add(&mut self, variable: &Performance, name: &str, left: usize, world: usize) -> Result<Vec<Variable>, String> {
        let (class, number) = kind(variable)?;
        let for_each_peer = openmpi::counts_for_each_peer(&variable.name);
        let only_grows = class == Class::Size && openmpi::only_grows(&variable.name);
        let rule = Rule::of(if only_grows { Class::Counter } else { class }, number);
        let object = match variable.object {
            Object::Process => None,
            Object::Communicator => Some(world),
            Object::Other(what) => return Err(format!(": bound to {what}, and a call does not state which")),
        };
        if !transport::is_in_use(&variable.name) {
            return Err(": of a transport that is not in use".to_owned());
        }
        if left == 0 {
            return Err(no_column(""));
        }
        let allocated = self.session.allocate(variable.index, object).ok_or(": MPI_T gives no handle for it")?;
        let Handle { handle, count } = allocated;
        let give_up = |why: &str| {
            self.session.free(handle);
            Err(why.to_owned())
        };
        if count == 0 {
            return give_up(": it has no elements");
        }
        if !variable.continuous && !self.session.start(handle) {
            return give_up(": it cannot be started");
        }
        let mut words = vec![0u64; count];
        if !self.session.read(allocated, &mut words) {
            return give_up(": it cannot be read");
        }
        let summed = count > MOST_ELEMENTS || count > left;
        let columns = if summed { 1 } else { count };
        let offset = self.words;
        self.words += 1 + (count * number.size()).div_ceil(8);
        let source = match object {
            Some(_) if !for_each_peer => {
                // That of MPI_COMM_WORLD is made again when that is met.
                self.session.free(handle);
                self.bound.push((variable.index, variable.continuous));
                self.rooms.push(count);
                Reads::Communicator(self.bound.len() - 1)
            }
            _ => Reads::Own { handle: AtomicUsize::new(handle), count, of_world: for_each_peer },
        };
        self.readers.push(Reader { rule, source, offset, columns, summed });
        let note = match summed {
            true => format!("{name}: the sum of its {count} elements is kept"),
            false => String::new(),
        };
        let column = |element: usize| Variable {
            name: if count == 1 || summed { name.to_owned() } else { format!("{name}[{element}]") },
            unit: rule.unit,
            level: rule.is_level(),
            note: note.clone(),
        };
        Ok((0..columns).map(column).collect())
    }

    /// Binds all variables of communicators to this one: for each its handle, 0 where there is none, and its elements.
    pub fn bind(&self, communicator: usize) -> impl Iterator<Item = (usize, usize)> {
        self.bound.iter().zip(&self.rooms).map(move |(&(index, continuous), &room)| {
            match self.session.allocate(index, Some(communicator)) {
                Some(Handle { handle, count }) if count <= room && (continuous || self.session.start(handle)) => {
                    (handle, count)
                }
                Some(Handle { handle, .. }) => {
                    self.session.free(handle);
                    (0, 0)
                }
                None => (0, 0),
            }
        })
    }

    /// Reads them all for a call on this communicator. Those of communicators are not read where that has not been met.
    pub fn read_into(&self, communicator: usize, reading: &mut [u64]) {
        let bound = if self.bound.is_empty() { None } else { bound::find(communicator) };
        for reader in &self.readers {
            let (handle, count) = match &reader.source {
                Reads::Own { handle, count, .. } => (handle.load(Ordering::Relaxed), *count),
                Reads::Communicator(number) => {
                    bound.and_then(|bound| bound.get(*number)).map_or((0, 0), |bound| (bound.handle, bound.count))
                }
            };
            let [read, elements @ ..] = &mut reading[reader.offset..] else { continue };
            let well = handle != 0 && self.session.read(Handle { handle, count }, elements);
            *read = if well { count as u64 } else { 0 };
        }
    }

    /// The values of a call out of the readings before and after it; how many there are.
    pub fn difference(&self, before: &[u64], after: &[u64], values: &mut [u64]) -> usize {
        let mut stored = 0;
        for reader in &self.readers {
            let [read_before, before @ ..] = &before[reader.offset..] else { break };
            let [read_after, after @ ..] = &after[reader.offset..] else { break };
            let read = if reader.rule.is_level() { *read_after } else { *read_before.min(read_after) } as usize;
            let value = |element| if element < read { reader.rule.value(before, after, element) } else { NO_VALUE };
            // One element without a value leaves the sum without one.
            let add = |sum: u64, value| if value == NO_VALUE { None } else { Some(sum.wrapping_add(value)) };
            for element in 0..reader.columns {
                values[stored] = match reader.summed {
                    true => (0..read.max(1)).map(value).try_fold(0, add).unwrap_or(NO_VALUE),
                    false => value(element),
                };
                stored += 1;
            }
        }
        stored
    }

    /// Gives back what is bound to MPI_COMM_WORLD.
    pub fn end_of_world(&self) {
        for reader in &self.readers {
            if let Reads::Own { handle, of_world: true, .. } = &reader.source {
                self.session.free(handle.swap(0, Ordering::AcqRel));
            }
        }
    }
}

/// What values can be made of.
fn kind(variable: &Performance) -> Result<(Class, Number), String> {
    let class = variable.class.ok_or(": its class is not in the standard")?;
    let number = variable.number.ok_or(": its values are not numbers")?;
    Ok((class, number))
}
