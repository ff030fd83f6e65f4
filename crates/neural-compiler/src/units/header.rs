//! Units in the headers of tables. In: `T [degC]`, `dose (mg)`, `t/s`; out: the name and the unit. Invariant: what is in the brackets is a
//! unit that is known; `x[0]`, an element of a vector, has none. A column whose whole header is asked for keeps it.

use super::check::VALUE;
use super::convert::Conversion;
use super::parse::{Scale, parse};
use super::scales;
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
/// assert_eq!(split("OD [1]").map(|h| h.scale), split("OD (-)").map(|h| h.scale));
/// assert!(split("x[1]").is_none() && split("x [2]").is_none() && split("OD [AU]").is_none());
/// assert!(split("x[0]").is_none() && split("a/b").is_none() && split("T [room]").is_none());
/// assert!(split("log10(CFU/mL)").is_none() && split("log CFU/mL").is_none());
/// assert_eq!(split("T (deg C)").map(|h| h.scale), split("T [°C]").map(|h| h.scale));
/// ```
pub fn split(header: &str) -> Option<Header<'_>> {
    let header = header.trim();
    if is_function(header) {
        return None;
    }
    let (name, text) = bracket(header).or_else(|| {
        let (name, text) = header.split_once('/')?;
        Some((name.trim(), text.trim()))
    })?;
    if name.is_empty() || is_index(header, text) || name.contains(['[', '(']) {
        return None;
    }
    // People write [-] for pure numbers.
    let scale = parse(if text == "-" { "1" } else { text }).ok()?;
    Some(Header { name, text, scale })
}

/// A header before its bracket, and what stands in that.
fn bracket(header: &str) -> Option<(&str, &str)> {
    let inside = |open: char, close: char| {
        let (name, rest) = header.strip_suffix(close)?.split_once(open)?;
        Some((name.trim(), rest.trim()))
    };
    inside('[', ']').or_else(|| inside('(', ')'))
}

/// Whether what stands in a bracket says which element of a vector a column is. The 1 of pure numbers stands apart or is round: `x [1]`,
/// `x(1)`; `x[1]` is an element.
fn is_index(header: &str, text: &str) -> bool {
    let pure = text == "1" && (header.ends_with(')') || header.split('[').next().is_some_and(|name| name.ends_with(char::is_whitespace)));
    !pure && text.bytes().all(|b| b.is_ascii_digit() || b == b',' || b == b' ')
}

/// Takes a header apart whose bracket holds something else than a unit, such as `OD [AU]`: the name, and what stands there.
fn unread(header: &str) -> Option<(&str, &str)> {
    let header = header.trim();
    let (name, text) = bracket(header).filter(|_| !is_function(header) && split(header).is_none())?;
    (!name.is_empty() && !text.is_empty() && !is_index(header, text) && !name.contains(['[', '('])).then_some((name, text))
}

/// The name in a header with a bracket or a unit.
fn bare(header: &str) -> Option<&str> {
    split(header).map(|h| h.name).or_else(|| unread(header).map(|u| u.0))
}

/// Whether a header says that its column is a function of a quantity: `log10(CFU/mL)`, `ln C`. Its numbers are no numbers of a unit.
fn is_function(header: &str) -> bool {
    const FUNCTIONS: &[&str] = &["log", "log10", "log2", "ln", "lg", "lb", "exp", "sqrt", "logit", "asinh"];
    let word: String = header.chars().take_while(char::is_ascii_alphanumeric).collect();
    let rest = header[word.len()..].trim_start();
    FUNCTIONS.contains(&word.to_ascii_lowercase().as_str()) && !rest.is_empty() && !rest.starts_with(['[', '/', '_', '-'])
}

/// A column of a table, as a program sees it.
#[derive(Clone, PartialEq, Debug)]
pub struct Column {
    /// Its name, without a unit unless it is asked for with it.
    pub name: String,
    /// What turns its numbers into those of the program, where they differ.
    pub conversion: Option<Conversion>,
    /// Whether it has a unit that nothing in the program fixes, so that its numbers are taken as they stand.
    pub idle: bool,
    /// What stands in its bracket, where that is no unit.
    pub unread: Option<String>,
}

/// What is asked of a table besides the inputs of a program.
#[derive(Clone, Copy, Default, Debug)]
pub struct Asked<'a> {
    /// Columns that options name, those below included.
    pub named: &'a [&'a str],
    /// The column of times.
    pub time: Option<&'a str>,
    /// The column that is compared with the value of the program.
    pub target: Option<&'a str>,
    /// The column of standard deviations, which are differences.
    pub sigma: Option<&'a str>,
    /// Whether the value is compared with a column: without a target, the one that nothing else asks for.
    pub fitting: bool,
}

