//! The parts of the intervals against the values of SciPy in tests/reference/intervals.json, which
//! tests/reference/intervals.py has made.

use serde_json::Value;

use super::cosine_powers;
use super::intervals::places;

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

#[track_caller]
fn same(found: f64, expected: &Value, what: &str) {
    let expected = expected.as_f64().unwrap();
    assert!((found - expected).abs() <= 1e-9 * expected.abs().max(1e-3), "{what}: {found}, not {expected}");
}

#[test]
fn the_parts_of_the_intervals_of_dependent_values_are_those_of_scipy() {
    let all: Value = serde_json::from_str(include_str!("../../../tests/reference/intervals.json")).unwrap();
    for case in all["long_run"].as_array().unwrap() {
        let (values, cosines) = (numbers(&case["values"]), case["cosines"].as_u64().unwrap() as usize);
        let powers = cosine_powers(&values, cosines);
        let found = powers.iter().sum::<f64>() / cosines as f64 / values.len() as f64;
        same(found, &case["variance_of_mean"], "long run");
    }
    for case in all["places"].as_array().unwrap() {
        let (n, p) = (case["n"].as_f64().unwrap(), case["p"].as_f64().unwrap());
        let found = places(n, p, 0.05).unwrap();
        same(found[0], &case["places"][0], &format!("lower, {n}, {p}"));
        same(found[1], &case["places"][1], &format!("upper, {n}, {p}"));
    }
}
