//! Programs that do not go on, on several nodes: looked at from one of them while they run, and after they were killed.

use crate::broken::programs::*;
use crate::broken::{Broken, Expected, Info, Look, WORLD, assert_dead, assert_mismatch, assert_verdict};
use crate::cluster::{cluster_folder, is_open_mpi, over_at, script, test};
use crate::support::build::program;
use crate::support::process::{self, Finished};
use crate::support::{Case, On, TARGET, Test, binaries, root, tracer};
use serde::Deserialize;
use std::ffi::OsString;
use std::process::Command;
use std::time::Duration;

const LIBRARIES: On = On::Only(&["mpich5", "ompi5"]);

pub const TESTS: &[Test] = &[
    test("a_rank_on_another_node_is_named", on_another_node).on(LIBRARIES).second_tier(),
    test("stacks_of_ranks_on_16_nodes_are_folded", on_16_nodes).on(On::Only(&["mpich5"])).second_tier().alone(),
    test("a_job_is_seen_from_a_node_without_ranks", from_elsewhere).on(LIBRARIES).second_tier(),
    test("ranks_that_wait_for_each_other", |case| {
        are_found(case, &[&ORDER, &CIRCLE, &FEWER, &HALF, &RECEIVES, &NON_BLOCKING]);
    })
    .on(LIBRARIES)
    .second_tier(),
    test("calls_that_do_not_belong_together", |case| are_found(case, &[&ROOT, &COUNT, &OPERATOR, &FUNCTION]))
        .on(LIBRARIES)
        .second_tier(),
    test("ranks_that_have_not_come", |case| {
        are_found(case, &[&MISSING, &LOOPS, &HANDLER, &HANDLER_LOOPS, &STOPS, &LEAVES, &CRASHES]);
    })
    .on(LIBRARIES)
    .second_tier(),
    test("ranks_in_other_calls", |case| {
        are_found(case, &[&FINALIZE, &EARLY_FINALIZE, &COMMUNICATOR, &RECEIVE, &REQUEST, &PROBE, &ERROR_HANDLER]);
    })
    .on(LIBRARIES)
    .second_tier(),
];

/// A line of broken.sh.
#[derive(Deserialize)]
struct BrokenRow {
    which: String,
    live: Option<Look>,
    dead: Option<Info>,
}

/// Runs these words on the head of a cluster of three nodes.
fn on_head(case: &Case, words: &[OsString], limit_s: u64) -> Finished {
    on_head_of(3, case, words, limit_s)
}

fn on_head_of(nodes: u32, case: &Case, words: &[OsString], limit_s: u64) -> Finished {
    let mut command = Command::new(script("cluster.sh"));
    command.env("NODES", nodes.to_string());
    command.arg(cluster_folder(case)).args(words);
    command.envs(case.mpi.environment.iter().map(|(name, value)| (name, value)));
    command.env("KEEP", format!("{} {}", root().display(), TARGET.display())).env("FI_PROVIDER", "tcp");
    command.env_remove("LD_PRELOAD").current_dir(&case.folder);
    process::run(command, &case.folder.join("output"), Duration::from_secs(limit_s))
}

fn interface(case: &Case) -> &'static str {
    if is_open_mpi(case.mpi) { "pmix" } else { "pmi2" }
}

#[track_caller]
fn values<T: for<'a> Deserialize<'a>>(finished: &Finished) -> Vec<T> {
    let values: Result<Vec<T>, _> = serde_json::Deserializer::from_str(&finished.stdout).into_iter().collect();
    values.unwrap_or_else(|error| panic!("{error} in {}\n{}", finished.stdout, finished.stderr))
}

/// Each of these programs, one after the other.
fn are_found(case: &Case, programs: &[&Broken]) {
    let broken = program(case.mpi, "broken.c");
    let mut words: Vec<OsString> = vec![script("broken.sh").into(), binaries::companion().into()];
    words.extend([tracer().into(), broken.into(), interface(case).into()]);
    words.extend(programs.iter().map(|program| program.which.into()));
    let finished = on_head(case, &words, 400);
    let rows: Vec<BrokenRow> = values(&finished);
    assert_eq!(rows.len(), programs.len(), "{}\n{}", finished.stdout, finished.stderr);
    for (row, program) in rows.iter().zip(programs) {
        println!("{}: {:?}", row.which, row.live);
        match (&program.live, &row.live) {
            (Expected::Verdict(verdict) | Expected::OrDies(verdict), Some(Look { stuck: Some(stuck), .. })) => {
                assert_verdict(stuck, *verdict);
            }
            (Expected::Mismatch(kind), Some(look)) => assert_mismatch(&look.mismatches, kind, program.dead.1),
            (Expected::OrDies(_) | Expected::Mismatch(_), None) => {}
            (_, look) => panic!("{}: no verdict: {look:?}", row.which),
        }
        let dead = row.dead.as_ref().unwrap_or_else(|| panic!("{}: no trace\n{}", row.which, finished.stderr));
        assert_dead(program, dead);
    }
}

