//! When a measurement has enough repetitions.
//!
//! The rule is that of MPIBlib [Lastovetsky2008, 3]: a least and a largest number of repetitions and an error, until
//! the interval is narrower than the error. The interval is that of the median of the steady repetitions, those after
//! the warm-up, for repetitions that may depend on each other ([`Intervals`]), in place of Student's of the mean; and
//! the warm-up must be over ([`Robust`]). Outliers count: without those of a long tail the median would be of another
//! distribution, a few percent lower.
//!
//! The rule looks at a few numbers of repetitions only ([`Rule::look`]), each a quarter larger than the one before. All
//! ranks that have the same run times decide the same at the same repetition, whenever they ask; the work is a few
//! times that of the last look; and an interval that is narrow by chance has few occasions to be seen.

use mpitrace_statistics::categories::{Class, Robust};
use mpitrace_statistics::{Interval, Intervals, quantile};

/// When to stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// Repetitions at least, and at most.
    pub minimum: u64,
    /// At most [`MOST`].
    pub maximum: u64,
    /// Half of the interval of the median over the median, 0.01 for 1 %.
    pub error: f64,
    /// The confidence of the interval, 0.95 for 95 %.
    pub confidence: f64,
}

/// The rule looks at no more repetitions: so its memory and its time are bounded.
pub const MOST: u64 = 1 << 16;

/// The ratio of the repetitions of a look to those of the previous look.
const FURTHER: f64 = 1.25;

impl Default for Rule {
    /// 50 to 65 536 repetitions, 1 %, 95 % of confidence.
    fn default() -> Self {
        Rule { minimum: 50, maximum: MOST, error: 0.01, confidence: 0.95 }
    }
}

/// Levels that come and go are known from so many of them: the interval does not hold for levels that last longer, and
/// of a single one nothing shows that there are others.
const FEWEST_LEVELS: usize = 10;

/// The decision of the rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// More repetitions are needed.
    Continue,
    /// The warm-up is over and the interval is narrow enough.
    Enough,
    /// The largest number of repetitions is reached, and they are not enough.
    Maximum,
}

/// The repetitions at a look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer {
    /// The decision of the rule.
    pub decision: Decision,
    /// How many repetitions the answer is made of.
    pub looked_at: usize,
    /// The behaviour of the operation over time; `None` before the first look.
    pub class: Option<Class>,
    /// The repetition at which the warm-up has ended; `None` where none was found.
    pub warmup_end: Option<u64>,
    /// The median of the steady repetitions, ns.
    pub median_ns: Option<f64>,
    /// Its interval, ns; `None` where there are too few for one.
    pub interval: Option<Interval>,
    /// Half of the interval over the median, and no less than half of the clock's tick.
    pub error: Option<f64>,
}

/// The rule has numbers that cannot be met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadRule {
    /// The error is not above 0.
    #[error("the error is not a number above 0")]
    Error,
    /// The confidence is no probability.
    #[error("the confidence is not between 0 and 1")]
    Confidence,
    /// The minimum is above the maximum, or the maximum is 0 or above [`MOST`].
    #[error("the repetitions are not 1 <= minimum <= maximum <= {MOST}")]
    Repetitions,
}

impl Answer {
    /// Before the first look.
    pub const NONE: Answer = Answer {
        decision: Decision::Continue,
        looked_at: 0,
        class: None,
        warmup_end: None,
        median_ns: None,
        interval: None,
        error: None,
    };

    /// How long a level may last, in repetitions, for the interval to hold where levels come and go.
    pub fn longest_level(&self) -> usize {
        self.looked_at / FEWEST_LEVELS
    }

    /// True if the warm-up is over. The operation has come to one level, and the last repetitions are at it. `None`: so
    /// few repetitions, or so much correlation between them, do not show it.
    pub fn warmup_is_over(&self) -> Option<bool> {
        match self.class? {
            Class::TooFew | Class::Undecided => None,
            Class::Flat | Class::Warmup => Some(true),
            Class::Slowdown | Class::LevelShift | Class::NoSteadyState => Some(false),
        }
    }
}

