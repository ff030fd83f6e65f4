//! `neuralc run`: evaluates a program. In: a program and values; out: its value, gradient and Hessian as text or JSON.

use crate::args::RunArgs;
use crate::context::{Context, Failure};
use crate::core::Compiled;
use crate::inputs::{self, Wide};
use crate::value;
use neural_compiler::graph::Graph;
use neural_compiler::ops::real::{Dtype, Real};
use neural_compiler::{Shape, Tensor};
use serde_json::{Map, Value, json};

/// How many derivatives are wanted.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
pub(crate) enum Order {
    Value,
    Gradient,
    Hessian,
}

pub(crate) fn run(context: &mut Context, args: &RunArgs) -> Result<u8, Failure> {
    let (file, words) = match (&args.expression, &args.words[..]) {
        (Some(_), words) => (None, words),
        (None, [file, words @ ..]) => (Some(file.as_str()), words),
        (None, []) => (None, &[][..]),
    };
    let source = context.source(file, args.expression.as_deref())?;
    let program = Compiled::new(context, source)?;
    let values = inputs::values(&program, words)?;
    let order = match (args.grad, args.hessian) {
        (_, true) => Order::Hessian,
        (true, false) => Order::Gradient,
        (false, false) => Order::Value,
    };
    let wrt: Vec<usize> = (0..values.len()).collect();
    match args.dtype.0 {
        Dtype::F32 => evaluate::<f32>(context, &program, &values, &wrt, order, args.trap)?,
        Dtype::F64 => evaluate::<f64>(context, &program, &values, &wrt, order, args.trap)?,
    }
    Ok(Failure::FINE)
}

/// Runs a program and prints what was asked for.
pub(crate) fn evaluate<T: Real>(
    context: &mut Context,
    program: &Compiled,
    values: &[Wide],
    wrt: &[usize],
    order: Order,
    trap: bool,
) -> Result<(), Failure> {
    let shapes: Vec<Shape> = values.iter().map(|v| v.0).collect();
    let graph = program.specialise(&shapes)?;
    let derived: Graph;
    let whole = match order {
        Order::Value => &*graph,
        Order::Gradient => {
            derived = program.gradient(&graph, wrt)?;
            &derived
        }
        Order::Hessian => {
            derived = program.hessian(&graph, wrt)?;
            &derived
        }
    };
    let results = program.run(context, whole, &inputs::tensors::<T>(values), trap)?;
    let names: Vec<&str> = wrt.iter().map(|&i| graph.inputs[i].name.as_str()).collect();
    if context.json { context.print_json(&to_json(&results, &names, order)) } else { context.print(&to_text(&results, &names, order)) }
}

/// The rows of second derivatives behind the value and the gradient.
fn rows<'a, T>(results: &'a [Tensor<T>], names: &'a [&'a str]) -> impl Iterator<Item = (&'a str, &'a [Tensor<T>])> {
    names.iter().copied().zip(results[1 + names.len()..].chunks(names.len().max(1)))
}

fn to_json<T: Real>(results: &[Tensor<T>], names: &[&str], order: Order) -> Value {
    let object = |values: &[Tensor<T>]| -> Value {
        names.iter().zip(values).map(|(n, v)| (n.to_string(), value::to_json(v))).collect::<Map<_, _>>().into()
    };
    let mut out = json!({"value": value::to_json(&results[0])});
    if order >= Order::Gradient {
        out["grad"] = object(&results[1..]);
    }
    if order == Order::Hessian {
        out["hessian"] = rows(results, names).map(|(n, row)| (n.to_string(), object(row))).collect::<Map<_, _>>().into();
    }
    out
}

fn to_text<T: Real>(results: &[Tensor<T>], names: &[&str], order: Order) -> String {
    let value = value::to_text(&results[0]);
    if order == Order::Value {
        return format!("{value}\n");
    }
    let mut lines = vec![("value".to_string(), value)];
    lines.extend(names.iter().zip(&results[1..]).map(|(n, v)| (format!("d/d{n}"), value::to_text(v))));
    if order == Order::Hessian {
        for (n, row) in rows(results, names) {
            lines.extend(names.iter().zip(row).map(|(m, v)| (format!("d²/d{n} d{m}"), value::to_text(v))));
        }
    }
    let width = lines.iter().map(|(n, _)| n.chars().count()).max().unwrap_or(0);
    lines.into_iter().map(|(name, value)| format!("{name:width$}  {value}\n")).collect()
}