/// A job of a rank on each of three nodes, that of the second one missing, looked at from the first: by Slurm, and by
/// words of the user's.
fn on_another_node(case: &Case) {
    let text = "srun --mpi=$3 -N3 --ntasks-per-node=1 env LD_PRELOAD=\"$2\" MPITRACE_SEGMENT_DIR=/dev/shm \
             MPITRACE_OUTPUT=lost.mpitrace \"$0\" missing &
         by='srun --overlap --jobid=1 -N1 -n1 -w %n'
         for k in $(seq 40); do
             sleep 1
             code=0
             at n1 \"$1\" watch --once --json --stuck 2 >by-slurm || code=$?
             [ $code != 1 ] || break
         done
         at n1 \"$1\" watch --once --json --stuck 2 --nodes 'n[1-3]' --by \"'$by'\" >by-words || :
         \"$1\" watch 1 --once --json --stuck 2 --nodes 'n[1-3]' >from-head || :
         scancel --name=env
         cat by-slurm by-words from-head";
    let mut words: Vec<OsString> = crate::cluster::words(&["bash", "-uc", text]);
    words.extend([program(case.mpi, "broken.c").into(), binaries::companion().into()]);
    words.extend([tracer().into(), interface(case).into()]);
    let finished = on_head(case, &words, 118);
    let looks: Vec<Look> = values(&finished);
    assert_eq!(looks.len(), 3, "{looks:?}\n{}", finished.stderr);
    looks.iter().for_each(|look| assert_missing(look, &finished));
}

/// A rank on each node, of which all but the first wait for a message of that one, which is in a Barrier: `watch`
/// starts itself on 8 nodes, and by way of them on the others.
fn on_16_nodes(case: &Case) {
    let text = "srun --mpi=$3 -N16 --ntasks-per-node=1 env LD_PRELOAD=\"$2\" MPITRACE_SEGMENT_DIR=/dev/shm \
             MPITRACE_OUTPUT=lost.mpitrace \"$0\" recv &
         for k in $(seq 40); do
             sleep 1
             code=0
             at n1 \"$1\" watch --once --json --stuck 2 >look || code=$?
             [ $code != 1 ] || break
         done
         scancel --name=env
         cat look";
    let mut words: Vec<OsString> = crate::cluster::words(&["bash", "-uc", text]);
    words.extend([program(case.mpi, "stands.c").into(), binaries::companion().into()]);
    words.extend([tracer().into(), interface(case).into()]);
    let finished = on_head_of(16, case, &words, 300);
    let looks: Vec<serde_json::Value> = values(&finished);
    let look = looks.last().unwrap_or_else(|| panic!("no look\n{}", finished.stderr));
    assert_eq!(look["where"].as_array().map(Vec::len), Some(16), "{look:#}\n{}", finished.stderr);
    let stacks = look["stuck"]["stacks"].as_array().unwrap_or_else(|| panic!("{look:#}\n{}", finished.stderr));
    assert_eq!((stacks.len(), &look["stuck"]["kind"]), (2, &"cycle".into()), "{look:#}");
    for (stack, ranks, function) in [(&stacks[0], 0..1, "MPI_Barrier"), (&stacks[1], 1..16, "MPI_Recv")] {
        assert_eq!(stack["ranks"], serde_json::json!(ranks.collect::<Vec<u32>>()), "{look:#}");
        assert_eq!(stack["frames"].as_array().expect("frames").last(), Some(&function.into()), "{look:#}");
    }
    assert!(stacks[1]["frames"].as_array().is_some_and(|frames| frames.len() > 3), "{look:#}");
}

#[track_caller]
fn assert_missing(look: &Look, finished: &Finished) {
    let ranks: Vec<Option<u32>> = look.places.iter().map(|place| place.rank).collect();
    assert_eq!(ranks, [Some(0), Some(1), Some(2)], "{look:?}\n{}", finished.stderr);
    assert_verdict(look.stuck.as_ref().expect("a verdict"), ("missing-rank", &[1], WORLD));
}

/// A job of the library's own launcher, looked at from a host that has none of its ranks, through that launcher.
fn from_elsewhere(case: &Case) {
    // As over_at, with one rank on each node, and with one on a node.
    let of = |nodes: &str, ranks: &str| -> String {
        let mut words: Vec<String> = over_at(case).iter().map(|word| word.to_string_lossy().into_owned()).collect();
        for word in &mut words {
            match word.as_str() {
                "n1:2,n2:2,n3:2" => *word = nodes.to_owned(),
                "6" => *word = ranks.to_owned(),
                _ => {}
            }
        }
        words.join(" ")
    };
    let text = "$4 env LD_PRELOAD=\"$2\" MPITRACE_SEGMENT_DIR=/dev/shm MPITRACE_OUTPUT=lost.mpitrace \"$0\" missing &
         launcher=$! code=0
         until job=$(at n1 \"$1\" watch --list --json | sed -n 's/.*\"job\": *\"\\([^\"]*\\)\".*/\\1/p') && [ -n \"$job\" ]
         do
             sleep 0.5
         done
         for k in $(seq 20); do
             code=0
             \"$1\" watch \"$job\" --once --json --stuck 2 --nodes 'n[1-3]' --by \"$3\" >look || code=$?
             [ $code != 1 ] || break
             sleep 1
         done
         cat look
         kill -KILL $launcher";
    let mut words: Vec<OsString> = crate::cluster::words(&["bash", "-uc", text]);
    words.extend([program(case.mpi, "broken.c").into(), binaries::companion().into(), tracer().into()]);
    words.extend([of("%n", "1").into(), of("n1:1,n2:1,n3:1", "3").into()]);
    let finished = on_head(case, &words, 118);
    let looks: Vec<Look> = values(&finished);
    assert_eq!(looks.len(), 1, "{looks:?}\n{}", finished.stderr);
    assert_missing(&looks[0], &finished);
}
