//! Runs a block. In: a block; out: what is not as it says.

use crate::reading::{Block, Value, What, show};
use neural_compiler::diff::{gradient, hessian, jvp};
use neural_compiler::domain::check;
use neural_compiler::exec::interp::{RunOptions, run};
use neural_compiler::graph::Graph;
use neural_compiler::ops::real::{Dtype, Real};
use neural_compiler::syntax::ast::{InputKind, StateStart};
use neural_compiler::units::parse;
use neural_compiler::{Diagnostics, InputShape, Options, Program, Shape, Tensor, compile, compose};
use std::sync::Arc;

/// Agreement of forward with reverse mode, and of `~>` with the value.
const NEAR: f64 = 1e-12;

/// Why something has no value.
struct Failed {
    codes: Vec<String>,
    text: String,
}

impl From<Diagnostics> for Failed {
    fn from(d: Diagnostics) -> Failed {
        let mut codes: Vec<String> = d.0.iter().map(|d| d.code.to_string()).collect();
        codes.dedup();
        Failed { codes, text: d.to_string() }
    }
}

impl From<neural_compiler::EvalError> for Failed {
    fn from(e: neural_compiler::EvalError) -> Failed {
        Failed { codes: vec![e.code.to_string()], text: e.to_string() }
    }
}

struct Setup {
    options: Options,
    dtype: Dtype,
    chain: Option<String>,
    feed: Option<(String, String)>,
}

fn setup(block: &Block) -> Result<Setup, String> {
    let mut s = Setup { options: Options { syntax: block.syntax, ..Options::default() }, dtype: Dtype::F64, chain: None, feed: None };
    for d in &block.directives {
        match &d.what {
            What::Dtype(t) => s.dtype = *t,
            What::Inputs(names) => s.options.inputs = Some(names.iter().map(|n| (n.clone(), None)).collect()),
            What::Chain(p) => s.chain = Some(p.clone()),
            What::Feed(n, p) => s.feed = Some((n.clone(), p.clone())),
            What::Limits(list) => {
                for (name, n) in list {
                    let l = &mut s.options.limits;
                    match name.as_str() {
                        "source_bytes" => l.source_bytes = *n,
                        "nesting" => l.nesting = *n,
                        "nodes" => l.nodes = *n,
                        "iterations" => l.iterations = *n as u64,
                        "depth" => l.depth = *n,
                        "steps" => l.steps = *n as u64,
                        "memory_bytes" => l.memory_bytes = *n,
                        other => return Err(format!("unknown limit `{other}`")),
                    }
                }
            }
            _ => {}
        }
    }
    Ok(s)
}

fn compiled(block: &Block, setup: &Setup) -> Result<Program, Failed> {
    let program = compile(&block.program, &setup.options)?;
    Ok(match (&setup.chain, &setup.feed) {
        (Some(first), _) => compose::chain(&[&compile(first, &setup.options)?, &program])?,
        (None, Some((name, inner))) => compose::feed(&program, name, &compile(inner, &setup.options)?)?,
        (None, None) => program,
    })
}

/// The values of the inputs, in order: those given, or those declared.
fn arguments(program: &Program, with: &[(String, Value)]) -> Vec<Value> {
    let declared = |kind: &InputKind, shape: Option<Shape>| match kind {
        InputKind::Param(info) => Some(Value { shape: shape?, data: info.initial.clone() }),
        InputKind::State(StateStart::Value(v)) => Some(Value { shape: shape?, data: v.clone() }),
        InputKind::Free
        | InputKind::Declared
        | InputKind::State(StateStart::Name(_) | StateStart::Expression | StateStart::Steady(_))
        | InputKind::Weight { .. } => None,
    };
    let of = |i: &neural_compiler::syntax::ast::Input| {
        with.iter().find(|(n, _)| *n == i.name).map(|(_, v)| v.clone()).or_else(|| declared(&i.kind, i.shape))
    };
    program.inputs().iter().filter_map(of).collect()
}

