//! Held against SciPy and statsmodels, whose values tests/reference/comparison.py stored; and against what must hold.

use serde_json::Value;

use super::*;

fn reference(name: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(include_str!("../../../tests/reference/comparison.json")).unwrap();
    all[name].as_array().unwrap().clone()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

#[track_caller]
fn assert_near(found: f64, expected: &Value, what: &str) {
    let expected = expected.as_f64().unwrap();
    let difference = (found - expected).abs();
    assert!(difference <= 1e-9 * expected.abs() + 1e-14, "{found} against {expected}: {what}");
}

#[track_caller]
fn assert_interval(found: Option<[f64; 2]>, expected: &Value, what: &str) {
    assert_eq!(found.is_none(), expected.is_null(), "{found:?} against {expected}: {what}");
    if let Some([low, high]) = found {
        assert_near(low, &expected[0], what);
        assert_near(high, &expected[1], what);
    }
}

const ALTERNATIVES: [Alternative; 3] = [Alternative::TwoSided, Alternative::Less, Alternative::Greater];

#[test]
fn rank_sums_shifts_and_means_are_those_of_scipy() {
    let pairs = reference("pairs");
    assert_eq!(pairs.len(), 49);
    for pair in &pairs {
        let (a, b) = (numbers(&pair["a"]), numbers(&pair["b"]));
        let what = format!("{} and {} runs", a.len(), b.len());
        let expected = &pair["rank_sum"];
        for alternative in ALTERNATIVES {
            let found = rank_sum(&a, &b, alternative).unwrap();
            assert_eq!(found.exact, expected["exact"].as_bool().unwrap());
            assert_near(found.u, &expected["u"], &what);
            assert_near(found.p, &expected["p"][alternative.name()], &what);
        }
        let effect = hodges_lehmann(&a, &b, 0.95).unwrap();
        assert_near(effect.shift_ns, &pair["shift"]["shift"], &what);
        // Pairs with ties and very large ones have none in the reference.
        if !pair["shift"]["interval"].is_null() || a.len() < 5 {
            assert_interval(effect.interval_ns, &pair["shift"]["interval"], &what);
        }
        assert_near(superiority(&a, &b), &pair["superiority"], &what);

        let expected = &pair["welch"];
        for alternative in ALTERNATIVES {
            let found = welch(&a, &b, alternative, 0.95);
            assert_eq!(found.is_none(), expected.is_null(), "{what}");
            if let Some(found) = found {
                assert_near(found.t, &expected["t"], &what);
                assert_near(found.freedom, &expected["freedom"], &what);
                assert_near(found.p, &expected["p"][alternative.name()], &what);
                assert_interval(Some(found.interval), &expected["interval"], &what);
            }
        }
    }
}

#[test]
fn shapiro_and_wilk_s_test_is_scipy_s() {
    let cases = reference("normality");
    assert!(cases.len() > 45);
    for case in cases {
        let values = numbers(&case["values"]);
        let found = shapiro_wilk(&values).unwrap();
        let (w, p) = (case["w"].as_f64().unwrap(), case["p"].as_f64().unwrap());
        assert!((found.w - w).abs() < 1e-7, "{found:?} against {w} for {}", values.len());
        // A p below 1e-10 hangs on the last digits of W.
        assert!((found.p - p).abs() < 1e-5 * p + 1e-10, "{found:?} against {p} for {}", values.len());
    }
    assert_eq!(shapiro_wilk(&[1.0, 2.0]), None);
    assert_eq!(shapiro_wilk(&[1.0; 20]), None);
    assert_eq!(shapiro_wilk(&[1.0; 5001]), None);
}

#[test]
fn holm_s_correction_is_that_of_statsmodels() {
    for case in reference("holm") {
        for (found, expected) in holm(&numbers(&case["p"])).iter().zip(case["holm"].as_array().unwrap()) {
            assert_near(*found, expected, "holm");
        }
    }
    assert!(holm(&[]).is_empty());
}

#[test]
fn quantiles_and_their_intervals_are_scipy_s() {
    for case in reference("quantiles") {
        let values = numbers(&case["values"]);
        let what = format!("{} of {}", case["share"], values.len());
        let found = quantile(&values, case["share"].as_f64().unwrap()).unwrap();
        assert_near(found.value_ns, &case["value"], &what);
        assert_interval(found.interval_ns, &case["interval"], &what);
    }
}

#[test]
fn q_q_points_of_a_normal_sample_lie_on_a_line() {
    for case in reference("q_q") {
        let n = case["n"].as_u64().unwrap() as usize;
        let values: Vec<f64> = (0..n).rev().map(|i| i as f64).collect();
        let points = q_q(&values);
        assert_eq!(points.len(), n);
        for ((i, point), expected) in points.iter().enumerate().zip(case["theoretical"].as_array().unwrap()) {
            assert!((point[0] - expected.as_f64().unwrap()).abs() < 1e-9);
            assert_eq!(point[1], i as f64);
        }
    }
    assert_eq!(q_q(&[]), Vec::<[f64; 2]>::new());
}
