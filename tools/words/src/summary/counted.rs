//! The counters of a late rank before the calls in which others wait for it: in a sentence for the largest loss that
//! has some.

use mpitrace_analysis::run::Run;
use mpitrace_code::counted_before;
use mpitrace_show::text;

use super::code::gained;
use super::facts::{LITTLE, LossFacts, Summary};

/// Adds the counters to the losses, and the sentence.
pub fn add(summary: &mut Summary, run: &Run) {
    let counted = counted_before(run);
    let all = &run.losses().all;
    for facts in summary.losses.iter_mut().chain(&mut summary.shown) {
        let known = all.iter().position(|loss| *loss == facts.loss);
        facts.counted = known.map_or_else(Vec::new, |at| counted[at].clone());
    }
    let all = summary.shown.iter().filter(|loss| !loss.counted.is_empty());
    let worth = all.filter(|loss| gained(loss, summary) >= LITTLE * summary.seconds);
    let largest = worth.max_by(|one, other| gained(one, summary).total_cmp(&gained(other, summary)));
    summary.counted = largest.and_then(sentence);
}

/// `Before each MPI_Allreduce at solver.c:12 rank 1 counts 5210 page-faults in the mean, the others 3.`
fn sentence(loss: &LossFacts) -> Option<String> {
    let first = loss.counted.first()?;
    let who = loss.loss.rank.map_or_else(|| "the late rank".to_owned(), |rank| format!("rank {rank}"));
    let place = loss.places().pop().unwrap_or_default();
    let [late, others] = [first.late, first.others].map(text::number);
    Some(format!("Before each {place} {who} counts {late} {} in the mean, the others {others}.", first.counter))
}
