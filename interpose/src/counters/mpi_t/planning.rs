//! Which variables of those that are asked for can be had: bound, started and read once, at Init.

use std::sync::atomic::{AtomicUsize, Ordering};

use mpitrace_format::layout::{NO_VALUE, counter_flags, counter_source};

use crate::counters::mpi_t::interface::{self, Handle, Object, Performance, Session};
use crate::counters::mpi_t::kinds::{self, COUNTER, Rule, SIZE};
use crate::counters::mpi_t::{choice, openmpi};
use crate::counters::source::{Counter, Plan, no_column};

/// Elements of an array that get a column each; of a longer one the sum is kept.
const MOST_ELEMENTS: usize = 16;

pub struct Readers {
    session: Session,
    readers: Vec<Reader>,
    pub words: usize,
}

struct Reader {
    rule: Rule,
    /// 0: it is gone.
    handle: AtomicUsize,
    count: usize,
    /// It is bound to MPI_COMM_WORLD.
    of_world: bool,
    /// Where it lies in a reading, in words: the number of elements that were read (0: it could not be), then these.
    offset: usize,
    columns: usize,
    /// There is one column, for the sum of all elements.
    summed: bool,
}

/// Binds and starts the variables that the patterns mean, for at most `room` columns. `world` is MPI_COMM_WORLD, where
/// there is one. A program that reaches MPI by sessions alone gets none: MPI_T keeps parts of the library open that a
/// session opens and closes. Open MPI 5.0.11, which cannot open a second session in any case, fails in another way
/// then.
pub fn plan(patterns: &[String], room: usize, world: Option<usize>) -> (Plan, Option<Readers>) {
    let mut plan = Plan::default();
    let mut readers = None;
    match open(world) {
        Ok((world, session, offered)) => {
            let names = choice::names(&offered);
            let (chosen, unknown) = choice::choose(patterns, &offered, &names);
            plan.left_out.extend(unknown.into_iter().map(|(name, why)| left_out(&name, &why)));
            let mut made = Readers { session, readers: Vec::new(), words: 0 };
            for place in chosen {
                let left = room - plan.counters.len();
                match made.add(&offered[place], &names[place], left, world) {
                    Ok(columns) => plan.counters.extend(columns),
                    Err(why) => plan.left_out.push(left_out(&names[place], &why)),
                }
            }
            readers = Some(made).filter(|made| !made.readers.is_empty());
        }
        Err(why) => plan.left_out.extend(patterns.iter().map(|name| left_out(name, why))),
    }
    plan.notes = notes(&plan);
    (plan, readers)
}

/// The library's variables, and a session to read them in; else why there is none.
fn open(world: Option<usize>) -> Result<(usize, Session, Vec<Performance>), &'static str> {
    let world =
        world.ok_or(": not with sessions alone, as MPI_T keeps parts of the library open that a session closes")?;
    if !interface::begin() || !Session::is_offered() {
        return Err(": this MPI library has no tools interface (MPI_T)");
    }
    let session = Session::open().ok_or(": MPI_T gives no session to read it in")?;
    Ok((world, session, interface::performance_variables()))
}

fn left_out(name: &str, why: &str) -> Counter {
    let reason = format!("{name}{why}");
    Counter { name: name.to_owned(), source: counter_source::VARIABLE, reason, ..Counter::default() }
}

/// Messages for the user, a sentence each: one for all variables that are left out for the same reason.
fn notes(plan: &Plan) -> Vec<String> {
    /// A pattern may mean hundreds.
    const MOST_NAMES: usize = 8;
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for Counter { name, reason, .. } in &plan.left_out {
        let why = &reason[name.len()..];
        match groups.iter_mut().find(|(known, _)| *known == why) {
            Some((_, names)) => names.push(name),
            None => groups.push((why, vec![name])),
        }
    }
    let left_out = groups.into_iter().map(|(why, names)| match names.len().saturating_sub(MOST_NAMES) {
        0 => format!("MPITRACE_PVARS: {}{why}", names.join(", ")),
        more => format!("MPITRACE_PVARS: {} and {more} more{why}", names[..MOST_NAMES].join(", ")),
    });
    let sums = plan.counters.iter().filter(|counter| !counter.reason.is_empty());
    left_out.chain(sums.map(|counter| format!("MPITRACE_PVARS: {}", counter.reason))).collect()
}

impl Readers {
    /// Adds a variable: its columns, or why it cannot be had.
    fn add(&mut self, variable: &Performance, name: &str, left: usize, world: usize) -> Result<Vec<Counter>, String> {
        let class = variable.class.ok_or(": its class is not in the standard")?;
        let class = if class == SIZE && openmpi::only_grows(&variable.name) { COUNTER } else { class };
        let rule = Rule::new(class, variable.value).ok_or(": its values are not numbers")?;
        let object = match variable.object {
            Object::Process => None,
            Object::Communicator => Some(world),
            Object::Other => return Err(": bound to an object that is no communicator".to_owned()),
        };
        if !openmpi::is_in_use(&variable.name) {
            return Err(": of a transport that is not in use".to_owned());
        }
        if left == 0 {
            return Err(no_column(""));
        }
        let allocated = self.session.allocate(variable.index, object).ok_or(": MPI_T gives no handle for it")?;
        let Handle { handle, count } = allocated;
        let refused = match count {
            0 => Some(": it has no elements"),
            _ if !variable.continuous && !self.session.start(handle) => Some(": it cannot be started"),
            _ if !self.session.read(allocated, &mut vec![0; count]) => Some(": it cannot be read"),
            _ => None,
        };
        if let Some(why) = refused {
            self.session.free(handle);
            return Err(why.to_owned());
        }
        let summed = count > MOST_ELEMENTS || count > left;
        let columns = if summed { 1 } else { count };
        let (handle, of_world) = (AtomicUsize::new(handle), object.is_some());
        self.readers.push(Reader { rule, handle, count, of_world, offset: self.words, columns, summed });
        self.words += 1 + kinds::words(variable.value, count);
        let column = |element: usize| Counter {
            name: if count == 1 || summed { name.to_owned() } else { format!("{name}[{element}]") },
            unit: rule.unit(),
            source: counter_source::VARIABLE,
            flags: if rule.is_level() { counter_flags::LEVEL } else { 0 },
            reason: if summed { format!("{name}: the sum of its {count} elements is kept") } else { String::new() },
        };
        Ok((0..columns).map(column).collect())
    }

    pub fn read_into(&self, reading: &mut [u64]) {
        for reader in &self.readers {
            let handle = Handle { handle: reader.handle.load(Ordering::Relaxed), count: reader.count };
            let [read, elements @ ..] = &mut reading[reader.offset..] else { continue };
            let well = handle.handle != 0 && self.session.read(handle, elements);
            *read = if well { handle.count as u64 } else { 0 };
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
                values[stored] = if reader.summed {
                    (0..read.max(1)).map(value).try_fold(0, add).unwrap_or(NO_VALUE)
                } else {
                    value(element)
                };
                stored += 1;
            }
        }
        stored
    }

    /// Gives back what is bound to MPI_COMM_WORLD.
    pub fn end_of_world(&self) {
        for reader in self.readers.iter().filter(|reader| reader.of_world) {
            self.session.free(reader.handle.swap(0, Ordering::AcqRel));
        }
    }
}
