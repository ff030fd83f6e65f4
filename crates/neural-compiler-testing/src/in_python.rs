//! Programs exported to Python or ONNX, run beside the interpreter. In: programs and points; out: what Python made of each, as numbers, and
//! what the interpreter does.

use crate::oracle;
use crate::probe::inputs_at;
use neural_compiler::exec::interp;
use neural_compiler::export::{Request, Target, export};
use neural_compiler::graph::Graph;
use neural_compiler::ops::real::Dtype;
use serde_json::{Value, json};

/// A program to run in Python: its graph, points, each with all numbers of all inputs, and whether its gradient is wanted too.
pub struct InPython {
    /// The program.
    pub graph: Graph,
    /// Input values.
    pub points: Vec<Vec<f64>>,
    /// Whether its gradient is wanted too.
    pub gradient: bool,
}

/// Calls every function at every point; of the gradient the value comes first.
const SCRIPT: &str = include_str!("in_python.py");

/// What Python gives for the programs that the target can say; `None` for the others.
///
/// # Panics
/// Where a program cannot be exported for another reason, or Python fails.
pub fn run(programs: &[InPython], target: Target, name: &str) -> Vec<Option<Vec<Vec<f64>>>> {
    let folder = oracle::scratch(name);
    let mut jobs: Vec<Value> = Vec::new();
    let mut exported = vec![false; programs.len()];
    for (k, program) in programs.iter().enumerate() {
        let request = Request { gradient: program.gradient, ..Request::new(target, Dtype::F64) };
        let file = match export(&program.graph, &request) {
            Ok(mut files) => files.remove(0),
            Err(e) if e.0.iter().all(|d| d.code == "export-unsupported") => continue,
            Err(e) => panic!("{e}"),
        };
        std::fs::write(folder.join(format!("p{k}")), file.bytes).expect("an exported file");
        let points: Vec<Vec<u64>> = program.points.iter().map(|p| p.iter().map(|x| x.to_bits()).collect()).collect();
        let shapes: Vec<Vec<usize>> = program.graph.inputs.iter().map(|i| i.shape.dims()).collect();
        let name = format!("p{k}");
        jobs.push(json!({"name": name, "target": target.name(), "gradient": program.gradient, "points": points, "shapes": shapes}));
        exported[k] = true;
    }
    std::fs::write(folder.join("jobs.json"), json!(jobs).to_string()).expect("a file of jobs");
    std::fs::write(folder.join("run.py"), SCRIPT).expect("a script");
    let printed = oracle::run(oracle::python().arg("run.py").current_dir(&folder), "make deps")
        .unwrap_or_else(|e| panic!("{e}\nthe files are in {}", folder.display()));
    let answers: Vec<Vec<Vec<u64>>> = serde_json::from_str(&printed).expect("the script prints JSON");
    std::fs::remove_dir_all(&folder).expect("the folder can be removed");
    let mut answers = answers.into_iter();
    let numbers = |rows: Vec<Vec<u64>>| rows.into_iter().map(|r| r.into_iter().map(f64::from_bits).collect()).collect();
    exported.into_iter().map(|there| if there { answers.next().map(numbers) } else { None }).collect()
}

/// What the interpreter makes of a point; `None` where it ends with an error.
///
/// # Panics
/// Where the point has not the numbers of the program's inputs.
pub fn results(graph: &Graph, point: &[f64]) -> Option<Vec<f64>> {
    let values = interp::run::<f64>(graph, &inputs_at(graph, point), &Default::default()).ok()?;
    Some(values.iter().flat_map(|t| t.data().to_vec()).collect())
}

/// Distance in units of the last place; NaNs are equal.
pub fn ulps(x: f64, y: f64) -> f64 {
    if x.is_nan() || y.is_nan() || x == y {
        return if x.is_nan() == y.is_nan() { 0.0 } else { f64::INFINITY };
    }
    let place = |x: f64| if x.is_sign_negative() { -i128::from(x.to_bits() & (u64::MAX >> 1)) } else { i128::from(x.to_bits()) };
    (place(x) - place(y)).unsigned_abs() as f64
}