fn graph_for(program: &Program, args: &[Value]) -> Result<Arc<Graph>, Failed> {
    if args.is_empty() && !program.inputs().is_empty() {
        return Ok(program.graph()?);
    }
    Ok(program.specialise(&args.iter().map(|v| v.shape).collect::<Vec<_>>())?)
}

fn tensors<T: Real>(args: &[Value]) -> Vec<Tensor<T>> {
    args.iter().map(|v| Tensor::from_f64(v.shape, &v.data).expect("a value fits its shape")).collect()
}

/// Whether a result is what was written.
fn agrees<T: Real>(found: &Tensor<T>, wanted: &Value, exact: bool) -> bool {
    let same = |(x, w): (&T, &f64)| {
        let (x, w) = (x.to_f64(), T::from_f64(*w).to_f64());
        if x.is_nan() || w.is_nan() {
            x.is_nan() && w.is_nan()
        } else if exact || !x.is_finite() || !w.is_finite() {
            x.to_bits() == w.to_bits()
        } else {
            (x - w).abs() <= NEAR * w.abs()
        }
    };
    found.shape() == wanted.shape && found.data().iter().zip(&wanted.data).all(same)
}

fn expect<T: Real>(found: &Tensor<T>, wanted: &Value, exact: bool) -> Result<(), String> {
    if agrees(found, wanted, exact) { Ok(()) } else { Err(format!("gives {}", show(found))) }
}

/// The position of a named input.
fn position(program: &Program, name: &str) -> Result<usize, String> {
    program.inputs().iter().position(|i| i.name == name).ok_or(format!("there is no input `{name}`"))
}

/// Forward mode must give the same gradient, to rounding.
fn forward_agrees(graph: &Graph, args: &[Value], wrt: usize, reverse: &Tensor<f64>, options: &RunOptions) -> Result<(), String> {
    if reverse.data().iter().any(|x| !x.is_finite()) {
        return Ok(());
    }
    let along = jvp(graph, &[wrt]);
    for k in 0..reverse.data().len() {
        let mut inputs = tensors::<f64>(args);
        let mut direction = vec![0.0; reverse.data().len()];
        direction[k] = 1.0;
        inputs.push(Tensor::new(args[wrt].shape, direction).expect("the shape of the input"));
        let out = run(&along, &inputs, options).map_err(|e| format!("forward mode: {e}"))?;
        let (f, r) = (out[1].data()[0], reverse.data()[k]);
        if (f - r).abs() > NEAR * f.abs().max(r.abs()).max(1.0) {
            return Err(format!("forward mode gives {f}, reverse mode {r}"));
        }
    }
    Ok(())
}

pub(crate) fn run_block(block: &Block) -> Vec<String> {
    let mut failures = Vec::new();
    let setup = match setup(block) {
        Ok(s) => s,
        Err(e) => return vec![format!("{}:{}: {e}", block.file, block.line)],
    };
    let program = compiled(block, &setup);
    let mut with: Vec<(String, Value)> = Vec::new();
    for d in &block.directives {
        if let What::With(values) = &d.what {
            with = values.clone();
        }
        if !d.what.is_expectation() {
            continue;
        }
        let result = match (&program, setup.dtype) {
            (Err(e), _) => match &d.what {
                What::Error(codes) if *codes == e.codes => Ok(()),
                _ => Err(format!("the program does not compile: {}", e.text)),
            },
            (Ok(p), Dtype::F64) => expectation::<f64>(p, &setup, &with, &d.what),
            (Ok(p), Dtype::F32) => expectation::<f32>(p, &setup, &with, &d.what),
        };
        if let Err(e) = result {
            failures.push(format!("{}:{}: {e}", block.file, d.line));
        }
    }
    failures
}

