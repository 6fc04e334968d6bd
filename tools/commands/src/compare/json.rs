//! The JSON of a comparison.

use mpitrace_changes::{Identity, Names};
use mpitrace_statistics::comparison::{Comparison, Quantile, q_q, quantile, shapiro_wilk, stars};
use serde_json::{Value, json};

use super::factors::Factor;
use super::question::Question;
use super::result::{Compared, OfSide, OneSided};
use super::sentence;
use super::side::OfOperation;

impl Compared<'_> {
    /// The comparison, by the keys of JSON.
    pub fn json(&self, question: &Question, factors: &[Factor]) -> Value {
        let Comparison { p, p_raw, effect, superiority, crossing, averages_ns, .. } = &self.comparison;
        let side = |at: usize| {
            self.sides[at].json(question, &averages_ns[at], [crossing.median[at].into(), crossing.p95[at].into()])
        };
        let tested = json!({
            "basis": self.basis,
            "test": self.comparison.made,
            "sides": self.names,
            "a": side(0),
            "b": side(1),
            "p": p,
            "p_raw": p_raw,
            "stars": stars(*p),
            "effect": self.effect(),
            "effect_ci": self.effect_interval(),
            "shift_ns": effect.shift_ns,
            "shift_ci_ns": effect.interval_ns,
            "superiority": superiority,
            "crosses": crossing.crosses(),
            "runs_needed": self.runs_needed,
            "verdict": self.comparison.verdict(),
            "detectable": self.detectable,
            "sentence": sentence::of_comparison(self),
        });
        row(self.identity, question, factors, tested)
    }
}

impl OneSided<'_> {
    /// The row of an operation that one side alone has: nothing was tested.
    pub fn json(&self, question: &Question, names: Names, factors: &[Factor]) -> Value {
        let identity = &self.operation.identity;
        let own = OfSide::new(self.operation);
        let values: Vec<f64> = self.operation.runs.iter().map(|run| run.median_ns).collect();
        let crossing = [0.5, 0.95].map(|p| quantile(&values, p));
        let side = |side: usize| if side == self.side { own.json(question, &values, crossing) } else { Value::Null };
        let untested = json!({
            "basis": null,
            "test": null,
            "sides": names,
            "a": side(0),
            "b": side(1),
            "p": null,
            "p_raw": null,
            "stars": "",
            "effect": null,
            "effect_ci": null,
            "shift_ns": null,
            "shift_ci_ns": null,
            "superiority": null,
            "crosses": null,
            "runs_needed": null,
            "verdict": if self.side == 0 { "gone" } else { "new" },
            "detectable": null,
            "sentence": sentence::of_one_sided(self, names),
        });
        row(identity, question, factors, untested)
    }
}

/// A row: the operation and the question, and these results.
fn row(identity: &Identity, question: &Question, factors: &[Factor], results: Value) -> Value {
    let Identity { function, bytes, ranks, root, communicator, datatype, reduction, .. } = identity;
    let mut row = json!({
        "operation_key": identity.key(),
        "function": function,
        "communicator": communicator,
        "bytes": bytes,
        "root": root,
        "datatype": datatype,
        "reduction": reduction,
        "ranks": ranks,
        "call_site": identity.site(),
        "method": question.rule.name(),
        "time": question.time,
        "alternative": question.settings.alternative,
        "factors": factors,
    });
    if let (Some(keys), Value::Object(results)) = (row.as_object_mut(), results) {
        keys.extend(results);
    }
    row
}

impl OfSide<'_> {
    fn json(&self, question: &Question, averages_ns: &[f64], crossing: [Option<Quantile>; 2]) -> Value {
        let OfOperation { runs, good, left_out, runs_without, .. } = self.operation;
        let [median, p95] = crossing;
        let (seconds, calls) = self.operation.typical().unzip();
        json!({
            "runs": runs.len(),
            "runs_without": runs_without,
            "calls": calls,
            "seconds": seconds,
            "median_ns": self.median_ns,
            "mean_ns": self.mean_ns,
            "averages_ns": averages_ns,
            "repetitions": good,
            "left_out": left_out,
            "settled_median": median,
            "settled_p95": p95,
            "normality": shapiro_wilk(averages_ns),
            "q_q": q_q(averages_ns),
            "reproducibility": self.operation.trials(question.trials),
        })
    }
}
