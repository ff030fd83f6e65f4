//! Programs exported to C, compiled and run beside the interpreter. In: graphs and columns of input values; out: how many points were
//! equal to the bit, statuses included, or a failure that shows the program. Many programs go through one call of the C compiler: some as
//! a user gets them, the others with one copy of the functions they carry along.

use crate::carried::{Carried, code, items};
use crate::oracle;
use crate::probe::inputs_at;
use neural_compiler::exec::interp::{self, RunOptions};
use neural_compiler::export::{Request, Target, export};
use neural_compiler::graph::Graph;
use neural_compiler::ops::real::{Dtype, Real};
use neural_compiler::{Limits, Tensor, diff};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// A program to run in C or Rust: its graph, and points, each with all numbers of all inputs.
pub struct InC {
    /// For the message of a failure.
    pub source: String,
    /// The program.
    pub graph: Graph,
    /// Input values.
    pub points: Vec<Vec<f64>>,
    /// Whether its gradient is compared too.
    pub gradient: bool,
    /// The number type.
    pub dtype: Dtype,
}

/// How C must be compiled; warnings are failures.
pub const FLAGS: &[&str] = &["-std=c99", "-O2", "-ffp-contract=off", "-Wall", "-Wextra", "-pedantic", "-Werror"];

/// Of so many programs one is compiled as a user gets it; the others share one copy of what they carry along.
pub(crate) const AS_WRITTEN: usize = 20;

/// Bytes of programs in one file: for twice as many gcc takes more than twice the time.
const LARGEST: usize = 400_000;

/// The words in which names begin that a program has for itself, whatever the functions it carries along.
const OWN: &[&str] = &[
    "nc_run",
    "nc_value",
    "nc_gradient",
    "nc_try_",
    "nc_cell",
    "NC_MODEL_H",
    "NC_INPUTS",
    "NC_OUTPUTS",
    "NC_GRADIENT",
    "NC_OK",
    "NC_INDEX_OUT_OF_RANGE",
    "NC_LIMIT_",
    "NC_MAX_",
    "NC_TAPE",
];

fn request<'a>(dtype: Dtype, gradient: bool, prefix: &'a str, limits: Limits) -> Request<'a> {
    Request { gradient, limits, prefix, ..Request::new(Target::C, dtype) }
}

/// A program without the functions it carries along, which are collected, its own names beginning with a prefix.
fn apart(text: &str, prefix: &str, carried: &mut Carried) -> String {
    let mut own = String::new();
    for item in items(text) {
        let common = ["static ", "typedef ", "#define "].iter().any(|s| code(item).starts_with(s)) && !OWN.iter().any(|o| item.contains(o));
        if common { carried.add(item) } else { own += item }
    }
    let upper = prefix.to_ascii_uppercase();
    OWN.iter().fold(own, |text, name| text.replace(name, &name.replace("nc_", &format!("{prefix}_")).replace("NC_", &format!("{upper}_"))))
}

/// Exports, compiles and runs the programs; those that C cannot say are left out. The points compared, and the programs.
///
/// # Panics
/// At the first difference, and where the C compiler complains.
pub fn compare(programs: &[InC], limits: Limits, name: &str) -> (usize, usize) {
    let folder = oracle::scratch(name);
    let mut kept: Vec<(usize, &InC)> = Vec::new();
    let mut shared: Vec<(&str, Carried, String)> = Vec::new();
    let mut files: Vec<String> = Vec::new();
    let mut table = String::new();
    let mut declarations = String::new();
    let mut input = Vec::new();
    let write = |file: &str, text: &str| std::fs::write(folder.join(file), text).expect("a file of C");
    for (k, program) in programs.iter().enumerate() {
        let prefix = format!("p{k}");
        let as_written = k % AS_WRITTEN == 0;
        let asked = request(program.dtype, program.gradient, if as_written { &prefix } else { "nc" }, limits);
        let written = match export(&program.graph, &asked) {
            Ok(files) => files,
            Err(e) if e.0.iter().all(|d| d.code == "export-unsupported") => continue,
            Err(e) => panic!("{}\n{e}", program.source),
        };
        let text = |name: &str| written.iter().find(|f| f.name == name).and_then(|f| f.as_text()).expect("a file of C").to_string();
        let both = text("model.h") + &text("model.c").replace("#include \"model.h\"", "");
        let t = if program.dtype == Dtype::F32 { "float" } else { "double" };
        if as_written {
            files.push(format!("{prefix}.c"));
            write(&files[files.len() - 1], &both);
        } else {
            let place = shared.iter().position(|s| s.0 == t && s.2.len() < LARGEST).unwrap_or_else(|| {
                shared.push((t, Carried::default(), String::new()));
                shared.len() - 1
            });
            let (_, carried, rest) = &mut shared[place];
            *rest += &apart(&both, &prefix, carried);
        }
        writeln!(declarations, "int {prefix}_try_value(const {t} *, {t} *);").expect("a string");
        let gradient = if program.gradient {
            writeln!(declarations, "int {prefix}_try_gradient(const {t} *, {t} *, {t} *);").expect("a string");
            format!("(any){prefix}_try_gradient")
        } else {
            "0".into()
        };
        let inputs: usize = program.graph.inputs.iter().map(|i| i.shape.len()).sum();
        let outputs: usize = program.graph.outputs().iter().map(|s| s.len()).sum();
        let single = u8::from(program.dtype == Dtype::F32);
        writeln!(table, "    {{ {single}, {}, {inputs}, {outputs}, (any){prefix}_try_value, {gradient} }},", program.points.len())
            .expect("a string");
        program.points.iter().flatten().for_each(|x| input.extend_from_slice(&x.to_ne_bytes()));
        kept.push((k, program));
    }
    if kept.is_empty() {
        return (0, 0);
    }
    for (k, (_, carried, rest)) in shared.iter().enumerate() {
        files.push(format!("shared{k}.c"));
        write(&files[files.len() - 1], &format!("#include <float.h>\n#include <math.h>\n#include <stdint.h>\n{}{rest}", carried.text));
    }
    write("driver.c", &DRIVER.replace("@DECLARATIONS@", &declarations).replace("@TABLE@", &table));
    std::fs::write(folder.join("points"), &input).expect("a file of points");
    let mut gcc = Command::new("gcc");
    gcc.current_dir(&folder).args(FLAGS).args(["-o", "all", "driver.c"]).args(&files).arg("-lm");
    oracle::run(&mut gcc, "install gcc").unwrap_or_else(|e| panic!("{e}\nthe files are in {}", folder.display()));
    oracle::run(Command::new(folder.join("all")).current_dir(&folder), "")
        .unwrap_or_else(|e| panic!("{e}\nthe files are in {}", folder.display()));
    let good = check(&folder, &kept, limits);
    std::fs::remove_dir_all(&folder).expect("the folder can be removed");
    (good, kept.len())
}

