//! The offset between two clocks as a ping-pong tells it, and the published ways of telling it from many.

/// One exchange, as the side that began it keeps it: its own clock at both ends, the other's in the middle. Ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// The message left.
    pub sent: u64,
    /// It was answered, by the other clock.
    pub remote: u64,
    /// The answer came.
    pub received: u64,
}

impl Exchange {
    /// How long it took, ticks.
    pub fn round_trip(&self) -> u64 {
        self.received.wrapping_sub(self.sent)
    }

    /// The least that remote - local can have been: the answer came after it was given.
    pub fn lower(&self) -> i64 {
        self.remote.wrapping_sub(self.received) as i64
    }

    /// The most that remote - local can have been: the message left before it was answered.
    pub fn upper(&self) -> i64 {
        self.remote.wrapping_sub(self.sent) as i64
    }

    /// The middle of the two.
    pub fn middle(&self) -> i64 {
        self.remote.wrapping_sub(self.sent.wrapping_add(self.round_trip() / 2)) as i64
    }
}

/// An offset, and the local tick at which it held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offset {
    /// Local ticks.
    pub at: u64,
    /// remote - local, ticks.
    pub difference: i64,
}

/// SKaMPI's way: the middle of the tightest bounds of all exchanges (Hunold & Carpen-Amarie 2016, algorithm 7).
pub fn skampi(exchanges: &[Exchange]) -> Option<Offset> {
    let lower = exchanges.iter().map(Exchange::lower).max()?;
    let upper = exchanges.iter().map(Exchange::upper).min()?;
    Some(Offset { at: exchanges.last()?.received, difference: lower + (upper - lower) / 2 })
}

/// Netgauge's and Score-P's way: the middle of the exchange that took the least time (Hunold & Carpen-Amarie 2016,
/// algorithm 12).
pub fn least_round_trip(exchanges: &[Exchange]) -> Option<Offset> {
    let best = exchanges.iter().min_by_key(|exchange| exchange.round_trip())?;
    Some(Offset { at: best.received, difference: best.middle() })
}

/// Jones and Koenig's way, HCA's too: the median of what the exchanges say when each answer is taken to have been half
/// of the mean round trip on its way (Hunold & Carpen-Amarie 2016, algorithms 4 and 15).
pub fn median_at_half(exchanges: &[Exchange], mean_round_trip: f64) -> Option<Offset> {
    let half = (mean_round_trip / 2.0).round() as i64;
    let mut offsets: Vec<Offset> = exchanges
        .iter()
        .map(|exchange| Offset { at: exchange.received, difference: exchange.lower() + half })
        .collect();
    let middle = offsets.len() / 2;
    (!offsets.is_empty()).then(|| *offsets.select_nth_unstable_by_key(middle, |offset| offset.difference).1)
}

/// The mean of the round trips without outliers, which are those beyond 1.5 interquartile ranges from the quartiles
/// (Hunold & Carpen-Amarie 2016, 3.5 and algorithm 17).
pub fn mean_round_trip(exchanges: &[Exchange]) -> f64 {
    let mut trips: Vec<u64> = exchanges.iter().map(Exchange::round_trip).collect();
    trips.sort_unstable();
    let quartile = |k: usize| trips.get(trips.len() * k / 4).copied().unwrap_or(0) as f64;
    let reach = 1.5 * (quartile(3) - quartile(1));
    let fences = quartile(1) - reach..=quartile(3) + reach;
    let kept: Vec<f64> = trips.iter().map(|&trip| trip as f64).filter(|trip| fences.contains(trip)).collect();
    kept.iter().sum::<f64>() / kept.len().max(1) as f64
}

/// The least-squares line of offsets over local time: the offset at `at` and its rate.
pub fn line(offsets: &[Offset], at: u64) -> Option<(f64, f64)> {
    let first = offsets.first()?;
    let count = offsets.len() as f64;
    let x = |offset: &Offset| offset.at.wrapping_sub(first.at) as i64 as f64;
    let y = |offset: &Offset| (offset.difference - first.difference) as f64;
    let (mean_x, mean_y) = (offsets.iter().map(x).sum::<f64>() / count, offsets.iter().map(y).sum::<f64>() / count);
    let spread: f64 = offsets.iter().map(|offset| (x(offset) - mean_x).powi(2)).sum();
    let common: f64 = offsets.iter().map(|offset| (x(offset) - mean_x) * (y(offset) - mean_y)).sum();
    let rate = if spread > 0.0 { common / spread } else { 0.0 };
    let since = at.wrapping_sub(first.at) as i64 as f64;
    Some((first.difference as f64 + mean_y + rate * (since - mean_x), rate))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The other clock is 1000 ahead; 100 there, 60 back, and one slow exchange.
    fn exchanges() -> [Exchange; 3] {
        [(0, 100, 60), (1000, 400, 50), (3000, 90, 300)].map(|(sent, there, back)| Exchange {
            sent,
            remote: sent + there + 1000,
            received: sent + there + back,
        })
    }

    #[test]
    fn each_way_tells_the_offset_by_its_own_rule() {
        // Tightest: at least 1000 - 50, at most 1000 + 90.
        assert_eq!(skampi(&exchanges()).map(|offset| offset.difference), Some(1020));
        assert_eq!(least_round_trip(&exchanges()), Some(Offset { at: 160, difference: 1020 }));
        // Lower bounds 940, 950, 700, and half of 200.
        assert_eq!(median_at_half(&exchanges(), 200.0).map(|offset| offset.difference), Some(1040));
    }

    #[test]
    fn a_line_goes_through_points_that_lie_on_one() {
        let offsets = [0u64, 10, 40].map(|at| Offset { at: (1 << 60) + at, difference: 5 + 3 * at as i64 });
        let (offset, rate) = line(&offsets, (1 << 60) + 100).unwrap();
        assert!((offset - 305.0).abs() < 1e-9 && (rate - 3.0).abs() < 1e-12);
    }

    #[test]
    fn a_line_through_points_of_one_time_has_no_rate() {
        let at = |difference| Offset { at: 70, difference };
        assert_eq!(line(&[at(5), at(7)], 90), Some((6.0, 0.0)));
    }

    #[test]
    fn the_mean_round_trip_leaves_out_what_stands_out() {
        let mut all = vec![Exchange { sent: 0, remote: 0, received: 100 }; 20];
        all.push(Exchange { sent: 0, remote: 0, received: 100_000 });
        all.push(Exchange { sent: 0, remote: 0, received: 1 });
        assert_eq!(mean_round_trip(&all), 100.0);
    }

    #[test]
    fn the_mean_round_trip_leaves_outliers_out() {
        let trips = [10, 11, 12, 13, 14, 15, 16, 1000];
        let exchanges = trips.map(|trip| Exchange { sent: 100, remote: 0, received: 100 + trip });
        // The quartiles are 12 and 16: what lies beyond 6 and 22 is none of them.
        assert_eq!(mean_round_trip(&exchanges), 13.0);
        assert_eq!(mean_round_trip(&[]), 0.0);
    }
}
