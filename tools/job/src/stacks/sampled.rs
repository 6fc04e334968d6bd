//! The samples of a thread as they come: unwound at once, since its memory is gone later, and named after the run.

use std::collections::{HashMap, HashSet};
use std::io;
use std::os::fd::RawFd;
use std::sync::Arc;

use mpitrace_format::live::now;
use mpitrace_format::samples::{EMPTY, Samples, Thread};
use mpitrace_trace::call_site::Resolver;

use super::capture::{self, Why};
use super::event::{Event, Moment, Record};
use super::frames;
use super::gaps::Gaps;
use super::lost::Lost;
use super::memory::{Map, Memory};
use super::python::{Interpreter, are_same};
use super::root_of;
use super::unwind::{CodePlace, Stacks, Unwind};

/// No more samples of a thread are held, 16 bytes each: of a longer run every second one is left out, then every
/// fourth.
const MOST_SAMPLES: usize = 1 << 20;
/// No more different stacks: what is called deeper counts for its caller.
const MOST_STACKS: usize = 1 << 20;
/// A thread that yields its processor all the time has so many context switches that samples find no room beside them:
/// where so many records are lost, switches are not recorded any more, and time in the kernel is not known.
const FLOOD: u64 = 1000;
/// For so long the callers of a function of Python that were seen are taken to be those of its samples: a little more
/// than the time between two looks.
const CHAIN_NS: u64 = 60_000_000;
/// The file of a place in the kernel.
const KERNEL: &str = "[kernel]";
/// The offset of a function of Python, whose name is in place of the file.
const OF_PYTHON: u64 = u64::MAX;

/// All stacks of the job on this node, each with the one that it lies on.
pub struct Tree {
    files: Stacks,
    /// By number less 1.
    nodes: Vec<(u32, CodePlace)>,
    numbers: HashMap<(u32, CodePlace), u32>,
    kernel: Arc<str>,
}

/// The samples of a thread.
pub struct Sampled {
    /// `None` while it is drained.
    event: Option<Event>,
    sees_kernel: bool,
    maps: Vec<Map>,
    memory: Memory,
    root: String,
    unwind: Option<Unwind>,
    /// The interpreter of Python, as soon as its code runs; `None` within: it cannot be read.
    python: Option<Option<Interpreter>>,
    gaps: Gaps,
    /// False: context switches are not recorded, so that no sample is known to be missing.
    knows_gaps: bool,
    /// The stack before, and whether the kernel was entered from it.
    last: (u32, bool),
    /// Samples in the kernel whose stack is yet to be known.
    waiting: Vec<u64>,
    /// Every so many samples are kept, and how many were passed over.
    every: u32,
    passed: u32,
    samples: Vec<(u64, u32)>,
    /// Stacks on which it was asleep.
    asleep: Vec<(u64, u32)>,
    /// The functions of Python in which it was seen last while it ran, the outermost first, and when.
    chain: Option<(u64, Vec<Arc<str>>)>,
    lost: Lost,
    hz: f64,
    period_ns: u64,
}

impl Default for Tree {
    fn default() -> Tree {
        Tree { files: Stacks::default(), nodes: Vec::new(), numbers: HashMap::new(), kernel: KERNEL.into() }
    }
}

impl Tree {
    /// The number of the node of a place above another node; where the tree is full that node.
    fn node_above(&mut self, below: u32, place: CodePlace) -> u32 {
        let (next, nodes) = (self.nodes.len() as u32 + 1, &mut self.nodes);
        if let Some(known) = self.numbers.get(&(below, place.clone())) {
            return *known;
        }
        if nodes.len() == MOST_STACKS {
            return below;
        }
        nodes.push((below, place.clone()));
        self.numbers.insert((below, place), next);
        next
    }

    /// In the kernel, where its address is known.
    fn in_kernel(&mut self, stack: u32, address: Option<u64>) -> u32 {
        let place = |offset| CodePlace { module: self.kernel.clone(), offset };
        let (entry, inside) = (place(0), address.map(place));
        let entered = self.node_above(stack, entry);
        inside.map_or(entered, |inside| self.node_above(entered, inside))
    }

