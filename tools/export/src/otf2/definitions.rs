//! The definitions that events refer to: regions, communicators, counters, locations, and the texts that name them.

use std::collections::{BTreeMap, HashMap};
use std::ffi::CString;

use anyhow::Result;
use mpitrace_format::layout::{CommunicatorEntry, OPERATION_MASK, communicator_flags};
use mpitrace_trace::operations::NO_RECORD;

use super::archive::Archive;
use super::collective::Collective;
use super::library::{Code, Handle, Library};
use crate::messages::MessageRows;
use crate::rows::Calls;
use crate::stamps::Stamps;

// Values of OTF2's enumerations.
const UNDEFINED: u32 = u32::MAX;
const UNDEFINED_TIME: u64 = u64::MAX;
const PARADIGM_USER: u8 = 1;
const PARADIGM_MPI: u8 = 4;
const FUNCTION: u8 = 1;
const PROCESS: u8 = 1;
const CPU_THREAD: u8 = 1;
const COMM_LOCATIONS: u8 = 4;
const COMM_GROUP: u8 = 5;
const COMM_SELF: u8 = 6;
const TYPE_UINT64: u8 = 4;
const METRIC_OTHER: u8 = 0;
/// The value is that of the interval that ends with it.
const METRIC_RELATIVE_LAST: u8 = 2 | (2 << 4);
const BASE_DECIMAL: u8 = 1;
const METRIC_SYNCHRONOUS: u8 = 1;
const RECORDER_CPU: u8 = 2;
const NS_PER_SECOND: u64 = 1_000_000_000;

/// Groups that are not those of a communicator.
const ALL_RANKS: u32 = 0;
const SELF_GROUP: u32 = 1;

/// The references of everything.
pub struct Definitions {
    texts: Texts,
    /// By number of the operation: its region, and its kind.
    pub regions: Vec<(u32, Option<Collective>)>,
    /// By part and operation of message calls: its region.
    pub message_regions: Vec<Vec<u32>>,
    functions: Vec<(u32, Option<Collective>)>,
    /// By (communicator, part): the rank in it, and bits of [`communicator_flags`].
    members: BTreeMap<(usize, usize), (u32, u32)>,
}

/// Events of each location, by its number.
#[derive(Default)]
pub struct Counts {
    pub of_location: BTreeMap<u64, u64>,
    /// The largest time stamp.
    pub last: u64,
}

/// The number of a location; a rank's first thread has the rank's own.
pub fn location(rank: u32, thread: u32) -> u64 {
    u64::from(thread) << 32 | u64::from(rank)
}

impl Definitions {
    /// Collects them.
    pub fn new(calls: &Calls, messages: &MessageRows) -> Definitions {
        let mut texts = Texts::default();
        texts.reference("");
        let mut functions: Vec<(u32, Option<Collective>)> = Vec::new();
        let mut region = |function: &str| {
            let name = texts.reference(function);
            let known = functions.iter().position(|&(other, _)| other == name);
            if known.is_none() {
                functions.push((name, Collective::new(function)));
            }
            known.unwrap_or(functions.len() - 1)
        };
        let operations = calls.operations.operations.iter();
        let regions: Vec<usize> = operations.map(|operation| region(&operation.key.function)).collect();
        let of_messages = messages.functions.iter();
        let message_regions = of_messages.map(|names| names.iter().map(|name| region(name) as u32).collect()).collect();
        let regions = regions.into_iter().map(|region| (region as u32, functions[region].1)).collect();
        Definitions { texts, regions, message_regions, functions, members: members(calls, messages) }
    }

    /// The rank that a part has in a communicator and the reference of that communicator.
    pub fn member(&self, communicator: usize, part: usize) -> Member {
        let &(rank, flags) = self.members.get(&(communicator, part)).unwrap_or(&(0, 0));
        let first_self = || self.members.iter().find(|(_, (_, flags))| flags & communicator_flags::SELF != 0);
        let reference = match flags & communicator_flags::SELF != 0 {
            // One definition stands for every rank's.
            true => first_self().map_or(communicator, |((first, _), _)| *first),
            false => communicator,
        };
        Member { rank, reference: reference as u32, is_inter: flags & communicator_flags::INTER != 0 }
    }

    /// Writes them, after the events.
    pub fn write(mut self, archive: &Archive, calls: &Calls, stamps: &Stamps, counts: &Counts) -> Result<()> {
        archive.clocks(counts.of_location.keys().map(|&location| (location, clock(calls, stamps, location))))?;
        archive.global(|writer| {
            let library = archive.library;
            let length = counts.last.max(stamps.end()) + 1;
            let realtime = stamps.realtime_ns.unwrap_or(UNDEFINED_TIME);
            // SAFETY: the writer's handle is valid while this closure runs; so in all calls below. Texts are
            // terminated, and lists as long as they are said to be.
            library.check(unsafe { (library.clock_properties)(writer, NS_PER_SECOND, 0, length, realtime) })?;
            self.write_regions(library, writer)?;
            self.write_locations(library, writer, calls, counts)?;
            self.write_communicators(library, writer, calls)?;
            self.write_counters(library, writer, calls)
        })
    }

