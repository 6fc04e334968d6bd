//! Opens a list of events as one group: what the kernel refuses is left out, the rest goes on.

use std::ffi::c_int;

use mpitrace_platform::perf_event::{Encoding, Event};
use mpitrace_platform::perf_refusals as reasons;

use crate::counters::perf::system::{MOST, System, attributes};

/// A message for the user about an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    pub event: usize,
    /// It is not counted at all.
    pub left_out: bool,
    /// One sentence that names it and what would help.
    pub text: String,
}

/// How the counts of a group make the value of an event; numbers are places in the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    pub event: usize,
    pub first: usize,
    /// Another one, and whether it is taken off.
    pub second: Option<(usize, bool)>,
}

#[derive(Debug, Default)]
pub struct Opened {
    /// The descriptors in the order of the counts; the leader's first.
    pub descriptors: Vec<c_int>,
    pub columns: Vec<Column>,
    pub notes: Vec<Note>,
}

/// A member of the group that is being opened.
struct Member {
    /// The event as it was asked for.
    wanted: Encoding,
    descriptor: c_int,
    without_kernel: bool,
}

/// Opens and starts those events (each with its place in the list) as one group of the calling thread. An encoding that
/// several events need is counted once.
pub fn open(system: &impl System, events: &[(usize, &Event)]) -> Opened {
    let (mut members, mut columns, mut notes): (Vec<Member>, Vec<Column>, Vec<Note>) = Default::default();
    for &(place, event) in events {
        let before = members.len();
        match open_event(system, &mut members, place, event) {
            Ok(column) => {
                if members[before..].iter().any(|member| member.without_kernel) {
                    let text = reasons::without_kernel(&event.name, system.paranoid());
                    notes.push(Note { event: place, left_out: false, text });
                }
                columns.push(column);
            }
            Err(text) => {
                close_from(system, &mut members, before);
                notes.push(Note { event: place, left_out: true, text });
            }
        }
    }
    // A group counts only where all of it fits onto the processor, and what others hold is not seen before.
    while let Some(leader) = members.first() {
        system.start(leader.descriptor);
        if system.runs(leader.descriptor) {
            break;
        }
        let Some(last) = columns.pop() else { break };
        let used = columns.iter().flat_map(|column| [Some(column.first), column.second.map(|(second, _)| second)]);
        let kept = used.flatten().max().map_or(0, |most| most + 1);
        close_from(system, &mut members, kept);
        notes.retain(|note| note.event != last.event);
        let name = events.iter().find(|(place, _)| *place == last.event).map_or("", |(_, event)| event.name.as_str());
        notes.push(Note { event: last.event, left_out: true, text: reasons::never_runs(name) });
    }
    sort(&mut notes);
    Opened { descriptors: members.iter().map(|member| member.descriptor).collect(), columns, notes }
}

/// In the order of the events. There are few, and code that sorts many would be large.
pub fn sort(notes: &mut Vec<Note>) {
    for note in std::mem::take(notes) {
        notes.insert(notes.partition_point(|known| known.event <= note.event), note);
    }
}

fn close_from(system: &impl System, members: &mut Vec<Member>, kept: usize) {
    // The leader last: a group whose leader has gone falls apart into single events.
    for member in members.drain(kept..).rev() {
        system.close(member.descriptor);
    }
}

/// Opens what the event needs beyond the members that there are; members that are added stay where it fails.
fn open_event(system: &impl System, members: &mut Vec<Member>, place: usize, event: &Event) -> Result<Column, String> {
    let mut number_of = |encoding: Encoding| {
        if let Some(number) = members.iter().position(|member| member.wanted == encoding) {
            return Ok(number);
        }
        if members.len() == MOST {
            return Err(reasons::beyond(&event.name, MOST));
        }
        members.push(open_member(system, members, &event.name, encoding)?);
        Ok(members.len() - 1)
    };
    let first = number_of(event.first)?;
    let second = match event.second {
        Some((second, is_taken_off)) => Some((number_of(second)?, is_taken_off)),
        None => None,
    };
    Ok(Column { event: place, first, second })
}

