//! LaTeX is read in its one reading, or refused: every line of `data/latex.tsv`. And what is printed as LaTeX is read back as the same
//! program, or refused; never as something else.

use neural_compiler::exec::interp::{self, RunOptions};
use neural_compiler::graph::print;
use neural_compiler::syntax::reader::{Data, Datum, DatumId};
use neural_compiler::syntax::translate::translate;
use neural_compiler::syntax::{Syntax, read};
use neural_compiler::{Limits, Options, Shape, Tensor, compile};
use neural_compiler_testing::case::bits;
use neural_compiler_testing::generate::{differentiable, everything};
use neural_compiler_testing::{Case, oracle};
use std::collections::HashMap;

/// Data as text, numbers by their bits.
fn canonical(data: &Data) -> String {
    fn write(data: &Data, d: DatumId, out: &mut String) {
        match data.get(d) {
            Datum::Number(x) => out.push_str(&format!("{:x} ", x.to_bits())),
            Datum::Symbol(s) => out.push_str(&format!("|{}| ", data.names.text(s))),
            Datum::List(..) | Datum::Bracket(..) => {
                out.push(if matches!(data.get(d), Datum::List(..)) { '(' } else { '[' });
                data.children(d).iter().for_each(|&c| write(data, c, out));
                out.push(')');
            }
        }
    }
    let mut out = String::new();
    data.top.iter().for_each(|&d| write(data, d, &mut out));
    out
}

/// What a program computes: its inputs and graph, where the shapes of its inputs are known; else the program itself, resolved. Inputs in
/// the order of their names: `where` puts what was first behind.
fn meaning(text: &str) -> Result<(Vec<String>, String), &'static str> {
    let as_written = compile(text, &Options::default()).map_err(|e| e.0[0].code)?;
    let mut names: Vec<(String, Option<Shape>)> = as_written.inputs().iter().map(|i| (i.name.to_string(), i.shape)).collect();
    names.sort_by(|a, b| a.0.cmp(&b.0));
    let program = compile(text, &Options { inputs: Some(names), ..Options::default() }).map_err(|e| e.0[0].code)?;
    let inputs = program.inputs().iter().map(|i| format!("{:?}", (&i.name, &i.kind, i.shape))).collect();
    Ok((inputs, program.graph().map_or_else(|_| program.ast().to_text(), |graph| without_constants(&print::to_text(&graph)))))
}

/// A graph with its constants where they are used: which of them comes first depends on how a number is written (`-\infty` is a sign and a
/// number).
fn without_constants(graph: &str) -> String {
    let mut names: HashMap<String, String> = HashMap::new();
    let mut out = String::new();
    for line in graph.lines() {
        if line.starts_with("region") {
            names.clear();
        }
        let told = line.split(' ').map(|word| {
            let bare = word.trim_end_matches([',', ')']);
            names.get(bare).map_or_else(|| word.to_string(), |known| word.replacen(bare, known, 1))
        });
        let told = told.collect::<Vec<_>>().join(" ");
        match told.trim().split_once(" = ") {
            Some((name, value)) if value.starts_with("const ") => {
                names.insert(name.to_string(), value.replace(' ', "_"));
            }
            Some((name, value)) => {
                let new = format!("%n{}", names.values().filter(|n| n.starts_with("%n")).count());
                out.push_str(&format!("  {new} = {value}\n"));
                names.insert(name.to_string(), new);
            }
            None => {
                out.push_str(&told);
                out.push('\n');
            }
        }
    }
    out
}

#[test]
fn every_line_is_right_or_refused() {
    let mut failures = Vec::new();
    let lines: Vec<(&str, &str)> = include_str!("../../data/latex.tsv").lines().filter_map(|l| l.split_once('\t')).collect();
    assert!(lines.len() >= 300, "only {} lines", lines.len());
    for (latex, wanted) in &lines {
        let (data, errors) = read(latex, Syntax::Latex, &Limits::default());
        let found = match errors.first() {
            Some(e) => format!("! {}", e.code),
            None => canonical(&data),
        };
        let expected = match wanted.strip_prefix("! ") {
            Some(code) => format!("! {code}"),
            None => canonical(&read(wanted, Syntax::Scheme, &Limits::default()).0),
        };
        if found != expected {
            failures.push(format!("{latex}\n    must be {wanted}, is {}", errors.first().map_or(found, |e| e.message.clone())));
        }
        if errors.iter().any(|e| e.help.as_deref().is_none_or(str::is_empty) && e.code == "ambiguous-reading") {
            failures.push(format!("{latex}: refused without its readings"));
        }
    }
    assert!(failures.is_empty(), "{} of {}\n{}", failures.len(), lines.len(), failures.join("\n"));
}

