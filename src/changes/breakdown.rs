//! The time of one run in the parts that are compared.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use mpitrace_analysis::account::{Account, Because, Late, OperationAccount, Parts, RankPart, RankParts};
use mpitrace_analysis::run::Run;
use mpitrace_format::metadata;
use mpitrace_trace::calls::samples::RunSamples;
use mpitrace_trace::calls::whole_run::all_calls;
use mpitrace_trace::operations::Operation;
use mpitrace_trace::reader::Part;

use super::code::{self, InFunction};
use super::identity::Identity;

/// The time of a run in parts that add up to the times of all ranks.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("app.mpitrace");
/// # mpitrace_testing::synthetic::write_example(&path)?;
/// use mpitrace_analysis::run::{Need, Run};
/// use mpitrace_changes::{Breakdown, Identity};
/// use mpitrace_trace::reader::Trace;
///
/// let run = Run::new(Trace::open(&[path])?, Need::Account, |_, _, _| Vec::new());
/// let identities = vec![Identity::default(); run.operations.operations.len()];
/// let breakdown = Breakdown::new(&run, &identities, None);
/// assert!((breakdown.sum_ns() - run.account().rank_ns()).abs() < 1.0);
/// assert_eq!(breakdown.ranks, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Breakdown {
    /// The ranks of the trace.
    pub ranks: usize,
    /// The longest time of a rank, from MPI_Init to MPI_Finalize, ns.
    pub job_ns: f64,
    /// Collective calls without the waiting. Those on files are joined by function.
    pub operations: Vec<(Identity, Spent)>,
    /// Waiting for ranks that were late, in collective calls, in messages and in MPI_Finalize.
    pub waiting: Vec<WaitedFor>,
    /// Computing by function of the program; empty without samples.
    pub computing: Vec<InFunction>,
    /// The rest of the parts of each rank, by its world rank: computing in no function above, waiting whose cause is
    /// not known, and all other parts.
    pub rest: Vec<(u32, RankParts)>,
    /// Point-to-point calls that can wait, of all ranks together.
    pub point_to_point_calls: u64,
    /// The host of each world rank; empty: all are on one, or it is not known.
    pub hosts: BTreeMap<u32, String>,
}

/// Time in the calls of an operation, all ranks together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    /// Communication, time off the processor and delay by the tracer, ns.
    pub ns: f64,
    /// The time off the processor in these, ns.
    pub off_ns: f64,
    /// All of the time in the calls, ns: with waiting and time off the processor.
    pub run_time_ns: f64,
    /// Calls of all ranks together.
    pub calls: f64,
}

/// The waiting for a rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WaitedFor {
    /// The world rank that is late.
    pub rank: u32,
    /// Why it is late; `None`: not known.
    pub because: Option<Because>,
    /// All ranks that wait for it together, ns.
    pub ns: f64,
}

impl Breakdown {
    /// Divides the time of a run, whose operations have these identities, by their numbers.
    pub fn new(run: &Run, identities: &[Identity], samples: Option<&RunSamples>) -> Breakdown {
        let account = run.account();
        let mut breakdown = Breakdown {
            ranks: account.ranks.len(),
            job_ns: account.ranks.iter().map(|rank| rank.wall_ns).fold(0.0, f64::max),
            rest: account.ranks.iter().map(|rank| (rank.rank, rank.parts)).collect(),
            point_to_point_calls: account.partners.iter().map(|partner| partner.calls).sum(),
            hosts: hosts(run),
            ..Breakdown::default()
        };
        breakdown.add_operations(run, account, identities);
        breakdown.add_waiting(account);
        if let Some(samples) = samples {
            let computing = |part: usize| account.ranks[part].parts[RankPart::Computing];
            let found = code::by_function(run, samples, computing);
            let known: f64 = found.iter().map(|one| one.ns()).sum();
            breakdown.take(RankPart::Computing, known);
            breakdown.computing = found;
        }
        breakdown
    }

