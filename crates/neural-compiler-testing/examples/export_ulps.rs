//! The largest distance in ULP between exported functions and ours, by function and library. In: the table of operations; out: the table in
//! docs/export.md, written anew. `cargo run -p neural-compiler-testing --example export_ulps`
//!
//! Points are spread evenly over the logarithms of 0.001 to 100, both signs: where the libraries go their own ways at poles and in tails,
//! the tests of `export_python` and the lists of docs/export.md say so.

use neural_compiler::export::Target;
use neural_compiler_testing::in_python::{InPython, results, run, ulps};
use neural_compiler_testing::oracle;
use neural_compiler_testing::probe::probes;
use std::fmt::Write as _;

const TARGETS: [Target; 4] = [Target::Python, Target::Numpy, Target::Jax, Target::Onnx];
const POINTS: usize = 500;
const START: &str = "<!-- ULP by function: written by the example export_ulps -->\n";
const END: &str = "<!-- end of ULP by function -->";

fn main() {
    let all: Vec<_> = probes(1).collect();
    let mut rng = fastrand::Rng::with_seed(20);
    let mut number = || {
        let magnitude = 10f64.powf(-3.0 + 5.0 * rng.f64());
        if rng.bool() { magnitude } else { -magnitude }
    };
    let jobs: Vec<InPython> = all
        .iter()
        .map(|p| {
            let points = (0..POINTS).map(|_| p.columns.iter().map(|_| number()).collect()).collect();
            InPython { graph: (*p.graph).clone(), points, gradient: false }
        })
        .collect();
    let found: Vec<Vec<Option<Vec<Vec<f64>>>>> = TARGETS.iter().map(|&t| run(&jobs, t, &format!("ulps-{}", t.name()))).collect();
    let mut table = String::from("| function | python | numpy | jax | onnx |\n|---|---|---|---|---|\n");
    let mut close = [0; TARGETS.len()];
    for (k, (probe, job)) in all.iter().zip(&jobs).enumerate() {
        let name = probe.source.trim_start_matches('(').split(' ').next().expect("a name");
        let expected: Vec<f64> = job.points.iter().map(|p| results(&probe.graph, p).expect("probes have results")[0]).collect();
        let cells: Vec<String> = (0..TARGETS.len())
            .map(|t| match &found[t][k] {
                None => "-".into(),
                Some(values) => {
                    let far = expected.iter().zip(values).map(|(x, y)| ulps(*x, y[0])).fold(0.0, f64::max);
                    close[t] += usize::from(far <= 2.0);
                    if far < 1e4 { format!("{far}") } else { format!("{far:.0e}") }
                }
            })
            .collect();
        writeln!(table, "| `{name}` | {} |", cells.join(" | ")).expect("a string");
    }
    let path = oracle::root().join("docs/export.md");
    let text = std::fs::read_to_string(&path).expect("docs/export.md");
    let (before, rest) = text.split_once(START).expect("docs/export.md has a place for the table");
    let (_, after) = rest.split_once(END).expect("docs/export.md has a place for the table");
    std::fs::write(&path, format!("{before}{START}\n{table}\n{END}{after}")).expect("docs/export.md can be written");
    for (target, close) in TARGETS.iter().zip(close) {
        println!("{}: {close} functions within 2 ULP", target.name());
    }
}
