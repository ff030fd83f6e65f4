//! The safe-domain analysis is sound: where it says nothing about a box of inputs, no point of the box makes any operation leave
//! its domain.

use fastrand::Rng;
use neural_compiler::domain;
use neural_compiler::exec::interp::{self, RunOptions};
use neural_compiler::ops::real::{Dtype, Real};
use neural_compiler::{Limits, Options, Tensor, compile};
use neural_compiler_testing::generate::{differentiable, everything};
use neural_compiler_testing::{Case, Compiled, oracle};

/// Points tried in each box, corners first.
const POINTS: usize = 24;

/// A box around the inputs of a case: one range per input, for all its elements.
fn ranges(compiled: &Compiled, rng: &mut Rng) -> Vec<Option<(f64, f64)>> {
    let width = [0.0, 1e-3, 0.5, 3.0][rng.usize(..4)];
    compiled
        .inputs
        .iter()
        .map(|i| {
            let (low, high) = i.data.iter().filter(|x| x.is_finite()).fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &x| (a.min(x), b.max(x)));
            if low > high { Some((-1.0, 1.0)) } else { Some((low - width * rng.f64(), high + width * rng.f64())) }
        })
        .collect()
}

fn point<T: Real>(compiled: &Compiled, ranges: &[Option<(f64, f64)>], trial: usize, rng: &mut Rng) -> Vec<Tensor<T>> {
    let mut number = |(low, high): (f64, f64)| match trial {
        0 => low,
        1 => high,
        _ => match rng.u32(..6) {
            0 => low,
            1 => high,
            2 if low <= 0.0 && high >= 0.0 => 0.0,
            _ => (low + (high - low) * rng.f64()).clamp(low, high),
        },
    };
    compiled
        .inputs
        .iter()
        .zip(ranges)
        .map(|(i, range)| {
            let data: Vec<f64> = i.data.iter().map(|_| number(range.expect("every input has a range"))).collect();
            Tensor::from_f64(i.shape, &data).expect("the input's shape")
        })
        .collect()
}

/// Whether the analysis was silent; `Err` when it was so without right.
fn check<T: Real>(case: &Case, dtype: Dtype, seed: u64) -> Result<bool, String> {
    let Ok(compiled) = case.compile() else { return Ok(false) };
    let mut rng = Rng::with_seed(seed);
    let ranges = ranges(&compiled, &mut rng);
    if !domain::check(&compiled.graph, &ranges, dtype).is_empty() {
        return Ok(false);
    }
    for trial in 0..POINTS {
        let inputs = point::<T>(&compiled, &ranges, trial, &mut rng);
        match interp::run(&compiled.graph, &inputs, &RunOptions { limits: Limits::default(), trap: true }) {
            Err(e) if e.code == "domain-left" => return Err(format!("seed {seed}, {dtype:?}: {e}\n{inputs:?} in {ranges:?}\n{}", case.source)),
            _ => {}
        }
    }
    Ok(true)
}

/// Programs whose danger was once overlooked: a comparison with NaN took no branch, squares overflowed in `norm`, products in
/// `det`, and one NaN of a vector hid its neighbours.
#[test]
fn dangers_once_overlooked_are_seen() {
    let overlooked: &[(&str, &[(f64, f64)])] = &[
        ("(if (<= x +nan.0) x (/ 1 (- x x)))", &[(1.0, 2.0)]),
        ("(if (<= x (log10 +nan.0)) 1 (pow -0.95 1.125))", &[(1.0, 2.0)]),
        ("(vsum (log2 (normalize [s x s])))", &[(1e300, 1e300), (-1.5, -1.4)]),
        ("(input v :size 2) (det (mat v v))", &[(-3.0, 1e300)]),
        ("(vsum (scale y [1 +nan.0 (if (> y -5) -inf.0 1)]))", &[(0.0, 2.0)]),
    ];
    for (source, ranges) in overlooked {
        let graph = compile(source, &Options::default()).and_then(|p| p.graph()).unwrap_or_else(|e| panic!("{e}\n{source}"));
        let ranges: Vec<_> = ranges.iter().map(|&r| Some(r)).collect();
        assert!(!domain::check(&graph, &ranges, Dtype::F64).is_empty(), "silent about {source}");
    }
    // And NaN that comes in is nobody's fault.
    let graph = compile("(log +nan.0 -0.125)", &Options::default()).and_then(|p| p.graph()).expect("a program");
    assert!(interp::run::<f64>(&graph, &[], &RunOptions { limits: Limits::default(), trap: true }).is_ok());
}

#[test]
fn silence_is_a_proof() {
    let count = oracle::setting("DOMAIN_PROGRAMS", 2000);
    let (mut silent, mut wrong) = (0, Vec::new());
    for seed in 0..count {
        let case = if seed % 2 == 0 { everything(seed) } else { differentiable(seed) };
        for result in [check::<f64>(&case, Dtype::F64, seed), check::<f32>(&case, Dtype::F32, seed)] {
            match result {
                Ok(proved) => silent += u64::from(proved),
                Err(e) => wrong.push(e),
            }
        }
    }
    assert!(wrong.is_empty(), "{} silences without right, the first of them:\n{}", wrong.len(), wrong[..wrong.len().min(4)].join("\n\n"));
    println!("silent about {silent} of {} programs and types", 2 * count);
    assert!(silent > 2 * count / 5, "the analysis proves {silent} of {} programs safe only", 2 * count);
}
