//! The late arrivals that make most of the lateness.

/// The arrivals that are late longest are looked at, up to this share of all lateness: in the others a rank is the last
/// one by chance.
const LOOKED_AT: f64 = 0.95;

/// The arrivals that make this share of all lateness, the longest first; `late_ns`: by how much one is late.
pub fn longest<T>(mut arrivals: Vec<&T>, late_ns: impl Fn(&T) -> f64) -> Vec<&T> {
    arrivals.sort_by(|one, other| late_ns(other).total_cmp(&late_ns(one)));
    let all: f64 = arrivals.iter().map(|arrival| late_ns(arrival)).sum();
    let mut sum = 0.0;
    let is_needed = |arrival: &&T| {
        let is_needed = sum < LOOKED_AT * all;
        sum += late_ns(arrival);
        is_needed
    };
    arrivals.into_iter().take_while(is_needed).collect()
}

#[cfg(test)]
mod tests {
    use super::longest;

    #[test]
    fn they_make_most_of_the_lateness() {
        let found =
            |late_ns: &[f64]| longest(late_ns.iter().collect(), |ns| *ns).into_iter().copied().collect::<Vec<_>>();
        assert_eq!(found(&[1.0, 60.0, 30.0, 9.0]), [60.0, 30.0, 9.0]);
        assert_eq!(found(&[1.0, 98.0, 1.0]), [98.0]);
        assert_eq!(found(&[]), [] as [f64; 0]);
    }
}
