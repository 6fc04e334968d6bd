//! The conclusion where there is little to gain.

use mpitrace_analysis::account::RankPart;
use mpitrace_show::text;

use crate::summary::facts::Summary;
use crate::summary::largest::{MOST, WORTH};
use crate::summary::units::{percent, seconds};

/// The conclusion where no loss is worth a word: losses are compared with the whole job, shares are of the time between
/// MPI_Init and MPI_Finalize.
pub(super) fn without_loss(summary: &Summary, name: &str) -> (String, Option<String>) {
    let share = percent(summary.share(summary.parts[RankPart::Communication]));
    let (in_mpi, calls) = match summary.calls_timed {
        true => (summary.mpi_share.all, "MPI"),
        false => (summary.collectives_share.all, "collective calls"),
    };
    let computing = summary.share(summary.parts[RankPart::Computing]);
    let worth = percent(WORTH);
    if summary.unknown_ends > 0 {
        let sentence =
            format!("No loss of {worth} of the job or more was found up to the last time stamps of the ranks.");
        return (sentence, Some(format!("mpitrace info {name}")));
    }
    let beside = summary.share_beside();
    let sentence = match () {
        _ if beside > MOST => {
            format!(
                "MPI_Init and MPI_Finalize take {} of the job: there is little to gain between them.",
                percent(beside)
            )
        }
        _ if summary.untraced > 0 => {
            let ranks = text::count(summary.untraced.into(), "rank");
            format!("No loss of {worth} of the job or more was found in the ranks that are traced; {ranks} are not.")
        }
        _ if summary.is_with_others() => format!(
            "No loss of {worth} of the job or more was found between the ranks of this world, which are in calls with \
             another one for {}.",
            seconds(summary.with_other_worlds_s)
        ),
        _ if in_mpi < 5.0 * WORTH && summary.divided && computing > MOST => {
            format!("There is little to gain in {calls}: {} of the time is computing.", percent(computing))
        }
        _ if in_mpi < 5.0 * WORTH => format!("There is little to gain in {calls}."),
        _ if summary.gains_most_s > 0.0 => {
            let (part, share) = summary.largest_part();
            let small = if summary.gains_are_little() { String::new() } else { ", by many small losses".to_owned() };
            format!(
                "There is little to gain in waiting (at most {} of {}{small}): {} of the time is {part}.",
                seconds(summary.gains_most_s),
                seconds(summary.seconds),
                percent(share)
            )
        }
        _ if summary.not_kept() > 0 && summary.sample.is_none() => {
            format!("No loss of {worth} of the job or more was found in the calls that are kept.")
        }
        _ if summary.parts[RankPart::Io] > summary.parts[RankPart::Communication] => format!(
            "No loss of {worth} of the job or more was found: file calls take {} of the time between Init and \
             Finalize.",
            percent(summary.share(summary.parts[RankPart::Io]))
        ),
        _ => format!(
            "No loss of {worth} of the job or more was found: communication takes {share} of the time between Init and \
             Finalize, which other MPI settings may change."
        ),
    };
    (sentence, Some(format!("mpitrace stats {name}")))
}
