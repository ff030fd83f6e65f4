//! A fitted model as text. In: the source, a fit, where it comes from; out: the source with the initial value of each parameter replaced
//! by the fitted one, with the time at which starts hold and the step of a map, everything else, comments included, as it was, and at its
//! end a record of the fit.
//!
//! The record is two lines of comment, so that a saved model is a model like any other: one for people, and one, behind `; fit: `, that
//! is JSON: the version, the SHA-256 of the text, the data with theirs, the options, the SHA-256 of the weights, and all a fit reports,
//! covariance included.
//! Invariant: a text has one record; saving again replaces it.

use crate::data::dates;
use crate::data::table::Table;
use crate::report::Fit;
use neural_compiler::syntax::reader::{Data, Datum, DatumId, read};
use neural_compiler::{Limits, Options, Shape, compile, number_text, value_text};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::io::Read;

/// The name and the initial value of a `(param name value …)`.
fn declaration(data: &Data, id: DatumId) -> Option<(&str, DatumId)> {
    let [head, name, value, ..] = data.list(id)? else { return None };
    let text = |d: &DatumId| data.symbol(*d).map(|s| data.names.text(s));
    (text(head) == Some("param")).then_some((text(name)?, *value))
}

/// The source with everything a prediction needs of a fit: its values, when its starts hold, and how long a step of a map is. The record of
/// an earlier fit, which is that of other values, is left out.
pub fn fitted(source: &str, fit: &Fit) -> String {
    let text = with_values(&without_record(source), &fit.values);
    let Some(clock) = &fit.clock else { return text };
    let start = clock.kept().filter(|_| clock.name.is_some());
    with_time(&text, clock.name.as_deref().unwrap_or("t"), start, clock.step)
}

/// The source with a declaration of when starts hold and of the step of a map: in its `(time …)`, else in a new one before the first state.
fn with_time(source: &str, name: &str, start: Option<f64>, step: Option<f64>) -> String {
    let said: Vec<(&str, f64)> = [(":start", start), (":step", step)].into_iter().filter_map(|(word, x)| Some((word, x?))).collect();
    if said.is_empty() {
        return source.to_string();
    }
    let (data, _) = read(source, &Limits { source_bytes: usize::MAX, ..Limits::default() });
    let text = |d: DatumId| data.symbol(d).map(|s| data.names.text(s));
    let find =
        |keyword: &str| data.top.iter().copied().find(|&d| data.list(d).and_then(|l| l.first()).and_then(|&h| text(h)) == Some(keyword));
    let put = |from: u32, to: u32, what: String| format!("{}{what}{}", &source[..from as usize], &source[to as usize..]);
    if let Some(time) = find("time") {
        let parts = data.list(time).unwrap_or(&[]);
        let Some(named) = parts.get(1).map(|&p| data.span(p)) else { return source.to_string() };
        let one = |&(word, x): &(&str, f64)| match parts.iter().position(|&p| text(p) == Some(word)).and_then(|k| parts.get(k + 1)) {
            Some(&old) => (data.span(old).start, data.span(old).end, number_text(x)),
            None => (named.end, named.end, format!(" {word} {}", number_text(x))),
        };
        let mut edits: Vec<(u32, u32, String)> = said.iter().map(one).collect();
        edits.sort_by_key(|e| e.0);
        let mut out = String::with_capacity(source.len() + 32);
        let mut done = 0;
        for (from, to, what) in edits {
            out.push_str(&source[done..from as usize]);
            out.push_str(&what);
            done = to as usize;
        }
        return out + &source[done..];
    }
    let Some(state) = find("state") else { return source.to_string() };
    let at = data.span(state).start;
    let words: String = said.iter().map(|(word, x)| format!(" {word} {}", number_text(*x))).collect();
    // A column may be called what no name of the language is, or what something else in the model is.
    let used = |name: &str| source.split(|c: char| c.is_whitespace() || "()[];".contains(c)).any(|word| word == name);
    let others = ["t", "time", "model-time"].into_iter().filter(|n| !used(n));
    let mut texts = [name].into_iter().filter(|n| is_name(n)).chain(others).map(|n| put(at, at, format!("(time {n}{words})\n"))).peekable();
    let first = texts.peek().cloned();
    let (most, rest) = (usize::MAX, Limits::default());
    let limits = Limits { source_bytes: most, nesting: most, nodes: most, memory_bytes: most, ..rest };
    let good = texts.find(|text| compile(text, &Options { limits, ..Default::default() }).is_ok());
    good.or(first).unwrap_or_else(|| source.to_string())
}

