//! Traces without a program: what the preloaded library would have left, call by call. For tests and measurements.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;

use bytemuck::Zeroable;

use mpitrace_format::layout::*;
use mpitrace_format::live_records::stored_columns;
use mpitrace_format::metadata::{self, Metadata};
use mpitrace_format::packed::{Numbering, Rows, column};
use mpitrace_format::part::{Blocks, Content, Times};
use mpitrace_format::{file, segment, strings};

/// Records of a block, as the preloaded library has them.
const BLOCK: usize = 1024;
/// The columns of [`SyntheticRequest`].
const OF_REQUESTS: [RecordColumn; 4] = [recorded::INIT, recorded::TEST, recorded::WAIT, recorded::TESTS];

/// The records of one rank. Its clock ticks once a nanosecond.
#[derive(Debug)]
pub struct SyntheticRank {
    /// The header of the rank.
    pub header: RankHeader,
    /// The metadata of the rank.
    pub metadata: Metadata,
    strings: Vec<u8>,
    communicators: Vec<CommunicatorEntry>,
    operations: Vec<OperationEntry>,
    threads: Vec<ThreadEntry>,
    runs: Vec<RunEntry>,
    enter: Vec<u64>,
    exit: Vec<u64>,
    position: Vec<u64>,
    repetition: Vec<u64>,
    operation: Vec<u32>,
    /// Values of the request of each call, zeros where it has none.
    requests: Vec<SyntheticRequest>,
    /// Ticks in point-to-point calls before each call.
    point_to_point: Vec<u64>,
    messages: Vec<MessageEntry>,
    message_rows: Rows,
    /// Algorithms of the first calls.
    /// Values in other columns, for each call up to the last that has one.
    recorded: Vec<(RecordColumn, Vec<u64>)>,
    /// The counters, each with its value in each call up to the last that has one.
    counters: Vec<CounterEntry>,
    counted: Vec<Vec<u64>>,
    interruptions: Vec<InterruptionEntry>,
    histograms: Vec<HistogramEntry>,
    /// Its sums of time.
    pub times: Times,
    /// Its time with each partner.
    pub partners: Vec<PartnerEntry>,
}

/// The cost of the request of a non-blocking call, ticks.
#[derive(Clone, Copy, Debug, Default)]
pub struct SyntheticRequest {
    /// In the call that starts it.
    pub init: u64,
    /// In tests that found it incomplete, all together.
    pub test: u64,
    /// In the call that completes it.
    pub wait: u64,
    /// How many tests found it incomplete.
    pub tests: u32,
}

impl SyntheticRank {
    /// A rank that has come to `MPI_Finalize`, with MPI_COMM_WORLD as communicator 0 and one thread.
    pub fn new(rank: u32, world_size: u32) -> Self {
        let header = RankHeader {
            job: [1; 16],
            boot_id: [2; 16],
            rank,
            world_size,
            pid: 1000 + rank,
            state: state::FINALIZED,
            abi: abi::MPICH,
            clock_source: clock_source::TSC,
            keeps: keeps::ALL,
            columns: COLUMNS.len() as u32,
            capacity: 1 << 20,
            nominal_hz: 1_000_000_000,
            first_anchor: Anchor::default(),
            last_anchor: Anchor::default(),
            leader: NO_RANK,
            ..RankHeader::zeroed()
        };
        let mut new = SyntheticRank {
            header,
            metadata: Metadata::new(),
            strings: vec![0; strings::FIRST as usize],
            communicators: Vec::new(),
            operations: Vec::new(),
            threads: Vec::new(),
            runs: Vec::new(),
            enter: Vec::new(),
            exit: Vec::new(),
            position: Vec::new(),
            repetition: Vec::new(),
            operation: Vec::new(),
            requests: Vec::new(),
            point_to_point: Vec::new(),
            messages: Vec::new(),
            message_rows: Rows::default(),
            recorded: Vec::new(),
            counters: Vec::new(),
            counted: Vec::new(),
            interruptions: Vec::new(),
            histograms: Vec::new(),
            times: Times::default(),
            partners: Vec::new(),
        };
        new.communicator(0, world_size, rank, None);
        new.communicators[0].flags |= communicator_flags::WORLD;
        new.thread();
        new
    }