    /// The stack that two stacks have in common.
    fn common(&self, one: u32, other: u32) -> u32 {
        let (mut one, mut other) = (one, other);
        // A stack is numbered after the one that it lies on.
        while one != other {
            let higher = if one > other { &mut one } else { &mut other };
            *higher = self.nodes[*higher as usize - 1].0;
        }
        one
    }

    /// The texts of all stacks, in the order of their outermost frames.
    pub fn named(&self, job: [u8; 16], threads: Vec<Thread>, asleep: Vec<Thread>) -> Samples {
        let (mut resolver, mut named) = (Resolver::default(), Samples { job, threads, asleep, ..Samples::default() });
        let (mut frames, mut stacks) = (HashMap::new(), HashMap::new());
        let mut on = |named: &mut Samples, below: u32, text: String| {
            let frame = *frames.entry(text).or_insert_with_key(|text: &String| {
                named.frames.push(text.clone());
                named.frames.len() as u32 - 1
            });
            *stacks.entry((below, frame)).or_insert_with(|| {
                named.stacks.push((below, frame));
                named.stacks.len() as u32
            })
        };
        let is_in_kernel = |place: &CodePlace| *place.module == *KERNEL;
        let kernel = match self.nodes.iter().any(|(_, place)| is_in_kernel(place) && place.offset != 0) {
            true => kernel_symbols(),
            false => Vec::new(),
        };
        let (mut numbers, mut of_python) = (vec![EMPTY], HashSet::new());
        for (below, place) in &self.nodes {
            let below = numbers[*below as usize];
            let number = match is_in_kernel(place) {
                true if place.offset == 0 => on(&mut named, below, KERNEL.to_owned()),
                true => symbol_at(&kernel, place.offset).map_or(below, |symbol| on(&mut named, below, symbol)),
                false if place.offset == OF_PYTHON => {
                    let number = on(&mut named, below, place.module.to_string());
                    of_python.insert(number);
                    number
                }
                false => {
                    let site = resolver.resolve(&place.module, None, place.offset);
                    let (is_first, texts) = frames::sampled(&site);
                    // Of the interpreter's functions only its loop begins other code of Python.
                    let is_again = below != EMPTY && texts == [frames::PYTHON_FRAME] && {
                        let (_, frame) = named.stacks[below as usize - 1];
                        named.frames[frame as usize] == texts[0]
                            || of_python.contains(&below) && !frames::is_python_loop(&site)
                    };
                    let texts = texts.into_iter().filter(|_| !is_again);
                    texts.fold(if is_first { EMPTY } else { below }, |below, text| on(&mut named, below, text))
                }
            };
            numbers.push(number);
        }
        for (_, stack) in named.threads.iter_mut().chain(&mut named.asleep).flat_map(|thread| &mut thread.samples) {
            *stack = numbers[*stack as usize];
        }
        named
    }
}

impl Sampled {
    /// Samples a thread of a process so often a second of its processor time.
    ///
    /// # Errors
    /// The kernel forbids it.
    pub fn open(pid: u32, tid: u32, hz: f64) -> io::Result<Sampled> {
        let (event, period_ns, memory) = (Event::open(tid, hz, true)?, (1e9 / hz) as u64, Memory { pid });
        Ok(Sampled {
            sees_kernel: event.sees_kernel,
            knows_gaps: !event.sees_kernel,
            event: Some(event),
            maps: memory.maps(),
            memory,
            root: root_of(pid),
            unwind: None,
            python: None,
            gaps: Gaps::new(period_ns),
            last: (EMPTY, false),
            waiting: Vec::new(),
            every: 1,
            passed: 0,
            samples: Vec::new(),
            asleep: Vec::new(),
            chain: None,
            lost: Lost::new(period_ns),
            hz,
            period_ns,
        })
    }

    /// Readable when there is something to take.
    pub fn descriptor(&self) -> RawFd {
        self.event.as_ref().map_or(-1, Event::descriptor)
    }

