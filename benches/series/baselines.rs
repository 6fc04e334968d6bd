//! Other methods that find the end of a warm-up, for comparison.

/// The division of a series of so many values with the least cost, where each change costs `penalty` (Killick,
/// Fearnhead and Eckley, 2012, PELT). `cost`: of the values from one place to another, at least `shortest` apart.
fn pelt(count: usize, shortest: usize, penalty: f64, cost: impl Fn(usize, usize) -> f64) -> Vec<usize> {
    let mut least = vec![f64::INFINITY; count + 1];
    let mut last = vec![0; count + 1];
    least[0] = -penalty;
    let mut starts = vec![0_usize];
    for end in shortest..=count {
        let (mut best, mut of) = (f64::INFINITY, 0);
        let costs: Vec<f64> = starts
            .iter()
            .map(|&start| if end - start >= shortest { least[start] + cost(start, end) } else { f64::NEG_INFINITY })
            .collect();
        for (&start, &cost) in starts.iter().zip(&costs) {
            if cost.is_finite() && cost + penalty < best {
                (best, of) = (cost + penalty, start);
            }
        }
        (least[end], last[end]) = (best, of);
        let mut kept = costs.iter();
        starts.retain(|_| kept.next().is_some_and(|&cost| cost <= best));
        starts.push(end);
    }
    let mut changes = Vec::new();
    let mut at = last[count];
    while at > 0 {
        changes.push(at);
        at = last[at];
    }
    changes.reverse();
    changes
}

/// The last change before which every level is slower than behind it by 2 % or more.
fn end(x: &[f64], changes: &[usize]) -> Option<usize> {
    let mut levels = Vec::new();
    let mut from = 0;
    for &to in changes.iter().chain([&x.len()]) {
        let mut part = x[from..to].to_vec();
        part.sort_unstable_by(f64::total_cmp);
        levels.push(part[part.len() / 2]);
        from = to;
    }
    let slower = |index: usize| levels[..=index].iter().all(|level| *level > 1.02 * levels[index + 1]);
    (0..changes.len()).rev().find(|&index| slower(index)).map(|index| changes[index])
}

/// PELT on the ranks, by their mean: a change costs `factor` x ln n variances.
pub fn on_ranks(x: &[f64], factor: f64) -> Option<usize> {
    let count = x.len();
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|&a, &b| x[a].total_cmp(&x[b]));
    let mut ranks = vec![0.0; count];
    let mut from = 0;
    while from < count {
        let to = (from..count).find(|&i| x[order[i]] != x[order[from]]).unwrap_or(count);
        order[from..to].iter().for_each(|&i| ranks[i] = (from + to - 1) as f64 / 2.0);
        from = to;
    }
    let middle = (count - 1) as f64 / 2.0;
    let variance = ranks.iter().map(|rank| (rank - middle).powi(2)).sum::<f64>() / count as f64;
    let mut sums = vec![0.0];
    for rank in &ranks {
        sums.push(sums[sums.len() - 1] + (rank - middle) / variance.max(1e-9).sqrt());
    }
    // The squares are the same for any division.
    let cost = |from: usize, to: usize| -(sums[to] - sums[from]).powi(2) / (to - from) as f64;
    let changes = pelt(count, 1, factor * (count as f64).ln(), cost);
    end(x, &changes)
}

/// The method of Barrett et al., Virtual Machine Warmup Blows Hot and Cold (2017): outliers are left out, PELT by mean
/// and variance, a change costs `factor` x ln n (15 there); levels equal to the last one end the warm-up, which is
/// over before the last quarter or never.
pub fn barrett(x: &[f64], factor: f64) -> Option<usize> {
    let kept: Vec<usize> = (0..x.len()).filter(|&i| !is_outlier(x, i)).collect();
    let count = kept.len();
    let (mut sums, mut squares) = (vec![0.0], vec![0.0]);
    let unit = x.iter().sum::<f64>() / x.len() as f64;
    for &i in &kept {
        sums.push(sums[sums.len() - 1] + x[i] / unit);
        squares.push(squares[squares.len() - 1] + (x[i] / unit).powi(2));
    }
    let moments = |from: usize, to: usize| {
        let length = (to - from) as f64;
        let mean = (sums[to] - sums[from]) / length;
        (mean, ((squares[to] - squares[from]) / length - mean * mean).max(1e-8))
    };
    let cost = |from: usize, to: usize| (to - from) as f64 * (moments(from, to).1.ln() + 1.0);
    let changes = pelt(count, 2, factor * (count as f64).ln(), cost);
    let bounds: Vec<usize> = [0].into_iter().chain(changes.iter().copied()).chain([count]).collect();
    let means: Vec<f64> = bounds.windows(2).map(|pair| moments(pair[0], pair[1]).0).collect();
    let last = means[means.len() - 1];
    let steady = means.iter().rposition(|mean| (mean / last - 1.0).abs() > 0.02)?;
    let slower = means.iter().all(|mean| *mean >= 0.98 * last);
    let end = bounds[steady + 1];
    (slower && end * 4 <= count * 3).then(|| kept[end])
}

/// Farther from the median of the 200 around it than 3 times the distance of the 90th from the 10th percentile.
fn is_outlier(x: &[f64], i: usize) -> bool {
    let from = i.saturating_sub(100).min(x.len().saturating_sub(200));
    let mut near = x[from..(from + 200).min(x.len())].to_vec();
    near.sort_unstable_by(f64::total_cmp);
    let at = |share: usize| near[near.len() * share / 100];
    (x[i] - at(50)).abs() > 3.0 * (at(90) - at(10))
}