    fn write_regions(&mut self, library: &Library, writer: Handle) -> Result<()> {
        self.texts.write(library, writer, "")?;
        for (region, &(name, collective)) in (0..).zip(&self.functions) {
            let (role, paradigm) = collective.map_or((FUNCTION, PARADIGM_USER), |known| (known.role, PARADIGM_MPI));
            // SAFETY: see `write`.
            let code = unsafe { (library.region)(writer, region, name, name, 0, role, paradigm, 0, 0, 0, 0) };
            library.check(code)?;
        }
        Ok(())
    }

    /// A location group for each rank of the world, under the rank's number, also for one that left nothing: readers
    /// count.
    fn write_locations(&mut self, library: &Library, writer: Handle, calls: &Calls, counts: &Counts) -> Result<()> {
        let machine = self.texts.write(library, writer, "machine")?;
        let node = self.texts.write(library, writer, "node")?;
        let job = self.texts.write(library, writer, "MPI job")?;
        // SAFETY: see `write`; so in the rest of the function.
        library.check(unsafe { (library.node)(writer, 0, job, machine, UNDEFINED) })?;
        let mut nodes: HashMap<String, u32> = HashMap::new();
        let parts: HashMap<u32, &mpitrace_trace::reader::Part> =
            calls.trace.parts.iter().map(|part| (part.rank(), part)).collect();
        for rank in ranks(calls) {
            let factors = parts.get(&rank).map(|part| part.metadata()).unwrap_or_default();
            let host = factors.into_iter().find(|(name, _)| name == "host").map(|(_, host)| host);
            let host = host.unwrap_or_else(|| "unknown".to_owned());
            let next = nodes.len() as u32 + 1;
            let parent = match nodes.get(&host) {
                Some(&known) => known,
                None => {
                    let name = self.texts.write(library, writer, &host)?;
                    // SAFETY: as above.
                    library.check(unsafe { (library.node)(writer, next, name, node, 0) })?;
                    nodes.insert(host, next);
                    next
                }
            };
            let name = self.texts.write(library, writer, &format!("MPI Rank {rank}"))?;
            // SAFETY: as above.
            library.check(unsafe { (library.location_group)(writer, rank, name, PROCESS, parent, UNDEFINED) })?;
        }
        for (&location, &events) in &counts.of_location {
            let (thread, rank) = ((location >> 32) as u32, location as u32);
            let name = self.texts.write(library, writer, &format!("Thread {thread}"))?;
            // SAFETY: as above.
            library.check(unsafe { (library.location)(writer, location, name, CPU_THREAD, events, rank) })?;
        }
        Ok(())
    }

    fn write_communicators(&mut self, library: &Library, writer: Handle, calls: &Calls) -> Result<()> {
        let group = |group: u32, kind: u8, members: &[u64]| -> Result<()> {
            let count = members.len() as u32;
            // SAFETY: see `write`; the list is as long as the count says.
            library.check(unsafe { (library.group)(writer, group, 0, kind, PARADIGM_MPI, 0, count, members.as_ptr()) })
        };
        let locations: Vec<u64> = ranks(calls).map(|rank| location(rank, 0)).collect();
        group(ALL_RANKS, COMM_LOCATIONS, &locations)?;
        group(SELF_GROUP, COMM_SELF, &[])?;
        let mut self_is_defined = false;
        for communicator in &calls.operations.communicators {
            let id = communicator.id;
            let mut members: Vec<(u32, u32)> = Vec::new();
            let mut flags = 0;
            for (&(_, part), &(rank, of_member)) in self.members.range((id, 0)..(id + 1, 0)) {
                flags |= of_member;
                members.push((rank, calls.trace.parts[part].rank()));
            }
            if members.is_empty() || (flags & communicator_flags::SELF != 0 && self_is_defined) {
                continue;
            }
            let own = SELF_GROUP + 1 + id as u32;
            let group_of = if flags & communicator_flags::SELF != 0 {
                self_is_defined = true;
                SELF_GROUP
            } else {
                if flags & communicator_flags::INTER == 0 {
                    members.sort_unstable();
                }
                let world = flags & communicator_flags::WORLD != 0;
                let indices: Vec<u64> = match world {
                    true => (0..locations.len() as u64).collect(),
                    false => members.iter().map(|&(_, rank)| u64::from(rank)).collect(),
                };
                group(own, COMM_GROUP, &indices)?;
                own
            };
            let name = self.texts.write(library, writer, &communicator.name)?;
            // SAFETY: see `write`.
            library.check(unsafe { (library.communicator)(writer, id as u32, name, group_of, UNDEFINED, 0) })?;
        }
        Ok(())
    }

