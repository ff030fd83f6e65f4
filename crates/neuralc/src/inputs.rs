//! Names on the command line meet the inputs of a program. In: `name=value` words, `--shape` and `--range` options; out: one value,
//! shape or range per input, in the program's order; or every mistake at once.

use crate::context::Failure;
use crate::core::Compiled;
use crate::value;
use neural_compiler::diagnostic::did_you_mean;
use neural_compiler::ops::real::Real;
use neural_compiler::syntax::ast::{Input, InputKind, StateStart};
use neural_compiler::{Diagnostic, Program, Shape, Syntax, Tensor};
use neural_compiler_fit::by_group;
use std::collections::HashMap;

/// So many mistakes of a kind are reported one by one.
const MOST_ERRORS: usize = 20;

/// A value before it is rounded to the number type of the run.
pub(crate) type Wide = (Shape, Vec<f64>);

fn unknown(name: &str, program: &Program) -> Diagnostic {
    let inputs = program.inputs();
    let nearest = || did_you_mean(name, inputs.iter().map(|i| i.name.as_str()));
    let help = product(name, program).or_else(nearest).or_else(|| match inputs {
        [] => Some("it has no inputs".into()),
        _ => Some(format!("its inputs are {}", inputs.iter().take(12).map(|i| format!("`{}`", i.name)).collect::<Vec<_>>().join(", "))),
    });
    Diagnostic::error("unknown-input", Default::default(), format!("the program has no input `{name}`")).maybe_help(help)
}

/// In infix, a name the user knows may be a part of one the program has: `kt` instead of `k*t`.
fn product(name: &str, program: &Program) -> Option<String> {
    let letters = |s: &str| !s.is_empty() && s.chars().all(char::is_alphabetic);
    let parts = |input: &Input| {
        let before = input.name.strip_prefix(name).filter(|rest| letters(rest)).map(|rest| format!("{name}*{rest}"));
        before.or_else(|| input.name.strip_suffix(name).filter(|rest| letters(rest)).map(|rest| format!("{rest}*{name}")))
    };
    let infix = program.syntax() == Syntax::Infix && letters(name);
    let (input, product) = program.inputs().iter().filter(|_| infix).find_map(|i| Some((&i.name, parts(i)?)))?;
    Some(format!("the program has `{input}`: did you mean {product}?"))
}

/// What each option says about each input; unknown names and repetitions are mistakes.
fn place<'a, V>(program: &Compiled, options: impl Iterator<Item = (&'a str, V)>, errors: &mut Vec<Diagnostic>) -> Vec<Option<V>> {
    let inputs = program.program.inputs();
    let places: HashMap<&str, usize> = inputs.iter().enumerate().map(|(i, input)| (input.name.as_str(), i)).collect();
    let mut placed: Vec<Option<V>> = inputs.iter().map(|_| None).collect();
    for (name, value) in options {
        match places.get(name).copied() {
            // Advice compares the name with every input: a few mistakes are enough.
            None if errors.len() >= MOST_ERRORS => {}
            None => errors.push(unknown(name, &program.program)),
            Some(i) if placed[i].is_some() => {
                errors.push(Diagnostic::error("duplicate-input", Default::default(), format!("the input `{name}` is given twice")));
            }
            Some(i) => placed[i] = Some(value),
        }
    }
    placed
}

/// The value an input has when nobody gives one: what its declaration says.
fn declared(program: &Compiled, given: &[Option<Wide>], input: &Input, hops: usize) -> Option<Wide> {
    let inputs = program.program.inputs();
    let shape = input.shape.unwrap_or(Shape::Scalar);
    match &input.kind {
        InputKind::Param(info) => Some((shape, info.initial.clone())),
        InputKind::State(StateStart::Value(v)) => Some((shape, v.clone())),
        InputKind::State(StateStart::Name(name)) if hops < inputs.len() => {
            let i = inputs.iter().position(|i| i.name == *name)?;
            given[i].clone().or_else(|| declared(program, given, &inputs[i], hops + 1))
        }
        InputKind::State(_) | InputKind::Free | InputKind::Declared | InputKind::Weight { .. } => None,
    }
}