/// Whether a text is a name of the language.
fn is_name(text: &str) -> bool {
    let (data, errors) = read(text, &Limits::default());
    errors.is_empty() && matches!(data.top[..], [only] if data.symbol(only).is_some())
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
        out.push_str(&value_text(*shape, values));
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
    /// The SHA-256 of the file with the weights of the model's nets, where it has nets.
    pub weights: Option<String>,
}

/// Which lines of a text are a record: one for people, and behind it, or where it looks like JSON, one for programs.
fn record_lines(text: &str) -> impl Iterator<Item = (&str, bool)> {
    let mut before = "";
    text.lines().map(move |line| {
        let people = std::mem::replace(&mut before, line).starts_with(FOR_PEOPLE);
        let program = line.strip_prefix(FOR_PROGRAMS).is_some_and(|json| people || json.trim_start().starts_with('{'));
        (line, program || line.starts_with(FOR_PEOPLE))
    })
}

/// A text less its record; the same text where it has none.
fn without_record(text: &str) -> Cow<'_, str> {
    if record_lines(text).all(|(_, record)| !record) {
        return text.into();
    }
    let kept: Vec<&str> = record_lines(text).filter(|(_, record)| !record).map(|(line, _)| line).collect();
    format!("{}\n", kept.join("\n").trim_end()).into()
}

/// A text with a record of a fit, as JSON, in place of the one it has.
pub fn with_record(text: &str, fit: &Value, from: &Provenance) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let (hash, of) = &from.sha256;
    let mut record = json!({
        "version": version, "text": {"sha256": sha256_of_text(text)},
        "data": {"name": from.data, "rows": from.rows, "sha256": hash, "sha256_of": of}, "options": from.options, "fit": fit,
    });
    if let Some(weights) = &from.weights {
        record["weights"] = json!({"sha256": weights});
    }
    let name: String = from.data.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let people = format!("{FOR_PEOPLE}{version} to {name}: {} rows, SHA-256 of the {of} {hash}", from.rows);
    format!("{}\n{people}\n{FOR_PROGRAMS}{record}\n", without_record(text).trim_end())
}