impl Rule {
    /// # Errors
    /// Numbers that cannot be met.
    pub fn check(self) -> Result<Rule, BadRule> {
        if !(self.error > 0.0 && self.error.is_finite()) {
            return Err(BadRule::Error);
        }
        if !(self.confidence > 0.0 && self.confidence < 1.0) {
            return Err(BadRule::Confidence);
        }
        if self.minimum == 0 || self.minimum > self.maximum || self.maximum > MOST {
            return Err(BadRule::Repetitions);
        }
        Ok(self)
    }

    /// The numbers of repetitions at which the rule looks, ascending: the minimum, each time a quarter more, and the
    /// maximum.
    pub fn looks(&self) -> impl Iterator<Item = u64> + use<> {
        let maximum = self.maximum;
        let next = move |&look: &u64| {
            (look < maximum).then(|| ((look as f64 * FURTHER).ceil() as u64).max(look + 1).min(maximum))
        };
        std::iter::successors(Some(self.minimum.min(maximum)), next)
    }

    /// The number of repetitions of the last look, if there are this many repetitions. `None` before the first look.
    pub fn look(&self, repetitions: u64) -> Option<u64> {
        self.looks().take_while(|&look| look <= repetitions).last()
    }

    /// The decision at a look at the repetitions with these numbers, ascending, and their run times in ns. The
    /// look is at `look` repetitions, of which some may be missing.
    ///
    /// An interval that is narrow by chance would stop a measurement too soon \[Chow1965]: it must be as
    /// narrow at four fifths of the repetitions.
    pub fn judge(&self, look: u64, repetition: &[u64], run_time_ns: &[f64]) -> Answer {
        let decision = if look >= self.maximum { Decision::Maximum } else { Decision::Continue };
        let answer = self.known(repetition, run_time_ns);
        let is_narrow = |answer: &Answer| answer.error.is_some_and(|error| error <= self.error);
        let was_narrow = || {
            let before = repetition.partition_point(|&number| (number as f64) < look as f64 / FURTHER);
            is_narrow(&self.known(&repetition[..before], &run_time_ns[..before]))
        };
        let enough = answer.warmup_is_over() == Some(true) && is_narrow(&answer) && was_narrow();
        Answer { decision: if enough { Decision::Enough } else { decision }, ..answer }
    }

    /// These repetitions at a look, without a decision.
    fn known(&self, repetition: &[u64], run_time_ns: &[f64]) -> Answer {
        let Ok(found) = Robust.categorize(repetition, run_time_ns) else { return Answer::NONE };
        let steady = found.categories.category.iter().zip(run_time_ns).filter(|(category, _)| category.is_steady());
        let steady: Vec<f64> = steady.map(|(_, &run_time)| run_time).collect();
        let mut sorted = steady.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let median_ns = quantile(&sorted, 0.5);
        let interval = Intervals::new(&steady, &sorted, self.confidence).quantile(0.5);
        let tick = step(&sorted);
        let error = interval.zip(median_ns).map(|(interval, median)| {
            let width = (interval.upper - interval.lower).max(tick);
            if width == 0.0 { 0.0 } else { width / 2.0 / median.abs() }
        });
        Answer {
            looked_at: run_time_ns.len(),
            class: Some(found.class),
            warmup_end: found.categories.warmup_end,
            median_ns,
            interval,
            error,
            ..Answer::NONE
        }
    }

    /// The decision on these run times in ns, of the repetitions from 0 on, at the last look that they allow.
    pub fn judge_all(&self, run_time_ns: &[f64]) -> Answer {
        let Some(look) = self.look(run_time_ns.len() as u64) else { return Answer::NONE };
        let seen = &run_time_ns[..look as usize];
        let repetition: Vec<u64> = (0..look).collect();
        self.judge(look, &repetition, seen)
    }

    /// How many repetitions a program makes that asks after each `every` of them, and what it is told then. `None`: it
    /// would have gone on beyond the last of these.
    pub fn stops_at(&self, run_time_ns: &[f64], every: u64) -> Option<(u64, Answer)> {
        let every = every.max(1);
        let mut judged = None;
        let mut asked = self.minimum.next_multiple_of(every);
        while asked <= run_time_ns.len() as u64 {
            let look = self.look(asked)?;
            if judged != Some(look) {
                let answer = self.judge_all(&run_time_ns[..asked as usize]);
                if answer.decision != Decision::Continue {
                    return Some((asked, answer));
                }
                judged = Some(look);
            }
            asked += every;
        }
        None
    }
}

