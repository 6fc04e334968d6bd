//! The facts of a simulated run, for the tests of this crate and for `benches/scaling.rs`.

use std::collections::BTreeMap;

use mpitrace_analysis::efficiency::Efficiency;
use mpitrace_scaling::facts::{Kind, PartKey, RunFacts};
use mpitrace_testing::scaled_programs::ScaledRun;

/// The facts of a run of which the simulator states all times.
pub fn facts(run: &ScaledRun) -> RunFacts {
    let p = f64::from(run.ranks);
    let useful_s: f64 = run.computing_s.iter().sum();
    let longest = run.computing_s.iter().copied().fold(0.0, f64::max);
    let (load_balance, communication) = (useful_s / p / longest, longest / run.seconds);
    let of_function = |kind, function: &str| PartKey { kind, function: Some(function.into()), call_site: None };
    let mut parts = BTreeMap::from([(PartKey::of_kind(Kind::Computing), useful_s / p)]);
    parts.insert(of_function(Kind::Waiting, run.calls_s[0].0), run.waiting_s);
    parts.extend(run.calls_s.iter().map(|&(function, seconds)| (of_function(Kind::Calls, function), seconds)));
    RunFacts {
        ranks: run.ranks,
        seconds: run.seconds,
        useful_s,
        efficiency: Efficiency { parallel: load_balance * communication, load_balance, communication },
        transfer: None,
        counted: None,
        parts,
        regions: BTreeMap::new(),
    }
}
