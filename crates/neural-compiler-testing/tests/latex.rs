//! LaTeX is read in its one reading, or refused: every line of `data/latex.tsv`. And what is printed as LaTeX is read back as the same
//! program, or refused; never as something else.

use neural_compiler::syntax::reader::{Data, Datum, DatumId};
use neural_compiler::syntax::translate::translate;
use neural_compiler::syntax::{Syntax, read};
use neural_compiler::{Limits, Options, compile};
use neural_compiler_testing::generate::{differentiable, everything};
use neural_compiler_testing::oracle;

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

#[test]
fn every_line_is_right_or_refused() {
    let mut failures = Vec::new();
    let lines: Vec<(&str, &str)> = include_str!("../data/latex.tsv").lines().filter_map(|l| l.split_once('\t')).collect();
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

/// Every program has a LaTeX, which the reader takes for the same program, or refuses: it sets some forms in words.
#[test]
fn printed_programs_are_read_back_or_refused() {
    let limits = Limits::default();
    let (mut same, mut refused) = (0, 0);
    for seed in 0..oracle::setting("LATEX_PROGRAMS", 1500) {
        for source in [everything(seed).source, differentiable(seed).source] {
            let latex = translate(&source, Syntax::Scheme, Syntax::Latex, &limits).unwrap_or_else(|e| panic!("{e}\n{source}"));
            let (_, errors) = read(&latex, Syntax::Latex, &limits);
            if !errors.is_empty() {
                refused += 1;
                continue;
            }
            // A choice is read as cases, whatever it was written as: the programs are compared once they are resolved.
            let again = translate(&latex, Syntax::Latex, Syntax::Scheme, &limits).unwrap_or_else(|e| panic!("{e}\n{latex}"));
            let ast = |text: &str| compile(text, &Options::default()).map(|p| p.ast().to_text()).map_err(|e| e.0[0].code);
            assert_eq!(ast(&source), ast(&again), "{source}\n{latex}");
            same += 1;
        }
    }
    println!("{same} programs are read back, {refused} refused");
    // Programs that bind names are set for readers, with `where`, and refused.
    assert!(same >= 100, "{same} programs are read back, {refused} refused");
}