/// Compares what programs wrote, in whatever language, with the interpreter.
pub(crate) fn check(folder: &Path, kept: &[(usize, &InC)], limits: Limits) -> usize {
    let bytes = std::fs::read(folder.join("results")).expect("the results of the programs");
    let mut numbers = bytes.chunks_exact(8).map(|b| u64::from_ne_bytes(b.try_into().expect("eight bytes")));
    let mut good = 0;
    for (k, program) in kept {
        let wrt: Vec<usize> = (0..program.graph.inputs.len()).collect();
        let gradient = program.gradient.then(|| diff::gradient(&program.graph, &wrt).expect("the gradient was exported"));
        for graph in std::iter::once(&program.graph).chain(&gradient) {
            for point in &program.points {
                let what = format!("{}\nprogram {k} in {}, {}, at {point:?}", program.source, folder.display(), program.dtype.name());
                good += match program.dtype {
                    Dtype::F32 => point_agrees::<f32>(graph, point, limits, &mut numbers, &what),
                    Dtype::F64 => point_agrees::<f64>(graph, point, limits, &mut numbers, &what),
                };
            }
        }
    }
    assert_eq!(numbers.next(), None, "more was written than was asked for");
    good
}

fn point_agrees<T: Real>(graph: &Graph, point: &[f64], limits: Limits, numbers: &mut impl Iterator<Item = u64>, what: &str) -> usize {
    let inputs: Vec<Tensor<T>> = inputs_at(graph, point);
    let status = numbers.next().expect("a status");
    let found: Vec<u64> = numbers.take(graph.outputs().iter().map(|s| s.len()).sum()).collect();
    let wanted = match interp::run(graph, &inputs, &RunOptions { limits, trap: false }).map_err(|e| e.code) {
        Ok(results) => {
            assert_eq!(status, 0, "{what}: it ends with a status");
            results.iter().flat_map(|t| t.data().iter().map(|x| x.to_f64())).collect::<Vec<f64>>()
        }
        Err(code) => {
            let expected = match code {
                "index-out-of-range" | "outside-grid" => 1,
                "limit-steps" | "limit-iterations" => 2,
                "limit-depth" => 3,
                other => panic!("{what}: {other}"),
            };
            assert_eq!(status, expected, "{what}: {code}");
            vec![f64::NAN; found.len()]
        }
    };
    for (e, (x, &y)) in wanted.iter().zip(&found).enumerate() {
        assert_eq!(x.to_bits(), y, "{what}\nnumber {e}: {:?} instead of {x:?}", f64::from_bits(y));
    }
    usize::from(status == 0)
}

/// Reads points, runs programs, writes statuses and numbers, all as f64.
const DRIVER: &str = r#"#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

@DECLARATIONS@
typedef void (*any)(void);
static const struct { int single, points, inputs, outputs; any value, gradient; } table[] = {
@TABLE@};

static double in[65536], out[65536], gradient[65536];
static float in32[65536], out32[65536], gradient32[65536];

static void put(FILE *to, int status, int n, const double *x)
{
    uint64_t word = (uint64_t)status;
    fwrite(&word, 8, 1, to);
    fwrite(x, 8, (size_t)n, to);
}

int main(void)
{
    FILE *points = fopen("points", "rb"), *results = fopen("results", "wb");
    size_t k;
    if (!points || !results) return 1;
    for (k = 0; k < sizeof table / sizeof *table; k++) {
        const int n = table[k].inputs, m = table[k].outputs, derivatives = table[k].gradient != 0;
        const long start = ftell(points);
        int pass, p, i, status;
        for (pass = 0; pass <= derivatives; pass++) {
            fseek(points, start, SEEK_SET);
            for (p = 0; p < table[k].points; p++) {
                if (fread(in, 8, (size_t)n, points) != (size_t)n) return 1;
                for (i = 0; i < n; i++) in32[i] = (float)in[i];
                if (table[k].single) {
                    status = pass ? ((int (*)(const float *, float *, float *))table[k].gradient)(in32, out32, gradient32)
                                  : ((int (*)(const float *, float *))table[k].value)(in32, out32);
                    for (i = 0; i < m; i++) out[i] = out32[i];
                    for (i = 0; i < n; i++) gradient[i] = gradient32[i];
                } else {
                    status = pass ? ((int (*)(const double *, double *, double *))table[k].gradient)(in, out, gradient)
                                  : ((int (*)(const double *, double *))table[k].value)(in, out);
                }
                put(results, status, m, out);
                if (pass) fwrite(gradient, 8, (size_t)n, results);
            }
        }
    }
    return fclose(results) != 0;
}
"#;
