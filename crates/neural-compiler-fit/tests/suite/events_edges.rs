//! Events where two things are equal or nearly so: sides of a condition, ends of an infusion, times of a schedule and of rows. Expected
//! numbers follow from counting.

use crate::common::{compile, table};
use neural_compiler_fit::{Dose, Given, Options, simulate};

/// The last number of each state, in order, at the last of these times.
fn last(model: &str, times: &[f64], doses: Vec<Dose>) -> Result<Vec<f64>, String> {
    let rows = table(vec![("t", times.to_vec())]);
    let options = Options { tolerance: Some(1e-10), doses, ..Options::default() };
    let found = simulate(&compile(model), &rows, &options, &Given::new()).map_err(|e| e.to_string())?;
    let width = found.quantities.len();
    Ok(found.values[found.values.len() - width..].to_vec())
}

fn close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    found.iter().zip(expected).for_each(|(a, b)| assert!((a - b).abs() <= 1e-9 * b.abs().max(1.0), "{found:?}, not {expected:?}"));
}

#[test]
fn a_condition_that_holds_with_equality_from_the_start_does_not_become_true() {
    // x grows by 1 in a unit of time, from 1.
    let run = |condition: &str| {
        let model = format!("(state x 1) (derive x 1) (event (when {condition}) (add x 10))");
        last(&model, &[0.0, 2.0], vec![]).unwrap()[0]
    };
    for holds in ["(>= x 1)", "(<= 1 x)", "(not (< x 1))", "(and (>= x 1) (< x 50))", "(or (>= x 1) (< x 0))"] {
        assert!((run(holds) - 3.0).abs() < 1e-9, "{holds}: {}", run(holds));
    }
    for becomes in ["(> x 1)", "(< 1 x)", "(not (<= x 1))", "(and (> x 1) (< x 50))", "(or (> x 1) (< x 0))"] {
        assert!((run(becomes) - 13.0).abs() < 1e-9, "{becomes}: {}", run(becomes));
    }
}

#[test]
fn equality_behind_a_jump_is_what_the_condition_says() {
    let run = |condition: &str| {
        let model =
            format!("(state x 0) (state y 0) (derive x 0) (derive y 0) (event (at 1) (set x 1)) (event (when {condition}) (add y 1))");
        last(&model, &[0.0, 3.0], vec![]).unwrap()
    };
    assert_eq!(run("(>= x 1)"), [1.0, 1.0]);
    assert_eq!(run("(> x 1)"), [1.0, 0.0]);
    assert_eq!(run("(not (< x 1))"), [1.0, 1.0]);
    // Set to the level it waits for, the condition has become true once, and stays so.
    let held = last("(state x 0) (state n 0) (derive x 1) (derive n 0) (event (when (>= x 1)) (set x 1) (add n 1))", &[0.0, 3.0], vec![]);
    close(&held.unwrap(), &[3.0, 1.0]);
}

fn dose(time: f64, amount: f64, rate: f64) -> Dose {
    Dose { time, amount, rate, target: None, group: None }
}

#[test]
fn an_infusion_gives_its_amount_however_short_it_is() {
    let model = "(state A 0) (derive A 0)";
    for start in [0.0, 1e3, 1e6, 1e9] {
        for rate in [0.0, 1.0, 1e3, 1e6, 1e7, 3e8, 1e12, 1e18, 1e300] {
            // It begins at a row, and between rows.
            for after in [0.0, 1.0, 1.25] {
                let found = last(model, &[start, start + 1.0, start + 20.0], vec![dose(start + after, 5.0, rate)]).unwrap();
                assert!((found[0] - 5.0).abs() < 1e-9, "from {start}, after {after}, rate {rate}: {}", found[0]);
            }
        }
    }
    // Several at once: 10 in [0, 2], 10 in [1, 2], 6 of 12 in [1, 3].
    close(&last(model, &[0.0, 2.0], vec![dose(0.0, 10.0, 5.0), dose(1.0, 10.0, 10.0), dose(1.0, 12.0, 6.0)]).unwrap(), &[26.0]);
    // One that does not end within all numbers.
    close(&last(model, &[0.0, 2.0], vec![dose(0.0, 1e300, 1e-10)]).unwrap(), &[2e-10]);
}

#[test]
fn schedules_begin_as_early_as_they_like() {
    let count = |schedule: &str, times: &[f64]| {
        last(&format!("(state n 0) (derive n 0) (event (at {schedule}) (add n 1))"), times, vec![]).map(|n| n[0])
    };
    // At 0, 1, 2.
    assert_eq!(count("(every 1 :from -3)", &[0.0, 2.5]), Ok(3.0));
    assert_eq!(count("(every 1 :from -1e18)", &[0.0, 2.5]), Ok(3.0));
    assert_eq!(count("(every 1 :from -1e300)", &[0.0, 2.5]), Ok(3.0));
    // At 1 and 2.
    assert_eq!(count("(every 1 :from -1e18)", &[0.5, 2.75]), Ok(2.0));
    // At 8 and 20: 10^15 is 4 above a multiple of 12.
    assert_eq!(count("(every 12 :from -1e15)", &[0.0, 29.0]), Ok(2.0));
    assert_eq!(count("(every 1 :from -1e18 :until 1)", &[0.0, 2.5]), Ok(2.0));
    for (endless, times) in [("(every 1e-20 :from -1)", [0.0, 1.0]), ("(every 1e-20 :from 0)", [1.0, 2.0]), ("(every 1e-9)", [0.0, 1.0])] {
        assert!(count(endless, &times).is_err(), "{endless}");
    }
    // At the last row's time nobody sees it; at a row's time it happens behind the row.
    assert_eq!(count("(every 1)", &[0.0, 1.0, 2.0]), Ok(1.0));
}
