//! What is usual in the repetitions of the fastest mode, rank by rank.

use std::ops::Range;

use super::attribute::{Evidence, Key, Sorted, Tally};
use crate::account::walk::{Step, Walk};
use crate::account::{Late, Parts};
use crate::parallel;
use crate::statistics::median;

/// What is usual, and what happens steadily.
pub(super) struct Baseline {
    /// Repetitions.
    pub count: usize,
    /// The time of all ranks in these calls, ns.
    pub run_ns: f64,
    /// The median time in the call, for each member, ns.
    pub median_run_ns: Vec<f64>,
    /// The communication of each member.
    pub communication: Vec<Usual>,
    /// What the others wait for each member, all together.
    pub waiting: Vec<Usual>,
    /// All waiting for each member.
    pub late: Vec<Late>,
    /// Time off the processor, by what happened.
    pub off: Vec<(Key, Tally)>,
}

/// What a time is in the fastest mode, ns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Usual {
    pub median: f64,
    /// What 95 % of the repetitions do not exceed.
    most: f64,
    largest: f64,
}

impl Usual {
    /// The part of a time that is beyond what is usual. None of it is if the time is not beyond 95 % of the fast
    /// repetitions, or, where it is a single one, beyond all of them.
    pub fn beyond(&self, ns: f64, single: bool) -> f64 {
        let limit = if single { self.largest } else { self.most };
        if ns > limit { ns - self.median } else { 0.0 }
    }

    /// Of so many values, of which those that are not listed are 0. `None`: of none.
    fn of(column: Vec<f32>, count: usize) -> Option<Usual> {
        let mut values: Vec<f64> = column.into_iter().map(f64::from).collect();
        values.resize(count.max(values.len()), 0.0);
        let median = median(&mut values)?;
        values.sort_unstable_by(f64::total_cmp);
        let most = values[(values.len() - 1) * 95 / 100];
        Some(Usual { median, most, largest: *values.last()? })
    }
}

/// What some of the repetitions give.
struct Piece {
    run_ns: Vec<f64>,
    /// Of each member, repetition by repetition.
    run_times: Vec<Vec<f32>>,
    communication: Vec<Vec<f32>>,
    /// Of each member, in the repetitions in which another one waited for it.
    waiting: Vec<Vec<f32>>,
    late: Vec<Late>,
    off: Evidence,
}

impl Baseline {
    /// `None`: there is no such repetition.
    pub fn of(walk: &Walk, sorted: &Sorted) -> Option<Baseline> {
        let rows = &sorted.steady;
        let members = walk.members.len();
        let pieces = parallel::map(parallel::pieces(rows.len()), |piece: Range<usize>| Piece::of(walk, &rows[piece]));
        let mut all = Piece::empty(members);
        pieces.into_iter().for_each(|piece| all.append(piece));
        let count = rows.len();
        let of_members = |columns: Vec<Vec<f32>>| -> Option<Vec<Usual>> {
            columns.into_iter().map(|column| Usual::of(column, count)).collect()
        };
        Some(Baseline {
            count,
            run_ns: all.run_ns.iter().sum(),
            median_run_ns: of_members(all.run_times)?.iter().map(|usual| usual.median).collect(),
            communication: of_members(all.communication)?,
            waiting: of_members(all.waiting)?,
            late: all.late,
            off: all.off.into_sorted(),
        })
    }
}

impl Piece {
    fn empty(members: usize) -> Piece {
        Piece {
            run_ns: vec![0.0; members],
            run_times: vec![Vec::new(); members],
            communication: vec![Vec::new(); members],
            waiting: vec![Vec::new(); members],
            late: vec![Late::default(); members],
            off: Evidence::default(),
        }
    }

    fn of(walk: &Walk, rows: &[usize]) -> Piece {
        let mut piece = Piece::empty(walk.members.len());
        let mut step: Step = walk.step();
        for &row in rows {
            step.look(row);
            for (at, Parts { run_time, communication, .. }) in step.parts.iter().enumerate() {
                piece.run_ns[at] += run_time;
                // 7 digits are enough to be held against a median.
                piece.run_times[at].push(*run_time as f32);
                piece.communication[at].push(*communication as f32);
            }
            for &(at, late) in &step.late {
                piece.waiting[at].push(late.waiting_ns as f32);
                piece.late[at] += late;
            }
            piece.off.off_processor(walk, &step, row, |late| late);
        }
        piece
    }

    fn append(&mut self, other: Piece) {
        self.run_ns.iter_mut().zip(other.run_ns).for_each(|(sum, more)| *sum += more);
        self.run_times.iter_mut().zip(other.run_times).for_each(|(all, more)| all.extend(more));
        self.communication.iter_mut().zip(other.communication).for_each(|(all, more)| all.extend(more));
        self.waiting.iter_mut().zip(other.waiting).for_each(|(all, more)| all.extend(more));
        self.late.iter_mut().zip(other.late).for_each(|(sum, more)| *sum += more);
        self.off.merge(other.off);
    }
}
