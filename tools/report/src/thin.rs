//! Which repetitions are drawn where there are more than a page can carry: no extreme is lost.

use mpitrace_statistics::categories::Category;

/// How much of the room the repetitions that are not good may take: they come first.
const OUT_OF_THE_ORDINARY: usize = 2;
/// Repetitions that a stretch is drawn by: its least and its greatest, and two at fixed places, which show how it is
/// between.
const OF_A_STRETCH: usize = 4;

/// The rows to be drawn, ascending, and how they were chosen in words (empty: all rows).
#[derive(Debug, Default)]
pub struct Chosen {
    /// Indices into all rows, ascending.
    pub rows: Vec<usize>,
    /// How they were chosen, in words; empty: all rows.
    pub how: String,
}

/// Chooses about `room` of the rows; `run_times` are those by each definition, of which the first decides, `category`
/// is by the first.
pub fn choose(run_times: &[&[f64]], category: &[Category], room: usize) -> Chosen {
    let rows = category.len();
    if rows <= room {
        return Chosen { rows: (0..rows).collect(), how: String::new() };
    }
    let mut chosen = vec![false; rows];
    let good = category.iter().filter(|&&category| category == Category::Good).count();
    let others = rows - good;
    let room_of_others = others.min(room / OUT_OF_THE_ORDINARY);
    let stretches = [
        mark(&mut chosen, run_times, |row| category[row] != Category::Good, others, room_of_others),
        mark(&mut chosen, run_times, |row| category[row] == Category::Good, good, room - room_of_others),
    ];
    // By each definition the extremes of all.
    for values in run_times {
        let by = |a: &usize, b: &usize| values[*a].total_cmp(&values[*b]);
        (0..rows).min_by(by).into_iter().chain((0..rows).max_by(by)).for_each(|row| chosen[row] = true);
    }
    chosen[0] = true;
    chosen[rows - 1] = true;
    let rows_chosen: Vec<usize> = (0..rows).filter(|&row| chosen[row]).collect();
    let of_class = |name: &str, stretch: Option<usize>| match stretch {
        None => format!("every {name}"),
        Some(length) => format!("of each {length} that are {name} the fastest, the slowest and two more"),
    };
    let how = format!(
        "{} of {rows} repetitions: {}; {}",
        rows_chosen.len(),
        of_class("first, warmup or outlier", stretches[0]),
        of_class("good", stretches[1])
    );
    Chosen { rows: rows_chosen, how }
}

/// Marks about `room` of the rows that belong; returns how many lie in a stretch, `None` where all are marked.
fn mark(
    chosen: &mut [bool],
    run_times: &[&[f64]],
    belongs: impl Fn(usize) -> bool,
    count: usize,
    room: usize,
) -> Option<usize> {
    if count <= room {
        (0..chosen.len()).filter(|&row| belongs(row)).for_each(|row| chosen[row] = true);
        return None;
    }
    let length = count.div_ceil((room / OF_A_STRETCH).max(1));
    let mut stretch = Vec::with_capacity(length);
    for row in 0..chosen.len() {
        if belongs(row) {
            stretch.push(row);
        }
        if stretch.len() == length || row + 1 == chosen.len() {
            settle(chosen, run_times, &stretch);
            stretch.clear();
        }
    }
    Some(length)
}

fn settle(chosen: &mut [bool], run_times: &[&[f64]], stretch: &[usize]) {
    if let Some(values) = run_times.first() {
        let by = |a: &&usize, b: &&usize| values[**a].total_cmp(&values[**b]);
        stretch.iter().min_by(by).into_iter().chain(stretch.iter().max_by(by)).for_each(|&row| chosen[row] = true);
    }
    for place in [stretch.len() / 3, 2 * stretch.len() / 3] {
        stretch.get(place).into_iter().for_each(|&row| chosen[row] = true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_are_all_drawn() {
        let chosen = choose(&[&[3.0, 1.0, 2.0]], &[Category::Good; 3], 3);
        assert_eq!((chosen.rows, chosen.how.as_str()), (vec![0, 1, 2], ""));
    }

    #[test]
    fn all_outliers_and_all_extremes_stay() {
        let rows = 100_000;
        let x: Vec<f64> = (0..rows).map(|row| 100.0 + (row * 7919 % 1000) as f64).collect();
        let mut last = x.clone();
        last[77_777] = -5.0;
        last[33_333] = 9e9;
        let mut category = vec![Category::Good; rows];
        let outliers: Vec<usize> = (0..rows).step_by(997).collect();
        outliers.iter().for_each(|&row| category[row] = Category::Outlier);
        let chosen = choose(&[&x, &last], &category, 2000);
        assert!(chosen.rows.len() <= 2010, "{}", chosen.rows.len());
        let has = |row: usize| chosen.rows.binary_search(&row).is_ok();
        assert!(outliers.iter().all(|&row| has(row)));
        assert!(has(77_777) && has(33_333) && has(0) && has(rows - 1));
        assert!(chosen.rows.iter().any(|&row| x[row] == 100.0) && chosen.rows.iter().any(|&row| x[row] == 1099.0));
        assert!(chosen.how.starts_with(&format!(
            "{} of 100000 repetitions: every first, warmup or outlier; of each ",
            chosen.rows.len()
        )));
    }

    #[test]
    fn outliers_beyond_the_limit_are_thinned_too() {
        let x: Vec<f64> = (0..10_000).map(f64::from).collect();
        let chosen = choose(&[&x], &vec![Category::Outlier; 10_000], 400);
        assert!((150..=210).contains(&chosen.rows.len()), "{}", chosen.rows.len());
        assert_eq!((chosen.rows[0], chosen.rows.last()), (0, Some(&9999)));
    }
}