    /// Takes what has come from this thread.
    pub fn drain(&mut self, tid: u32, tree: &mut Tree) {
        let Some(mut event) = self.event.take() else { return };
        event.drain(|record| self.take(record, tree));
        if self.knows_gaps && self.lost.records() >= FLOOD {
            // A thread that has ended has no more samples.
            if let Ok(without_switches) = Event::open(tid, self.hz, false) {
                event = without_switches;
            }
            self.knows_gaps = false;
            self.lost.add(0, self.waiting.drain(..).count() as u64);
        }
        self.event = Some(event);
    }

    /// Takes the stack of the thread where it is asleep now, else the functions of Python that it is in. `false`: the
    /// system does not permit it.
    pub fn look_asleep(&mut self, tid: u32, tree: &mut Tree) -> bool {
        if !is_asleep(self.memory.pid, tid) {
            let chain = self.python.as_mut().and_then(|python| python.as_mut()?.chain(tid));
            self.chain = chain.map(|chain| (now::nanoseconds(libc::CLOCK_MONOTONIC_RAW), chain));
            return true;
        }
        if self.asleep.len() == MOST_SAMPLES {
            return true;
        }
        match capture::waiting(self.memory, tid, &self.maps) {
            Ok(thread) => {
                let (maps, root) = (&self.maps, &self.root);
                let unwind = self.unwind.get_or_insert_with(|| tree.files.of_process(maps, root));
                let mut places = unwind.places(thread.registers, thread.start, &thread.stack);
                if let Some(first) = places.iter().position(|place| frames::is_python(&place.module)) {
                    let memory = self.memory;
                    let python = self.python.get_or_insert_with(|| Interpreter::find(memory, &memory.maps(), root));
                    let of_python = python.as_ref().map_or_else(Vec::new, |python| python.frames(tid));
                    if !of_python.is_empty() {
                        places.truncate(first);
                        let place = |text: &String| CodePlace { module: text.as_str().into(), offset: OF_PYTHON };
                        places.extend(of_python.iter().rev().map(place));
                    }
                }
                let stack = places.into_iter().rev().fold(EMPTY, |below, place| tree.node_above(below, place));
                self.asleep.push((now::nanoseconds(libc::CLOCK_MONOTONIC_RAW), stack));
                true
            }
            Err(why) => why != Why::Forbidden,
        }
    }

    /// The stacks on which a thread of this rank was asleep, with the time between two looks; `None`: on none.
    pub fn finish_asleep(&self, rank: u32, tid: u32, period_ns: u64) -> Option<Thread> {
        let samples = self.asleep.clone();
        (!samples.is_empty()).then_some(Thread { rank, tid, period_ns, lost: 0, sees_kernel: false, samples })
    }

    /// The findings on a thread of this rank.
    pub fn finish(&self, rank: u32, tid: u32) -> Thread {
        Thread {
            rank,
            tid,
            period_ns: self.period_ns * u64::from(self.every),
            lost: self.lost.samples(now::nanoseconds(libc::CLOCK_MONOTONIC_RAW)),
            sees_kernel: self.sees_kernel,
            samples: self.samples.clone(),
        }
    }

    fn take(&mut self, record: Record<'_>, tree: &mut Tree) {
        record.ns().inspect(|ns| self.lost.seen(*ns));
        match record {
            Record::Tick(moment) => {
                let stack = self.stack(&moment, tree);
                self.missing(moment.ns, tree);
                self.explain(stack, tree);
                self.gaps.tick(moment.ns);
                let place = moment.kernel.map_or(stack, |address| tree.in_kernel(stack, Some(address)));
                self.push(moment.ns, place);
                self.last = (stack, false);
            }
            Record::Fault(moment) => {
                let stack = self.stack(&moment, tree);
                self.missing(moment.ns, tree);
                self.explain(stack, tree);
                self.last = (stack, true);
            }
            Record::Switch(ns, on) => {
                self.missing(ns, tree);
                self.gaps.switch(ns, on);
            }
            Record::Mapped(map) => {
                self.maps.retain(|known| known.range.end <= map.range.start || map.range.end <= known.range.start);
                self.maps.push(map);
                (self.unwind, self.python) = (None, None);
            }
            Record::Lost(records) => {
                self.lost.add(records, self.waiting.drain(..).count() as u64);
                self.gaps.lost();
                self.last = (EMPTY, false);
            }
        }
    }

