//! Is the silence of the safe-domain check a proof? In: a seed; out: a program checked for boxes of inputs, and trapping runs at the
//! corners of every box the check said nothing about. A run that traps there, or stops at an index, is a failure.

use crate::case::{Case, Compiled};
use crate::generate::{danger, differentiable, everything};
use fastrand::Rng;
use neural_compiler::diagnostic::Severity;
use neural_compiler::domain;
use neural_compiler::exec::interp::{self, RunOptions};
use neural_compiler::ops::real::{Dtype, Real};
use neural_compiler::{Limits, Tensor};

/// Trapping runs in each box the check is silent about.
pub const PROBES: usize = 24;

/// Boxes per program and number type.
const BOXES: usize = 4;

/// Ends of ranges.
const ENDS: &[f64] = &[
    f64::MIN,
    -1e300,
    -1e30,
    -1000.0,
    -5.0,
    -2.0,
    -1.0,
    -0.5,
    -1e-5,
    -1e-300,
    -5e-324,
    -0.0,
    0.0,
    5e-324,
    1e-320,
    1e-300,
    1e-30,
    1e-5,
    0.5,
    1.0,
    2.0,
    3.0,
    5.0,
    10.0,
    709.0,
    1000.0,
    1e30,
    1e154,
    1e300,
    f64::MAX,
];

/// What was seen.
#[derive(Clone, Copy, Default, Debug)]
pub struct Seen {
    /// Programs with boxes that were checked.
    pub pairs: u64,
    /// Of these, those the check said nothing about.
    pub silent: u64,
    /// Of these, those the check had only notes about.
    pub noted: u64,
    /// Trapping runs.
    pub probes: u64,
}

impl Seen {
    /// Adds what another run saw.
    pub fn add(&mut self, other: Seen) {
        self.pairs += other.pairs;
        self.silent += other.silent;
        self.noted += other.noted;
        self.probes += other.probes;
    }
}

/// The program of a seed: half of them near the edges of domains.
pub fn program(seed: u64) -> Case {
    match seed % 4 {
        0 => everything(seed),
        1 => differentiable(seed),
        _ => danger(seed),
    }
}

type Ranges = Vec<Option<(f64, f64)>>;

/// A box: around the inputs of the case, or between special numbers.
fn ranges(compiled: &Compiled, rng: &mut Rng) -> Ranges {
    let around = rng.bool();
    let width = [0.0, 1e-3, 0.5, 3.0][rng.usize(..4)];
    let mut range = |data: &[f64]| {
        let (low, high) = data.iter().filter(|x| x.is_finite()).fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &x| (a.min(x), b.max(x)));
        if around && low <= high {
            return (low - width * rng.f64(), high + width * rng.f64());
        }
        // Mostly moderate numbers: a box that reaches to the largest leaves nothing to prove.
        let end = |rng: &mut Rng| if rng.u32(..4) == 0 { ENDS[rng.usize(..ENDS.len())] } else { ENDS[rng.usize(4..27)] };
        let (a, b) = (end(rng), end(rng));
        if a <= b { (a, b) } else { (b, a) }
    };
    compiled.inputs.iter().map(|i| Some(range(&i.data))).collect()
}

/// A number of a range, corners first.
fn number(trial: usize, (low, high): (f64, f64), rng: &mut Rng) -> f64 {
    const INSIDE: &[f64] =
        &[0.0, -0.0, 5e-324, -5e-324, 1e-45, -1e-45, 1e-320, 1e-300, 1e-38, 0.5, 1.0, -1.0, 2.0, 3.0, -2.0, 1e154, 1e300, 1e38];
    let special = INSIDE[rng.usize(..INSIDE.len())];
    let x = match trial {
        0 => low,
        1 => high,
        _ => match rng.u32(..10) {
            0 => low,
            1 => high,
            2 => low.next_up(),
            3 => high.next_down(),
            4..=5 => special,
            6 => (low / 2.0 + high / 2.0).round(),
            7 => (low.abs().max(1e-320).ln() * 0.5 + high.abs().max(1e-320).ln() * 0.5).exp(),
            _ => low + (high - low) * rng.f64(),
        },
    };
    if x.is_nan() { low } else { x.clamp(low, high) }
}

fn point<T: Real>(compiled: &Compiled, ranges: &Ranges, trial: usize, rng: &mut Rng) -> Vec<Tensor<T>> {
    let tensor = |(i, range): (&crate::case::CaseInput, &Option<(f64, f64)>)| {
        let data: Vec<f64> = i.data.iter().map(|_| number(trial, range.expect("every input has a range"), rng)).collect();
        Tensor::from_f64(i.shape, &data).expect("the input's shape")
    };
    compiled.inputs.iter().zip(ranges).map(tensor).collect()
}

fn boxes<T: Real>(case: &Case, compiled: &Compiled, dtype: Dtype, seed: u64) -> Result<Seen, String> {
    let mut rng = Rng::with_seed(seed);
    let mut seen = Seen::default();
    for _ in 0..BOXES {
        let ranges = ranges(compiled, &mut rng);
        let findings = domain::check(&compiled.graph, &ranges, dtype);
        seen.pairs += 1;
        seen.silent += u64::from(findings.is_empty());
        seen.noted += u64::from(!findings.is_empty() && findings.iter().all(|d| d.severity == Severity::Note));
        if !findings.is_empty() {
            continue;
        }
        for trial in 0..PROBES {
            let inputs = point::<T>(compiled, &ranges, trial, &mut rng);
            seen.probes += 1;
            match interp::run(&compiled.graph, &inputs, &RunOptions { limits: Limits::default(), trap: true }) {
                Err(e) if matches!(e.code, "domain-left" | "index-out-of-range" | "outside-grid") => {
                    return Err(format!("seed {seed}, {dtype:?}: {e}\n{inputs:?} in {ranges:?}\n{}", case.source));
                }
                _ => {}
            }
        }
    }
    Ok(seen)
}

/// Checks the program of a seed in both number types; `Err` when a silence was no proof.
pub fn check(seed: u64) -> Result<Seen, String> {
    let case = program(seed);
    let Ok(compiled) = case.compile() else { return Ok(Seen::default()) };
    let mut seen = boxes::<f64>(&case, &compiled, Dtype::F64, seed)?;
    seen.add(boxes::<f32>(&case, &compiled, Dtype::F32, seed)?);
    Ok(seen)
}
