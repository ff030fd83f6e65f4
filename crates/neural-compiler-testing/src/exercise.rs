//! One text through everything the library can do with it. In: any text; out: how far it came, or which promise was broken.
//! Panics, hangs and runaway memory are for the caller to notice.

use fastrand::Rng;
use neural_compiler::exec::interp::{self, RunOptions};
use neural_compiler::graph::{Graph, json, print, verify::verify};
use neural_compiler::ops::real::{Dtype, Real};
use neural_compiler::syntax::Syntax;
use neural_compiler::syntax::format::format;
use neural_compiler::syntax::translate::translate;
use neural_compiler::{Diagnostics, InputShape, Limits, Options, Program, Shape, Tensor, compile, diff, domain};

/// How far a text came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reached {
    /// It has no meaning: diagnostics.
    Rejected,
    /// It compiles, but no run came to an end.
    Compiled,
    /// It gave values.
    Ran,
    /// It gave a gradient as well.
    Differentiated,
}

/// Bounds small enough that no text can take long.
pub fn small_limits() -> Limits {
    Limits { source_bytes: 1 << 20, nesting: 2_000, nodes: 20_000, iterations: 10_000, depth: 200, steps: 20_000, memory_bytes: 64 << 20 }
}

/// Derivatives are taken of graphs up to this size and inputs up to this length: beyond, an input takes too long for a fuzzer.
const MOST_NODES: usize = 3_000;
const MOST_INPUTS: usize = 24;

/// Reads a text in every syntax but Scheme, whatever it is written in; a program is the same program in Scheme.
fn surfaces(text: &str, limits: &Limits) -> Result<(), String> {
    for syntax in [Syntax::Infix, Syntax::Latex] {
        let program = match compile(text, &Options { limits: *limits, syntax, ..Options::default() }) {
            Ok(program) => program,
            Err(errors) => {
                check_diagnostics(text, &errors)?;
                continue;
            }
        };
        let broken = |what: &str, e: Diagnostics| format!("{what} of a program in {}: {e}", syntax.name());
        let scheme = translate(text, syntax, Syntax::Scheme, limits).map_err(|e| broken("no Scheme", e))?;
        let most = Limits { source_bytes: usize::MAX, nesting: usize::MAX, ..*limits };
        let again = compile(&scheme, &Options { limits: most, ..Options::default() }).map_err(|e| broken("wrong Scheme", e))?;
        if again.ast().to_text() != program.ast().to_text() {
            return Err(format!("another program in Scheme than in {}\n{scheme}", syntax.name()));
        }
        let own = translate(text, syntax, Syntax::Infix, limits).map_err(|e| broken("no infix", e))?;
        // What LaTeX sets as one word may look like a product in infix, and is refused there.
        if syntax == Syntax::Infix {
            compile(&own, &Options { limits: most, syntax, ..Options::default() }).map_err(|e| broken("wrong infix", e))?;
        }
        program.latex();
    }
    Ok(())
}

/// Drives a text through the library; `Err` says which promise was broken.
pub fn exercise(text: &str) -> Result<Reached, String> {
    let limits = small_limits();
    surfaces(text, &limits)?;
    let formatted = format(text, &limits);
    if let Err(errors) = &formatted {
        check_diagnostics(text, errors)?;
    }
    let program = match compile(text, &Options { limits, ..Options::default() }) {
        Ok(program) => program,
        Err(errors) => {
            check_diagnostics(text, &errors)?;
            return Ok(Reached::Rejected);
        }
    };
    let formatted = formatted.map_err(|e| format!("a program that compiles cannot be formatted: {e}"))?;
    check_format(&program, &formatted, &limits)?;
    program.anf_text();
    let mut rng = Rng::with_seed(text.len() as u64);
    let shapes: Vec<Shape> = program
        .input_shapes()
        .iter()
        .map(|s| match s {
            InputShape::Known(s) => *s,
            InputShape::Vector => Shape::Vector(3),
            InputShape::Matrix => Shape::Matrix(2, 2),
        })
        .collect();
    let graph = match program.specialise(&shapes) {
        Ok(graph) => graph,
        Err(errors) => {
            check_diagnostics(text, &errors)?;
            return Ok(Reached::Compiled);
        }
    };
    check_graph(&graph)?;
    let numbers: Vec<Vec<f64>> = shapes.iter().map(|s| (0..s.len()).map(|_| probe(&mut rng)).collect()).collect();
    let ran = run_thrice(&graph, &numbers, &limits)?;
    run::<f32>(&graph, &numbers, &limits);
    let mut reached = if ran { Reached::Ran } else { Reached::Compiled };
    if graph.size() <= MOST_NODES && shapes.iter().map(|s| s.len()).sum::<usize>() <= MOST_INPUTS {
        check_domain(&graph, &numbers);
        if derivatives(&graph, &numbers, &limits)? {
            reached = Reached::Differentiated;
        }
    }
    Ok(reached)
}

fn probe(rng: &mut Rng) -> f64 {
    match rng.u32(..8) {
        0 => [0.0, -0.0, 1e300, f64::NAN, f64::INFINITY, -1.0][rng.usize(..6)],
        1..=3 => f64::from(rng.i32(-3..4)),
        _ => (rng.f64() - 0.5) * 4.0,
    }
}