    /// The times of all ranks together, ns.
    pub fn sum_ns(&self) -> f64 {
        let operations: f64 = self.operations.iter().map(|(_, spent)| spent.ns).sum();
        let waiting: f64 = self.waiting.iter().map(|waited| waited.ns).sum();
        let computing: f64 = self.computing.iter().map(InFunction::ns).sum();
        operations + waiting + computing + self.rest.iter().map(|(_, parts)| parts.sum()).sum::<f64>()
    }

    fn left(&self, part: RankPart) -> f64 {
        self.rest.iter().map(|(_, parts)| parts[part]).sum()
    }

    /// Takes so much (ns) out of a part of all ranks, of each in proportion.
    fn take(&mut self, part: RankPart, ns: f64) {
        let all = self.left(part);
        if all > 0.0 {
            let left = 1.0 - ns / all;
            self.rest.iter_mut().for_each(|(_, parts)| parts[part] *= left);
        }
    }

    fn add_operations(&mut self, run: &Run, account: &Account, identities: &[Identity]) {
        let all = spent(run);
        let is_region = |number: usize| run.operations.operations[number].key.is_region;
        let calls: Vec<usize> = (0..account.operations.len()).filter(|&number| !is_region(number)).collect();
        let own: Vec<Parts> = account.operations.iter().map(own_parts).collect();
        // Of requests that one call completes each has its full time, and other threads have calls of their own.
        let share_of = |breakdown: &mut Breakdown, part: RankPart, of: &dyn Fn(usize) -> f64| {
            let known: f64 = calls.iter().map(|&number| of(number).max(0.0)).sum();
            let share = share(breakdown.left(part), known);
            breakdown.take(part, share * known);
            share
        };
        let is_io = |number: usize| account.operations[number].is_io;
        let on_files =
            |wanted: bool, number: usize| if is_io(number) == wanted { own[number].communication } else { 0.0 };
        let shares = [
            share_of(self, RankPart::Communication, &|number| on_files(false, number)),
            share_of(self, RankPart::Io, &|number| on_files(true, number)),
            share_of(self, RankPart::Interrupted, &|number| own[number].interrupted),
            share_of(self, RankPart::Perturbed, &|number| own[number].perturbed),
        ];
        let mut files: BTreeMap<&str, Spent> = BTreeMap::new();
        for &number in &calls {
            let off_ns = shares[2] * own[number].interrupted.max(0.0);
            let rest = shares[usize::from(is_io(number))] * own[number].communication.max(0.0);
            let ns = rest + off_ns + shares[3] * own[number].perturbed.max(0.0);
            let spent = Spent { ns, off_ns, ..all[number] };
            if is_io(number) {
                *files.entry(&run.operations.operations[number].key.function).or_default() += spent;
            } else {
                self.operations.push((identities[number].clone(), spent));
            }
        }
        let of_files = files.into_iter().map(|(function, spent)| (Identity::whole(function, 0), spent));
        self.operations.extend(of_files);
    }

    fn add_waiting(&mut self, account: &Account) {
        let mut found: BTreeMap<(u32, Option<Because>), f64> = BTreeMap::new();
        let mut add = |breakdown: &mut Breakdown, part: RankPart, waits: Vec<(u32, Option<Because>, f64)>| {
            let known: f64 = waits.iter().map(|(.., ns)| ns).sum();
            let share = share(breakdown.left(part), known);
            waits.into_iter().for_each(|(rank, because, ns)| *found.entry((rank, because)).or_default() += share * ns);
            breakdown.take(part, share * known);
        };
        let of_late =
            |rank: u32, late: Late| late.reasons().map(move |(because, ns)| (rank, because, ns)).collect::<Vec<_>>();
        let of_operation = |of: &OperationAccount| -> Vec<(u32, Option<Because>, f64)> {
            let ranks = of.ranks.iter().zip(&of.late);
            ranks.flat_map(|(&(rank, _), &late)| of_late(rank, account.beside_its_waiters(rank, late))).collect()
        };
        add(self, RankPart::Waiting, account.operations.iter().flat_map(of_operation).collect());
        let records = account
            .late_messages
            .iter()
            .flat_map(|late| late.reasons().into_iter().map(|(because, ns)| (late.rank, because, ns)));
        let exchanges = account.late_partners.iter().flat_map(|late| {
            let computing = (Because::Computing, (late.ns - late.off.sum()).max(0.0));
            let reasons = late.off.reasons().into_iter().chain([computing]);
            reasons.map(|(because, ns)| (late.late, Some(because), ns))
        });
        add(self, RankPart::PointToPoint, records.chain(exchanges).collect());
        let at_end = account.late_at_finalize.iter().flat_map(|end| of_late(end.rank, end.late)).collect();
        add(self, RankPart::WaitingFinalize, at_end);
        let waited = found.into_iter().filter(|(_, ns)| *ns > 0.0);
        self.waiting = waited.map(|((rank, because), ns)| WaitedFor { rank, because, ns }).collect();
    }
}

