//! NIST's Statistical Reference Datasets for nonlinear regression: certified values and standard errors, from both starting points,
//! with default settings. The files are as published; the models are theirs, written in the language.

use neural_compiler_fit::{Options, Table, fit};
use std::path::Path;

/// A problem: its file, its columns in the file's order, what to explain, and the model with `PARAMS` for the declarations.
struct Problem {
    name: &'static str,
    columns: &'static [&'static str],
    model: &'static str,
}

const PROBLEMS: &[Problem] = &[
    Problem { name: "Misra1a", columns: &["y", "x"], model: "(* b1 (- 1 (exp (- (* b2 x)))))" },
    Problem { name: "Misra1b", columns: &["y", "x"], model: "(* b1 (- 1 (pow (+ 1 (/ (* b2 x) 2)) -2)))" },
    Problem { name: "Chwirut2", columns: &["y", "x"], model: "(/ (exp (- (* b1 x))) (+ b2 (* b3 x)))" },
    Problem { name: "DanWood", columns: &["y", "x"], model: "(* b1 (pow x b2))" },
    Problem {
        name: "Lanczos3",
        columns: &["y", "x"],
        model: "(+ (* b1 (exp (- (* b2 x)))) (* b3 (exp (- (* b4 x)))) (* b5 (exp (- (* b6 x)))))",
    },
    Problem {
        name: "Gauss1",
        columns: &["y", "x"],
        model: "(+ (* b1 (exp (- (* b2 x)))) (* b3 (exp (- (/ (square (- x b4)) (square b5))))) \
                (* b6 (exp (- (/ (square (- x b7)) (square b8))))))",
    },
    Problem { name: "Kirby2", columns: &["y", "x"], model: "(/ (+ b1 (* b2 x) (* b3 x x)) (+ 1 (* b4 x) (* b5 x x)))" },
    Problem {
        name: "Hahn1",
        columns: &["y", "x"],
        model: "(/ (+ b1 (* b2 x) (* b3 x x) (* b4 x x x)) (+ 1 (* b5 x) (* b6 x x) (* b7 x x x)))",
    },
    Problem { name: "Nelson", columns: &["z", "x1", "x2"], model: "(- b1 (* b2 x1 (exp (- (* b3 x2)))))" },
    Problem { name: "MGH17", columns: &["y", "x"], model: "(+ b1 (* b2 (exp (- (* x b4)))) (* b3 (exp (- (* x b5)))))" },
    Problem { name: "Roszman1", columns: &["y", "x"], model: "(- b1 (* b2 x) (/ (atan (/ b3 (- x b4))) pi))" },
    Problem {
        name: "ENSO",
        columns: &["y", "x"],
        model: "(+ b1 (* b2 (cos (/ (* 2 pi x) 12))) (* b3 (sin (/ (* 2 pi x) 12))) (* b5 (cos (/ (* 2 pi x) b4))) \
                (* b6 (sin (/ (* 2 pi x) b4))) (* b8 (cos (/ (* 2 pi x) b7))) (* b9 (sin (/ (* 2 pi x) b7))))",
    },
    Problem {
        name: "Thurber",
        columns: &["y", "x"],
        model: "(/ (+ b1 (* b2 x) (* b3 x x) (* b4 x x x)) (+ 1 (* b5 x) (* b6 x x) (* b7 x x x)))",
    },
    Problem { name: "BoxBOD", columns: &["y", "x"], model: "(* b1 (- 1 (exp (- (* b2 x)))))" },
];

struct Certified {
    starts: [Vec<f64>; 2],
    values: Vec<f64>,
    errors: Vec<f64>,
    sum: f64,
    rows: Vec<Vec<f64>>,
}

fn read(name: &str) -> Certified {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/nist").join(format!("{name}.dat"));
    let text = std::fs::read_to_string(&path).unwrap();
    let mut c = Certified { starts: [vec![], vec![]], values: vec![], errors: vec![], sum: f64::NAN, rows: vec![] };
    let mut in_data = false;
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let numbers = || words.iter().map(|w| w.parse::<f64>()).collect::<Result<Vec<_>, _>>();
        if words.len() == 6 && words[0].starts_with('b') && words[1] == "=" {
            let n: Vec<f64> = words[2..].iter().map(|w| w.parse().unwrap()).collect();
            c.starts[0].push(n[0]);
            c.starts[1].push(n[1]);
            c.values.push(n[2]);
            c.errors.push(n[3]);
        } else if line.starts_with("Residual Sum of Squares:") {
            c.sum = words.last().unwrap().parse().unwrap();
        } else if line.starts_with("Data:") && words.contains(&"y") && words.contains(&"x") | words.contains(&"x1") && !line.contains('=') {
            in_data = true;
        } else if let (true, Ok(row)) = (in_data, numbers())
            && !row.is_empty()
        {
            c.rows.push(row);
        }
    }
    c
}

/// Digits two numbers share.
fn digits(a: f64, b: f64) -> f64 {
    if a == b { 16.0 } else { -((a - b) / b).abs().log10() }
}

#[test]
fn certified_values_and_standard_errors_from_both_starts() {
    let mut failures = Vec::new();
    for problem in PROBLEMS {
        let certified = read(problem.name);
        assert!(!certified.rows.is_empty() && !certified.values.is_empty(), "{}", problem.name);
        let mut columns: Vec<(String, Vec<f64>)> =
            problem.columns.iter().enumerate().map(|(i, n)| (n.to_string(), certified.rows.iter().map(|r| r[i]).collect())).collect();
        if problem.name == "Nelson" {
            columns[0].1.iter_mut().for_each(|y| *y = y.ln());
        }
        let table = Table::new(columns).unwrap();
        for (k, start) in certified.starts.iter().enumerate() {
            let declarations: String = start.iter().enumerate().map(|(j, v)| format!("(param b{} {v:e})\n", j + 1)).collect();
            let program = neural_compiler::compile(&format!("{declarations}{}", problem.model), &Default::default()).unwrap();
            let clock = std::time::Instant::now();
            let fit = fit(&program, &table, &Options::default()).unwrap();
            let value = fit.parameters.iter().zip(&certified.values).map(|(p, v)| digits(p.value, *v)).fold(f64::INFINITY, f64::min);
            let error = fit
                .parameters
                .iter()
                .zip(&certified.errors)
                .map(|(p, v)| digits(p.stderr.unwrap_or(f64::NAN), *v))
                .fold(f64::INFINITY, |a, b| if b >= a { a } else { b });
            println!(
                "{:9} start {}: values {value:4.1} digits, errors {error:4.1}, sum {:4.1}, {} of {} starts agree, {:?} {}",
                problem.name,
                k + 1,
                digits(fit.cost, certified.sum),
                fit.agreed,
                fit.tried,
                clock.elapsed(),
                fit.message
            );
            if !(value >= 8.0 && error >= 6.0 && fit.converged) {
                failures.push(format!(
                    "{} start {}: {:?}",
                    problem.name,
                    k + 1,
                    fit.parameters.iter().map(|p| p.value).collect::<Vec<_>>()
                ));
            }
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}
