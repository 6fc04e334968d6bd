//! Names of files and communicators that have a number that counts, as those of steps.

use std::collections::HashMap;

use mpitrace_show::{alike, text};
use mpitrace_trace::operations::Communicator;

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
}
