//! The tracks of a rank: its threads, the requests of each in as many lanes as are open at a time, and its counters.

use std::collections::BTreeMap;

use super::schema::{CounterDescriptor, EXPLICIT, ProcessDescriptor, TrackDescriptor};

/// The numbers of a rank's tracks begin with the rank: so many bits are for the track.
const TRACK_BITS: u32 = 24;
/// Within a rank: the process is 1, counters follow, then what threads need as they come.
const PROCESS: u64 = 1;
const FIRST_COUNTER: u64 = 2;

pub struct Tracks {
    rank: u64,
    next: u64,
    /// The track of each thread, and of its message calls.
    threads: BTreeMap<(u32, bool), u64>,
    /// By thread: each lane's track, and when its last request was complete.
    lanes: BTreeMap<u32, Vec<(u64, u64)>>,
}

impl Tracks {
    /// The process and the counters of a rank, and how they are described.
    pub fn of_rank(rank: u32, host: Option<&str>, counters: &[String]) -> (Tracks, Vec<TrackDescriptor>) {
        let tracks = Tracks {
            rank: u64::from(rank),
            next: FIRST_COUNTER + counters.len() as u64,
            threads: BTreeMap::new(),
            lanes: BTreeMap::new(),
        };
        let name = match host {
            Some(host) => format!("rank {rank} on {host}"),
            None => format!("rank {rank}"),
        };
        let process = TrackDescriptor {
            // 0 is the idle process.
            process: Some(ProcessDescriptor { pid: Some(rank as i32 + 1), process_name: Some(name) }),
            child_ordering: Some(EXPLICIT),
            ..tracks.descriptor(PROCESS)
        };
        let counter = |(index, name): (usize, &String)| TrackDescriptor {
            name: Some(name.clone()),
            parent_uuid: Some(tracks.uuid(PROCESS)),
            counter: Some(CounterDescriptor { unit_name: Some("per call".to_owned()) }),
            // Below all threads.
            sibling_order_rank: Some(i32::MAX - counters.len() as i32 + index as i32),
            ..tracks.descriptor(FIRST_COUNTER + index as u64)
        };
        let described = std::iter::once(process).chain(counters.iter().enumerate().map(counter)).collect();
        (tracks, described)
    }

    pub fn counter(&self, index: usize) -> u64 {
        self.uuid(FIRST_COUNTER + index as u64)
    }

    /// The track of a thread, or of its message calls, and how it is described if it is new.
    pub fn thread(&mut self, thread: u32, messages: bool) -> (u64, Option<TrackDescriptor>) {
        if let Some(&known) = self.threads.get(&(thread, messages)) {
            return (known, None);
        }
        let name = format!("thread {thread}{}", if messages { ", messages" } else { "" });
        let new = self.child(name, thread.saturating_mul(2).saturating_add(messages.into()));
        let uuid = new.uuid.unwrap_or_default();
        self.threads.insert((thread, messages), uuid);
        (uuid, Some(new))
    }

    /// A track on which a request of this thread can be shown from `enter` to `exit`, and how it is described if it is
    /// new.
    pub fn lane(&mut self, thread: u32, enter: u64, exit: u64) -> (u64, Option<TrackDescriptor>) {
        let free = |lane: &&mut (u64, u64)| lane.1 <= enter;
        if let Some(lane) = self.lanes.entry(thread).or_default().iter_mut().find(free) {
            lane.1 = exit;
            return (lane.0, None);
        }
        // Tracks of one name are shown as one.
        let new = self.child(format!("thread {thread}, requests"), thread.saturating_mul(2).saturating_add(1));
        let uuid = new.uuid.unwrap_or_default();
        self.lanes.entry(thread).or_default().push((uuid, exit));
        (uuid, Some(new))
    }

    fn child(&mut self, name: String, order: u32) -> TrackDescriptor {
        self.next += 1;
        TrackDescriptor {
            name: Some(name),
            parent_uuid: Some(self.uuid(PROCESS)),
            sibling_order_rank: Some(order.min(i32::MAX as u32 / 2) as i32),
            ..self.descriptor(self.next)
        }
    }

    fn descriptor(&self, track: u64) -> TrackDescriptor {
        TrackDescriptor { uuid: Some(self.uuid(track)), ..TrackDescriptor::default() }
    }

    fn uuid(&self, track: u64) -> u64 {
        self.rank << TRACK_BITS | track
    }
}