fn expectation<T: Real>(program: &Program, setup: &Setup, with: &[(String, Value)], what: &What) -> Result<(), String> {
    for (name, _) in with {
        position(program, name)?;
    }
    let args = arguments(program, with);
    let limits = setup.options.limits;
    let options = RunOptions { limits, trap: matches!(what, What::Trap(_)) };
    let text = |f: Failed| f.text;
    match what {
        What::Value(v, exact) => {
            let graph = graph_for(program, &args).map_err(text)?;
            let out = run(&graph, &tensors::<T>(&args), &options).map_err(|e| text(e.into()))?;
            expect(&out[0], v, *exact)
        }
        What::Grad(name, v, exact) => {
            let wrt = position(program, name)?;
            let graph = graph_for(program, &args).map_err(text)?;
            let slope = gradient(&graph, &[wrt]).map_err(|e| text(e.into()))?;
            let out = run(&slope, &tensors::<T>(&args), &options).map_err(|e| text(e.into()))?;
            expect(&out[1], v, *exact)?;
            let reverse = run(&slope, &tensors::<f64>(&args), &options).map_err(|e| text(e.into()))?;
            forward_agrees(&graph, &args, wrt, &reverse[1], &options)
        }
        What::Hessian(a, b, v, exact) => {
            let wrt = [position(program, a)?, position(program, b)?];
            let graph = graph_for(program, &args).map_err(text)?;
            // Results: the value, the gradient, then the blocks row by row.
            let (list, at) = if wrt[0] == wrt[1] { (&wrt[..1], 2) } else { (&wrt[..], 4) };
            let second = hessian(&graph, list).map_err(|e| text(e.into()))?;
            let out = run(&second, &tensors::<T>(&args), &options).map_err(|e| text(e.into()))?;
            expect(&out[at], v, *exact)
        }
        What::Error(codes) => {
            let outcome = graph_for(program, &args).and_then(|g| {
                let out = run(&g, &tensors::<T>(&args), &options)?;
                Ok((g, out))
            });
            match outcome {
                Err(e) if e.codes == *codes => Ok(()),
                Err(e) => Err(format!("the error is another: {}", e.text)),
                // A gradient may fail where the value does not.
                Ok((g, out)) => match gradient(&g, &[]).map_err(Failed::from) {
                    Err(e) if e.codes == *codes => Ok(()),
                    _ => Err(format!("no error, it gives {}", show(&out[0]))),
                },
            }
        }
        What::Trap(code) => {
            let graph = graph_for(program, &args).map_err(text)?;
            match run(&graph, &tensors::<T>(&args), &options) {
                Err(e) if e.code == code => Ok(()),
                Err(e) => Err(format!("the error is another: {e}")),
                Ok(_) if code == "none" => Ok(()),
                Ok(out) => Err(format!("nothing traps, it gives {}", show(&out[0]))),
            }
        }
        What::Check(ranges, codes) => {
            let graph = graph_for(program, &args).map_err(text)?;
            let mut list = vec![None; program.inputs().len()];
            for (name, lo, hi) in ranges {
                list[position(program, name)?] = Some((*lo, *hi));
            }
            let found = check(&graph, &list, setup.dtype);
            let mut names: Vec<String> = found.iter().map(|d| d.code.to_string()).collect();
            names.dedup();
            if names == *codes {
                Ok(())
            } else {
                Err(format!("the check finds {:?}", found.iter().map(|d| &d.message).collect::<Vec<_>>()))
            }
        }
        What::Input(name, shape) => {
            let i = position(program, name)?;
            let found = match program.input_shapes()[i] {
                InputShape::Known(s) => s.to_string(),
                InputShape::Vector => "vector".into(),
                InputShape::Matrix => "matrix".into(),
            };
            if found == *shape { Ok(()) } else { Err(format!("the input is a {found}")) }
        }
        What::Unit(name, unit) => {
            let found = program.units().scale(name).ok_or_else(|| format!("nothing says the unit of `{name}`"))?;
            let wanted = parse(unit).map_err(|e| e.message)?;
            let shown = program.units().names.iter().find(|n| n.0 == *name).map_or("", |n| n.1.as_str());
            if found.unit == wanted.unit { Ok(()) } else { Err(format!("`{name}` is in {shown}")) }
        }
        What::Dtype(_) | What::Limits(_) | What::Inputs(_) | What::Chain(_) | What::Feed(..) | What::With(_) => Ok(()),
    }
}