/// The values of all inputs from words such as `x=1` and from declarations.
pub(crate) fn values(program: &Compiled, words: &[String]) -> Result<Vec<Wide>, Failure> {
    let mut errors = Vec::new();
    let mut named = Vec::new();
    for word in words {
        let Some((name, text)) = word.split_once('=') else {
            return Err(Failure::Usage(format!("`{word}` is not NAME=VALUE")));
        };
        let value = value::parse(text).map_err(|message| {
            Diagnostic::error("bad-value", Default::default(), format!("the value of `{}`: {message}", name.trim()))
                .help("a value is a number, [1,2,3] or [[1,2],[3,4]]")
        });
        named.push((name.trim(), value));
    }
    let placed = place(program, named.into_iter(), &mut errors);
    let mut given: Vec<Option<Wide>> = Vec::new();
    let mut bad = vec![false; placed.len()];
    for (i, value) in placed.into_iter().enumerate() {
        given.push(value.and_then(|v| {
            v.map_err(|e| {
                bad[i] = true;
                errors.push(e);
            })
            .ok()
        }));
    }
    let inputs = program.program.inputs();
    let mut all = Vec::with_capacity(inputs.len());
    let mut missing = 0;
    for (i, input) in inputs.iter().enumerate() {
        match given[i].clone().or_else(|| declared(program, &given, input, 0)) {
            Some(value) => all.push(value),
            None if bad[i] => {}
            None if missing >= MOST_ERRORS => missing += 1,
            None => {
                missing += 1;
                let example = match input.shape {
                    None | Some(Shape::Scalar) => "1.0",
                    Some(Shape::Vector(_)) => "[1,2,…]",
                    Some(Shape::Matrix(..)) => "[[1,2],[3,4],…]",
                };
                let message = format!("the input `{}` has no value", input.name);
                errors.push(Diagnostic::error("missing-input", input.span, message).help(format!("give it one: {}={example}", input.name)));
            }
        }
    }
    if missing > MOST_ERRORS {
        let message = format!("{} more inputs have no value", missing - MOST_ERRORS);
        errors.push(Diagnostic::error("missing-input", Default::default(), message));
    }
    let is_given = |name: &str| inputs.iter().zip(&given).any(|(i, value)| i.name == name && value.is_some());
    errors.extend(by_group::check(&program.program, is_given, |name| format!("{name}=…")).err());
    if errors.is_empty() { Ok(all) } else { Err(Failure::Wrong(program.source.clone(), errors)) }
}

/// The values of inputs that are to be constants: those given, and the declared ones of inputs the caller names.
pub(crate) fn constants(program: &Compiled, words: &[String], declared_too: impl Fn(&Input) -> bool) -> Result<Vec<Option<Wide>>, Failure> {
    let mut named = Vec::new();
    for word in words {
        let Some((name, text)) = word.split_once('=') else {
            return Err(Failure::Usage(format!("`{word}` is not NAME=VALUE")));
        };
        let value = value::parse(text).map_err(|m| Failure::plain("bad-value", format!("the value of `{}`: {m}", name.trim()), None))?;
        named.push((name.trim(), value));
    }
    let mut errors = Vec::new();
    let given = place(program, named.into_iter(), &mut errors);
    let own = |name: &str| program.program.inputs().iter().zip(&given).any(|(i, g)| i.name == name && (g.is_some() || !declared_too(i)));
    errors.extend(by_group::check(&program.program, own, |name| format!("--set {name}=…")).err());
    if !errors.is_empty() {
        return Err(Failure::Wrong(program.source.clone(), errors));
    }
    let inputs = program.program.inputs().iter();
    Ok(inputs
        .zip(&given)
        .map(|(input, value)| value.clone().or_else(|| if declared_too(input) { declared(program, &given, input, 0) } else { None }))
        .collect())
}

/// Rounds values once, to the number type of the run.
pub(crate) fn tensors<T: Real>(values: &[Wide]) -> Vec<Tensor<T>> {
    values.iter().map(|(shape, data)| Tensor::from_f64(*shape, data).expect("values are read with their shape")).collect()
}

/// The graph's input shapes: those given, else those the program pins. `None`: neither says.
pub(crate) fn shapes(program: &Compiled, options: &[(String, Shape)]) -> Result<Option<Vec<Shape>>, Failure> {
    let mut errors = Vec::new();
    let placed = place(program, options.iter().map(|(n, s)| (n.as_str(), *s)), &mut errors);
    if !errors.is_empty() {
        return Err(Failure::Wrong(program.source.clone(), errors));
    }
    Ok(placed.into_iter().zip(program.program.input_shapes()).map(|(given, pinned)| given.or(pinned.known())).collect())
}

/// The range of every input: given, or the bounds a parameter is declared with.
pub(crate) fn ranges(program: &Compiled, options: &[(String, (f64, f64))]) -> Result<Vec<Option<(f64, f64)>>, Failure> {
    let mut errors = Vec::new();
    let placed = place(program, options.iter().map(|(n, r)| (n.as_str(), *r)), &mut errors);
    if !errors.is_empty() {
        return Err(Failure::Wrong(program.source.clone(), errors));
    }
    let bounds = |input: &Input| match &input.kind {
        InputKind::Param(p) if p.fixed => {
            let fold = |f: fn(f64, f64) -> f64| p.initial.iter().copied().reduce(f);
            fold(f64::min).zip(fold(f64::max))
        }
        InputKind::Param(p) if p.min.is_some() || p.max.is_some() => {
            Some((p.min.unwrap_or(f64::NEG_INFINITY), p.max.unwrap_or(f64::INFINITY)))
        }
        InputKind::Param(_) | InputKind::Free | InputKind::Declared | InputKind::State(_) | InputKind::Weight { .. } => None,
    };
    Ok(placed.into_iter().zip(program.program.inputs()).map(|(given, input)| given.or_else(|| bounds(input))).collect())
}
