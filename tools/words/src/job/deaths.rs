//! How a job ended before MPI_Finalize, as a sentence.

use mpitrace_live::ProcessEnd;
use mpitrace_live::snapshot::{RankNow, Snapshot, State};
use mpitrace_show::text;
use mpitrace_trace::operations::Mismatch;

use crate::job::places::{POINT_TO_POINT, grouped, place, with_ranks};

/// How ranks died, or the launcher ended the job, where that is known: a sentence.
pub fn deaths(snapshot: &Snapshot) -> Option<String> {
    let class = |code: u32| {
        let class = snapshot.error_class(code);
        class.map(|class| format!(" ({})", class.text())).unwrap_or_default()
    };
    if let Some((code, ranks)) = snapshot.ended_by_launcher() {
        let places = match ranks.is_empty() {
            true => String::new(),
            false => format!(": {}", with_ranks(snapshot, &ranks, false)),
        };
        let class = class(code);
        let mismatch = mismatch(snapshot, Some(code), &ranks);
        return Some(format!(
            "the launcher ended the job with exit code {code}{class}, as after an MPI call that fails{places}{mismatch}"
        ));
    }
    let died = snapshot.ranks.iter().filter(|rank| rank.has_died());
    let grouped = grouped(died, |rank| {
        let place = place(snapshot, rank);
        (place.trim_end_matches(POINT_TO_POINT).to_owned(), rank.ended)
    });
    let text = |((place, ended), group): &((String, Option<ProcessEnd>), Vec<&RankNow>)| {
        let ranks: Vec<u32> = group.iter().map(|rank| rank.rank).collect();
        let named = text::named_ranks(&ranks);
        let (was, they) = if ranks.len() == 1 { ("was", "it") } else { ("were", "they") };
        let end = ended.map(|end| end.to_string()).unwrap_or_default();
        let how = match ended {
            Some(ProcessEnd::Signal(_)) => format!("died of {end}"),
            _ => format!("ended with {end}, without MPI_Finalize"),
        };
        match (snapshot.was_ended_by_library(group[0]), group[0].state) {
            (true, _) => {
                let code = ended.and_then(|end| u32::try_from(end.number()).ok());
                let class = code.map(class).unwrap_or_default();
                let mismatch = mismatch(snapshot, code, &ranks);
                format!("the MPI library ended the job {place} on {named}, {end}{class}{mismatch}")
            }
            (_, State::Computing | State::OffProcessor) => {
                format!("{named} {was} not in MPI when {they} {how}")
            }
            _ => format!("{named} {was} {place} when {they} {how}"),
        }
    };
    (!grouped.is_empty()).then(|| grouped.iter().map(text).collect::<Vec<_>>().join("; "))
}

/// Where an error of the class with this number can be of calls that do not belong together: the last of these ranks'.
fn mismatch(snapshot: &Snapshot, code: Option<u32>, ranks: &[u32]) -> String {
    let can_be = code.and_then(|code| snapshot.error_class(code)).is_some_and(|class| class.can_be_of_mismatch());
    let found = snapshot.last_mismatch(ranks).filter(|_| can_be);
    let text = |found: &Mismatch| {
        let place = format!("call {} of {}", found.sequence, text::printable(&found.communicator));
        format!("; the calls of the ranks at {place} do not belong together")
    };
    found.map(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use mpitrace_trace::operations::{MismatchKind, MismatchedCall};

    use super::*;
    use crate::job::places::WhereFacts;
    use crate::job::places::tests::{rank, snapshot};

    fn ended(how: &str, rank: RankNow) -> RankNow {
        RankNow { ended: Some(how.parse().unwrap()), ..rank }
    }

    #[test]
    fn a_death_is_told_by_what_the_rank_did() {
        let died = |of: Vec<RankNow>| (deaths(&snapshot(of.clone())).unwrap(), WhereFacts::all(&snapshot(of))[0].state);
        let killed = || ended("signal 9 (SIGKILL)", rank(1, State::OtherMpi, "MPI_Recv"));
        let cases = [
            (
                ended("exit code 15", rank(0, State::OtherMpi, "MPI_Bsend")),
                "the MPI library ended the job in MPI_Bsend on rank 0, exit code 15",
                State::Abort,
            ),
            (
                ended("signal 11 (SIGSEGV)", rank(0, State::OtherMpi, "MPI_Send")),
                "rank 0 was in MPI_Send when it died of signal 11 (SIGSEGV)",
                State::Dead,
            ),
            (
                ended("signal 11 (SIGSEGV)", rank(0, State::Computing, "")),
                "rank 0 was not in MPI when it died of signal 11 (SIGSEGV)",
                State::Dead,
            ),
            (
                ended("exit code 4", rank(0, State::Computing, "")),
                "rank 0 was not in MPI when it ended with exit code 4, without MPI_Finalize",
                State::Dead,
            ),
        ];
        for (one, expected, state) in cases {
            assert_eq!(died(vec![one, killed()]), (expected.to_owned(), state));
        }
        assert_eq!(deaths(&snapshot(vec![killed()])), None);
        let aborted = Snapshot { exit_code: Some(14), ..snapshot(vec![killed()]) };
        let expected =
            "the launcher ended the job with exit code 14, as after an MPI call that fails: rank 1 in MPI_Recv";
        assert_eq!(deaths(&aborted).unwrap(), expected);
        let both = (0..2).map(|number| ended("exit code 1", rank(number, State::InCall, "MPI_Reduce"))).collect();
        assert_eq!(died(both).0, "the MPI library ended the job in MPI_Reduce on ranks 0-1, exit code 1");
    }

    /// Rank 1 gets a message that is too long, in a call that rank 0 has made with another size.
    #[test]
    fn calls_that_do_not_belong_together_are_told_with_an_end_by_the_library() {
        let call = |number, bytes| MismatchedCall {
            ranks: vec![number],
            function: "MPI_Bcast".to_owned(),
            root: Some(0),
            bytes: Some(bytes),
            datatype: None,
            reduction: None,
            call_site: None,
        };
        let mismatch = |sequence| Mismatch {
            communicator_id: 0,
            communicator: "MPI_COMM_WORLD".to_owned(),
            sequence,
            kind: MismatchKind::Size,
            calls: vec![call(0, 64), call(1, 4)],
        };
        let of = |code: u32, sequence| {
            let ends = [rank(0, State::InCall, "MPI_Barrier"), rank(1, State::InCall, "MPI_Bcast")];
            let mut job = snapshot(ends.map(|rank| ended("signal 9 (SIGKILL)", rank)).to_vec());
            job.communicators[0].members = vec![(0, 12), (1, 11)];
            (job.library, job.exit_code) = ("MPICH Version: 4.0.2".to_owned(), Some(code));
            job.mismatches = vec![mismatch(3), mismatch(sequence)];
            deaths(&job).unwrap()
        };
        let said = of(14, 10);
        assert!(said.contains("(MPI_ERR_TRUNCATE: a message that is longer than the buffer for it)"), "{said}");
        let end =
            "fails: rank 1 in MPI_Bcast; the calls of the ranks at call 10 of MPI_COMM_WORLD do not belong together";
        assert!(said.ends_with(end), "{said}");
        // An earlier mismatch was survived; a wrong data type is of one call.
        assert!(of(14, 5).ends_with("fails: rank 1 in MPI_Bcast"), "{}", of(14, 5));
        assert!(!of(3, 10).contains("do not belong together"), "{}", of(3, 10));
    }
}