fn hosts(run: &Run) -> BTreeMap<u32, String> {
    let host = |part: &Part| Some((part.rank(), metadata::get(&part.metadata(), "host")?.to_owned()));
    let hosts: BTreeMap<u32, String> = run.trace.parts.iter().filter_map(host).collect();
    let several = hosts.values().collect::<BTreeSet<_>>().len() > 1;
    if several { hosts } else { BTreeMap::new() }
}

impl Spent {
    /// The mean of so many ranks.
    pub fn over(self, ranks: f64) -> Spent {
        Spent {
            ns: self.ns / ranks,
            off_ns: self.off_ns / ranks,
            run_time_ns: self.run_time_ns / ranks,
            calls: self.calls / ranks,
        }
    }
}

/// The time and the calls of each operation, by its number: those that were not kept count as calls. A region of the
/// program has none.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("app.mpitrace");
/// # mpitrace_testing::synthetic::write_example(&path)?;
/// use mpitrace_analysis::run::{Need, Run};
/// use mpitrace_trace::reader::Trace;
///
/// let run = Run::new(Trace::open(&[path])?, Need::Account, |_, _, _| Vec::new());
/// let found = mpitrace_changes::spent(&run);
/// assert_eq!((found[0].calls, found[0].over(2.0).calls), (20.0, 10.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn spent(run: &Run) -> Vec<Spent> {
    let counted = all_calls(&run.trace, &run.operations, &run.clock);
    let counted: HashMap<usize, u64> = counted.iter().map(|one| (one.operation, one.all.calls)).collect();
    let operations = run.operations.operations.iter().zip(&run.account().operations).enumerate();
    let of = |(number, (operation, account)): (usize, (&Operation, &OperationAccount))| {
        if operation.key.is_region {
            return Spent::default();
        }
        let repetitions = (operation.repetitions() as u64 + operation.incomplete) * account.ranks.len() as u64;
        let calls = counted.get(&number).copied().unwrap_or(repetitions) as f64;
        let Parts { run_time, waiting, interrupted, .. } = account.sum();
        Spent { ns: run_time - waiting, off_ns: interrupted, run_time_ns: run_time, calls }
    };
    operations.map(of).collect()
}

impl std::ops::AddAssign for Spent {
    fn add_assign(&mut self, other: Spent) {
        self.ns += other.ns;
        self.off_ns += other.off_ns;
        self.run_time_ns += other.run_time_ns;
        self.calls += other.calls;
    }
}

/// The share of what is known that lies in a part.
fn share(part_ns: f64, known_ns: f64) -> f64 {
    if known_ns > 0.0 { (part_ns / known_ns).clamp(0.0, 1.0) } else { 0.0 }
}

/// The parts of the calls of the threads that called MPI_Init.
fn own_parts(of: &OperationAccount) -> Parts {
    let mut sum = Parts::default();
    for ((_, parts), beside) in of.ranks.iter().zip(&of.beside) {
        sum.communication += parts.communication - beside.communication;
        sum.interrupted += parts.interrupted - beside.interrupted;
        sum.perturbed += parts.perturbed - beside.perturbed;
    }
    sum
}