    /// A rank as before whose calls that can wait had time stamps.
    pub fn stamped(mut self) -> SyntheticRank {
        self.times.rank.flags |= rank_times_flags::STAMPED;
        self.times.threads = vec![ThreadTimes::default()];
        self
    }

    /// Adds a communicator; ranks that give the same `key` share it.
    pub fn communicator(&mut self, key: u64, size: u32, rank: u32, name: Option<&str>) -> u32 {
        let name = name.map_or(0, |name| self.text(name));
        self.communicators.push(CommunicatorEntry {
            key: [key, !key],
            size,
            rank,
            name,
            flags: communicator_flags::IDENTIFIED,
            ..CommunicatorEntry::zeroed()
        });
        self.communicators.len() as u32 - 1
    }

    /// Makes a communicator a window or a file (`kind`, of [`communicator_flags`]) that was made of another one.
    pub fn is_of(&mut self, number: u32, kind: u32, made_of: u32) {
        let entry = &mut self.communicators[number as usize];
        (entry.flags, entry.made_of) = (entry.flags | kind, made_of + 1);
    }

    /// Gives a communicator more of [`communicator_flags`].
    pub fn flag_communicator(&mut self, number: u32, more: u32) {
        self.communicators[number as usize].flags |= more;
    }

    /// Adds to a communicator's sums of amounts; `None`: they are not known.
    pub fn add_amounts(&mut self, number: u32, more: Option<[u32; 2]>) {
        let entry = &mut self.communicators[number as usize];
        match more {
            Some(more) => entry.amounts.iter_mut().zip(more).for_each(|(sum, more)| *sum = sum.wrapping_add(more)),
            None => entry.unknown = unknown::AMOUNTS,
        }
    }

    /// Adds this rank's share to the sum of the kinds of data types of a communicator; `None`: one is not compared.
    pub fn add_types(&mut self, number: u32, more: Option<u16>) {
        let entry = &mut self.communicators[number as usize];
        match more {
            Some(more) => entry.types = entry.types.wrapping_add(more),
            None => entry.unknown |= unknown::TYPES,
        }
    }

    /// Makes a communicator one that was never identified.
    pub fn unidentify(&mut self, number: u32) {
        self.communicators[number as usize].flags &= !communicator_flags::IDENTIFIED;
    }

    /// The rank's last thread is in the function of this name, as one of [`activity`] that is not recorded.
    pub fn enter_function(&mut self, what: u32, function: &str) {
        let name = self.text(function);
        if let Some(thread) = self.threads.last_mut() {
            thread.activity = activity::in_function(what, name);
        }
    }

    /// Adds the entry for the communicators that have none of their own.
    pub fn folded_communicator(&mut self) -> u32 {
        let number = self.communicator(u64::from(self.header.rank) | 1 << 63, 1, 0, None);
        self.communicators[number as usize].flags |= communicator_flags::FOLDED;
        number
    }

    /// Adds an operation without a root, a data type and a reduction.
    pub fn operation(&mut self, function: &str, communicator: u32, bytes: u64) -> u32 {
        let function = self.text(function);
        self.operations.push(OperationEntry {
            bytes,
            communicator,
            root: NO_ROOT,
            function,
            ..OperationEntry::zeroed()
        });
        self.operations.len() as u32 - 1
    }

    /// Adds a region of the program.
    pub fn region(&mut self, name: &str) -> u32 {
        let number = self.operation(name, 0, 0);
        self.operations[number as usize].positions_from = 3 << 30 | (number + 1) << 8;
        number
    }

    /// Gives an operation its root, data type and reduction.
    pub fn describe(&mut self, operation: u32, root: Option<i32>, datatype: &str, reduction: Option<&str>) {
        let datatype = self.text(datatype);
        let reduction = reduction.map_or(0, |name| self.text(name));
        let entry = &mut self.operations[operation as usize];
        (entry.root, entry.datatype, entry.reduction) = (root.unwrap_or(NO_ROOT), datatype, reduction);
    }

    /// Lets the calls that follow be made by another thread.
    pub fn thread(&mut self) {
        self.threads.push(ThreadEntry::default());
        self.runs.push(RunEntry { count: 0, thread: self.threads.len() as u32 - 1 });
    }

    /// Gives the call before its algorithm, as a record has it.
    pub fn algorithm(&mut self, value: u64) {
        self.recorded(recorded::ALGORITHM, value);
    }

