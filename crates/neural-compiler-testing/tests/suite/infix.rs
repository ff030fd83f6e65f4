//! Infix and Scheme say the same: a generated program translated to infix and back is read into the same data, to the bit of every
//! number, compiles to the same graph, and keeps its comments.

use fastrand::Rng;
use neural_compiler::graph::print;
use neural_compiler::syntax::reader::{Data, Datum, DatumId};
use neural_compiler::syntax::translate::translate;
use neural_compiler::syntax::{Syntax, read};
use neural_compiler::{Limits, Options, Shape, compile};
use neural_compiler_testing::generate::{Family, differentiable, everything, scheme};
use neural_compiler_testing::{mutate, oracle};

fn data(text: &str, syntax: Syntax) -> Data {
    let (data, errors) = read(text, syntax, &Limits::default());
    assert!(errors.is_empty(), "{errors:?}\n{text}");
    data
}

/// Whether two texts are the same data, numbers to the bit.
fn same(a: &Data, b: &Data) -> bool {
    let mut work: Vec<(DatumId, DatumId)> = a.top.iter().copied().zip(b.top.iter().copied()).collect();
    if a.top.len() != b.top.len() {
        return false;
    }
    while let Some((x, y)) = work.pop() {
        let equal = match (a.get(x), b.get(y)) {
            (Datum::Number(x), Datum::Number(y)) => x.to_bits() == y.to_bits(),
            (Datum::Symbol(x), Datum::Symbol(y)) => a.names.text(x) == b.names.text(y),
            (Datum::List(..), Datum::List(..)) | (Datum::Bracket(..), Datum::Bracket(..)) => {
                work.extend(a.children(x).iter().copied().zip(b.children(y).iter().copied()));
                a.children(x).len() == b.children(y).len()
            }
            _ => false,
        };
        if !equal {
            return false;
        }
    }
    true
}

/// Translates there and back; gives the infix text.
fn round_trip(source: &str) -> String {
    let limits = Limits::default();
    let infix = translate(source, Syntax::Scheme, Syntax::Infix, &limits).unwrap_or_else(|e| panic!("{e}\n{source}"));
    let original = data(source, Syntax::Scheme);
    assert!(same(&original, &data(&infix, Syntax::Infix)), "other data:\n{source}\n{infix}");
    let back = translate(&infix, Syntax::Infix, Syntax::Scheme, &limits).unwrap_or_else(|e| panic!("{e}\n{infix}"));
    assert!(same(&original, &data(&back, Syntax::Scheme)), "other data:\n{source}\n{infix}\n{back}");
    let again = translate(&infix, Syntax::Infix, Syntax::Infix, &limits).unwrap_or_else(|e| panic!("{e}\n{infix}"));
    assert_eq!(infix, again, "not idempotent");
    infix
}

/// The graph of a text as text, for vectors of 3 where sizes are open.
fn graph(text: &str, syntax: Syntax) -> Result<String, Vec<&'static str>> {
    let codes = |e: neural_compiler::Diagnostics| e.0.iter().map(|d| d.code).collect::<Vec<_>>();
    let program = compile(text, &Options { syntax, ..Options::default() }).map_err(codes)?;
    let shapes: Vec<Shape> = program.input_shapes().iter().map(|s| s.known().unwrap_or(Shape::Vector(3))).collect();
    let graph = program.specialise(&shapes).map_err(codes)?;
    Ok(format!("{}\n{}", program.ast().to_text(), print::to_text(&graph)))
}

#[test]
fn generated_programs_are_the_same_in_infix() {
    let count = oracle::setting("INFIX_PROGRAMS", 2500);
    for seed in 0..count {
        let family = if seed % 2 == 0 { Family::Exact } else { Family::Transcendental };
        for source in [everything(seed).source, differentiable(seed).source, scheme(seed, family).source] {
            let infix = round_trip(&source);
            assert_eq!(graph(&source, Syntax::Scheme), graph(&infix, Syntax::Infix), "{source}\n{infix}");
        }
    }
}

/// Not only programs: whatever can be read can be said in infix.
#[test]
fn spoilt_texts_are_the_same_data_in_infix() {
    let mut rng = Rng::with_seed(7);
    let mut readable = 0;
    for _ in 0..oracle::setting("INFIX_TEXTS", 10_000) {
        let (_, text) = mutate::text(&mut rng);
        let (data, errors) = read(&text, Syntax::Scheme, &Limits::default());
        if errors.is_empty() && !ends_with_a_definition(&data) {
            round_trip(&text);
            readable += 1;
        }
    }
    assert!(readable > 1000, "only {readable} texts can be read");
}

/// In infix a last line that names a value is the value: a Scheme text without an expression has no meaning, and no infix spelling.
fn ends_with_a_definition(data: &Data) -> bool {
    data.top.last().is_some_and(|&d| data.children(d).first().and_then(|&h| data.symbol(h)).is_some_and(|s| data.names.text(s) == "define"))
}
