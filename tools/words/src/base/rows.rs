//! Operations that are one row of a table: those on files or communicators whose names differ by a number that counts.

use mpitrace_show::alike;

use super::description::Description;

/// The operations of each row; the row with the most time first, equal ones in the order of their first.
pub fn by_time<T>(all: &[T], description: impl Fn(&T) -> &Description, time_ns: impl Fn(&T) -> f64) -> Vec<Vec<&T>> {
    let mut rows = alike::grouped(all, |one| description(one).row.as_deref());
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
