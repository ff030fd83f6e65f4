//! Exported C and Rust against the interpreter: every value and every gradient equal to the bit, errors as statuses, in both number types,
//! for generated programs and for each operation of the table.

use neural_compiler::export::{Target, says};
use neural_compiler::ops::real::Dtype;
use neural_compiler::ops::{Kernel, Op};
use neural_compiler::{Limits, Options, Shape, compile, diff};
use neural_compiler_testing::generate::{differentiable, everything};
use neural_compiler_testing::in_c::{InC, compare};
use neural_compiler_testing::in_rust;
use neural_compiler_testing::operations::cases;
use neural_compiler_testing::probe::probes;
use neural_compiler_testing::{Case, oracle};
use std::collections::BTreeMap;

/// Small enough that a program that runs away ends soon; C counts rounds of one loop and of all together.
fn limits() -> Limits {
    Limits { iterations: 5_000, depth: 60, steps: 5_000, ..Limits::default() }
}

/// Points around that of a case, some at the edges of domains.
fn points(values: &[f64], count: usize, seed: u64) -> Vec<Vec<f64>> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut near = |lane: usize, x: f64| match (lane, rng.u8(0..40)) {
        (0, _) => x,
        (_, 0) => 0.0,
        (_, 1) => -x,
        (_, 2) => x.round(),
        _ => x * (0.5 + rng.f64()),
    };
    (0..count).map(|lane| values.iter().map(|&x| near(lane, x)).collect()).collect()
}

fn in_c(case: &Case, seed: u64, count: usize) -> Option<InC> {
    let compiled = case.compile().ok()?;
    let values: Vec<f64> = compiled.inputs.iter().flat_map(|i| i.data.iter().copied()).collect();
    let wrt: Vec<usize> = (0..compiled.inputs.len()).collect();
    let gradient = compiled.graph.outputs() == [Shape::Scalar] && diff::gradient(&compiled.graph, &wrt).is_ok();
    let dtype = if seed % 4 == 3 { Dtype::F32 } else { Dtype::F64 };
    Some(InC { source: case.source.clone(), graph: (*compiled.graph).clone(), points: points(&values, count, seed), gradient, dtype })
}

#[test]
fn generated_programs_have_the_same_bits_in_c() {
    let count = oracle::setting("EXPORT_PROGRAMS", 75);
    let first = oracle::setting("EXPORT_SEED", 0);
    let (mut good, mut programs) = (0, 0);
    // A few hundred at a time: what does not fit into one call of the compiler goes into the next.
    for from in (first..first + count).step_by(300) {
        let seeds = from..(from + 300).min(first + count);
        let all: Vec<InC> =
            seeds.flat_map(|seed| [in_c(&everything(seed), seed, 100), in_c(&differentiable(seed), seed, 100)]).flatten().collect();
        let (points, kept) = compare(&all, limits(), &format!("c-programs-{from}"));
        good += points;
        programs += kept;
    }
    println!("{good} points of {programs} programs of {} are equal", 2 * count);
    assert!(programs as u64 >= count, "too few programs could be exported: {programs}");
    assert!(good > 60 * programs, "too few points had a result to compare: {good}");
}

/// Programs of every operation at hard points, in both number types.
fn operations() -> Vec<InC> {
    let mut all = Vec::new();
    for probe in probes(40) {
        let points: Vec<Vec<f64>> = (0..probe.columns[0].len()).map(|l| probe.columns.iter().map(|c| c[l]).collect()).collect();
        let wrt: Vec<usize> = (0..probe.columns.len()).collect();
        let gradient = diff::gradient(&probe.graph, &wrt).is_ok();
        for dtype in [Dtype::F64, Dtype::F32] {
            all.push(InC { source: probe.source.clone(), graph: (*probe.graph).clone(), points: points.clone(), gradient, dtype });
        }
    }
    // One program for each text: its points come from all cases.
    let mut by_text: BTreeMap<String, InC> = BTreeMap::new();
    for (seed, one) in cases(7, 30).into_iter().enumerate() {
        let Some(new) = in_c(&one.case, 4 * (seed as u64 % 2) + 3 * (seed as u64 % 5 / 4), 1) else { continue };
        by_text.entry(one.case.source.clone()).and_modify(|old| old.points.extend(new.points.clone())).or_insert(new);
    }
    all.extend(by_text.into_values());
    all
}

#[test]
fn every_operation_has_the_same_bits_in_c() {
    let (good, programs) = compare(&operations(), limits(), "c-operations");
    println!("{good} points of {programs} programs are equal");
    assert!(good > 5_000, "too few points had a result to compare: {good}");
}

/// Programs that once went wrong: minors of one number have no numbers, of which gcc warned where it saw that.
#[test]
fn programs_that_once_went_wrong_compile_without_warnings() {
    let sources = ["(det (mat [x]))", "(* y (det (mat [(* x y)])))", "(total (inv (mat [(exp x)])))", "(det (mat [x y] [y 2]))"];
    let programs: Vec<InC> = sources
        .iter()
        .flat_map(|source| [Dtype::F64, Dtype::F32].map(|dtype| (source, dtype)))
        .map(|(source, dtype)| {
            let graph = compile(source, &Options::default()).and_then(|p| p.graph()).unwrap_or_else(|e| panic!("{source}: {e}"));
            let points = points(&vec![1.5; graph.inputs.len()], 100, 7);
            InC { source: source.to_string(), graph: (*graph).clone(), points, gradient: true, dtype }
        })
        .collect();
    // Alone, each is compiled as a user gets it.
    for (k, program) in programs.iter().enumerate() {
        let (good, kept) = compare(std::slice::from_ref(program), limits(), &format!("c-once-{k}"));
        assert!(kept == 1 && good > 100, "{}: {good}", program.source);
    }
}

#[test]
fn programs_and_operations_have_the_same_bits_in_rust() {
    let seeds = 0..oracle::setting("EXPORT_RUST_PROGRAMS", 20);
    let mut all: Vec<InC> =
        seeds.flat_map(|seed| [in_c(&everything(seed), seed, 50), in_c(&differentiable(seed), seed, 50)]).flatten().collect();
    all.extend(operations());
    let (mut good, mut programs) = (0, 0);
    for (k, part) in all.chunks(600).enumerate() {
        let (points, kept) = in_rust::compare(part, limits(), &format!("rust-{k}"));
        good += points;
        programs += kept;
    }
    println!("{good} points of {programs} programs of {} are equal", all.len());
    assert!(good > 5_000 && programs * 10 > all.len() * 9, "too few points had a result to compare: {good} of {programs} programs");
}

/// What C, Rust and ONNX cannot say is listed where users look for it, and nothing else is.
#[test]
fn operations_without_a_text_are_those_of_the_documentation() {
    let text = std::fs::read_to_string(oracle::root().join("docs/export.md")).expect("docs/export.md");
    for (target, name) in [(Target::C, "C"), (Target::Rust, "Rust"), (Target::Onnx, "ONNX")] {
        let start = format!("<!-- not in {name}:");
        let listed =
            text.split(&start).nth(1).and_then(|t| t.split("-->").next()).unwrap_or_else(|| panic!("docs/export.md has no {start}"));
        let nodes = Op::ALL.iter().filter(|op| !matches!(op.row().kernel, Kernel::Composite(_)));
        let missing: Vec<&str> = nodes.filter(|op| !says(target, **op)).map(|op| op.row().name).collect();
        assert_eq!(missing, listed.split_whitespace().collect::<Vec<_>>(), "{name}");
    }
}
