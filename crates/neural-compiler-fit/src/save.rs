//! A fitted model as text. In: the source, a fit, where it comes from; out: the source with the initial value of each parameter replaced
//! by the fitted one and with the time at which starts hold, everything else, comments included, as it was, and at its end a record of the fit.
//!
//! The record is two lines of comment, so that a saved model is a model like any other: one for people, and one, behind `; fit: `, that
//! is JSON: the version, the data with their SHA-256, the options, and all a fit reports, covariance included.
//! Invariant: a text has one record; saving again replaces it.

use crate::report::Fit;
use crate::table::Table;
use neural_compiler::syntax::reader::{Data, DatumId, read};
use neural_compiler::{Limits, Shape, number_text};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::io::Read;

/// The value of a parameter, in the language.
fn literal(shape: Shape, values: &[f64]) -> String {
    let row = |v: &[f64]| format!("[{}]", v.iter().map(|x| number_text(*x)).collect::<Vec<_>>().join(" "));
    match shape {
        Shape::Scalar => number_text(values[0]),
        Shape::Vector(_) => row(values),
        Shape::Matrix(_, c) => format!("[{}]", values.chunks(c as usize).map(row).collect::<Vec<_>>().join(" ")),
    }
}

/// The name and the initial value of a `(param name value …)`.
fn declaration(data: &Data, id: DatumId) -> Option<(&str, DatumId)> {
    let [head, name, value, ..] = data.list(id)? else { return None };
    let text = |d: &DatumId| data.symbol(*d).map(|s| data.names.text(s));
    (text(head) == Some("param")).then_some((text(name)?, *value))
}

/// The source with everything a prediction needs of a fit: its values, and when its starts hold.
pub fn fitted(source: &str, fit: &Fit) -> String {
    let text = with_values(source, &fit.values);
    match fit.clock.as_ref().and_then(|c| Some((c.name.as_deref()?, c.kept()?))) {
        Some((name, start)) => with_start(&text, name, start),
        None => text,
    }
}

/// The source with a declaration of when starts hold: in its `(time …)`, else in a new one before the first state.
fn with_start(source: &str, name: &str, start: f64) -> String {
    let (data, _) = read(source, &Limits { source_bytes: usize::MAX, ..Limits::default() });
    let text = |d: DatumId| data.symbol(d).map(|s| data.names.text(s));
    let find = |keyword: &str| data.top.iter().copied().find(|&d| data.list(d).and_then(|l| l.first()).and_then(|&h| text(h)) == Some(keyword));
    let put = |from: u32, to: u32, what: String| format!("{}{what}{}", &source[..from as usize], &source[to as usize..]);
    if let Some(time) = find("time") {
        let parts = data.list(time).unwrap_or(&[]);
        let given = parts.iter().position(|&p| text(p) == Some(":start")).and_then(|k| parts.get(k + 1));
        return match given.or(parts.get(1)).map(|&p| data.span(p)) {
            Some(span) if given.is_some() => put(span.start, span.end, number_text(start)),
            Some(span) => put(span.end, span.end, format!(" :start {}", number_text(start))),
            None => source.to_string(),
        };
    }
    let Some(state) = find("state") else { return source.to_string() };
    // A column may be called what no name of the language is.
    let (name_data, errors) = read(name, &Limits::default());
    let is_name = errors.is_empty() && matches!(name_data.top[..], [only] if name_data.symbol(only).is_some());
    let at = data.span(state).start;
    put(at, at, format!("(time {} :start {})\n", if is_name { name } else { "t" }, number_text(start)))
}

/// The source with fitted values in place of initial ones.
pub fn with_values(source: &str, fitted: &[(String, Shape, Vec<f64>)]) -> String {
    let (data, _) = read(source, &Limits { source_bytes: usize::MAX, ..Limits::default() });
    let mut out = String::with_capacity(source.len());
    let mut done = 0;
    for &form in &data.top {
        let Some((name, value)) = declaration(&data, form) else { continue };
        let Some((_, shape, values)) = fitted.iter().find(|f| f.0 == name) else { continue };
        let span = data.span(value);
        out.push_str(&source[done..span.start as usize]);
        out.push_str(&literal(*shape, values));
        done = span.end as usize;
    }
    out.push_str(&source[done..]);
    out
}

/// What the lines of a record begin with.
const FOR_PEOPLE: &str = "; Fitted by Neural Compiler ";
const FOR_PROGRAMS: &str = "; fit: ";

