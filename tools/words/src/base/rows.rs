//! Operations that are one row of a table: those on files or communicators whose names differ by a number that counts.

use std::collections::HashMap;

use mpitrace_show::{alike, text};
use mpitrace_trace::operations::Communicator;

use super::description::Description;

/// Communicators of the same ranks whose names differ by numbers alone are told apart if they are fewer.
const COUNTED: usize = 4;

/// For each communicator the name that it has in common with others of the same ranks, `out.*.dat`, where the number in
/// their names counts.
pub fn counted_names(all: &[Communicator]) -> Vec<Option<String>> {
    let mut alike_ones: HashMap<(Vec<usize>, String), Vec<usize>> = HashMap::new();
    for (place, one) in all.iter().enumerate() {
        let ranks = one.members.iter().map(|&(part, _)| part).collect();
        alike_ones.entry((ranks, alike::without_numbers(&one.name))).or_default().push(place);
    }
    let mut names = vec![None; all.len()];
    for places in alike_ones.into_values().filter(|places| places.len() >= COUNTED) {
        let texts: Vec<&str> = places.iter().map(|&place| &*all[place].name).collect();
        if let Some(common) = alike::common(&texts) {
            let common = text::printable(&common).into_owned();
            places.into_iter().for_each(|place| names[place] = Some(common.clone()));
        }
    }
    names
}

/// The operations of each row; the row with the most time first, equal ones in the order of their first.
pub fn by_time<'a, T>(
    all: &'a [T],
    description: impl Fn(&T) -> &Description,
    time_ns: impl Fn(&T) -> f64,
) -> Vec<Vec<&'a T>> {
    let mut rows: Vec<Vec<&T>> = Vec::new();
    let mut by_name: HashMap<String, usize> = HashMap::new();
    for one in all {
        let next = rows.len();
        let row = description(one).row.as_ref().map_or(next, |row| *by_name.entry(row.clone()).or_insert(next));
        if row == next {
            rows.push(Vec::new());
        }
        rows[row].push(one);
    }
    let time_ns = |row: &[&T]| row.iter().map(|one| time_ns(one)).sum::<f64>();
    rows.sort_by(|one, other| time_ns(other).total_cmp(&time_ns(one)));
    rows
}

/// The communicator of a row, for people: of several operations with `*` in place of the number that counts.
pub fn communicator<'a>(row: impl Iterator<Item = &'a Description>) -> String {
    let names: Vec<&str> = row.map(|one| &*one.communicator_label).collect();
    alike::common(&names).unwrap_or_else(|| "several".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_count_where_at_least_four_of_the_same_ranks_differ_by_a_number() {
        let communicator = |name: &str, ranks: usize| Communicator {
            name: name.to_owned(),
            members: (0..ranks).map(|rank| (rank, 0)).collect(),
            ..Communicator::default()
        };
        let mut communicators: Vec<Communicator> =
            (0..5).map(|step| communicator(&format!("out.{step}.h5"), 4)).collect();
        communicators.extend((0..3).map(|row| communicator(&format!("row {row}"), 4)));
        communicators.extend((0..4).map(|row| communicator(&format!("part {row}"), row)));
        let names = counted_names(&communicators);
        assert_eq!(names[..5], vec![Some("out.*.h5".to_owned()); 5]);
        assert_eq!(names[5..], vec![None; 7], "fewer, and of other ranks");
    }

    #[test]
    fn a_row_has_the_time_of_all_of_its_operations() {
        let of = |operation: usize, row: Option<&str>| {
            (Description { operation, row: row.map(str::to_owned), ..Description::default() }, 1.0 + operation as f64)
        };
        let all = [of(0, None), of(1, Some("a")), of(2, Some("a")), of(3, None)];
        let rows = by_time(&all, |(of, _)| of, |(_, ns)| *ns);
        let numbers: Vec<Vec<usize>> =
            rows.iter().map(|row| row.iter().map(|(of, _)| of.operation).collect()).collect();
        assert_eq!(numbers, [vec![1, 2], vec![3], vec![0]]);
    }
}
