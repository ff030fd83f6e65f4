//! Generated programs as data, for executors outside of Rust: `tests/python/data/generated.json`, which the torch backend runs beside the
//! native one. `UPDATE_PROGRAMS=1` writes it anew after a change of the generators.

use neural_compiler::exec::interp;
use neural_compiler::ops::real::Real;
use neural_compiler::{Shape, diff};
use neural_compiler_testing::Case;
use neural_compiler_testing::generate::differentiable;
use serde_json::{Value, json};
use std::path::Path;

const COUNT: usize = 60;

/// Value and gradient in a number type.
fn outcome<T: Real>(case: &Case) -> Option<Vec<f64>> {
    let compiled = case.compile().ok()?;
    let wrt: Vec<usize> = (0..compiled.inputs.len()).collect();
    let gradient = diff::gradient(&compiled.graph, &wrt).ok()?;
    let results = interp::run(&gradient, &compiled.tensors::<T>(), &Default::default()).ok()?;
    Some(results.iter().flat_map(|t| t.data().iter().map(|x| x.to_f64())).collect())
}

/// Whether single precision keeps four digits of value and gradient: rounding does not decide what such a program gives.
fn well_conditioned(case: &Case) -> bool {
    let (Some(wide), Some(narrow)) = (outcome::<f64>(case), outcome::<f32>(case)) else { return false };
    let size = wide.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    wide.iter().zip(&narrow).all(|(x, y)| x.is_finite() && (x - y).abs() <= 1e-4 * size.max(1e-3))
}

fn written(seed: u64) -> Option<Value> {
    let case = differentiable(seed);
    let inputs = case.compile().ok()?.inputs;
    let inputs = inputs.iter().map(|i| {
        let shape = match i.shape {
            Shape::Scalar => json!([]),
            Shape::Vector(n) => json!([n]),
            Shape::Matrix(r, c) => json!([r, c]),
        };
        json!({"name": i.name, "shape": shape, "data": i.data})
    });
    well_conditioned(&case).then(|| json!({"seed": seed, "source": case.source, "inputs": inputs.collect::<Vec<_>>()}))
}

#[test]
fn the_programs_python_runs_are_those_of_the_generator() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/python/data/generated.json");
    let lines: Vec<String> = (0..).filter_map(written).take(COUNT).map(|v| v.to_string()).collect();
    let text = format!("[\n{}\n]\n", lines.join(",\n"));
    if std::env::var_os("UPDATE_PROGRAMS").is_some() {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("the folder can be made");
        std::fs::write(&path, text).expect("the programs can be written");
        return;
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == text, "tests/python/data/generated.json is not what the generator writes: run this test with UPDATE_PROGRAMS=1");
}