fn open_member(system: &impl System, members: &[Member], name: &str, wanted: Encoding) -> Result<Member, String> {
    let leader = members.first().map(|member| member.descriptor);
    let without_kernel = Encoding { kernel: false, ..wanted };
    let may_do_without = wanted.kernel && wanted.user && !wanted.is_of_kernel_only();
    let (error, tried) = match try_open(system, wanted, leader) {
        Ok(descriptor) => return Ok(Member { wanted, descriptor, without_kernel: false }),
        Err(libc::EACCES | libc::EPERM) if may_do_without => match try_open(system, without_kernel, leader) {
            Ok(descriptor) => return Ok(Member { wanted, descriptor, without_kernel: true }),
            Err(error) => (error, without_kernel),
        },
        Err(error) => (error, wanted),
    };
    // The kernel says the same of an event that it does not know and of one for which the group has no counter left.
    if matches!(error, libc::EINVAL | libc::ENOSPC)
        && leader.is_some()
        && let Ok(alone) = try_open(system, tried, None)
    {
        system.close(alone);
        return Err(reasons::too_many(name, members.len()));
    }
    Err(reasons::refusal(name, tried, error, system.paranoid()))
}

/// Opens it so that user space may read its counter, else as it can be.
fn try_open(system: &impl System, encoding: Encoding, leader: Option<c_int>) -> Result<c_int, c_int> {
    let mut result = Err(libc::EINVAL);
    for &config1 in system.user_access(encoding) {
        result = system.open(&attributes(encoding, leader.is_none(), config1), leader);
        if !matches!(result, Err(libc::EINVAL | libc::EOPNOTSUPP)) {
            break;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use mpitrace_platform::perf::{Attributes, HARDWARE, flag};

    use super::*;
    use mpitrace_platform::event_names::parse;

    /// A kernel as it could be: so many counters, some of them held by others, and what it refuses.
    struct Pretend {
        counters: usize,
        held: usize,
        paranoid: i32,
        refuses: fn(&Attributes) -> Option<c_int>,
        /// Descriptor and leader of the events that are open.
        open: RefCell<Vec<(c_int, c_int)>>,
        last: RefCell<c_int>,
    }

    impl Pretend {
        fn new(refuses: fn(&Attributes) -> Option<c_int>) -> Pretend {
            Pretend { counters: 4, held: 0, paranoid: -1, refuses, open: RefCell::default(), last: RefCell::new(100) }
        }

        fn members(&self, leader: c_int) -> usize {
            self.open.borrow().iter().filter(|event| event.1 == leader).count()
        }
    }

    impl System for Pretend {
        fn open(&self, attributes: &Attributes, leader: Option<c_int>) -> Result<c_int, c_int> {
            if self.paranoid > 1 && attributes.flags & flag::EXCLUDE_KERNEL == 0 {
                return Err(libc::EACCES);
            }
            if let Some(error) = (self.refuses)(attributes) {
                return Err(error);
            }
            if leader.is_some_and(|leader| self.members(leader) == self.counters) {
                return Err(libc::EINVAL);
            }
            *self.last.borrow_mut() += 1;
            let event = *self.last.borrow();
            self.open.borrow_mut().push((event, leader.unwrap_or(event)));
            Ok(event)
        }

        fn close(&self, event: c_int) {
            let mut open = self.open.borrow_mut();
            let place = open.iter().position(|known| known.0 == event).expect("it is open");
            open.remove(place);
        }

        fn start(&self, _: c_int) {}

        fn runs(&self, leader: c_int) -> bool {
            self.members(leader) + self.held <= self.counters
        }

        fn user_access(&self, _: Encoding) -> &'static [u64] {
            &[0]
        }

        fn paranoid(&self) -> Option<i32> {
            Some(self.paranoid)
        }
    }

    fn opened(system: &Pretend, names: &[&str]) -> Opened {
        let events: Vec<Event> = names.iter().map(|name| parse(name).unwrap()).collect();
        open(system, &events.iter().enumerate().collect::<Vec<_>>())
    }

    fn left_out(opened: &Opened) -> Vec<usize> {
        opened.notes.iter().filter(|note| note.left_out).map(|note| note.event).collect()
    }

    #[test]
    fn what_is_refused_is_left_out_and_the_others_go_on() {
        let no_cycles =
            |attributes: &Attributes| (attributes.kind == HARDWARE && attributes.config == 0).then_some(libc::ENOENT);
        let system = Pretend::new(no_cycles);
        let opened = opened(&system, &["cycles", "instructions", "branches"]);
        assert_eq!(left_out(&opened), [0]);
        assert!(opened.notes[0].text.starts_with("cycles is left out: this machine has no such counter"));
        assert_eq!(opened.columns.iter().map(|column| column.event).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(system.members(opened.descriptors[0]), 2, "both in the group of the first");
    }

    #[test]
    fn more_than_the_processor_has_counters_for_are_told_from_unknown_ones() {
        let no_raw = |attributes: &Attributes| (attributes.config == 0xbad).then_some(libc::EINVAL);
        let system = Pretend::new(no_raw);
        let names = ["cycles", "rbad", "instructions", "branches", "branch-misses", "cache-misses"];
        let opened = opened(&system, &names);
        assert_eq!(left_out(&opened), [1, 5]);
        assert!(opened.notes[0].text.contains("the processor cannot count it (error 22"), "{}", opened.notes[0].text);
        assert!(opened.notes[1].text.contains("together with the 4 before it"), "{}", opened.notes[1].text);
        assert_eq!(system.open.borrow().len(), 4, "what was tried alone is closed again");
    }

    #[test]
    fn a_group_that_never_runs_is_made_smaller_until_it_does() {
        let system = Pretend { held: 2, ..Pretend::new(|_| None) };
        let opened = opened(&system, &["cycles", "instructions", "PAPI_BR_PRC:uk"]);
        assert_eq!(left_out(&opened), [2]);
        assert!(opened.notes[0].text.contains("kernel.nmi_watchdog=0"));
        assert_eq!((opened.descriptors.len(), system.open.borrow().len()), (2, 2));
        let nothing = Pretend { held: 4, ..Pretend::new(|_| None) };
        assert_eq!(left_out(&super::tests::opened(&nothing, &["cycles", "branches"])), [0, 1]);
        assert!(nothing.open.borrow().is_empty());
    }

    #[test]
    fn where_the_kernel_may_not_be_counted_the_program_is_and_switches_are_not_a_false_zero() {
        let system = Pretend { paranoid: 2, ..Pretend::new(|_| None) };
        let opened = opened(&system, &["cycles", "context-switches", "faults", "branches:u", "instructions:k"]);
        assert_eq!(left_out(&opened), [1, 4]);
        let said = opened.notes.iter().map(|note| note.text.as_str()).collect::<Vec<_>>();
        assert!(said[0].contains("cycles:u") && said[0].contains("paranoid is 2"), "{}", said[0]);
        assert!(said[1].contains("must be 1 or less") && said[3].contains("must be 1 or less"));
        assert_eq!(opened.columns.len(), 3);
    }

    #[test]
    fn who_may_count_nothing_is_told_which_setting_forbids_it() {
        let refuses = |_: &Attributes| Some(libc::EACCES);
        let strict = opened(&Pretend { paranoid: 3, ..Pretend::new(refuses) }, &["cycles"]);
        assert!(strict.notes[0].text.contains("perf_event_paranoid is 3 here and must be 2 or less"));
        let container = opened(&Pretend { paranoid: 0, ..Pretend::new(refuses) }, &["cycles"]);
        assert!(container.notes[0].text.contains("seccomp"));
        let files = opened(&Pretend::new(|_| Some(libc::EMFILE)), &["task-clock"]);
        assert!(files.notes[0].text.contains("ulimit -n") && files.descriptors.is_empty());
    }

    #[test]
    fn an_encoding_that_two_events_need_is_counted_once() {
        let system = Pretend::new(|_| None);
        let opened = opened(&system, &["branch-misses:u", "PAPI_BR_PRC", "branches:u"]);
        assert_eq!(opened.descriptors.len(), 2);
        assert_eq!(opened.columns[1], Column { event: 1, first: 1, second: Some((0, true)) });
        assert_eq!(opened.columns[2], Column { event: 2, first: 1, second: None });
    }

    #[test]
    fn a_preset_of_which_one_half_is_refused_leaves_no_other_half_open() {
        let no_misses = |attributes: &Attributes| (attributes.config == 5).then_some(libc::ENOENT);
        let system = Pretend::new(no_misses);
        let opened = opened(&system, &["PAPI_BR_PRC", "cycles"]);
        assert_eq!(left_out(&opened), [0]);
        assert_eq!((opened.descriptors.len(), system.open.borrow().len()), (1, 1));
    }
}