/// Where a fit comes from.
#[derive(Clone, Debug)]
pub struct Provenance {
    /// What the data are called: a path, mostly.
    pub data: String,
    /// Their rows.
    pub rows: usize,
    /// A SHA-256 in hexadecimal digits, and of what: `file` or `columns`.
    pub sha256: (String, &'static str),
    /// The options that were given, by name.
    pub options: Value,
}

/// A text with a record of a fit, as JSON, in place of the one it has.
pub fn with_record(text: &str, fit: &Value, from: &Provenance) -> String {
    let kept: Vec<&str> = text.lines().filter(|l| !l.starts_with(FOR_PEOPLE) && !l.starts_with(FOR_PROGRAMS)).collect();
    let version = env!("CARGO_PKG_VERSION");
    let (hash, of) = &from.sha256;
    let record = json!({
        "version": version, "data": {"name": from.data, "rows": from.rows, "sha256": hash, "sha256_of": of}, "options": from.options, "fit": fit,
    });
    let name: String = from.data.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let people = format!("{FOR_PEOPLE}{version} to {name}: {} rows, SHA-256 of the {of} {hash}", from.rows);
    format!("{}\n{people}\n{FOR_PROGRAMS}{record}\n", kept.join("\n").trim_end())
}

/// The record of a saved model, if it has one that can be read.
pub fn record(text: &str) -> Option<Value> {
    text.lines().rev().find_map(|l| l.strip_prefix(FOR_PROGRAMS)).and_then(|json| serde_json::from_str(json).ok())
}

fn hexadecimal(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The SHA-256 of some bytes, as `sha256sum` prints it.
pub fn sha256(mut bytes: impl Read) -> std::io::Result<String> {
    let mut hash = Sha256::new();
    let mut part = vec![0; 1 << 16];
    loop {
        match bytes.read(&mut part)? {
            0 => return Ok(hexadecimal(hash)),
            n => hash.update(&part[..n]),
        }
    }
}

/// The SHA-256 of a table: of each column its name, a zero byte, and its numbers as eight bytes each, the lowest first.
pub fn sha256_of_columns(table: &Table) -> String {
    let mut hash = Sha256::new();
    for name in table.names() {
        hash.update(name.as_bytes());
        hash.update([0]);
        table.column(name).unwrap_or(&[]).iter().for_each(|x| hash.update(x.to_le_bytes()));
    }
    hexadecimal(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_is_kept_in_one_place() {
        let model = "(param k 1) ; rate\n(state x 10)\n(derive x (- (* k x)))";
        assert_eq!(with_start(model, "t", 1.0), model.replace("(state", "(time t :start 1)\n(state"));
        assert_eq!(with_start(model, "time (h)", 1.0), model.replace("(state", "(time t :start 1)\n(state"));
        let declared = format!("{model} (time year)");
        assert_eq!(with_start(&declared, "year", 1900.0), format!("{model} (time year :start 1900)"));
        let said = format!("{model} (time year :start 0 :step 2)");
        assert_eq!(with_start(&said, "year", -0.5), format!("{model} (time year :start -0.5 :step 2)"));
    }

    #[test]
    fn only_values_change() {
        let source = "; growth\n(param r 1 :min 0) ; per year\n(param w [1 2])\n(param K 5 :fixed)\n(define param 3)\n(* r x (dot w w) K)";
        let fitted = [("r".into(), Shape::Scalar, vec![0.1]), ("w".into(), Shape::Vector(2), vec![1.5, -2e-9])];
        let saved = with_values(source, &fitted);
        assert_eq!(saved, source.replace("r 1 :min", "r 0.1 :min").replace("[1 2]", "[1.5 -2e-9]"));
    }

    #[test]
    fn a_text_has_one_record() {
        let from =
            |data: &str| Provenance { data: data.into(), rows: 3, sha256: (sha256("abc".as_bytes()).unwrap(), "file"), options: json!({"loss": "huber"}) };
        let once = with_record("(param a 1)\n(* a x) ; here\n", &json!({"k": 2}), &from("one\ntwo.csv"));
        let twice = with_record(&once, &json!({"k": 3}), &from("b.csv"));
        assert!(twice.starts_with("(param a 1)\n(* a x) ; here\n; Fitted by") && twice.lines().count() == 4 && !twice.contains("two.csv"), "{twice}");
        let read = record(&twice).unwrap();
        // The example of FIPS 180-2.
        assert_eq!(read["data"]["sha256"], "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!((read["fit"]["k"].as_u64(), read["options"]["loss"].as_str(), read["data"]["name"].as_str()), (Some(3), Some("huber"), Some("b.csv")));
        assert_eq!(record("(* a x)"), None);
        assert!(neural_compiler::compile(&once, &Default::default()).is_ok());
    }
}
