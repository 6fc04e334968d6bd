use std::sync::atomic::{AtomicU32, Ordering};

use super::*;
use crate::part::{Content, Times};

const WORLD: u32 = 400;

/// A rank's part without records, whose metadata is of this length.
fn content(job: u8, rank: u32, pid: u32, metadata: &[u8]) -> Content<'_> {
    let rank = RankHeader { job: [job; 16], rank, pid, world_size: WORLD, ..RankHeader::zeroed() };
    Content {
        rank,
        incomplete: true,
        lost: LostRecords::default(),
        metadata,
        strings: &[],
        communicators: &[],
        operations: &[],
        threads: &[],
        times: Times::default(),
        partners: Vec::new(),
        counters: &[],
        syncs: &[],
        probes: &[],
        interruptions: Vec::new(),
        histograms: Vec::new(),
        columns: Vec::new(),
        blocks: crate::part::Blocks::default(),
        messages: &[],
        message_blocks: crate::part::Blocks::default(),
    }
}

/// A trace of some ranks, with so much room in its table; the process of a rank has the number `pid` + rank.
fn write(path: &Path, job: u8, ranks: &[u32], pid: u32, room: u32) {
    let file = File::create_new(path).unwrap();
    let mut offset = file::parts_start(room);
    for (index, &rank) in (0..).zip(ranks) {
        let metadata = vec![rank as u8; 10 + 5000 * (rank as usize % 3)];
        let content = content(job, rank, pid + rank, &metadata);
        let entry = PartEntry { offset, length: content.length(), rank, padding: 0 };
        content.write_at(&file, offset).unwrap();
        file.write_all_at(bytemuck::bytes_of(&entry), file::part_entry_offset(index)).unwrap();
        offset += entry.length;
    }
    file::write_header(&file, [job; 16], WORLD, ranks.len() as u32, offset, false).unwrap();
}

