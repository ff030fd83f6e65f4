//! What every stage makes of a folder of small programs: AST, A-normal form, graph, tape and gradient, as text. A change of any of
//! them shows as a difference in `tests/snapshots/`; `cargo insta review`, or `INSTA_UPDATE=always`, accepts it.

use neural_compiler::diff::{gradient, vjp};
use neural_compiler::graph::print::to_text;
use neural_compiler::tape::Tape;
use neural_compiler::{Options, Shape, compile};
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