    fn stack(&mut self, moment: &Moment<'_>, tree: &mut Tree) -> u32 {
        let (maps, root, memory) = (&self.maps, &self.root, self.memory);
        let unwind = self.unwind.get_or_insert_with(|| tree.files.of_process(maps, root));
        let (mut places, mut registers) = (Vec::new(), Some(moment.all));
        let chain = self.chain.as_ref().filter(|(ns, _)| moment.ns.abs_diff(*ns) <= CHAIN_NS).map(|(_, chain)| chain);
        let place = |module| CodePlace { module, offset: OF_PYTHON };
        let mut is_whole = false;
        unwind.frames(moment.registers, moment.registers.sp, moment.stack, |frame_place, address, frame| {
            if is_whole {
                return;
            }
            if frames::is_python(&frame_place.module) {
                // When the thread was started the interpreter was not there yet.
                let python = self.python.get_or_insert_with(|| Interpreter::find(memory, &memory.maps(), root));
                let function = python.as_mut().and_then(|python| python.function(address, frame, registers));
                // The innermost function is that of the look: so are those that have called it.
                let callers = function.as_ref().zip(chain).and_then(|(function, chain)| {
                    let (last, callers) = chain.split_last()?;
                    are_same(function, last).then_some(callers)
                });
                places.extend(function.clone().map(place));
                if let Some(callers) = callers {
                    places.extend(callers.iter().rev().cloned().map(place));
                    is_whole = true;
                    return;
                }
            }
            places.push(frame_place);
            registers = None;
        });
        places.into_iter().rev().fold(EMPTY, |below, place| tree.node_above(below, place))
    }

    /// The samples that should have come by now fell into the kernel: at the page fault before them, else they wait for
    /// the next stack.
    fn missing(&mut self, ns: u64, tree: &mut Tree) {
        if !self.knows_gaps {
            return;
        }
        let (mut missing, (last, is_fault)) = (Vec::new(), self.last);
        self.gaps.until(ns, &mut missing);
        match is_fault {
            true => {
                let stack = tree.in_kernel(last, None);
                missing.iter().for_each(|ns| self.push(*ns, stack));
            }
            false => self.waiting.append(&mut missing),
        }
    }

    /// The frames in common before and after are what is known of the time in the kernel.
    fn explain(&mut self, stack: u32, tree: &mut Tree) {
        let waiting = std::mem::take(&mut self.waiting);
        if !waiting.is_empty() {
            let common = tree.common(self.last.0, stack);
            let stack = tree.in_kernel(common, None);
            waiting.iter().for_each(|ns| self.push(*ns, stack));
        }
    }

    fn push(&mut self, ns: u64, stack: u32) {
        self.passed += 1;
        if self.passed < self.every {
            return;
        }
        self.passed = 0;
        self.samples.push((ns, stack));
        if self.samples.len() == MOST_SAMPLES {
            self.every *= 2;
            let mut is_kept = false;
            self.samples.retain(|_| {
                is_kept = !is_kept;
                is_kept
            });
        }
    }
}

/// True if a thread waits for something, which signals may end or not (proc_pid_stat(5)).
fn is_asleep(pid: u32, tid: u32) -> bool {
    let line = std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/stat")).unwrap_or_default();
    line.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['S', 'D']))
}

/// The functions of the kernel by their addresses, where it shows them.
fn kernel_symbols() -> Vec<(u64, String)> {
    let text = std::fs::read_to_string("/proc/kallsyms").unwrap_or_default();
    let symbols = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let (address, kind, name) = (u64::from_str_radix(words.next()?, 16).ok()?, words.next()?, words.next()?);
        (address != 0 && matches!(kind, "t" | "T" | "w" | "W")).then(|| (address, name.to_owned()))
    });
    let mut symbols: Vec<(u64, String)> = symbols.collect();
    symbols.sort_unstable();
    symbols
}

fn symbol_at(symbols: &[(u64, String)], address: u64) -> Option<String> {
    let at = symbols.partition_point(|(start, _)| *start <= address).checked_sub(1)?;
    Some(symbols[at].1.clone())
}