    fn write_counters(&mut self, library: &Library, writer: Handle, calls: &Calls) -> Result<()> {
        let unit = self.texts.write(library, writer, "#")?;
        for (counter, name) in (0u32..).zip(&calls.counter_names) {
            let name = self.texts.write(library, writer, name)?;
            // SAFETY: see `write`; a list of one.
            let codes: [Code; 2] = unsafe {
                [
                    (library.metric_member)(
                        writer,
                        counter,
                        name,
                        0,
                        METRIC_OTHER,
                        METRIC_RELATIVE_LAST,
                        TYPE_UINT64,
                        BASE_DECIMAL,
                        0,
                        unit,
                    ),
                    (library.metric_class)(writer, counter, 1, &counter, METRIC_SYNCHRONOUS, RECORDER_CPU),
                ]
            };
            codes.into_iter().try_for_each(|code| library.check(code))?;
        }
        Ok(())
    }
}

/// A part as a member of a communicator.
#[derive(Clone, Copy, Debug)]
pub struct Member {
    pub rank: u32,
    pub reference: u32,
    /// Whose ranks a trace cannot tell apart by group.
    pub is_inter: bool,
}

/// All ranks of the world; of a trace that knows no world those that are there.
pub fn ranks(calls: &Calls) -> std::ops::Range<u32> {
    let highest = calls.trace.parts.last().map_or(0, |part| part.rank() + 1);
    0..calls.trace.world_size.max(highest)
}

fn members(calls: &Calls, messages: &MessageRows) -> BTreeMap<(usize, usize), (u32, u32)> {
    let mut members = BTreeMap::new();
    // Messages may be on communicators without a collective; OTF2's readers want definitions without a gap.
    for communicator in calls.operations.communicators.iter().filter(|_| !messages.messages.calls.is_empty()) {
        for &(part, index) in &communicator.members {
            let entry = &calls.trace.parts[part].communicators()[index];
            members.insert((communicator.id, part), (entry.rank, entry.flags));
        }
    }
    for operation in &calls.operations.operations {
        for (member, &part) in operation.parts.iter().enumerate() {
            let place = (operation.key.communicator, part);
            if members.contains_key(&place) {
                continue;
            }
            let mut records = (0..operation.repetition.len()).map(|row| operation.records(row).get(member));
            let Some(record) = records.find(|&record| record != NO_RECORD) else { continue };
            let part = &calls.trace.parts[part];
            let own = &part.operations()[(part.operation_of(record as usize) & OPERATION_MASK) as usize];
            let entry: &CommunicatorEntry = &part.communicators()[own.communicator as usize];
            members.insert(place, (entry.rank, entry.flags));
        }
    }
    members
}

/// Half the width of a 95 % interval in standard deviations.
const TWO_SIDED_95: f64 = 1.959_964;
/// So often over the run a location states its clock's error.
const STATEMENTS: usize = 9;

/// When and how exactly a location's clock was known: nothing where the method states no error.
fn clock(calls: &Calls, stamps: &Stamps, location: u64) -> Vec<(u64, f64)> {
    let found = calls.trace.parts.iter().position(|part| part.rank() == location as u32);
    let Some(index) = found else { return Vec::new() };
    let (part, clock) = (&calls.trace.parts[index], calls.clock.of_part(index));
    let Some(last) = part.records().checked_sub(1) else { return Vec::new() };
    let at = |statement: usize| part.times_of(statement * last / (STATEMENTS - 1)).0;
    let mut ticks: Vec<u64> = (0..STATEMENTS).map(at).collect();
    ticks.sort_unstable();
    ticks.dedup();
    let stated = |tick| Some((stamps.stamp(clock.nanoseconds(tick)), clock.error_ns(tick)? / TWO_SIDED_95));
    ticks.into_iter().filter_map(stated).collect()
}

/// Texts and their references.
#[derive(Default)]
struct Texts {
    references: HashMap<String, u32>,
    list: Vec<CString>,
    /// So many are written.
    written: usize,
}

impl Texts {
    fn reference(&mut self, text: &str) -> u32 {
        let next = self.list.len() as u32;
        let reference = *self.references.entry(text.to_owned()).or_insert(next);
        if reference == next {
            self.list.push(CString::new(text.replace('\0', " ")).unwrap_or_default());
        }
        reference
    }

    /// The reference of a text. It is written, and those before it, unless they were.
    fn write(&mut self, library: &Library, writer: Handle, text: &str) -> Result<u32> {
        let reference = self.reference(text);
        for (reference, text) in (0..).zip(&self.list).skip(self.written) {
            // SAFETY: the writer's handle is valid while definitions are written, the text is terminated.
            library.check(unsafe { (library.string)(writer, reference, text.as_ptr()) })?;
        }
        self.written = self.list.len();
        Ok(reference)
    }
}
