//! What the rule says of an operation. A look is judged once: what it has said is kept until the next one.

use std::sync::{Mutex, PoisonError};

use mpitrace_series::stopping::{Answer, Rule};

use super::operation::Operation;
use super::run_times;

/// What was said of a look.
#[derive(Clone, Copy)]
struct Said {
    operation: u32,
    first: u64,
    rule: Rule,
    look: u64,
    answer: Answer,
}

/// Operations, or rules, whose answers are kept.
const KEPT: usize = 16;

/// The looks that were judged last, and the place for the next.
static SAID: Mutex<([Option<Said>; KEPT], usize)> = Mutex::new(([None; KEPT], 0));

/// What the rule says of the repetitions from `first` on, of which there are `repetitions`.
pub fn of(operation: Operation, first: u64, repetitions: u64, rule: Rule) -> Answer {
    let Some(look) = rule.look(repetitions) else { return Answer::NONE };
    let is_same = |said: &Said| (said.operation, said.first, said.rule) == (operation.number, first, rule);
    let lock = || SAID.lock().unwrap_or_else(PoisonError::into_inner);
    let known = lock().0.iter().flatten().find(|said| is_same(said)).filter(|said| said.look == look).copied();
    if let Some(said) = known {
        return said.answer;
    }
    let Some(mut found) = run_times::of(operation, first..first.saturating_add(look)) else { return Answer::NONE };
    found.repetition.iter_mut().for_each(|repetition| *repetition -= first);
    let answer = rule.judge(look, &found.repetition, &found.run_time_ns);
    let mut said = lock();
    let place = said.0.iter().position(|kept| kept.as_ref().is_some_and(is_same)).unwrap_or_else(|| {
        let place = said.1;
        said.1 = (place + 1) % KEPT;
        place
    });
    said.0[place] = Some(Said { operation: operation.number, first, rule, look, answer });
    answer
}
