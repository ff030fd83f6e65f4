//! A cell as a number. In: the text of a cell, and how the table is written; out: a number, "missing", or why it is neither, with the
//! option that would make it one.

use super::dialect::Numbers;
use crate::context::Failure;
use crate::value;
use neural_compiler::Diagnostic;
use neural_compiler_fit::dates;

/// What stands for a missing value in the tables of other programs; NaN is a number here and there.
const MISSING: [&str; 14] = ["NA", "N/A", "n/a", "na", "#N/A", "null", "NULL", "Null", "None", "NaT", "-", "--", "?", "."];

/// Why a cell is of no use.
#[derive(Clone, Debug)]
pub(crate) struct CellError {
    /// Its row in the chunk, from 0.
    pub(crate) row: usize,
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
}

impl CellError {
    /// There is nothing where a number is needed; `text`: what stands for it.
    pub(crate) fn missing(row: usize, text: &str) -> CellError {
        let message = if text.is_empty() {
            "the cell is empty, a number is needed".into()
        } else {
            format!("the value is missing (`{text}`), a number is needed")
        };
        CellError { row, code: "empty-cell", message, help: None }
    }

    /// A date is an instant where time 0 is none, or the other way round.
    pub(crate) fn mixed_zones(row: usize, message: String) -> CellError {
        CellError {
            row,
            code: "mixed-zones",
            message,
            help: Some("give all dates and --time-origin a zone, such as 2024-03-01T00:00:00Z, or none".into()),
        }
    }

    /// A date beside a table whose times are numbers.
    pub(crate) fn date_beside_numbers(row: usize) -> CellError {
        let message = "this is a date, and the times it is beside are numbers".to_string();
        CellError { row, code: "bad-events", message, help: Some("give the times of both tables as dates, or of both as numbers".into()) }
    }

    /// A date where the program has a unit that the options contradict.
    pub(crate) fn other_unit(row: usize, why: Diagnostic) -> CellError {
        CellError { row, code: why.code, message: why.message, help: why.help }
    }

    /// A whole number that no float64 holds.
    pub(super) fn inexact(row: usize, text: &str, x: f64) -> CellError {
        let help = "subtract an offset first; a number written with a decimal point or an exponent is rounded".to_string();
        CellError { row, code: "inexact-number", message: value::rounded(text, x), help: Some(help) }
    }

    pub(super) fn wrong(row: usize, message: impl Into<String>) -> CellError {
        CellError { row, code: "not-a-number", message: message.into(), help: None }
    }

    /// The error for the user; `place`: the row in words.
    pub(crate) fn failure(&self, place: &str, column: &str) -> Failure {
        Failure::plain(self.code, format!("{place}, column `{column}`: {}", self.message), self.help.clone())
    }
}

/// What a cell says.
pub(super) enum Said<'a> {
    Number(f64),
    Missing(&'a str),
}

/// Reads a cell.
pub(super) fn read<'a>(row: usize, cell: &'a [u8], numbers: &Numbers) -> Result<Said<'a>, CellError> {
    let cell = cell.trim_ascii();
    if cell.is_empty() {
        return Ok(Said::Missing(""));
    }
    let Ok(text) = str::from_utf8(cell) else {
        return Err(CellError::wrong(row, "the cell is not UTF-8 text"));
    };
    if numbers.missing.iter().any(|m| m == text) {
        return Ok(Said::Missing(text));
    }
    let usual = numbers.decimal == b'.' && numbers.thousands.is_none();
    if usual {
        match text.parse::<f64>() {
            // Numbers too large for the type read as infinity here, and are refused below.
            Ok(x) if x.is_finite() || !text.bytes().any(|b| b.is_ascii_digit()) => return exact(row, text, x),
            _ => {}
        }
    } else if let Some((plain, x)) = numbers.plain(cell).and_then(|t| t.parse::<f64>().ok().map(|x| (t, x))).filter(|(_, x)| x.is_finite())
    {
        return exact(row, &plain, x);
    }
    if MISSING.contains(&text) {
        return Ok(Said::Missing(text));
    }
    // A point that is no decimal point must not be read as one.
    if usual || !text.contains(['.', ',']) {
        match value::number(text) {
            Ok(x) => return Ok(Said::Number(x)),
            Err(message) => return Err(explain(row, text, numbers, message)),
        }
    }
    Err(explain(row, text, numbers, format!("`{}` is not a number", shown(text))))
}

/// A number, unless it is a whole one that was rounded; `text`: with a decimal point and no groups.
fn exact<'a>(row: usize, text: &str, x: f64) -> Result<Said<'a>, CellError> {
    if value::is_rounded(text, x) { Err(CellError::inexact(row, text, x)) } else { Ok(Said::Number(x)) }
}

fn shown(text: &str) -> String {
    text.chars().take(40).collect()
}

/// The error with what could be done about it.
fn explain(row: usize, text: &str, numbers: &Numbers, message: String) -> CellError {
    let error = |message: String, help: Option<String>| CellError { row, code: "not-a-number", message, help };
    match &numbers.other_readings(text.as_bytes())[..] {
        [] => {}
        [(x, option)] => {
            return error(format!("{message}; it would be {x} with {option}"), Some(format!("if the whole table is written so: {option}")));
        }
        many => {
            let readings: Vec<String> = many.iter().map(|(x, option)| format!("{x} with {option}")).collect();
            let message = format!("`{}` can be read in more than one way: as {}", shown(text), readings.join(", as "));
            return CellError {
                row,
                code: "ambiguous-number",
                message,
                help: Some("say how the table is written with one of these options".into()),
            };
        }
    }
    if dates::parse(text).is_some() {
        return error(
            format!("`{}` is a date, a number is needed", shown(text)),
            Some("dates are read as times: --time-unit days --time-origin 2000-01-01".into()),
        );
    }
    if text.starts_with(['#', '%', '!']) {
        return error(message, Some(format!("if such lines are comments: --comment '{}'", &text[..1])));
    }
    if text.contains([';', '\t', '|']) {
        return error(message, Some("does something else separate the cells? --separator ';' (or tab, '|', space)".into()));
    }
    error(message, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Result<f64, &'static str> {
        match read(0, text.as_bytes(), &Numbers::default()) {
            Ok(Said::Number(x)) => Ok(x),
            Ok(Said::Missing(_)) => Err("missing"),
            Err(e) => Err(e.code),
        }
    }

    #[test]
    fn whole_numbers_are_exact_or_refused() {
        // 2^53 + 1 lies between two numbers of float64; 2^53 + 2 and 10^22 = 2^22 * 5^22 are such.
        for text in ["9007199254740993", "-9007199254740993", "+009007199254740993", "100000000000000000000001", "1152921504606846977"] {
            assert_eq!(number(text), Err("inexact-number"), "{text}");
        }
        assert_eq!(number("9007199254740991"), Ok(9007199254740991.0));
        assert_eq!(number("-9007199254740994"), Ok(-9007199254740994.0));
        assert_eq!(number("10000000000000000000000"), Ok(1e22));
        assert_eq!((number("9007199254740993.0"), number("9007199254740993e0")), (Ok(9007199254740992.0), Ok(9007199254740992.0)));
        assert_eq!(number("-inf"), Ok(f64::NEG_INFINITY));
    }
}