fn check_diagnostics(text: &str, errors: &Diagnostics) -> Result<(), String> {
    if errors.0.is_empty() {
        return Err("a failure without a diagnostic".into());
    }
    for d in &errors.0 {
        let spans = std::iter::once(d.span).chain(d.labels.iter().map(|l| l.span));
        for span in spans {
            if text.get(span.start as usize..span.end as usize).is_none() {
                return Err(format!("the span {}..{} of `{}` does not fit the text", span.start, span.end, d.code));
            }
        }
        if d.code.is_empty() || !d.code.bytes().all(|b| b.is_ascii_lowercase() || b == b'-') || d.message.is_empty() {
            return Err(format!("`{}` is no stable code, or has no message", d.code));
        }
    }
    Ok(())
}

fn check_format(program: &Program, formatted: &str, limits: &Limits) -> Result<(), String> {
    if format(formatted, limits).as_deref() != Ok(formatted) {
        return Err(format!("formatting twice is not formatting once:\n{formatted}"));
    }
    let again = compile(formatted, &Options { limits: *limits, ..Options::default() })
        .map_err(|e| format!("the formatted text does not compile: {e}\n{formatted}"))?;
    if again.ast().to_text() != program.ast().to_text() {
        return Err(format!("formatting changes the program:\n{formatted}"));
    }
    Ok(())
}

fn check_graph(graph: &Graph) -> Result<(), String> {
    verify(graph).map_err(|e| format!("the verifier says: {e}"))?;
    // Derivatives of large programs are large: printing them all would take most of the time.
    if graph.size() <= 200 {
        print::to_text(graph);
        print::to_dot(graph);
        json::to_json(graph);
    }
    Ok(())
}

/// Interval analysis on boxes around the inputs; what it finds is for other tests to judge.
fn check_domain(graph: &Graph, numbers: &[Vec<f64>]) {
    let around: Vec<Option<(f64, f64)>> = numbers.iter().map(|v| v[0].is_finite().then(|| (v[0] - 0.5, v[0] + 0.5))).collect();
    domain::check(graph, &around, Dtype::F64);
    domain::check(graph, &vec![None; numbers.len()], Dtype::F32);
}

fn inputs<T: Real>(graph: &Graph, numbers: &[Vec<f64>]) -> Vec<Tensor<T>> {
    graph.inputs.iter().zip(numbers).map(|(i, n)| Tensor::from_f64(i.shape, n).expect("as many numbers as the shape has")).collect()
}

/// Runs a graph; whether it came to an end.
fn run<T: Real>(graph: &Graph, numbers: &[Vec<f64>], limits: &Limits) -> bool {
    interp::run(graph, &inputs::<T>(graph, numbers), &RunOptions { limits: *limits, trap: false }).is_ok()
}

/// Runs a graph twice, and trapping as well; whether it came to an end.
fn run_thrice(graph: &Graph, numbers: &[Vec<f64>], limits: &Limits) -> Result<bool, String> {
    let inputs = inputs::<f64>(graph, numbers);
    let once = interp::run(graph, &inputs, &RunOptions { limits: *limits, trap: false });
    let again = interp::run(graph, &inputs, &RunOptions { limits: *limits, trap: false });
    if !same(&once, &again) {
        return Err(format!("two runs differ: {once:?} and {again:?}"));
    }
    let trapped = interp::run(graph, &inputs, &RunOptions { limits: *limits, trap: true });
    if trapped.is_ok() && !same(&once, &trapped) {
        return Err(format!("trapping changes the result: {once:?} and {trapped:?}"));
    }
    Ok(once.is_ok())
}

fn same<T: Real>(a: &Result<Vec<Tensor<T>>, neural_compiler::EvalError>, b: &Result<Vec<Tensor<T>>, neural_compiler::EvalError>) -> bool {
    let bits =
        |t: &Tensor<T>| t.data().iter().map(|x| if x.is_nan() { f64::NAN.to_bits() } else { x.to_f64().to_bits() }).collect::<Vec<_>>();
    match (a, b) {
        (Ok(a), Ok(b)) => a.len() == b.len() && a.iter().zip(b).all(|(x, y)| bits(x) == bits(y)),
        (Err(a), Err(b)) => a == b,
        _ => false,
    }
}

fn derivatives(graph: &Graph, numbers: &[Vec<f64>], limits: &Limits) -> Result<bool, String> {
    let wrt: Vec<usize> = (0..graph.inputs.len()).collect();
    let forward = diff::jvp(graph, &wrt);
    check_graph(&forward)?;
    let with_tangents: Vec<Vec<f64>> = numbers.iter().chain(numbers).cloned().collect();
    run::<f64>(&forward, &with_tangents, limits);
    if graph.outputs() != [Shape::Scalar] {
        return Ok(false);
    }
    let reverse = diff::gradient(graph, &wrt).map_err(|e| format!("a scalar program without a gradient: {e}"))?;
    check_graph(&reverse)?;
    let ran = run::<f64>(&reverse, numbers, limits);
    run::<f32>(&reverse, numbers, limits);
    if graph.size() <= MOST_NODES / 8 {
        let second = diff::hessian(graph, &wrt).map_err(|e| format!("a scalar program without second derivatives: {e}"))?;
        check_graph(&second)?;
        run::<f64>(&second, numbers, limits);
    }
    Ok(ran)
}
