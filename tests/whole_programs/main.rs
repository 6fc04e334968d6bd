//! Whole programs under the tracer, on real MPI libraries: each test on one library, or with `TESTS_TIER=all` on
//! each library and ABI that there is. A test that is named on the command line runs on each as well.
//!
//! `tests/mpi/install.sh` installs the libraries. What cannot be run is listed as ignored, with the reason in its name;
//! with `NOTHING_SKIPPED=1` in the environment, as tests/run.sh sets it on Debian, it fails instead, unless it is the
//! machine that forbids it.

mod aborts;
mod above_limits;
mod account;
mod algorithms;
mod analysis;
mod application_times;
mod applications;
mod benchmarks;
mod bitwise;
mod bounds;
mod broken;
mod broken_nodes;
mod call_sites;
mod capacity;
mod causes;
mod changes;
mod ci_templates;
mod clocks;
mod cluster;
mod cluster_deaths;
mod cluster_folders;
mod cluster_jobs;
mod cluster_killed;
mod cluster_partly;
mod cluster_run;
mod cluster_scale;
mod collectives;
mod command_line;
mod communicators;
mod cost;
mod cost_of_commands;
mod counters;
mod counts;
mod damage;
mod dated_ends;
mod death;
mod doctor;
mod emulated_machine;
mod endings;
mod enough;
mod errors;
mod export;
mod gate;
mod habits;
mod handles;
mod hosts;
mod inside;
mod interruptions;
mod jobs;
mod languages;
mod late_code;
mod limits;
mod management;
mod messages;
mod nfs;
mod no_answer;
mod odd_calls;
mod odd_names;
mod odd_processes;
mod output;
mod partners;
mod polls;
mod preload;
mod private_memory;
mod process_state;
mod processes;
mod processor_counters;
mod random_death;
mod report;
mod requests;
mod runs;
mod samples;
mod scale;
mod scaling;
mod schemas;
mod sessions;
mod settings;
mod spill;
mod stacks;
mod suites;
mod support;
mod threads;
mod truths;
mod types;
mod unchanged;
mod undone;
mod untraced;
mod users;
mod variables;
mod waits;
mod whereabouts;

use libtest_mimic::Arguments;
use std::thread;
use support::{binaries, litter, tiers};

fn main() {
    let mut arguments = Arguments::from_args();
    // Much of a test is a launcher that waits; the ranks of a job, up to four, wait by spinning.
    let cores = thread::available_parallelism().map_or(1, usize::from);
    arguments.test_threads.get_or_insert((cores / 2).max(3));
    // SAFETY: no other thread runs yet.
    unsafe { std::env::set_var("XDG_CACHE_HOME", binaries::TARGET.join("tests/cache")) };
    if !arguments.list {
        binaries::build();
        litter::expect();
    }
    let themes = [
        ("counts", counts::TESTS),
        ("communicators", communicators::TESTS),
        ("collectives", collectives::TESTS),
        ("requests", requests::TESTS),
        ("sessions", sessions::TESTS),
        ("changes", changes::TESTS),
        ("ci_templates", ci_templates::TESTS),
        ("clocks", clocks::TESTS),
        ("report", report::TESTS),
        ("enough", enough::TESTS),
        ("hosts", hosts::TESTS),
        ("cluster", cluster::TESTS),
        ("cluster_deaths", cluster_deaths::TESTS),
        ("cluster_folders", cluster_folders::TESTS),
        ("cluster_jobs", cluster_jobs::TESTS),
        ("cluster_killed", cluster_killed::TESTS),
        ("cluster_partly", cluster_partly::TESTS),
        ("cluster_run", cluster_run::TESTS),
        ("cluster_scale", cluster_scale::TESTS),
        ("late_code", late_code::TESTS),
        ("samples", samples::TESTS),
        ("scale", scale::TESTS),
        ("scaling", scaling::TESTS),
        ("messages", messages::TESTS),
        ("waits", waits::TESTS),
        ("counters", counters::TESTS),
        ("processor_counters", processor_counters::TESTS),
        ("emulated_machine", emulated_machine::TESTS),
        ("dated_ends", dated_ends::TESTS),
        ("endings", endings::TESTS),
        ("nfs", nfs::TESTS),
        ("no_answer", no_answer::TESTS),
        ("cost", cost::TESTS),
        ("cost_of_commands", cost_of_commands::TESTS),
        ("call_sites", call_sites::TESTS),
        ("variables", variables::TESTS),
        ("habits", habits::TESTS),
        ("handles", handles::TESTS),
        ("languages", languages::TESTS),
        ("management", management::TESTS),
        ("bitwise", bitwise::TESTS),
        ("threads", threads::TESTS),
        ("inside", inside::TESTS),
        ("interruptions", interruptions::TESTS),
        ("capacity", capacity::TESTS),
        ("limits", limits::TESTS),
        ("private_memory", private_memory::TESTS),
        ("bounds", bounds::TESTS),
        ("death", death::TESTS),
        ("broken", broken::TESTS),
        ("broken_nodes", broken_nodes::TESTS),
        ("random_death", random_death::TESTS),
        ("polls", polls::TESTS),
        ("preload", preload::TESTS),
        ("process_state", process_state::TESTS),
        ("processes", processes::TESTS),
        ("settings", settings::TESTS),
        ("output", output::TESTS),
        ("partners", partners::TESTS),
        ("truths", truths::TESTS),
        ("errors", errors::TESTS),
        ("command_line", command_line::TESTS),
        ("doctor", doctor::TESTS),
        ("runs", runs::TESTS),
        ("whereabouts", whereabouts::TESTS),
        ("stacks", stacks::TESTS),
        ("damage", damage::TESTS),
        ("export", export::TESTS),
        ("schemas", schemas::TESTS),
        ("benchmarks", benchmarks::TESTS),
        ("above_limits", above_limits::TESTS),
        ("aborts", aborts::TESTS),
        ("account", account::TESTS),
        ("algorithms", algorithms::TESTS),
        ("analysis", analysis::TESTS),
        ("gate", gate::TESTS),
        ("jobs", jobs::TESTS),
        ("causes", causes::TESTS),
        ("application_times", application_times::TESTS),
        ("applications", applications::TESTS),
        ("odd_processes", odd_processes::TESTS),
        ("odd_calls", odd_calls::TESTS),
        ("odd_names", odd_names::TESTS),
        ("unchanged", unchanged::TESTS),
        ("types", types::TESTS),
        ("untraced", untraced::TESTS),
        ("undone", undone::TESTS),
        ("users", users::TESTS),
        ("spill", spill::TESTS),
        ("suites", suites::TESTS),
    ];
    let trials = tiers::Tier::chosen(&arguments).trials(&themes);
    let conclusion = libtest_mimic::run(&arguments, trials);
    if !arguments.list {
        litter::sweep_all();
        tiers::write_seconds();
        random_death::write_table();
        cluster_deaths::write_table();
        causes::write_table();
    }
    conclusion.exit();
}
