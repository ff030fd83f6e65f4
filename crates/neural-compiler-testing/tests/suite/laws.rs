//! Laws of physics, as `data/feynman-laws.jsonl` has them: their infix text is read as it is written down, gives the values an independent
//! evaluation gives, and is the same law in every syntax.

use neural_compiler::exec::interp;
use neural_compiler::graph::print;
use neural_compiler::syntax::Syntax;
use neural_compiler::syntax::translate::translate;
use neural_compiler::{Limits, Options, Program, Tensor, compile};
use serde_json::Value;

/// The reference adds up the errors of its own functions, a few units in the last place each, over formulas of up to 30 operations.
const NEAR: f64 = 1e-13;

fn laws() -> Vec<Value> {
    include_str!("../../data/feynman-laws.jsonl").lines().map(|l| serde_json::from_str(l).expect("a law is JSON")).collect()
}

fn compiled(text: &str, syntax: Syntax) -> Program {
    compile(text, &Options { syntax, ..Options::default() }).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn graph(text: &str, syntax: Syntax) -> String {
    print::to_text(&compiled(text, syntax).graph().unwrap_or_else(|e| panic!("{text}: {e}")))
}

#[test]
fn laws_give_the_values_of_an_independent_evaluation() {
    let laws = laws();
    assert_eq!(laws.len(), 60);
    for law in &laws {
        let raw = law["raw"].as_str().expect("a formula");
        let program = compiled(raw, Syntax::Infix);
        let graph = program.graph().unwrap_or_else(|e| panic!("{raw}: {e}"));
        let (points, values) = (law["points"].as_array().expect("points"), law["values"].as_array().expect("values"));
        assert!(points.len() == 4 && values.len() == 4, "{raw}");
        for (point, wanted) in points.iter().zip(values) {
            let number = |name: &str| point[name].as_f64().unwrap_or_else(|| panic!("{raw}: {name}"));
            let inputs: Vec<Tensor<f64>> = program.inputs().iter().map(|i| Tensor::scalar(number(&i.name))).collect();
            let found = interp::run(&graph, &inputs, &Default::default()).unwrap_or_else(|e| panic!("{raw}: {e}"));
            let (found, wanted) = (found[0].as_scalar().expect("a number"), wanted.as_f64().expect("a number"));
            assert!((found - wanted).abs() <= NEAR * wanted.abs(), "{raw}: {found} is not {wanted}");
        }
    }
}

/// The laws of the lectures, and those of `data/physics-laws.tsv`.
fn formulas() -> Vec<String> {
    let others = include_str!("../../data/physics-laws.tsv").lines().filter(|l| !l.starts_with('#'));
    let others = others.map(|l| l.split('\t').nth(2).expect("a formula").to_string());
    laws().iter().map(|l| l["raw"].as_str().expect("a formula").to_string()).chain(others).collect()
}

#[test]
fn laws_are_the_same_in_every_syntax() {
    let limits = Limits::default();
    let formulas = formulas();
    assert!(formulas.len() >= 120, "{}", formulas.len());
    for raw in &formulas {
        let scheme = translate(raw, Syntax::Infix, Syntax::Scheme, &limits).unwrap_or_else(|e| panic!("{raw}: {e}"));
        assert_eq!(graph(raw, Syntax::Infix), graph(&scheme, Syntax::Scheme), "{raw}\n{scheme}");
        let infix = translate(&scheme, Syntax::Scheme, Syntax::Infix, &limits).unwrap_or_else(|e| panic!("{scheme}: {e}"));
        let again = translate(&infix, Syntax::Infix, Syntax::Scheme, &limits).unwrap_or_else(|e| panic!("{infix}: {e}"));
        assert_eq!(scheme, again, "{raw}");
        let latex = translate(&scheme, Syntax::Scheme, Syntax::Latex, &limits).unwrap_or_else(|e| panic!("{scheme}: {e}"));
        let again = translate(&latex, Syntax::Latex, Syntax::Scheme, &limits).unwrap_or_else(|e| panic!("{latex}: {e}"));
        assert_eq!(scheme, again, "{latex}");
    }
}
