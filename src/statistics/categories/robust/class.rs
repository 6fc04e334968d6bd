//! The behaviour of an operation over time.

/// The behaviour of an operation over its repetitions (after Barrett et al., Virtual Machine Warmup Blows Hot and Cold,
/// 2017).
///
/// ```
/// use mpitrace_statistics::categories::Class;
///
/// assert_eq!(Class::Flat.name(), "flat");
/// assert_eq!(Class::ALL.len(), 7);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// One level from beginning to end.
    Flat,
    /// Slow at the beginning, then one level.
    Warmup,
    /// Slower at the end than it was before.
    Slowdown,
    /// Another level later than a warm-up may end, and no slower one.
    LevelShift,
    /// It comes to no level: the level rises and falls again and again, or still does so at the end. Behind a warm-up,
    /// if that is slower than all of it.
    NoSteadyState,
    /// The repetitions are correlated over so long that their number is too small to tell a level; or a level came back
    /// once, and may come and go.
    Undecided,
    /// Fewer repetitions than `LEAST`.
    TooFew,
}

/// So many repetitions at least have a class.
pub(super) const LEAST: usize = 12;

impl Class {
    /// All classes.
    pub const ALL: [Class; 7] = [
        Class::Flat,
        Class::Warmup,
        Class::Slowdown,
        Class::LevelShift,
        Class::NoSteadyState,
        Class::Undecided,
        Class::TooFew,
    ];

    /// The name in tables and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Class::Flat => "flat",
            Class::Warmup => "warmup",
            Class::Slowdown => "slowdown",
            Class::LevelShift => "level-shift",
            Class::NoSteadyState => "no-steady-state",
            Class::Undecided => "undecided",
            Class::TooFew => "too-few",
        }
    }
}

/// More turns from rising to falling or back than one burst has.
const TURNS: usize = 2;

/// A level that comes back differs from what it was by this share of the change.
const RETURNS: f64 = 0.1;

/// The class of a series of this length whose level changes so after its warm-up, if it has one.
pub(super) fn class(warmup: bool, changes: &[usize], levels: &[f64], length: usize) -> Class {
    let (Some(&first), Some(&last)) = (levels.first(), levels.last()) else { return Class::Flat };
    let Some(&latest) = changes.last() else {
        return if warmup { Class::Warmup } else { Class::Flat };
    };
    let rises: Vec<bool> = levels.windows(2).map(|pair| pair[1] > pair[0]).collect();
    let turns = rises.windows(2).filter(|pair| pair[0] != pair[1]).count();
    if turns == 0 && rises[0] {
        return Class::Slowdown;
    }
    let unsettled = changes.len() > 1 && latest > length / 4 * 3;
    if let [first, other, last] = *levels
        && !unsettled
        && (last - first).abs() <= RETURNS * (other - first).abs()
    {
        return Class::Undecided;
    }
    match (turns >= TURNS || unsettled, last > first) {
        (true, _) => Class::NoSteadyState,
        (false, true) => Class::Slowdown,
        (false, false) => Class::LevelShift,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_levels_make_the_class() {
        let of = |warmup, changes: &[usize], levels: &[f64]| class(warmup, changes, levels, 1000);
        assert_eq!(of(false, &[], &[1.0]), Class::Flat);
        assert_eq!(of(true, &[], &[1.0]), Class::Warmup);
        assert_eq!(of(false, &[600], &[1.0, 2.0]), Class::Slowdown);
        assert_eq!(of(true, &[600], &[1.0, 2.0]), Class::Slowdown);
        // Rising to the end.
        assert_eq!(of(false, &[200, 500, 900], &[1.0, 2.0, 3.0, 4.0]), Class::Slowdown);
        assert_eq!(of(false, &[600], &[2.0, 1.0]), Class::LevelShift);
        assert_eq!(of(false, &[900], &[2.0, 1.0]), Class::LevelShift);
        assert_eq!(of(false, &[400, 500], &[1.0, 2.0, 0.8]), Class::LevelShift);
        // It may come and go.
        assert_eq!(of(false, &[400, 500], &[1.0, 2.0, 1.05]), Class::Undecided);
        assert_eq!(of(false, &[400, 500], &[2.0, 1.0, 2.0]), Class::Undecided);
        assert_eq!(of(false, &[400, 900], &[1.0, 2.0, 1.0]), Class::NoSteadyState);
        assert_eq!(of(false, &[400, 900], &[3.0, 2.0, 1.0]), Class::NoSteadyState);
        assert_eq!(of(false, &[300, 400, 500], &[1.0, 2.0, 1.0, 2.0]), Class::NoSteadyState);
    }
}