/// What the columns of a table are to a program. An error for a column whose unit is of another dimension than what it is for, and for two
/// columns of one name in two units.
pub fn columns<'a>(program: &Program, headers: impl IntoIterator<Item = &'a str>, wanted: &Asked<'_>) -> Result<Vec<Column>, Diagnostics> {
    let table = Headers::new(program, headers, wanted);
    let (mut found, mut errors) = (Vec::with_capacity(table.all.len()), Vec::new());
    for &header in &table.all {
        match table.column(header) {
            Ok(column) => found.push(column),
            Err(e) => errors.push(e),
        }
    }
    if errors.is_empty() { Ok(found) } else { Err(Diagnostics(errors)) }
}

/// What to say of columns with a unit that nothing in the program fixes, or with something else in brackets, in a sentence.
pub fn remark<'a>(headers: impl IntoIterator<Item = &'a str>, columns: &[Column]) -> Option<String> {
    let idle = headers.into_iter().zip(columns).filter(|(_, c)| c.idle).map(|(h, _)| format!("`{h}`"));
    let names: Vec<String> = idle.collect();
    let (units, are, them) = if names.len() == 1 { ("unit", "is", "it") } else { ("units", "are", "them") };
    let why = format!("nothing in the model fixes a unit for {them}, and the numbers are taken as they stand");
    let idle = (!names.is_empty()).then(|| format!("the {units} of {} {are} not used: {why}", names.join(", ")));
    let unread = columns.iter().filter_map(|c| Some((&c.name, c.unread.as_ref()?)));
    let said: Vec<String> = unread
        .map(|(name, text)| format!("`{text}` in the header of `{name}` is no unit that is known, and the numbers are taken as they stand"))
        .chain(idle)
        .collect();
    (!said.is_empty()).then(|| said.join("; "))
}

/// The headers of a table and what is asked of it.
struct Headers<'a> {
    program: &'a Program,
    all: Vec<&'a str>,
    wanted: &'a Asked<'a>,
    /// Columns that nothing asks for by name.
    left: usize,
}

