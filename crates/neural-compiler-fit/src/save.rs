//! A fitted model as text. In: the source and a fit; out: the source with the initial value of each parameter replaced by the fitted one and
//! with the time at which starts hold, everything else, comments included, as it was.

use crate::report::Fit;
use neural_compiler::syntax::reader::{Data, DatumId, read};
use neural_compiler::{Limits, Shape, number_text};

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
}
