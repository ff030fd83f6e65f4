//! Units in the headers of tables. In: `T [degC]`, `dose (mg)`, `t/s`; out: the name and the unit. Invariant: what is in the brackets is a
//! unit that is known; `x[0]`, an element of a vector, has none. A column whose whole header is asked for keeps it.

use super::check::VALUE;
use super::convert::Conversion;
use super::parse::{Scale, parse};
use super::table::Kind;
use crate::compile::Program;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::syntax::ast::ModelKind;

/// A header with a unit in it.
#[derive(Clone, PartialEq, Debug)]
pub struct Header<'a> {
    /// The name before the unit.
    pub name: &'a str,
    /// The unit as it is written.
    pub text: &'a str,
    /// The unit.
    pub scale: Scale,
}

/// Takes a header apart; nothing where it has no unit.
///
/// ```
/// use neural_compiler::units::header::split;
/// assert_eq!(split("dose (mg)").map(|h| (h.name, h.text)), Some(("dose", "mg")));
/// assert_eq!(split("t/s").map(|h| h.name), Some("t"));
/// assert!(split("x[0]").is_none() && split("a/b").is_none() && split("T [room]").is_none());
/// ```
pub fn split(header: &str) -> Option<Header<'_>> {
    let header = header.trim();
    let inside = |open: char, close: char| {
        let (name, rest) = header.strip_suffix(close)?.split_once(open)?;
        Some((name.trim(), rest.trim()))
    };
    let (name, text) = inside('[', ']').or_else(|| inside('(', ')')).or_else(|| {
        let (name, text) = header.split_once('/')?;
        Some((name.trim(), text.trim()))
    })?;
    let index = text.bytes().all(|b| b.is_ascii_digit() || b == b',' || b == b' ');
    if name.is_empty() || index || name.contains(['[', '(']) {
        return None;
    }
    // People write [-] for pure numbers.
    let scale = parse(if text == "-" { "1" } else { text }).ok()?;
    Some(Header { name, text, scale })
}

/// A column of a table, as a program sees it.
#[derive(Clone, PartialEq, Debug)]
pub struct Column {
    /// Its name, without a unit.
    pub name: String,
    /// What turns its numbers into those of the program, where they differ.
    pub conversion: Option<Conversion>,
}

/// What the columns of a table are to a program. `named`: columns that options ask for by name; `sigma`: that of standard deviations, which
/// are differences. An error for a column whose unit is of another dimension than what it is for.
pub fn columns<'a>(
    program: &Program,
    headers: impl IntoIterator<Item = &'a str>,
    named: &[&str],
    sigma: Option<&str>,
) -> Result<Vec<Column>, Diagnostics> {
    let headers: Vec<&str> = headers.into_iter().collect();
    let input = |name: &str| program.inputs().iter().any(|i| i.name == name);
    let observed = |name: &str| program.observables().is_some_and(|(all, _)| all.iter().any(|o| o.0 == name));
    let asked = |name: &str| input(name) || observed(name) || named.contains(&name) || program.time().is_some_and(|t| t.name == name);
    let mut errors = Vec::new();
    let mut found = Vec::with_capacity(headers.len());
    for header in &headers {
        let plain = || Column { name: header.to_string(), conversion: None };
        let is_free = |h: &Header<'_>| !headers.contains(&h.name) && (asked(h.name) || !program.units().names.is_empty());
        let Some(unit) = (!asked(header)).then(|| split(header)).flatten().filter(is_free) else {
            found.push(plain());
            continue;
        };
        let own = program.units().scale(unit.name);
        let value = || program.units().scale(VALUE).filter(|_| program.kind() == ModelKind::Expression && !input(unit.name));
        let conversion = own.or_else(value).and_then(|wanted| {
            let difference = |scale: &Scale| Scale { unit: scale.unit.difference(), kind: Kind::Linear };
            let conversion = match sigma == Some(unit.name) {
                true => Conversion::new(&difference(&unit.scale), &difference(&wanted)),
                false => Conversion::new(&unit.scale, &wanted),
            };
            if conversion.is_none() {
                let declared = program.units().names.iter().find(|n| n.0 == unit.name || n.0 == VALUE).map_or("", |n| n.1.as_str());
                let message = format!("the column `{header}` is in `{}`, and the program has `{}` in `{declared}`", unit.text, unit.name);
                errors.push(
                    Diagnostic::error("unit-mismatch", Default::default(), message).help("give the column in a unit of that dimension"),
                );
            }
            conversion.filter(|c| !c.is_identity())
        });
        found.push(Column { name: unit.name.to_string(), conversion });
    }
    if errors.is_empty() { Ok(found) } else { Err(Diagnostics(errors)) }
}
