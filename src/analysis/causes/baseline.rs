//! The usual times in the repetitions of the fastest mode, rank by rank.

use std::ops::Range;

use mpitrace_statistics::median;
use mpitrace_statistics::parallel;

use super::evidence::{Evidence, Key, Sorted, Tally};
use crate::account::walk::{Step, Walk};
use crate::account::{Late, Parts};

/// The usual times, and the events that happen steadily.
pub(super) struct Baseline {
    /// Repetitions.
    pub count: usize,
    /// The time of all ranks in these calls, ns.
    pub run_ns: f64,
    /// The median time in the call, for each member, ns.
    pub median_run_ns: Vec<f64>,
    /// The communication of each member.
    pub communication: Vec<Usual>,
    /// The waiting of the others for each member, all together.
    pub waiting: Vec<Usual>,
    /// All waiting for each member.
    pub late: Vec<Late>,
    /// Time off the processor, by what happened.
    pub off: Vec<(Key, Tally)>,
}

/// The usual values of a time in the fastest mode, ns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Usual {
    pub median: f64,
    /// The value that 95 % of the repetitions do not exceed.
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
    fn new(column: Column, count: usize) -> Option<Usual> {
        let mut values: Vec<f64> = column.values.into_iter().map(f64::from).collect();
        values.resize(count.max(values.len()), 0.0);
        let median = median(&mut values)?;
        let (_, &mut most, _) = values.select_nth_unstable_by((count.max(1) - 1) * 95 / 100, f64::total_cmp);
        Some(Usual { median, most, largest: column.largest.into() })
    }
}

#[derive(Clone, Default)]
struct Column {
    /// In the repetitions that are looked at. f32: 7 digits are enough to be held against a median.
    values: Vec<f32>,
    /// In any of the repetitions.
    largest: f32,
}

impl Column {
    fn add(&mut self, ns: f64, is_looked_at: bool) {
        self.largest = self.largest.max(ns as f32);
        if is_looked_at {
            self.values.push(ns as f32);
        }
    }

    fn append(&mut self, other: Column) {
        self.largest = self.largest.max(other.largest);
        self.values.extend(other.values);
    }
}

struct Piece {
    /// Repetitions that are looked at.
    looked_at: usize,
    run_ns: Vec<f64>,
    run_times: Vec<Column>,
    communication: Vec<Column>,
    /// Of each member, of the repetitions in which another one waited for it.
    waiting: Vec<Column>,
    late: Vec<Late>,
    off: Evidence,
}

impl Baseline {
    /// `None`: there is no such repetition.
    pub fn new(walk: &Walk, sorted: &Sorted) -> Option<Baseline> {
        let rows = &sorted.steady;
        let members = walk.members.len();
        let apart = walk.apart(rows.len());
        let of_piece = |piece: Range<usize>| Piece::new(walk, &rows[piece], apart);
        let pieces = parallel::map(parallel::pieces(rows.len()), of_piece);
        let mut all = Piece::empty(members);
        pieces.into_iter().for_each(|piece| all.append(piece));
        let of_members = |columns: Vec<Column>| -> Option<Vec<Usual>> {
            columns.into_iter().map(|column| Usual::new(column, all.looked_at)).collect()
        };
        Some(Baseline {
            count: rows.len(),
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
            looked_at: 0,
            run_ns: vec![0.0; members],
            run_times: vec![Column::default(); members],
            communication: vec![Column::default(); members],
            waiting: vec![Column::default(); members],
            late: vec![Late::default(); members],
            off: Evidence::default(),
        }
    }

    fn new(walk: &Walk, rows: &[u32], apart: usize) -> Piece {
        let mut piece = Piece::empty(walk.members.len());
        let mut step: Step = walk.step();
        for (place, &row) in rows.iter().enumerate() {
            let row = row as usize;
            let is_looked_at = place % apart == 0;
            piece.looked_at += usize::from(is_looked_at);
            step.look(walk, row);
            for (at, Parts { run_time, communication, .. }) in step.parts.iter().enumerate() {
                piece.run_ns[at] += run_time;
                piece.run_times[at].add(*run_time, is_looked_at);
                piece.communication[at].add(*communication, is_looked_at);
            }
            for &(at, late) in &step.late {
                piece.waiting[at].add(late.waiting_ns, is_looked_at);
                piece.late[at] += late;
            }
            piece.off.off_processor(walk, &step, row, |late| late);
        }
        piece
    }

    fn append(&mut self, other: Piece) {
        self.run_ns.iter_mut().zip(other.run_ns).for_each(|(sum, more)| *sum += more);
        self.looked_at += other.looked_at;
        self.run_times.iter_mut().zip(other.run_times).for_each(|(all, more)| all.append(more));
        self.communication.iter_mut().zip(other.communication).for_each(|(all, more)| all.append(more));
        self.waiting.iter_mut().zip(other.waiting).for_each(|(all, more)| all.append(more));
        self.late.iter_mut().zip(other.late).for_each(|(sum, more)| *sum += more);
        self.off.merge(other.off);
    }
}