/// The step in which ascending values come, where ten or more share each on average; 0: they do not come in steps. No
/// interval says more than that.
fn step(sorted: &[f64]) -> f64 {
    let mut distances: Vec<f64> =
        sorted.windows(2).map(|pair| pair[1] - pair[0]).filter(|&distance| distance > 0.0).collect();
    if distances.len() * 10 > sorted.len() {
        return 0.0;
    }
    mpitrace_statistics::median(&mut distances).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpitrace_testing::Random;

    fn noisy(n: usize, deviation: f64, seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed);
        (0..n).map(|_| 1000.0 * (deviation * random.normal()).exp()).collect()
    }

    #[test]
    fn the_looks_begin_at_the_minimum_and_end_at_the_maximum() {
        let rule = Rule { minimum: 10, maximum: 40, ..Rule::default() };
        assert_eq!(rule.looks().collect::<Vec<_>>(), [10, 13, 17, 22, 28, 35, 40]);
        assert_eq!(
            [0, 9, 10, 12, 13, 39, 40, 1000].map(|n| rule.look(n)),
            [None, None, Some(10), Some(10), Some(13), Some(35), Some(40), Some(40)]
        );
        let fixed = Rule { minimum: 7, maximum: 7, ..rule };
        assert_eq!(fixed.looks().collect::<Vec<_>>(), [7]);
        assert!(Rule::default().looks().count() < 50);
    }

    #[test]
    fn quiet_run_times_are_enough_soon_and_noisy_ones_take_as_many_as_theory_says() {
        let rule = Rule { minimum: 30, error: 0.01, ..Rule::default() };
        let quiet: Vec<_> = (0..21).filter_map(|seed| rule.stops_at(&noisy(1000, 0.01, seed), 1)).collect();
        assert!(
            quiet.iter().all(|(stopped, answer)| *stopped <= 100 && answer.decision == Decision::Enough),
            "{quiet:?}"
        );
        // Some at the first look: in most, neighbours happen to be correlated there or at four fifths of it.
        let first = quiet.iter().filter(|(stopped, _)| *stopped == 30).count();
        assert!(first >= 5, "{first} of {}", quiet.len());
        // 1.2533 x 1.96 x 5 % / sqrt n = 1 % at n = 151.
        let mut stops: Vec<u64> = (0..21).map(|seed| rule.stops_at(&noisy(5000, 0.05, seed), 1).unwrap().0).collect();
        stops.sort_unstable();
        assert!((90..=300).contains(&stops[10]), "{stops:?}");
    }

    #[test]
    fn it_does_not_stop_in_the_warm_up() {
        let mut x = noisy(3000, 0.02, 2);
        x[..200].iter_mut().for_each(|x| *x *= 2.0);
        let rule = Rule { minimum: 210, error: 0.01, ..Rule::default() };
        let (stopped, answer) = rule.stops_at(&x, 1).unwrap();
        assert!((200..=204).contains(&answer.warmup_end.unwrap()), "{answer:?}");
        assert!(stopped >= 210 && answer.median_ns.unwrap() < 1050.0, "{answer:?}");
        assert_eq!(answer.warmup_is_over(), Some(true));
    }

    /// Levels of 1, 1.15 and 1.4 in turns, each for a time that is uniform in logarithms.
    fn levels(n: usize, shortest: f64, longest: f64, seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed);
        let (mut level, mut left) = (0, 0.0);
        let mut next = || {
            if left < 1.0 {
                level = (level + 1 + (2.0 * random.uniform()) as usize) % 3;
                left += shortest * (longest / shortest).powf(random.uniform());
            }
            left -= 1.0;
            1000.0 * [1.0, 1.15, 1.4][level] * (0.03 * random.normal()).exp()
        };
        (0..n).map(|_| next()).collect()
    }

    #[test]
    fn levels_no_longer_than_the_answer_allows_have_an_interval_that_holds() {
        // (minimum, lengths of the levels): those longer than a tenth of the repetitions stop in the first ones.
        for (minimum, shortest, longest, is_known) in [(500, 5.0, 50.0, true), (50, 50.0, 500.0, false)] {
            let mut truth = levels(1_000_000, shortest, longest, 1);
            let truth = mpitrace_statistics::median(&mut truth).unwrap();
            let rule = Rule { minimum, maximum: 20_000, error: 0.02, ..Rule::default() };
            let (mut stopped, mut held, mut allowed) = (0, 0, 0);
            for seed in 2..62 {
                let (_, answer) = rule.stops_at(&levels(20_000, shortest, longest, seed), 1).unwrap();
                let Some(interval) = answer.interval.filter(|_| answer.decision == Decision::Enough) else { continue };
                stopped += 1;
                held += usize::from(interval.lower <= truth && truth <= interval.upper);
                allowed += usize::from(answer.longest_level() as f64 >= longest);
            }
            assert_eq!(allowed == stopped, is_known, "{allowed} of {stopped}");
            assert!(!is_known || held * 10 >= stopped * 8, "{held} of {stopped}");
        }
    }

    #[test]
    fn a_drift_goes_on_to_the_maximum() {
        let x: Vec<f64> = noisy(400, 0.01, 3).iter().enumerate().map(|(i, x)| x * (1.0 + i as f64 / 400.0)).collect();
        let rule = Rule { minimum: 100, maximum: 400, error: 0.02, ..Rule::default() };
        let (stopped, answer) = rule.stops_at(&x, 1).unwrap();
        assert_eq!((stopped, answer.decision), (400, Decision::Maximum));
        assert_ne!(answer.warmup_is_over(), Some(true));
        assert_eq!(rule.stops_at(&x[..399], 1), None);
    }

    #[test]
    fn asking_seldom_has_the_same_answer_at_the_same_look() {
        let x = noisy(5000, 0.05, 4);
        let rule = Rule { minimum: 30, ..Rule::default() };
        let (often, first) = rule.stops_at(&x, 1).unwrap();
        for every in [7, 100, 1000] {
            let (seldom, answer) = rule.stops_at(&x, every).unwrap();
            assert!(seldom >= often && seldom % every == 0, "{seldom} after {often}");
            let look = rule.look(seldom).unwrap() as usize;
            assert_eq!(answer, rule.judge_all(&x[..look]));
            if look as u64 == often {
                assert_eq!(answer, first);
            }
        }
    }

    #[test]
    fn a_coarse_tick_is_no_exact_median() {
        let x: Vec<f64> = noisy(2000, 0.03, 5).iter().map(|x| (x / 50.0).round() * 50.0).collect();
        let rule = Rule { error: 0.01, ..Rule::default() };
        assert_eq!(rule.stops_at(&x, 1), None);
        let equal = rule.stops_at(&[1000.0; 100], 1).unwrap();
        assert_eq!((equal.0, equal.1.error), (50, Some(0.0)));
    }

    #[test]
    fn what_is_not_finite_and_too_few_are_no_answer() {
        let rule = Rule { minimum: 5, maximum: 20, ..Rule::default() };
        assert_eq!(rule.judge_all(&[1.0; 4]), Answer::NONE);
        let few = rule.judge_all(&[1.0; 5]);
        assert_eq!((few.decision, few.warmup_is_over()), (Decision::Continue, None));
        let mut x = [1.0; 20];
        x[3] = f64::NAN;
        assert_eq!(rule.judge_all(&x).decision, Decision::Maximum);
    }

    #[test]
    fn numbers_that_cannot_be_met_are_said() {
        let rule = Rule::default();
        assert!(rule.check().is_ok());
        assert_eq!(Rule { error: 0.0, ..rule }.check(), Err(BadRule::Error));
        assert_eq!(Rule { error: f64::NAN, ..rule }.check(), Err(BadRule::Error));
        assert_eq!(Rule { confidence: 1.0, ..rule }.check(), Err(BadRule::Confidence));
        assert_eq!(Rule { minimum: 0, ..rule }.check(), Err(BadRule::Repetitions));
        assert_eq!(Rule { minimum: 9, maximum: 8, ..rule }.check(), Err(BadRule::Repetitions));
        assert_eq!(Rule { maximum: MOST + 1, ..rule }.check(), Err(BadRule::Repetitions));
    }
}