    /// Gives the call before a value in a column of the records.
    pub fn recorded(&mut self, column: RecordColumn, value: u64) {
        let known = self.recorded.iter().position(|(other, _)| *other == column).unwrap_or_else(|| {
            self.recorded.push((column, Vec::new()));
            self.recorded.len() - 1
        });
        let values = &mut self.recorded[known].1;
        values.resize(self.enter.len() - 1, 0);
        values.push(value);
    }

    /// Adds a counter of the processor of this name.
    pub fn counter(&mut self, name: &str) -> usize {
        let number = self.counters.len();
        let (name, source) = (self.text(name), counter_source::HARDWARE);
        self.counters.push(CounterEntry { name, source, column: number as u32 + 1, ..CounterEntry::default() });
        self.counted.push(Vec::new());
        number
    }

    /// Gives the call before its value of a counter.
    pub fn count_in_call(&mut self, counter: usize, value: u64) {
        let values = &mut self.counted[counter];
        values.resize(self.enter.len() - 1, 0);
        values.push(value);
    }

    /// A call that is kept. `exit` 0: it does not return.
    pub fn call(&mut self, operation: u32, enter: u64, exit: u64) {
        let (position, repetition) = self.count(operation);
        self.enter.push(enter);
        self.exit.push(exit);
        self.position.push(position);
        self.repetition.push(repetition);
        self.operation.push(operation);
        self.requests.push(SyntheticRequest::default());
        self.point_to_point.push(0);
        if let Some(run) = self.runs.last_mut() {
            run.count += 1;
        }
        let last = &mut self.header.last_anchor;
        (last.tick, last.raw_ns) = (last.tick.max(exit), last.raw_ns.max(exit));
    }

    /// A kept call of a non-blocking operation: from its start to its completion, in ticks.
    pub fn call_with_request(&mut self, operation: u32, enter: u64, exit: u64, request: SyntheticRequest) {
        self.header.columns = (COLUMNS.len() + OF_REQUESTS.len()) as u32;
        self.call(operation, enter, exit);
        self.requests.pop();
        self.requests.push(request);
    }

    /// Before the call kept last the rank was for so many ticks in point-to-point calls with a rank of MPI_COMM_WORLD.
    pub fn exchanged(&mut self, rank: u32, ticks: u64, calls: u64) {
        let with = partner::known(0, rank);
        if let Some(sum) = self.point_to_point.last_mut() {
            *sum += ticks;
        }
        self.times.rank.thread = 1;
        if let Some(thread) = self.times.threads.first_mut() {
            thread.ticks[wait_class::POINT_TO_POINT] += ticks;
        }
        match self.partners.iter_mut().find(|entry| entry.partner == with) {
            Some(entry) => (entry.ticks, entry.calls) = (entry.ticks + ticks, entry.calls + calls),
            None => self.partners.push(PartnerEntry { partner: with, ticks, calls, ..PartnerEntry::zeroed() }),
        }
    }

    /// Marks the call kept last as one that the tracer may have delayed.
    pub fn disturb(&mut self) {
        if let Some(operation) = self.operation.last_mut() {
            *operation |= DISTURBED;
        }
    }

    /// Lets the call kept last be interrupted, or with [`interruption_flags::BETWEEN`] the time before it. `entry` says
    /// what is known of that but for the call and the thread.
    pub fn interrupt(&mut self, entry: InterruptionEntry) {
        let Some(record) = self.enter.len().checked_sub(1) else { return };
        self.interrupt_at(InterruptionEntry { record: record as u64, ..entry });
    }

    /// Lets the call with the record that `entry` names be interrupted, by the last thread, or the time before it.
    pub fn interrupt_at(&mut self, entry: InterruptionEntry) {
        let Some(operation) = self.operation.get_mut(entry.record as usize) else { return };
        let between = entry.flags & interruption_flags::BETWEEN != 0;
        *operation |= if between { INTERRUPTED_BEFORE } else { INTERRUPTED };
        let thread = self.runs.last().map_or(0, |run| run.thread);
        if let Some(times) = self.times.threads.get_mut(thread as usize) {
            let off = &mut times.off_ns[if between { off_place::BETWEEN } else { off_place::IN_COLLECTIVE }];
            off.iter_mut().zip(entry.off_by_reason()).for_each(|(sum, ns)| *sum += ns);
        }
        let place = self.interruptions.partition_point(|other| other.record <= entry.record);
        self.interruptions.insert(place, InterruptionEntry { thread, ..entry });
    }

