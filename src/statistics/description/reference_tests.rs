//! Our own formulas against the values of SciPy, NumPy and statsmodels in tests/reference/statistics.json, which
//! tests/reference/statistics.py has made.

use serde_json::Value;

use super::*;

fn reference() -> Value {
    serde_json::from_str(include_str!("../../../tests/reference/statistics.json")).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

/// Runs a check over every series; the name of the series stands in what it says.
fn each(mut check: impl FnMut(&str, &[f64], &Value)) {
    let reference = reference();
    let series = reference["series"].as_array().unwrap();
    assert!(series.len() >= 7);
    for of in series {
        check(of["name"].as_str().unwrap(), &numbers(&of["values"]), of);
    }
}

#[track_caller]
fn same(found: f64, expected: &Value, what: &str) {
    let expected = expected.as_f64().unwrap();
    assert!((found - expected).abs() <= 1e-9 * expected.abs().max(1e-3), "{what}: {found}, not {expected}");
}

#[test]
fn quantiles_and_moments_are_those_of_numpy_and_scipy() {
    each(|name, values, expected| {
        let sample = Sample::new(values);
        let moments = sample.moments().unwrap();
        same(sample.minimum().unwrap(), &expected["minimum"], name);
        same(sample.maximum().unwrap(), &expected["maximum"], name);
        same(moments.mean, &expected["mean"], name);
        same(moments.standard_deviation.unwrap(), &expected["standard_deviation"], name);
        same(sample.median_absolute_deviation().unwrap(), &expected["median_absolute_deviation"], name);
        for quantile in expected["quantiles"].as_array().unwrap() {
            same(sample.quantile(quantile["p"].as_f64().unwrap()).unwrap(), &quantile["value"], name);
        }
    });
}

#[test]
fn order_statistic_intervals_are_those_of_scipy() {
    each(|name, values, expected| {
        let sample = Sample::new(values);
        for quantile in expected["quantiles"].as_array().unwrap() {
            let p = quantile["p"].as_f64().unwrap();
            let found = sample.quantile_interval(p, 0.95).map(|interval| [interval.lower, interval.upper]);
            let interval = quantile["interval"].as_array().map(|ends| [0, 1].map(|end| ends[end].as_f64().unwrap()));
            assert_eq!(found, interval, "{name}, {p}");
        }
    });
    for expected in reference()["ranks"].as_array().unwrap() {
        let (n, p) = (expected["n"].as_u64().unwrap(), expected["p"].as_f64().unwrap());
        let found = interval_ranks(n, p, 0.95).map(|(lower, upper, _)| [lower, upper]);
        let ranks = expected["ranks"].as_array().map(|ends| [0, 1].map(|end| ends[end].as_u64().unwrap()));
        assert_eq!(found, ranks, "{n}, {p}");
    }
}

#[test]
fn autocorrelations_and_ljung_box_are_those_of_statsmodels() {
    each(|name, values, expected| {
        let r = numbers(&expected["autocorrelation"]);
        let found = autocorrelation(values, r.len());
        assert_eq!(found.len(), r.len());
        for (found, expected) in found.iter().zip(expected["autocorrelation"].as_array().unwrap()) {
            same(*found, expected, name);
        }
        let test = ljung_box(&found, values.len()).unwrap();
        same(test.statistic, &expected["ljung_box"]["statistic"], name);
        same(test.p, &expected["ljung_box"]["p"], name);
    });
}