/// The ranks in a trace, whose parts must be as they were written.
fn ranks(path: &Path) -> Vec<u32> {
    let stored = Stored::open(path).unwrap();
    let length = stored.file.metadata().unwrap().len();
    assert_eq!(stored.header.length, length);
    let mut ranks = Vec::new();
    for entry in &stored.parts {
        let header = stored.part(entry).unwrap().unwrap();
        assert_eq!((header.rank.rank, header.length), (entry.rank, entry.length));
        let place = entry.offset + size_of::<PartHeader>() as u64;
        let mut directory = vec![SectionEntry::zeroed(); header.sections as usize];
        stored.file.read_exact_at(bytemuck::cast_slice_mut(&mut directory), place).unwrap();
        assert_eq!(crate::part::checksum(&header, &directory), header.crc);
        let mut metadata = vec![0; directory[0].count as usize];
        stored.file.read_exact_at(&mut metadata, entry.offset + directory[0].offset).unwrap();
        assert_eq!(metadata, vec![entry.rank as u8; 10 + 5000 * (entry.rank as usize % 3)]);
        ranks.push(entry.rank);
    }
    ranks.sort_unstable();
    ranks
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        // Tests of one process run at once, and may give one name.
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("mpitrace-join-{name}-{}-{number}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap().flatten();
        let mut names: Vec<String> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn parts_of_many_nodes_that_come_at_once_become_one_trace() {
    let folder = Folder::new("at-once");
    let output = folder.path("a.mpitrace");
    let barrier = std::sync::Barrier::new(32);
    std::thread::scope(|scope| {
        for node in 0..32 {
            let (folder, output, barrier) = (&folder, &output, &barrier);
            scope.spawn(move || {
                let given = folder.path(&format!(".{node}"));
                write(&given, 1, &[4 * node, 4 * node + 1, 4 * node + 2, 4 * node + 3], 1000, WORLD);
                barrier.wait();
                publish(&given, output, &format!("n{node}")).unwrap();
            });
        }
    });
    assert_eq!(folder.names(), ["a.mpitrace"]);
    assert_eq!(ranks(&output), (0..128).collect::<Vec<_>>());
}

#[test]
fn a_trace_whose_table_has_no_room_is_joined_too() {
    let folder = Folder::new("room");
    let output = folder.path("a.mpitrace");
    // One page of the table has room for 168 entries.
    let first = folder.path("first");
    write(&first, 1, &(0..160).collect::<Vec<_>>(), 1000, 160);
    assert_eq!(publish(&first, &output, "x").unwrap(), Joined { path: output.clone(), parts: 160 });
    let second = folder.path("second");
    write(&second, 1, &(200..220).collect::<Vec<_>>(), 1000, WORLD);
    assert_eq!(publish(&second, &output, "y").unwrap(), Joined { path: output.clone(), parts: 180 });
    assert_eq!(ranks(&output), (0..160).chain(200..220).collect::<Vec<_>>());
    assert_eq!(folder.names(), ["a.mpitrace"]);
}

#[test]
fn another_run_s_trace_and_other_files_stay_as_they_are() {
    let folder = Folder::new("foreign");
    let output = folder.path("a.mpitrace");
    std::fs::write(&output, "precious").unwrap();
    let other = folder.path("a.2.mpitrace");
    write(&other, 2, &[0, 1], 1000, WORLD);
    let before = std::fs::read(&other).unwrap();
    // The same token by chance, and another process as rank 1.
    let chance = folder.path("a.3.mpitrace");
    write(&chance, 1, &[1], 7000, WORLD);
    for ranks in [&[0, 1], &[2, 3]] {
        let given = folder.path("own");
        write(&given, 1, ranks, 1000, WORLD);
        let joined = publish(&given, &output, "x").unwrap();
        assert!(joined.path == folder.path("a.4.mpitrace") || joined.path == chance, "{joined:?}");
    }
    assert_eq!(std::fs::read(&output).unwrap(), b"precious");
    assert_eq!(std::fs::read(&other).unwrap(), before);
    assert_eq!(ranks(&folder.path("a.4.mpitrace")), [0, 1]);
    assert_eq!(ranks(&chance), [1, 2, 3]);
}

#[test]
fn what_is_there_already_is_not_added_again() {
    let folder = Folder::new("again");
    let output = folder.path("a.mpitrace");
    for (ranks, parts) in [(&[0, 1][..], 2), (&[1], 2), (&[0, 1, 2], 3)] {
        let given = folder.path("own");
        write(&given, 1, ranks, 1000, WORLD);
        assert_eq!(publish(&given, &output, "x").unwrap().parts, parts);
    }
    assert_eq!(ranks(&output), [0, 1, 2]);
    assert_eq!(folder.names(), ["a.mpitrace"]);
}

#[test]
fn what_a_killed_process_was_joining_is_joined_by_a_later_one() {
    let folder = Folder::new("abandoned");
    let output = folder.path("a.mpitrace");
    let (old, new) = (folder.path("a.n1-7.0.joining.mpitrace"), folder.path("a.n2-8.0.joining.mpitrace"));
    let other_run = folder.path("a.n3-9.0.joining.mpitrace");
    write(&old, 1, &[0, 1, 2], 1000, WORLD);
    write(&new, 1, &[7], 1000, WORLD);
    write(&other_run, 2, &[0], 1000, WORLD);
    for path in [&old, &other_run] {
        let file = File::options().write(true).open(path).unwrap();
        file.set_modified(std::time::SystemTime::now() - 2 * ABANDONED).unwrap();
    }
    let given = folder.path("own");
    write(&given, 1, &[2, 3], 1000, WORLD);
    assert_eq!(publish(&given, &output, "x").unwrap().parts, 4);
    assert_eq!(ranks(&output), [0, 1, 2, 3]);
    assert_eq!(folder.names(), ["a.mpitrace", "a.n2-8.0.joining.mpitrace", "a.n3-9.0.joining.mpitrace"]);
}

#[test]
fn what_two_killed_processes_were_joining_is_joined_by_one() {
    let folder = Folder::new("abandoned-twice");
    let output = folder.path("a.mpitrace");
    for (name, ranks) in [("a.n1-7.0.joining.mpitrace", &[0, 1][..]), ("a.n2-8.0.joining.mpitrace", &[2][..])] {
        let path = folder.path(name);
        write(&path, 1, ranks, 1000, WORLD);
        let file = File::options().write(true).open(path).unwrap();
        file.set_modified(std::time::SystemTime::now() - 2 * ABANDONED).unwrap();
    }
    let given = folder.path("own");
    write(&given, 1, &[3], 1000, WORLD);
    assert_eq!(publish(&given, &output, "x").unwrap().parts, 4);
    assert_eq!(ranks(&output), [0, 1, 2, 3]);
    assert_eq!(folder.names(), ["a.mpitrace"]);
}

/// A job that is killed while its ranks agree on its token leaves nodes with the one and nodes with the other.
#[test]
fn ranks_that_had_not_agreed_on_the_token_are_joined_with_those_that_had() {
    let folder = Folder::new("agreed");
    let (key, now) = (0x1234_5678_9abc_def0, 1 << 60);
    let (before, agreed) = (token::before_agreement(key), token::of_one_run(key, now, 99));
    let write = |path: &Path, job: [u8; 16], ranks: &[u32], at: u64| {
        let of_rank = |&rank: &u32| {
            let mut content = content(0, rank, 100 + rank, &[]);
            (content.rank.job, content.rank.state) = (job, state::STARTING);
            content.rank.first_anchor.realtime_ns = at + u64::from(rank);
            content
        };
        let contents: Vec<Content<'_>> = ranks.iter().map(of_rank).collect();
        crate::recover::write_parts(&File::create_new(path).unwrap(), &contents, WORLD).unwrap();
    };
    let nodes = [(agreed, &[0, 1][..]), (before, &[2]), (before, &[3, 4, 5])];
    for (number, order) in [[0, 1, 2], [1, 0, 2], [2, 1, 0]].into_iter().enumerate() {
        let output = folder.path(&format!("{number}.mpitrace"));
        for node in order {
            let given = folder.path("own");
            write(&given, nodes[node].0, nodes[node].1, now);
            assert_eq!(publish(&given, &output, "x").unwrap().path, output);
        }
        let stored = Stored::open(&output).unwrap();
        assert_eq!((stored.header.job, stored.parts.len()), (agreed, 6));
        // A job of another day that the launcher calls the same.
        let given = folder.path("own");
        write(&given, before, &[9], now / 2);
        assert_eq!(publish(&given, &output, "x").unwrap().path, folder.path(&format!("{number}.2.mpitrace")));
    }
}

/// The numbers of a header are those of whoever wrote the file.
#[test]
fn a_table_that_does_not_fit_into_its_file_is_not_read() {
    let folder = Folder::new("table");
    let (given, output) = (folder.path("own"), folder.path("a.mpitrace"));
    write(&given, 1, &[0], 100, WORLD);
    let hostile = File::create_new(&output).unwrap();
    file::write_header(&hostile, [1; 16], u32::MAX, u32::MAX, 4096, false).unwrap();
    let joined = publish(&given, &output, "1").unwrap();
    assert_eq!((joined.path, joined.parts), (folder.path("a.2.mpitrace"), 1));
}

/// The target of a link is never taken for the trace that has the name.
#[test]
fn a_link_under_the_name_is_left_alone() {
    let folder = Folder::new("link");
    let (given, output, elsewhere) = (folder.path("own"), folder.path("a.mpitrace"), folder.path("elsewhere"));
    write(&given, 1, &[0], 100, WORLD);
    write(&elsewhere, 1, &[1], 100, WORLD);
    std::os::unix::fs::symlink(&elsewhere, &output).unwrap();
    let joined = publish(&given, &output, "1").unwrap();
    assert_eq!((joined.path, joined.parts), (folder.path("a.2.mpitrace"), 1));
    assert_eq!(ranks(&elsewhere), [1]);
}

#[test]
fn a_trace_whose_parts_lead_out_of_it_is_left_alone() {
    let folder = Folder::new("leads-out");
    let (given, output) = (folder.path(".own.partial"), folder.path("a.mpitrace"));
    write(&given, 1, &[0, 1], 100, WORLD);
    write(&output, 1, &[2, 3], 100, WORLD);
    let file = OpenOptions::new().write(true).open(&output).unwrap();
    let entry = PartEntry { offset: u64::MAX - PAGE + 1, length: 2 * PAGE, rank: 3, padding: 0 };
    file.write_all_at(bytemuck::bytes_of(&entry), file::part_entry_offset(1)).unwrap();
    let before = std::fs::read(&output).unwrap();
    let joined = publish(&given, &output, "x").unwrap();
    assert_eq!((joined.path, joined.parts), (folder.path("a.2.mpitrace"), 2));
    assert_eq!(std::fs::read(&output).unwrap(), before);
}

/// A short table could have the disk filled with copies of one part.
#[test]
fn a_trace_that_lists_one_part_many_times_is_left_alone() {
    let folder = Folder::new("many-times");
    let (given, output) = (folder.path(".own.partial"), folder.path("a.mpitrace"));
    write(&given, 1, &[0, 1], 100, WORLD);
    write(&output, 1, &[2, 3], 100, WORLD);
    let file = OpenOptions::new().read(true).write(true).open(&output).unwrap();
    let whole: PartEntry = PartEntry { offset: 0, length: file.metadata().unwrap().len(), rank: 2, padding: 0 };
    let entries = [whole, PartEntry { rank: 3, ..whole }];
    file.write_all_at(bytemuck::cast_slice(&entries), file::part_entry_offset(0)).unwrap();
    let joined = publish(&given, &output, "x").unwrap();
    assert_eq!((joined.path, joined.parts), (folder.path("a.2.mpitrace"), 2));
}

#[test]
fn another_user_s_trace_is_left_alone() {
    let folder = Folder::new("owner");
    let (given, output) = (folder.path(".own.partial"), folder.path("a.mpitrace"));
    write(&given, 1, &[0, 1], 100, WORLD);
    write(&output, 1, &[2, 3], 100, WORLD);
    if std::os::unix::fs::chown(&output, Some(4711), None).is_err() {
        return eprintln!("skipped: only root can give a file away");
    }
    let joined = publish(&given, &output, "x").unwrap();
    assert_eq!((joined.path, joined.parts), (folder.path("a.2.mpitrace"), 2));
    assert_eq!(ranks(&output), [2, 3]);
}

/// Its segments go when a rank is in a trace: what is there must be the same.
#[test]
fn a_rank_that_is_damaged_in_the_other_trace_is_kept() {
    let folder = Folder::new("damaged");
    let (given, output) = (folder.path(".own.partial"), folder.path("a.mpitrace"));
    write(&given, 1, &[1, 2], 100, WORLD);
    write(&output, 1, &[1, 2], 100, WORLD);
    let file = OpenOptions::new().read(true).write(true).open(&output).unwrap();
    let last = file.metadata().unwrap().len() - PAGE;
    file.write_all_at(b"damaged", last).unwrap();
    let joined = publish(&given, &output, "x").unwrap();
    assert_eq!((joined.path.clone(), joined.parts), (folder.path("a.2.mpitrace"), 2));
    assert_eq!(ranks(&joined.path), [1, 2]);
}

/// Its segments go when a rank is in a trace, so no reader may refuse the file that it was added to.
#[test]
fn a_trace_that_no_reader_takes_is_left_alone() {
    let folder = Folder::new("refused");
    let (given, output) = (folder.path(".own.partial"), folder.path("a.mpitrace"));
    let change = |path: &Path, change: fn(&mut FileHeader)| {
        let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
        let mut header: FileHeader = read_at(&file, 0).unwrap();
        change(&mut header);
        file::write_checked_header(&file, &header).unwrap();
    };
    write(&given, 1, &[2], 100, WORLD);
    write(&output, 1, &[1], 100, WORLD);
    change(&output, |header| header.byte_order = header.byte_order.swap_bytes());
    let before = std::fs::read(&output).unwrap();
    let joined = publish(&given, &output, "x").unwrap();
    assert_eq!(joined.path, folder.path("a.2.mpitrace"));
    assert_eq!(std::fs::read(&output).unwrap(), before);
    change(&joined.path, |header| header.world_size = MOST_RANKS + 1);
    assert_eq!(Stored::open(&joined.path).err().map(|error| error.kind()), Some(io::ErrorKind::InvalidData));
}

#[test]
fn a_trace_is_whole_if_its_rank_has_finalized_and_lost_nothing() {
    let folder = Folder::new("whole");
    for (name, incomplete, state, is_whole) in [
        ("whole", false, state::FINALIZED, true),
        ("lost", true, state::FINALIZED, false),
        ("killed", false, state::RUNNING, false),
    ] {
        let (path, offset) = (folder.path(name), file::parts_start(1));
        let file = File::create_new(&path).unwrap();
        let mut content = content(1, 0, 100, b"metadata");
        (content.incomplete, content.rank.state) = (incomplete, state);
        let entry = PartEntry { offset, length: content.length(), rank: 0, padding: 0 };
        content.write_at(&file, offset).unwrap();
        file.write_all_at(bytemuck::bytes_of(&entry), file::part_entry_offset(0)).unwrap();
        file::write_header(&file, [1; 16], WORLD, 1, offset + entry.length, false).unwrap();
        assert_eq!(Stored::open(&path).unwrap().is_whole().unwrap(), is_whole, "{name}");
    }
}

#[test]
fn a_table_has_room_up_to_the_first_part() {
    let folder = Folder::new("table");
    let path = folder.path("a.mpitrace");
    write(&path, 1, &[0, 1], 100, 4);
    let stored = Stored::open(&path).unwrap();
    assert!(stored.has_room_for(4));
    assert!(!stored.has_room_for(100_000));
}