    /// Lets the last thread be interrupted between its last call and the end, as `entry` says.
    pub fn interrupt_behind(&mut self, entry: InterruptionEntry) {
        let thread = self.runs.last().map_or(0, |run| run.thread);
        if let Some(times) = self.times.threads.get_mut(thread as usize) {
            let off = &mut times.off_ns[off_place::BETWEEN];
            off.iter_mut().zip(entry.off_by_reason()).for_each(|(sum, ns)| *sum += ns);
        }
        self.interruptions.push(InterruptionEntry { record: NO_RECORD, thread, ..entry });
    }

    /// The entry of the thread that made the calls last.
    pub fn last_thread(&mut self) -> Option<&mut ThreadEntry> {
        self.threads.last_mut()
    }

    /// A call made while the program had paused recording.
    pub fn paused_call(&mut self, operation: u32) {
        self.count(operation);
        if let Some(thread) = self.threads.last_mut() {
            thread.paused += 1;
        }
    }

    /// A call not kept since the arrays were full.
    pub fn dropped_call(&mut self, operation: u32) {
        self.count(operation);
    }

    /// A call not kept that took so many ticks: counted in the histogram of its operation.
    pub fn timed_call(&mut self, operation: u32, ticks: u64) {
        self.count(operation);
        let entry = &mut self.operations[operation as usize];
        entry.histogram = SHARED_HISTOGRAM + 1 + operation;
        entry.timed += 1;
        entry.ticks += ticks;
        let (histogram, bucket) = (entry.histogram, bucket_of(ticks) as u32);
        let is_before = |other: &HistogramEntry| (other.histogram, other.bucket) < (histogram, bucket);
        let place = self.histograms.partition_point(is_before);
        match self.histograms.get_mut(place) {
            Some(same) if (same.histogram, same.bucket) == (histogram, bucket) => same.calls += 1,
            _ => self.histograms.insert(place, HistogramEntry { histogram, bucket, calls: 1 }),
        }
    }

    /// A call of a rank that holds a sample of this level: kept, or counted.
    pub fn sampled_call(&mut self, operation: u32, enter: u64, exit: u64, of: u32) {
        self.header.keeps = keeps::SAMPLE;
        let communicator = &self.communicators[self.operations[operation as usize].communicator as usize];
        match level(communicator.key, communicator.calls as u32) >= of {
            true => self.call(operation, enter, exit),
            false => self.timed_call(operation, exit - enter),
        }
        let last = &mut self.header.last_anchor;
        (last.tick, last.raw_ns) = (last.tick.max(exit), last.raw_ns.max(exit));
    }

    /// Leaves the last `kept` calls: those before were paused.
    pub fn leave_last(&mut self, kept: usize) {
        let excess = self.enter.len().saturating_sub(kept);
        for column in [&mut self.enter, &mut self.exit, &mut self.position, &mut self.repetition] {
            column.drain(..excess);
        }
        self.operation.drain(..excess);
        self.requests.drain(..excess);
        self.interruptions.retain_mut(|entry| match entry.record.checked_sub(excess as u64) {
            Some(record) => {
                entry.record = record;
                true
            }
            None => false,
        });
        let mut excess = excess as u64;
        for run in &mut self.runs {
            let cut = excess.min(run.count);
            run.count -= cut;
            excess -= cut;
        }
    }

    /// Puts the records of the last thread before all others: the order of the threads is not that of their calls.
    pub fn swap_runs(&mut self) {
        let Some(count) = self.runs.last().map(|run| run.count as usize) else {
            return;
        };
        self.runs.rotate_right(1);
        for column in [&mut self.enter, &mut self.exit, &mut self.position, &mut self.repetition] {
            column.rotate_right(count);
        }
        let moved = self.enter.len() - count;
        for entry in &mut self.interruptions {
            let before = entry.record as usize;
            entry.record = if before < moved { before + count } else { before - moved } as u64;
        }
        self.interruptions.sort_by_key(|entry| entry.record);
        self.operation.rotate_right(count);
        self.requests.rotate_right(count);
        self.point_to_point.rotate_right(count);
    }

