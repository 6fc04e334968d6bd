//! Our own formulas against the values of NumPy and SciPy in tests/reference/categories.json, which
//! tests/reference/categories.py has made.

use serde_json::Value;

use super::{jump, memory, spread, trellis};

fn reference(part: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(include_str!("../../../../tests/reference/categories.json")).unwrap();
    all[part].as_array().unwrap().clone()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

#[test]
fn levels_from_a_grid_divide_a_series_as_exact_ones_do() {
    for case in reference("changes") {
        let found = trellis::changes(&numbers(&case["values"]), 1.0);
        let expected: Vec<usize> = numbers(&case["changes"]).iter().map(|&place| place as usize).collect();
        assert_eq!(found, expected, "{}", case["name"]);
    }
}

#[test]
fn as_many_outliers_as_the_procedure_of_benjamini_and_hochberg() {
    for case in reference("outliers") {
        let z = numbers(&case["z"]);
        let found = spread::fence(z.len(), |i| z[i], |z| z, 3.0);
        assert_eq!(found.count as u64, case["rejected"].as_u64().unwrap());
    }
}

#[test]
fn students_quantiles() {
    for case in reference("student") {
        let of = |key: &str| case[key].as_f64().unwrap();
        let found = spread::student(of("z"), of("degrees"));
        // Wallace's approximation is too far out at few degrees of freedom.
        assert!((found / of("t") - 1.0).abs() < 0.6 / of("degrees"), "{case}: {found}");
    }
}

#[test]
fn the_sum_of_the_correlations() {
    for case in reference("walks") {
        let (found, expected) = (memory::correlation_time(&numbers(&case["values"])), case["time"].as_f64().unwrap());
        assert!((found - expected).abs() < 1e-9, "{found} {expected}");
    }
}

#[test]
fn the_variance_of_a_difference_of_windows() {
    for case in reference("windows") {
        let of = |key: &str| case[key].as_f64().unwrap();
        let found = jump::of_difference(of("phi"), of("a"), of("b"));
        assert!((found - of("variance")).abs() < 1e-9, "{case}: {found}");
    }
}
