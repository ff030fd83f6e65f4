//! A fitted model as text. In: the source and fitted values; out: the source with the initial value of each parameter replaced by the
//! fitted one, everything else, comments included, as it was.

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
    fn only_values_change() {
        let source = "; growth\n(param r 1 :min 0) ; per year\n(param w [1 2])\n(param K 5 :fixed)\n(define param 3)\n(* r x (dot w w) K)";
        let fitted = [("r".into(), Shape::Scalar, vec![0.1]), ("w".into(), Shape::Vector(2), vec![1.5, -2e-9])];
        let saved = with_values(source, &fitted);
        assert_eq!(saved, source.replace("r 1 :min", "r 0.1 :min").replace("[1 2]", "[1.5 -2e-9]"));
    }
}