/// The record of a saved model: its line, from 1, and its JSON, or why that cannot be read.
pub fn record(text: &str) -> Option<(usize, Result<Value, String>)> {
    let lines = record_lines(text).enumerate().filter(|(_, (_, record))| *record);
    let (number, json) = lines.filter_map(|(i, (line, _))| Some((i + 1, line.strip_prefix(FOR_PROGRAMS)?))).last()?;
    Some((number, serde_json::from_str(json).map_err(|e| e.to_string())))
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

/// The SHA-256 of what a text says: of its words and numbers, and of how it reads dates. Its layout, its remarks and its record do not
/// count, so that a text that was written in infix and read again has the same.
pub fn sha256_of_text(text: &str) -> String {
    let limits = Limits { source_bytes: usize::MAX, nesting: usize::MAX, ..Limits::default() };
    let (data, _) = read(text, &limits);
    let mut hash = Sha256::new();
    text.lines().filter(|line| dates::is_mark(line)).for_each(|line| hash.update(format!("{}\n", line.trim_end())));
    // What is left to write: data, and the brackets behind them.
    let mut left: Vec<Result<DatumId, &str>> = data.top.iter().rev().map(|&d| Ok(d)).collect();
    while let Some(next) = left.pop() {
        match next.map(|d| (d, data.get(d))) {
            Err(close) => hash.update(close),
            Ok((_, Datum::Number(x))) => hash.update([&b"#"[..], &x.to_bits().to_le_bytes()].concat()),
            Ok((_, Datum::Symbol(s))) => hash.update([&b"|"[..], data.names.text(s).as_bytes(), &[0]].concat()),
            Ok((d, list @ (Datum::List(..) | Datum::Bracket(..)))) => {
                let (open, close) = if matches!(list, Datum::List(..)) { ("(", ")") } else { ("[", "]") };
                hash.update(open);
                left.push(Err(close));
                left.extend(data.children(d).iter().rev().map(|&c| Ok(c)));
            }
        }
    }
    hexadecimal(hash)
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
    use neural_compiler::Syntax;

    #[test]
    fn the_start_and_the_step_are_kept_in_one_place() {
        let model = "(param k 1) ; rate\n(state x 10)\n(derive x (- (* k x)))";
        let with_start = |source: &str, name: &str, start: f64| with_time(source, name, Some(start), None);
        assert_eq!(with_start(model, "t", 1.0), model.replace("(state", "(time t :start 1)\n(state"));
        assert_eq!(with_start(model, "time (h)", 1.0), model.replace("(state", "(time t :start 1)\n(state"));
        // What else is called so is no time.
        assert_eq!(
            with_start(&model.replace('k', "t"), "t", 1.0),
            model.replace('k', "t").replace("(state", "(time time :start 1)\n(state")
        );
        let declared = format!("{model} (time year)");
        assert_eq!(with_start(&declared, "year", 1900.0), format!("{model} (time year :start 1900)"));
        let said = format!("{model} (time year :start 0 :step 2)");
        assert_eq!(with_start(&said, "year", -0.5), format!("{model} (time year :start -0.5 :step 2)"));
        let map = "(state x 10)\n(next x (* 2 x))";
        assert_eq!(with_time(map, "t", None, Some(0.5)), format!("(time t :step 0.5)\n{map}"));
        assert_eq!(with_time(map, "s", Some(0.0), Some(0.5)), format!("(time s :start 0 :step 0.5)\n{map}"));
        assert_eq!(with_time(&format!("(time s :step 3) {map}"), "s", Some(0.0), Some(0.5)), format!("(time s :start 0 :step 0.5) {map}"));
        assert_eq!(with_time(map, "s", None, None), map);
    }

    #[test]
    fn only_values_change() {
        let source = "; growth\n(param r 1 :min 0) ; per year\n(param w [1 2])\n(param K 5 :fixed)\n(define param 3)\n(* r x (dot w w) K)";
        let fitted = [("r".into(), Shape::Scalar, vec![0.1]), ("w".into(), Shape::Vector(2), vec![1.5, -2e-9])];
        let saved = with_values(source, &fitted);
        assert_eq!(saved, source.replace("r 1 :min", "r 0.1 :min").replace("[1 2]", "[1.5 -2e-9]"));
    }

    #[test]
    fn the_hash_of_a_text_is_that_of_what_it_says() {
        let text = "(param k 0.5 :min 0) ; rate\n(input t :unit h)\n(* [1 2] (exp (- (* k t))))";
        let hash = sha256_of_text(text);
        let translate = |text: &str, from, to| neural_compiler::syntax::translate::translate(text, from, to, &Limits::default()).unwrap();
        let back = translate(&translate(text, Syntax::Scheme, Syntax::Infix), Syntax::Infix, Syntax::Scheme);
        for same in ["(param k 5e-1 :min 0)\n\n(input |t| :unit h) (* [1 2.0] (exp (- (* k t))))\n; fit: {}", &back] {
            assert_eq!(sha256_of_text(same), hash, "{same}");
        }
        let dated = format!("; dates are read as days since 2024-03-01T00:00:00\n{text}");
        let edits = [("0.5", "0.6"), (":min 0", ":min 1"), ("h)", "s)"), ("[1 2]", "[2 1]"), ("(- (* k t))", "(* k t)"), ("k", "m")];
        let others = edits.iter().map(|(from, to)| text.replace(from, to));
        for other in others.chain([dated.replace("-01T", "-02T"), dated.clone()]) {
            assert_ne!(sha256_of_text(&other), hash, "{other}");
        }
        assert_ne!(sha256_of_text(&dated), sha256_of_text(&dated.replace("-01T", "-02T")));
    }

    #[test]
    fn a_text_has_one_record() {
        let from = |data: &str| Provenance {
            data: data.into(),
            rows: 3,
            sha256: (sha256("abc".as_bytes()).unwrap(), "file"),
            options: json!({"loss": "huber"}),
            weights: None,
        };
        let once = with_record("(param a 1)\n(* a x) ; here\n", &json!({"k": 2}), &from("one\ntwo.csv"));
        let twice = with_record(&once, &json!({"k": 3}), &from("b.csv"));
        assert!(
            twice.starts_with("(param a 1)\n(* a x) ; here\n; Fitted by") && twice.lines().count() == 4 && !twice.contains("two.csv"),
            "{twice}"
        );
        let (line, read) = record(&twice).unwrap();
        let read = read.unwrap();
        assert_eq!(line, 4);
        // The example of FIPS 180-2.
        assert_eq!(read["data"]["sha256"], "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(
            (read["fit"]["k"].as_u64(), read["options"]["loss"].as_str(), read["data"]["name"].as_str()),
            (Some(3), Some("huber"), Some("b.csv"))
        );
        assert_eq!(record("(* a x)\n; fit: a remark of the author"), None);
        assert_eq!(without_record(&twice), "(param a 1)\n(* a x) ; here\n");
        assert_eq!(without_record("(* a x)\n; fit: a remark of the author"), "(* a x)\n; fit: a remark of the author");
        assert!(neural_compiler::compile(&once, &Default::default()).is_ok());
    }
}
