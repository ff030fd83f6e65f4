//! Programs exported to Rust, compiled and run beside the interpreter. In: graphs and columns of input values; out: how many points were
//! equal to the bit, statuses included, or a failure that shows the program. Many programs are the modules of one crate: some as a user
//! gets them, the others with one copy of the functions they carry along.

use crate::carried::{Carried, code, items};
use crate::in_c::{AS_WRITTEN, InC, check};
use crate::oracle;
use neural_compiler::Limits;
use neural_compiler::export::{Request, Target, export};
use neural_compiler::ops::real::Dtype;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::Command;

/// A module's own items, without it around them.
fn inside(item: &str) -> &str {
    let from = item.find("{\n").expect("a module") + 2;
    &item[from..item.rfind('}').expect("a module")]
}

/// What programs carry along: what is the same for both number types, the special functions among it, and what is of one type.
#[derive(Default)]
struct Shared {
    both: Carried,
    special: Carried,
    of_type: BTreeMap<&'static str, Carried>,
}

impl Shared {
    /// A program without the functions it carries along, which are collected: those of the module `nc`, and of `special` inside of it.
    fn apart(&mut self, text: &str, real: &'static str) -> String {
        let of_type = self.of_type.entry(real).or_default();
        let mut own = String::new();
        for item in items(text) {
            if code(item).starts_with("mod nc {") {
                for part in items(inside(item)) {
                    match code(part).trim_start() {
                        c if c.starts_with("use super::") => {}
                        c if c.starts_with("pub mod special {") => items(inside(part)).iter().for_each(|p| self.special.add(p)),
                        c if c.contains("Real") => of_type.add(part),
                        _ => self.both.add(part),
                    }
                }
                own += &format!("use crate::shared::{real}::nc;\n");
            } else if item.contains("pub enum Status {") {
                own += "use crate::shared::Status;\n";
            } else {
                own += item;
            }
        }
        own
    }

    /// The module of what is shared. Functions are made once, not anew wherever they are called: that takes the compiler minutes.
    fn text(&self, status: &str) -> String {
        let of_type = self.of_type.iter().map(|(real, own)| {
            format!(
                "pub mod {real} {{\npub type Real = {real};\npub mod nc {{\nuse super::Real;\nuse crate::shared::Status;\n\
                 pub use crate::shared::nc::*;\n{}}}\n}}\n",
                own.text
            )
        });
        let text = format!(
            "#![allow(unused, invalid_nan_comparisons, non_snake_case, non_camel_case_types)]\n{status}\
             pub mod nc {{\n{}pub mod special {{\n{}}}\n}}\n{}",
            self.both.text,
            self.special.text,
            of_type.collect::<String>()
        );
        text.replace("#[inline(always)]", "").replace("#[inline]", "")
    }
}

