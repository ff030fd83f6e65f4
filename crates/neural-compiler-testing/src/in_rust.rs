//! Programs exported to Rust, compiled and run beside the interpreter. In: graphs and columns of input values; out: how many points were
//! equal to the bit, statuses included, or a failure that shows the program. Many programs are the modules of one crate.

use crate::in_c::{InC, check};
use crate::oracle;
use neural_compiler::Limits;
use neural_compiler::export::{Request, Target, export};
use neural_compiler::ops::real::Dtype;
use std::fmt::Write as _;
use std::process::Command;

/// Exports, compiles and runs the programs; those that Rust cannot say are left out. The points compared, and the programs.
///
/// # Panics
/// At the first difference, and where the compiler complains.
pub fn compare(programs: &[InC], limits: Limits, name: &str) -> (usize, usize) {
    let folder = oracle::scratch(name);
    let mut kept: Vec<(usize, &InC)> = Vec::new();
    let (mut modules, mut calls, mut input) = (String::new(), String::new(), Vec::new());
    for (k, program) in programs.iter().enumerate() {
        let (dtype, gradient) = (program.dtype, program.gradient);
        let request = Request { gradient, limits, ..Request::new(Target::Rust, dtype) };
        let files = match export(&program.graph, &request) {
            Ok(files) => files,
            Err(e) if e.0.iter().all(|d| d.code == "export-unsupported") => continue,
            Err(e) => panic!("{}\n{e}", program.source),
        };
        std::fs::write(folder.join(format!("p{k}.rs")), &files[0].bytes).expect("a file of Rust");
        writeln!(modules, "mod p{k};").expect("a string");
        let real = if dtype == Dtype::F32 { "f32" } else { "f64" };
        for what in ["value", "gradient"] {
            if what == "gradient" && !gradient {
                continue;
            }
            // The points of a program are read for its value, and once more for its gradient.
            let at = if what == "value" && gradient { "at.clone()" } else { "at" };
            let (given, found) = match what {
                "value" => ("", "None"),
                _ => (", &mut gradient", "Some(&gradient.map(f64::from)[..])"),
            };
            writeln!(
                calls,
                "    for point in points(&bytes, &mut {at}, {}, p{k}::INPUTS) {{\n        \
                 let inputs: [{real}; p{k}::INPUTS] = std::array::from_fn(|i| point[i] as {real});\n        \
                 let (mut outputs, mut gradient) = ([0 as {real}; p{k}::OUTPUTS], [0 as {real}; p{k}::INPUTS]);\n        \
                 let status = p{k}::try_{what}(&inputs, &mut outputs{given}).map_or_else(|s| 1 + s as u64, |()| 0);\n        \
                 put(&mut results, status, &outputs.map(f64::from), {found});\n    }}",
                program.points.len(),
            )
            .expect("a string");
        }
        program.points.iter().flatten().for_each(|x| input.extend_from_slice(&x.to_ne_bytes()));
        kept.push((k, program));
    }
    if kept.is_empty() {
        return (0, 0);
    }
    std::fs::write(folder.join("main.rs"), DRIVER.replace("@MODULES@", &modules).replace("@CALLS@", &calls)).expect("a file of Rust");
    std::fs::write(folder.join("points"), &input).expect("a file of points");
    let mut rustc = Command::new("rustc");
    rustc.current_dir(&folder).args(["--edition", "2024", "-D", "warnings", "-C", "opt-level=1", "-o", "all", "main.rs"]);
    oracle::run(&mut rustc, "install rustc").unwrap_or_else(|e| panic!("{e}\nthe files are in {}", folder.display()));
    oracle::run(Command::new(folder.join("all")).current_dir(&folder), "")
        .unwrap_or_else(|e| panic!("{e}\nthe files are in {}", folder.display()));
    let good = check(&folder, &kept, limits);
    std::fs::remove_dir_all(&folder).expect("the folder can be removed");
    (good, kept.len())
}

/// Reads points, runs programs, writes statuses and numbers, all as f64.
const DRIVER: &str = r#"#![allow(clippy::all, unused_mut, unused_variables)]

@MODULES@
fn points(bytes: &[u8], at: &mut usize, count: usize, inputs: usize) -> Vec<Vec<f64>> {
    let mut next = || {
        let x = f64::from_ne_bytes(bytes[*at..*at + 8].try_into().unwrap());
        *at += 8;
        x
    };
    (0..count).map(|_| (0..inputs).map(|_| next()).collect()).collect()
}

fn put(to: &mut Vec<u8>, status: u64, outputs: &[f64], gradient: Option<&[f64]>) {
    to.extend(status.to_ne_bytes());
    outputs.iter().chain(gradient.unwrap_or(&[])).for_each(|x| to.extend(x.to_ne_bytes()));
}

fn main() {
    let bytes = std::fs::read("points").unwrap();
    let mut results = Vec::new();
    let mut at = 0;
@CALLS@    std::fs::write("results", results).unwrap();
    assert_eq!(at, bytes.len());
}
"#;
