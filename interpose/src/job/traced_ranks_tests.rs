use super::*;
use Nodes::{One, Several, Unknown};
use bytemuck::Zeroable;

fn announce(key: u64, nodes: Nodes, folder: &PathBuf) -> (TracedRanks, Option<Starting>) {
    TracedRanks::announce(Job { key, nodes }, RankHeader::zeroed(), 0, std::slice::from_ref(folder))
}

/// Processes of a job: as many nodes as there are folders, so many ranks on each, all asked at once.
fn settled(nodes: &[(u32, Nodes)], world_size: u32) -> Vec<Answer> {
    let base = std::env::temp_dir().join(format!("mpitrace-traced_ranks-{}-{:x}", std::process::id(), ticks::now()));
    let shared = base.join("shared");
    std::fs::create_dir_all(&shared).unwrap();
    let mut all = Vec::new();
    for (number, &(ranks, hint)) in nodes.iter().enumerate() {
        let folder = base.join(number.to_string());
        std::fs::create_dir(&folder).unwrap();
        for _ in 0..ranks {
            all.push(announce(7, hint, &folder));
        }
    }
    let shared = &shared;
    let answers: Vec<Answer> = std::thread::scope(|scope| {
        let asked: Vec<_> =
            all.iter_mut().map(|(rank, _)| scope.spawn(move || rank.all_traced(world_size, shared))).collect();
        asked.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let all: Vec<TracedRanks> = all.into_iter().map(|(rank, _)| rank).collect();
    for (rank, answer) in all.iter().zip(&answers) {
        if let (Some(here), Answer::All { meeting: Some(number) }) = (&rank.here, answer) {
            NodeMeeting::discard(here, *number);
        }
    }
    all.iter().for_each(TracedRanks::withdraw_settlements);
    let left: Vec<_> = std::fs::read_dir(shared).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert!(left.is_empty(), "{left:?}");
    for number in 0..nodes.len() {
        let left: Vec<_> = std::fs::read_dir(base.join(number.to_string())).unwrap().flatten().collect();
        assert!(left.is_empty(), "{left:?}");
    }
    std::fs::remove_dir_all(&base).unwrap();
    answers
}

fn answers(nodes: &[(u32, Nodes)], world_size: u32) -> Vec<bool> {
    settled(nodes, world_size).iter().map(|answer| matches!(answer, Answer::All { .. })).collect()
}

/// The traced ranks of a program have one number, and one of them says what was found.
#[test]
fn ranks_that_are_not_all_traced_agree_on_a_run_and_one_speaks() {
    let several: &[(u32, Nodes)] = &[(2, Several), (1, Unknown)];
    let one: &[(u32, Nodes)] = &[(3, One)];
    for (nodes, beyond) in [(one, false), (several, true)] {
        let answers = settled(nodes, 4);
        let of = |answer: &Answer| match answer {
            Answer::All { .. } => panic!("one rank is not traced"),
            Answer::Some { run, found } => (*run, found.clone()),
        };
        let (runs, found): (Vec<_>, Vec<_>) = answers.iter().map(of).unzip();
        assert!(runs.iter().all(|run| *run == runs[0]), "{runs:?}");
        let found: Vec<_> = found.into_iter().flatten().collect();
        assert_eq!((found.len(), found[0].ranks, found[0].folder.is_some()), (1, 3, beyond), "{found:?}");
    }
}

/// Other users can write to the folder of a node, and guess the names there.
#[test]
fn what_another_user_has_made_does_not_count() {
    let folder = std::env::temp_dir().join(format!("mpitrace-owner-{}-{:x}", std::process::id(), ticks::now()));
    std::fs::create_dir(&folder).unwrap();
    let (mut rank, _starting) = announce(9, One, &folder);
    let link = folder.join("link");
    symlink(ALL, &link).unwrap();
    assert_eq!((rank.count_here(""), read(&link, rank.owner).as_deref()), (1, Some(ALL)));
    rank.owner = rank.owner.map(|owner| owner + 1);
    assert_eq!((rank.count_here(""), read(&link, rank.owner)), (0, None));
    assert_eq!(settle(&link, SOME, rank.owner), None, "without a wait");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// In the folder of the trace, too. Only root can make a link another user's.
#[test]
fn an_answer_that_another_user_has_made_for_the_job_does_not_count() {
    let base = std::env::temp_dir().join(format!("mpitrace-answer-{}-{:x}", std::process::id(), ticks::now()));
    let (here, shared) = (base.join("here"), base.join("shared"));
    for other in [None, Some(12345)] {
        let answers = shared.join(format!(".{}", announce(11, Several, &here).0.named("-settled")));
        std::fs::create_dir_all(&answers).unwrap();
        std::fs::create_dir_all(&here).unwrap();
        let link = answers.join("answer");
        symlink(ALL, &link).unwrap();
        let changed = std::os::unix::fs::lchown(&link, other, None);
        let (mut rank, _starting) = announce(11, Several, &here);
        let found = rank.all_traced(2, &shared);
        if other.is_none() || changed.is_ok() {
            assert_eq!(matches!(found, Answer::All { .. }), other.is_none(), "{other:?}: {found:?}");
        }
        std::fs::remove_dir_all(&base).unwrap();
    }
}

#[test]
fn files_are_the_user_s_alone() {
    let folder = std::env::temp_dir().join(format!("mpitrace-modes-{}-{:x}", std::process::id(), ticks::now()));
    system::create_private_folder(&folder).unwrap();
    let marker = folder.join("marker");
    OwnFile::create_private(&marker).unwrap();
    assert_eq!((folder.metadata().unwrap().mode() & 0o777, marker.metadata().unwrap().mode() & 0o777), (0o700, 0o600));
    let link = folder.join("link");
    symlink(folder.join("elsewhere"), &link).unwrap();
    assert!(OwnFile::create_private(&link).is_err(), "not through a link");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn all_ranks_of_one_node_find_each_other() {
    assert_eq!(answers(&[(4, One)], 4), [true; 4]);
    assert_eq!(answers(&[(4, Unknown)], 4), [true; 4]);
}

#[test]
fn all_ranks_of_several_nodes_find_each_other() {
    assert_eq!(answers(&[(2, Several), (1, Several), (3, Several)], 6), [true; 6]);
    assert_eq!(answers(&[(2, Unknown), (1, Unknown)], 3), [true; 3]);
}

/// The variables of a batch system differ between the nodes of a job.
#[test]
fn nodes_with_other_hints_come_to_the_same_answer() {
    assert_eq!(answers(&[(1, Unknown), (1, Several)], 2), [true; 2]);
    assert_eq!(answers(&[(1, One), (1, Several)], 2), [false; 2]);
}

#[test]
fn a_node_without_the_tracer_is_missed_by_all_others() {
    assert_eq!(answers(&[(2, Several), (1, Several)], 4), [false; 3]);
    assert_eq!(answers(&[(1, One)], 2), [false]);
}

#[test]
fn a_hint_of_several_nodes_is_not_trusted() {
    assert_eq!(answers(&[(1, Several)], 2), [false]);
    assert_eq!(answers(&[(2, Several)], 2), [true; 2]);
}