/// Exports, compiles and runs the programs; those that Rust cannot say are left out. The points compared, and the programs.
///
/// # Panics
/// At the first difference, and where the compiler complains.
pub fn compare(programs: &[InC], limits: Limits, name: &str) -> (usize, usize) {
    let folder = oracle::scratch(name);
    let mut kept: Vec<(usize, &InC)> = Vec::new();
    let mut shared = Shared::default();
    let mut status = String::new();
    let (mut modules, mut calls, mut input) = (String::new(), String::new(), Vec::new());
    for (k, program) in programs.iter().enumerate() {
        let (dtype, gradient) = (program.dtype, program.gradient);
        let request = Request { gradient, limits, ..Request::new(Target::Rust, dtype) };
        let files = match export(&program.graph, &request) {
            Ok(files) => files,
            Err(e) if e.0.iter().all(|d| d.code == "export-unsupported") => continue,
            Err(e) => panic!("{}\n{e}", program.source),
        };
        let real = if dtype == Dtype::F32 { "f32" } else { "f64" };
        let written = files[0].as_text().expect("a file of Rust");
        let text = if k % AS_WRITTEN == 0 { written.to_string() } else { shared.apart(written, real) };
        if status.is_empty() {
            status += items(written).iter().find(|i| i.contains("pub enum Status {")).expect("its statuses");
        }
        std::fs::write(folder.join(format!("p{k}.rs")), text).expect("a file of Rust");
        writeln!(modules, "mod p{k};").expect("a string");
        let ends = ".map_err(|s| 1 + s as u64)";
        let derivatives = if gradient { format!("Some(|i, o, g| p{k}::try_gradient(i, o, g){ends})") } else { "None".into() };
        writeln!(
            calls,
            "    each::<{real}, {{ p{k}::INPUTS }}, {{ p{k}::OUTPUTS }}>(&mut run, {}, |x| x as {real}, \
             |i, o| p{k}::try_value(i, o){ends}, {derivatives});",
            program.points.len()
        )
        .expect("a string");
        program.points.iter().flatten().for_each(|x| input.extend_from_slice(&x.to_ne_bytes()));
        kept.push((k, program));
    }
    if kept.is_empty() {
        return (0, 0);
    }
    writeln!(modules, "mod shared;").expect("a string");
    std::fs::write(folder.join("shared.rs"), shared.text(&status)).expect("a file of Rust");
    std::fs::write(folder.join("main.rs"), DRIVER.replace("@MODULES@", &modules).replace("@CALLS@", &calls)).expect("a file of Rust");
    std::fs::write(folder.join("points"), &input).expect("a file of points");
    let mut rustc = Command::new("rustc");
    rustc.current_dir(&folder).args(["--edition", "2024", "-D", "warnings", "-C", "opt-level=1", "-C", "lto=off", "-o", "all", "main.rs"]);
    oracle::run(&mut rustc, "install rustc").unwrap_or_else(|e| panic!("{e}\nthe files are in {}", folder.display()));
    oracle::run(Command::new(folder.join("all")).current_dir(&folder), "")
        .unwrap_or_else(|e| panic!("{e}\nthe files are in {}", folder.display()));
    let good = check(&folder, &kept, limits);
    std::fs::remove_dir_all(&folder).expect("the folder can be removed");
    (good, kept.len())
}

/// Reads points, runs programs, writes statuses and numbers, all as f64.
const DRIVER: &str = r#"@MODULES@
struct Run {
    points: Vec<u8>,
    at: usize,
    results: Vec<u8>,
}

impl Run {
    fn next(&mut self) -> f64 {
        let bytes = self.points[self.at..self.at + 8].try_into().unwrap();
        self.at += 8;
        f64::from_ne_bytes(bytes)
    }

    fn put<R: Copy + Into<f64>>(&mut self, numbers: &[R]) {
        numbers.iter().for_each(|&x| self.results.extend(x.into().to_ne_bytes()));
    }
}

type Value<R, const I: usize, const O: usize> = fn(&[R; I], &mut [R; O]) -> Result<(), u64>;
type Gradient<R, const I: usize, const O: usize> = fn(&[R; I], &mut [R; O], &mut [R; I]) -> Result<(), u64>;

/// The points of a program are read for its value, and once more for its gradient.
fn each<R: Copy + Default + Into<f64>, const I: usize, const O: usize>(
    run: &mut Run,
    count: usize,
    number: fn(f64) -> R,
    value: Value<R, I, O>,
    gradient: Option<Gradient<R, I, O>>,
) {
    let start = run.at;
    for pass in 0..=usize::from(gradient.is_some()) {
        run.at = start;
        for _ in 0..count {
            let inputs: [R; I] = std::array::from_fn(|_| number(run.next()));
            let (mut outputs, mut slopes) = ([R::default(); O], [R::default(); I]);
            let outcome = match gradient {
                Some(gradient) if pass == 1 => gradient(&inputs, &mut outputs, &mut slopes),
                _ => value(&inputs, &mut outputs),
            };
            run.results.extend(outcome.err().unwrap_or(0).to_ne_bytes());
            run.put(&outputs);
            if pass == 1 {
                run.put(&slopes);
            }
        }
    }
}

fn main() {
    let mut run = Run { points: std::fs::read("points").unwrap(), at: 0, results: Vec::new() };
@CALLS@    assert_eq!(run.at, run.points.len());
    std::fs::write("results", run.results).unwrap();
}
"#;