impl<'a> Headers<'a> {
    fn new<'h: 'a>(program: &'a Program, headers: impl IntoIterator<Item = &'h str>, wanted: &'a Asked<'a>) -> Headers<'a> {
        let mut table = Headers { program, all: headers.into_iter().collect(), wanted, left: 0 };
        let named = |h: &str| table.asked(h) || bare(h).is_some_and(|name| table.asked(name));
        table.left = table.all.iter().filter(|h| !named(h)).count();
        table
    }

    fn input(&self, name: &str) -> bool {
        self.program.inputs().iter().any(|i| i.name == name)
    }

    /// Whether the program has something of this name that a column is for.
    fn own(&self, name: &str) -> bool {
        let observed = self.program.observables().is_some_and(|(all, _)| all.iter().any(|o| o.0 == name));
        self.input(name) || observed || self.program.time().map_or_else(|| self.is_usual_time(name), |t| t.name == name)
    }

    /// Whether a model with states that names no column of times takes this one.
    fn is_usual_time(&self, name: &str) -> bool {
        self.program.kind() != ModelKind::Expression && self.wanted.time.is_none() && ["t", "time"].contains(&name)
    }

    fn asked(&self, name: &str) -> bool {
        self.own(name) || self.wanted.named.contains(&name)
    }

    /// Whether the program is an expression, and nothing else is compared with columns.
    fn is_formula(&self) -> bool {
        self.program.kind() == ModelKind::Expression && self.program.observables().is_none()
    }

    /// Whether a column, under this name, is compared with the value of the program.
    fn is_target(&self, name: &str) -> bool {
        let compared = match self.wanted.target {
            Some(target) => target == name,
            None => !self.asked(name),
        };
        self.wanted.fitting && self.is_formula() && (compared || self.wanted.sigma == Some(name)) && !self.input(name)
    }

    /// The scale of the program on which a column counts.
    fn scale(&self, name: &str) -> Option<Scale> {
        let units = self.program.units();
        if self.wanted.time == Some(name) && !self.input(name) {
            return units.scale(self.program.time().map_or("t", |t| t.name.as_str()));
        }
        let own = units.scale(name);
        if !self.is_target(name) {
            return own;
        }
        // A definition of that name says more of its unit than the value, where they are the same thing.
        let value = units.scale(VALUE);
        own.filter(|own| value.as_ref().is_none_or(|v| v.unit == own.unit)).or(value)
    }

    /// A column whose bracket holds no unit, where the name before it is asked for and no other column has that.
    fn other(&self, header: &str) -> Option<Result<Column, Diagnostic>> {
        let (name, text) = unread(header)?;
        let own = self.own(header) || self.wanted.named.contains(&header);
        let twin = || self.all.iter().any(|h| *h != header && (*h == name || bare(h) == Some(name)));
        if own || !self.asked(name) || twin() {
            return None;
        }
        if self.scale(name).is_some_and(|s| !s.unit.is_one()) {
            let message = format!("the column `{header}`: `{text}` is no unit that is known, and the program has a unit for `{name}`");
            let help = "give the column a unit of that dimension, or none if its numbers are in that of the program";
            return Some(Err(Diagnostic::error("unknown-unit", Default::default(), message).help(help)));
        }
        Some(Ok(Column { name: name.to_string(), conversion: None, idle: false, unread: Some(text.to_string()) }))
    }

    fn column(&self, header: &str) -> Result<Column, Diagnostic> {
        let plain = || Column { name: header.to_string(), conversion: None, idle: false, unread: None };
        let Some(unit) = (!self.own(header)).then(|| split(header)).flatten() else {
            let pure = self.scale(header).is_none_or(|s| s.unit.is_one());
            if is_function(header) && self.is_target(header) && self.left <= 1 && !pure {
                let message = format!("the column `{header}` holds a function of a quantity, and the value of the program has a unit");
                let help = "make that function the value of the program, a pure number, or give the column without it";
                return Err(Diagnostic::error("unit-mismatch", Default::default(), message).help(help));
            }
            return self.other(header).unwrap_or_else(|| Ok(plain()));
        };
        // That of pure numbers needs no unit to be converted to.
        let pure = unit.scale.unit.is_one() && unit.scale.kind == Kind::Linear;
        // Options may name a column with its unit.
        let whole = self.wanted.named.contains(&header);
        let name = if whole { header } else { unit.name };
        let asked = whole || self.asked(unit.name);
        if !whole {
            if self.all.contains(&unit.name) {
                return Ok(plain());
            }
            if !asked && self.program.units().names.is_empty() {
                return Ok(Column { idle: !pure && self.is_target(unit.name) && self.left <= 1, ..plain() });
            }
            let twin = self.all.iter().find(|h| **h != header && split(h).is_some_and(|s| s.name == unit.name));
            if let Some(twin) = twin {
                // Said once, of the second.
                let first = self.all.iter().find(|h| **h == header || *h == twin) == Some(&header);
                if !asked || first {
                    return Ok(plain());
                }
                let message = format!("`{twin}` and `{header}` are two columns `{}` in two units", unit.name);
                let help = "keep one of them, or give one another name";
                return Err(Diagnostic::error("duplicate-column", Default::default(), message).help(help));
            }
        }
        let deviation = self.wanted.sigma == Some(name);
        // Standard deviations of states and observables are in the unit of these.
        let (of, wanted) = match deviation && !self.is_formula() {
            true => scales::of_deviations(self.program, &self.all, header)?.map_or((None, None), |(of, scale)| (Some(of), Some(scale))),
            false => (None, self.scale(name)),
        };
        let Some(wanted) = wanted else {
            return Ok(Column { name: name.to_string(), idle: !pure && (asked || self.is_target(name)), ..plain() });
        };
        match scales::conversion(self.program, header, &unit, &wanted, deviation)? {
            Some(conversion) => {
                let conversion = Some(conversion).filter(|c| !c.is_identity());
                Ok(Column { name: name.to_string(), conversion, ..plain() })
            }
            // One of several columns that could be the target, but cannot.
            None if !asked && self.left > 1 => Ok(plain()),
            None => {
                let units = &self.program.units().names;
                let value = self.is_target(name);
                let declared = units.iter().find(|n| n.0 == name).or_else(|| units.iter().find(|n| value && n.0 == VALUE));
                let declared = declared.map_or("another unit", |n| n.1.as_str());
                let of = of.unwrap_or_else(|| format!("`{}` in `{declared}`", unit.name));
                let message = format!("the column `{header}` is in `{}`, and the program has {of}", unit.text);
                Err(Diagnostic::error("unit-mismatch", Default::default(), message).help("give the column in a unit of that dimension"))
            }
        }
    }
}
