//! What every stage makes of a folder of small programs: AST, A-normal form, graph, tape and gradient, and machine code of a few, as text.
//! A change of any of them shows as a difference in `tests/snapshots/`; `cargo insta review`, or `INSTA_UPDATE=always`, accepts it.

use neural_compiler::diff::{gradient, vjp};
use neural_compiler::exec::jit::Jit;
use neural_compiler::graph::print::to_text;
use neural_compiler::ops::real::Dtype;
use neural_compiler::tape::Tape;
use neural_compiler::{Options, Shape, compile};
use neural_compiler_math::Level;
use std::fmt::Write;
use std::path::{Path, PathBuf};

fn stages(source: &str) -> String {
    let program = compile(source, &Options::default()).unwrap_or_else(|e| panic!("{e}"));
    let graph = program.graph().unwrap_or_else(|e| panic!("{e}"));
    let wrt: Vec<usize> = (0..graph.inputs.len()).collect();
    let (title, back) = match graph.outputs()[..] {
        [Shape::Scalar] => ("gradient", gradient(&graph, &wrt)),
        _ => ("vjp", vjp(&graph, &wrt)),
    };
    let back = back.unwrap_or_else(|e| panic!("{e}"));
    let mut out = String::new();
    let parts = [
        ("source", source.trim_end().to_string()),
        ("ast", program.ast().to_text()),
        ("anf", program.anf_text()),
        ("graph", to_text(&graph)),
        ("tape", Tape::new(&graph).to_text()),
        (title, to_text(&back)),
    ];
    for (name, text) in parts {
        writeln!(out, "== {name}\n{}\n", text.trim_end()).expect("a string");
    }
    out
}

/// Generated code, for instructions most machines have.
#[test]
fn machine_code() {
    if !Level::available().contains(&Level::Avx2) {
        return;
    }
    let programs = [
        ("machine-code", "(+ (* a (* x x))\n   (exp (/ b 3)))", Dtype::F64),
        ("machine-code-rare", "(param k 2)\n(* k (sin x) (log x))", Dtype::F32),
        ("machine-code-loop", "(loop ((i 0) (s x)) (if (< s 1) i (recur (+ i 1) (* 0.5 s))))", Dtype::F64),
    ];
    for (name, source, dtype) in programs {
        let graph = compile(source, &Options::default()).and_then(|p| p.graph()).unwrap_or_else(|e| panic!("{e}"));
        let jit = Jit::new(&graph, &vec![false; graph.inputs.len()], dtype, Level::Avx2).unwrap_or_else(|e| panic!("{e}"));
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(name, jit.to_text(source));
        });
    }
}

#[test]
fn every_stage_of_every_program() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).expect("the folder of programs").map(|e| e.expect("an entry").path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "scm"));
    files.sort();
    assert!(files.len() >= 25, "only {} programs", files.len());
    for file in files {
        let source = std::fs::read_to_string(&file).expect("a readable program");
        let name = file.file_stem().expect("a name").to_string_lossy().into_owned();
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(name, stages(&source));
        });
    }
}