    fn count(&mut self, operation: u32) -> (u64, u64) {
        let entry = &mut self.operations[operation as usize];
        let communicator = &mut self.communicators[entry.communicator as usize];
        let repetition = entry.calls;
        entry.calls += 1;
        if entry.is_region() {
            return (u64::from(entry.positions_from) << 32 | repetition, repetition);
        }
        communicator.calls += 1;
        (communicator.calls - 1, repetition)
    }

    /// Adds a message call: what it is of, without the function, which `function` names; its bytes, and when it was
    /// entered and left. `start`: the operation and the number of the call that started it. Its own.
    pub fn message(
        &mut self,
        function: &str,
        entry: MessageEntry,
        start: Option<(u32, u32)>,
        bytes: u32,
        [enter, exit]: [u64; 2],
    ) -> (u32, u32) {
        let entry = MessageEntry { start: start.map_or(0, |(operation, _)| operation + 1), ..entry };
        let is_same = |known: &MessageEntry| {
            MessageEntry { calls: 0, function: 0, ..*known } == entry
                && strings::text(&self.strings, known.function).as_deref() == Some(function)
        };
        let operation = match self.messages.iter().position(is_same) {
            Some(known) => known,
            None => {
                let function = self.text(function);
                self.messages.push(MessageEntry { function, ..entry });
                self.messages.len() - 1
            }
        };
        let calls = &mut self.messages[operation].calls;
        let number = start.map_or(*calls as u32, |(_, number)| number);
        *calls += 1;
        let rows = &mut self.message_rows;
        rows.enter.push(enter);
        rows.exit.push(exit);
        rows.position.push(message_position(bytes, number.into()));
        rows.repetition.push(number.into());
        rows.operation.push(operation as u32);
        (operation as u32, number)
    }

    /// The blocks of these records, each of one thread.
    fn blocks(&self, rows: &Rows) -> Blocks {
        let numbering = Numbering::new(self.operations.iter().map(|operation| operation.communicator).collect());
        let (mut blocks, mut first, mut draws) = (Blocks::default(), 0, 1..);
        for run in &self.runs {
            let end = first + run.count as usize;
            for (start, draw) in (first..end).step_by(BLOCK).zip(&mut draws) {
                blocks.add(&some(rows, start..end.min(start + BLOCK)), &numbering, draw, run.thread);
            }
            first = end;
        }
        blocks
    }

    fn message_blocks(&self) -> Blocks {
        let mut blocks = Blocks::default();
        if !self.message_rows.enter.is_empty() {
            blocks.add(&self.message_rows, &segment::message_numbering(self.messages.len()), 1, MESSAGES);
        }
        blocks
    }

    fn text(&mut self, text: &str) -> u32 {
        let reference = self.strings.len();
        self.strings.extend_from_slice(&(text.len() as u32).to_le_bytes());
        self.strings.extend_from_slice(text.as_bytes());
        self.strings.resize(reference + strings::space(text.len()) as usize, 0);
        reference as u32
    }

    /// The content that the rank would write.
    pub fn content<'a>(&'a self, metadata: &'a [u8]) -> Content<'a> {
        let mut columns: Vec<(RecordColumn, Vec<u64>)> = Vec::new();
        if self.header.columns as usize > COLUMNS.len() {
            let ticks = |of: fn(&SyntheticRequest) -> u64| self.requests.iter().map(of).collect::<Vec<u64>>();
            let values =
                [ticks(|one| one.init), ticks(|one| one.test), ticks(|one| one.wait), ticks(|one| one.tests.into())];
            columns.extend(OF_REQUESTS.into_iter().zip(values));
        }
        if self.point_to_point.iter().any(|ticks| *ticks > 0) {
            let ticks = self.point_to_point.clone();
            let partners =
                ticks.iter().map(|&ticks| if ticks > 0 { partner::SEVERAL } else { partner::NONE }).collect();
            columns.extend([(recorded::P2P, ticks), (recorded::P2P_PARTNER, partners)]);
        }
        columns.extend(self.recorded.iter().cloned());
        columns.iter_mut().for_each(|(_, values)| values.resize(self.enter.len(), 0));
        let mut counted = self.counted.clone();
        counted.iter_mut().for_each(|values| values.resize(self.enter.len(), 0));
        let counters: Vec<String> = (0..counted.len()).map(counter_column).collect();
        let named = columns.iter().map(|(column, _)| column.name).chain(counters.iter().map(String::as_str));
        let names: Vec<&str> = COLUMNS.into_iter().chain(named).collect();
        let values = columns.into_iter().map(|(_, values)| values).chain(counted);
        let others = (column::OTHERS..).zip(values).collect();
        let rows = Rows {
            enter: self.enter.clone(),
            exit: self.exit.clone(),
            position: self.position.clone(),
            repetition: self.repetition.clone(),
            operation: self.operation.clone(),
            others,
        };
        Content {
            rank: self.header,
            incomplete: self.header.state != state::FINALIZED,
            metadata,
            strings: &self.strings,
            communicators: bytemuck::cast_slice(&self.communicators),
            operations: bytemuck::cast_slice(&self.operations),
            threads: bytemuck::cast_slice(&self.threads),
            times: self.times.clone(),
            partners: self.partners.clone(),
            counters: bytemuck::cast_slice(&self.counters),
            syncs: &[],
            probes: &[],
            interruptions: self.interruptions.clone(),
            histograms: self.histograms.clone(),
            columns: stored_columns(0, &names),
            blocks: self.blocks(&rows),
            messages: bytemuck::cast_slice(&self.messages),
            message_blocks: self.message_blocks(),
            lost: LostRecords::default(),
        }
    }
}