/// What a program gives at some points around that of its case: bits, or how the run ends.
fn values(case: &Case) -> Vec<Result<Vec<u64>, &'static str>> {
    let compiled = case.compile().unwrap_or_else(|e| panic!("{e}\n{}", case.source));
    let at = |scale: f64| {
        let point = compiled.inputs.iter().map(|i| Tensor::from_f64(i.shape, &i.data.iter().map(|x| scale * x).collect::<Vec<_>>()));
        let point: Vec<Tensor<f64>> = point.map(|t| t.expect("a case's data fit its shape")).collect();
        interp::run(&compiled.graph, &point, &RunOptions::default()).map(|r| bits(&r)).map_err(|e| e.code)
    };
    [1.0, 0.5, 0.75, 1.25, 1.5, -1.0, -0.25, 0.0].map(at).to_vec()
}

/// Every program has a LaTeX, which the reader takes for the same program, or refuses: it sets some forms in words.
#[test]
fn printed_programs_are_read_back_or_refused() {
    let limits = Limits::default();
    let (mut same, mut refused, mut by_values) = (0, 0, 0);
    for seed in 0..oracle::setting("LATEX_PROGRAMS", 1500) {
        for case in [everything(seed), differentiable(seed)] {
            let source = &case.source;
            let latex = translate(source, Syntax::Scheme, Syntax::Latex, &limits).unwrap_or_else(|e| panic!("{e}\n{source}"));
            let (_, errors) = read(&latex, Syntax::Latex, &limits);
            if !errors.is_empty() {
                refused += 1;
                continue;
            }
            // A choice is read as cases, whatever it was written as, and names may be bound one by one: the graphs are compared. Where
            // a text of another length makes the compiler inline other calls, the values are.
            let again = translate(&latex, Syntax::Latex, Syntax::Scheme, &limits).unwrap_or_else(|e| panic!("{e}\n{latex}"));
            let (before, after) = (meaning(source), meaning(&again));
            if before != after {
                by_values += 1;
                assert_eq!(values(&case), values(&Case { source: again, ..case.clone() }), "{source}\n{latex}");
            }
            same += 1;
        }
    }
    println!("{same} programs are read back, {by_values} of them to other graphs of the same values; {refused} refused");
    // Refused are names that a reader of the page could take for something else, and forms set in words.
    assert!(same >= 2800 && 10 * by_values < same, "{same} programs are read back, {by_values} by values, {refused} refused");
}

/// Models are printed with notes that say what their names are, and read back as the same model; what has no notation is refused.
#[test]
fn printed_models_are_read_back_or_refused() {
    let limits = Limits::default();
    let same = [
        "(param k 0.5 :min 0 :max 10) (param A 2 :fixed) (input t :unit h) (* A (exp (- (* k t))))",
        "(param w [1 2 3] :min -1) (input v :size 3) (dot w v)",
        "(time t :unit h) (param k 0.5 :unit 1/h) (state A 100 :unit mg) (derive A (* (- k) A))",
        "(state x 1) (state v 0) (param w 2) (derive x v) (derive v (- (* w w x)))",
        "(time t :step 0.5) (state x 0.25) (next x (* 2 x (- 1 x)))",
        "(state x_1 (* 2 a)) (param V 10) (derive x_1 (- x_1)) (observe y (/ x_1 V) :unit mg/L)",
        "(unit F kg*m/s^2) (define F (* m a)) F",
        "(constants si h c) (* h c)",
        "(define (f x) (define a (* 2 x)) (define (g y) (* a y)) (+ a (g x))) (let* ((x 1) (x (* x 2))) (f x))",
    ];
    for source in same {
        let latex = translate(source, Syntax::Scheme, Syntax::Latex, &limits).unwrap_or_else(|e| panic!("{e}\n{source}"));
        let again = translate(&latex, Syntax::Latex, Syntax::Scheme, &limits).unwrap_or_else(|e| panic!("{e}\n{latex}"));
        let units = |text: &str| compile(text, &Options::default()).map_or_else(|e| panic!("{e}\n{text}"), |p| p.units().names.clone());
        assert_eq!((meaning(source), units(source)), (meaning(&again), units(&again)), "{latex}");
    }
    for source in
        ["(net f (x) 4 1) (f a)", "(state x 1) (derive x (- x)) (event (at 1) (add x 1))", "(observe y (* a x) :noise (normal s))"]
    {
        let latex = translate(source, Syntax::Scheme, Syntax::Latex, &limits).unwrap_or_else(|e| panic!("{e}\n{source}"));
        assert!(translate(&latex, Syntax::Latex, Syntax::Scheme, &limits).is_err(), "{latex}");
    }
}