/// Some of the records.
fn some(rows: &Rows, records: Range<usize>) -> Rows {
    let part = |values: &[u64]| values[records.clone()].to_vec();
    Rows {
        enter: part(&rows.enter),
        exit: part(&rows.exit),
        position: part(&rows.position),
        repetition: part(&rows.repetition),
        operation: rows.operation[records.clone()].to_vec(),
        others: rows.others.iter().map(|(number, values)| (*number, part(values))).collect(),
    }
}

/// Writes a trace of these ranks to `path`, over whatever is there. World ranks that are not among them are missing.
///
/// # Errors
/// The file cannot be written.
pub fn write(path: &Path, ranks: &[SyntheticRank]) -> io::Result<()> {
    let file = File::create(path)?;
    let parts = ranks.len() as u32;
    let mut offset = file::parts_start(parts);
    let mut complete = true;
    for (index, rank) in (0..).zip(ranks) {
        let metadata = metadata::encode(&rank.metadata);
        let content = rank.content(&metadata);
        complete &= !content.incomplete;
        let entry = PartEntry { offset, length: content.length(), rank: rank.header.rank, padding: 0 };
        content.write_at(&file, offset)?;
        file::write_part_entries(&file, index, &[entry])?;
        offset += entry.length;
    }
    let header = ranks.first().map_or(RankHeader::zeroed(), |rank| rank.header);
    complete &= header.world_size == parts;
    file::write_header(&file, header.job, header.world_size, parts, offset, complete)
}

/// Writes a trace to `path` for examples. Two ranks call MPI_Allreduce ten times, every 20 us from 1 ms on: rank 0
/// enters first, rank 1 500 ns later, and both leave 2,500 ns after the first entry. Before the sixth call they
/// exchange a message for 300 ns; at last they start an MPI_Ibarrier and complete it after two tests.
///
/// # Errors
/// The file cannot be written.
pub fn write_example(path: &Path) -> io::Result<()> {
    let ranks = [0, 1].map(|number| {
        let mut rank = SyntheticRank::new(number, 2).stamped();
        rank.metadata.push(("program".to_owned(), "app".to_owned()));
        let (allreduce, barrier) = (rank.operation("MPI_Allreduce", 0, 8), rank.operation("MPI_Ibarrier", 0, 0));
        rank.describe(allreduce, None, "MPI_DOUBLE", Some("MPI_SUM"));
        let late = 500 * u64::from(number);
        for call in 0..10 {
            let first = 1_000_000 + 20_000 * call;
            rank.call(allreduce, first + late, first + 2500);
            if call == 5 {
                rank.exchanged(1 - number, 300, 1);
            }
        }
        let entry = MessageEntry { partner: partner::known(0, 1 - number), flags: message::SEND, ..Default::default() };
        rank.message("MPI_Send", entry, None, 64, [1_090_000, 1_090_300]);
        let request = SyntheticRequest { init: 200, test: 100, wait: 1000, tests: 2 };
        rank.call_with_request(barrier, 1_300_000 + late, 1_303_000, request);
        rank
    });
    write(path, &ranks)
}
