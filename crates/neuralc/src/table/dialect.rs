//! How a text table is written. In: options, and the cells as they come; out: what separates cells, what a number looks like, which lines
//! are no rows.
//!
//! Nothing is guessed: the decimal sign is decided by the first cell that can be read in one way only, in the order of the cells, so that
//! a pipe and a file, and chunks of any size, lead to the same decision. A cell that could be read in two ways before that decides that
//! no comma is read at all; who needs it gets an error that names both readings and the options.

use crate::context::Failure;
use clap::Args;
use serde_json::{Value, json};

/// How a table is written, as the user says it.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Tables")]
pub(crate) struct TableArgs {
    /// What separates the cells of a text table: `,` `;` `|` `tab` or `space` (default: what the first line shows)
    #[arg(long, value_name = "CHAR", value_parser = parse_separator)]
    pub(crate) separator: Option<Separator>,
    /// The decimal sign, `.` or `,` (default: what the first number with one shows)
    #[arg(long, value_name = "CHAR", value_parser = parse_decimal)]
    pub(crate) decimal: Option<char>,
    /// What groups the digits of large numbers: `,` `.` `'` `_` or `space`
    #[arg(long, value_name = "CHAR", value_parser = parse_thousands)]
    pub(crate) thousands: Option<char>,
    /// Lines that begin with this are comments; `none`: there are no comments (default: `#` where the table begins so)
    #[arg(long, value_name = "CHAR", value_parser = parse_comment)]
    pub(crate) comment: Option<Comment>,
    /// A text that stands for a missing value, besides an empty cell, NA, N/A, NaN, null, None, - and the like
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) missing: Vec<String>,
    /// The names of the columns of a text table that begins with its first row: NAME,NAME,…
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) header: Vec<String>,
}

/// What separates cells.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Separator {
    /// One character.
    Byte(u8),
    /// Any number of spaces and tabs.
    Blanks,
}

impl Separator {
    /// As a person says it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Separator::Byte(b';') => ";",
            Separator::Byte(b'\t') => "tab",
            Separator::Byte(b'|') => "|",
            Separator::Byte(_) => ",",
            Separator::Blanks => "space",
        }
    }
}

/// Whether there are comments.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Comment {
    From(u8),
    None,
}

fn parse_separator(text: &str) -> Result<Separator, String> {
    match text {
        "," | ";" | "|" => Ok(Separator::Byte(text.as_bytes()[0])),
        "tab" | "\t" | "\\t" => Ok(Separator::Byte(b'\t')),
        "space" | " " => Ok(Separator::Blanks),
        _ => Err("known are `,` `;` `|` `tab` and `space`".into()),
    }
}

fn parse_decimal(text: &str) -> Result<char, String> {
    match text {
        "." | "point" => Ok('.'),
        "," | "comma" => Ok(','),
        _ => Err("known are `.` and `,`".into()),
    }
}

fn parse_thousands(text: &str) -> Result<char, String> {
    match text {
        "," | "." | "'" | "_" => Ok(char::from(text.as_bytes()[0])),
        "space" | " " => Ok(' '),
        _ => Err("known are `,` `.` `'` `_` and `space`".into()),
    }
}

fn parse_comment(text: &str) -> Result<Comment, String> {
    match text.as_bytes() {
        b"none" => Ok(Comment::None),
        [one] if one.is_ascii_punctuation() => Ok(Comment::From(*one)),
        _ => Err("a single character such as `#`, or `none`".into()),
    }
}

impl TableArgs {
    /// Complains about options that contradict each other.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.thousands.is_some() && self.thousands == self.decimal {
            return Err(Failure::Usage("--decimal and --thousands cannot be the same".into()));
        }
        if self.decimal.is_none() && self.thousands == Some('.') {
            return Err(Failure::Usage("with --thousands . say the decimal sign too: --decimal ,".into()));
        }
        Ok(())
    }
}

/// What is known of the decimal sign.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Known {
    /// No number had one yet.
    Nothing,
    /// Said by the user, or shown by a number that can be read in one way only.
    Yes,
    /// A number came first that can be read in two ways.
    TwoWays,
}

/// How the numbers of a table are written.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Numbers {
    known: Known,
    /// The decimal sign.
    pub(crate) decimal: u8,
    /// What groups digits.
    pub(crate) thousands: Option<char>,
    /// What stands for a missing value besides the usual.
    pub(crate) missing: Vec<String>,
    /// What was found out rather than said.
    found: Option<&'static str>,
}

impl Default for Numbers {
    fn default() -> Numbers {
        Numbers::new(&TableArgs::default())
    }
}

impl Numbers {
    pub(crate) fn new(args: &TableArgs) -> Numbers {
        let said = args.decimal.is_some() || args.thousands.is_some();
        let decimal = args.decimal.map_or(if args.thousands == Some('.') { b',' } else { b'.' }, |c| c as u8);
        let known = if said { Known::Yes } else { Known::Nothing };
        Numbers { known, decimal, thousands: args.thousands, missing: args.missing.clone(), found: None }
    }

    /// Whether cells still have something to say.
    pub(crate) fn open(&self) -> bool {
        self.known == Known::Nothing
    }

    /// Learns from the cells of a row: from 1.234, which may be a thousand and more, only where no other says it.
    pub(crate) fn learn<'a>(&mut self, cells: impl Iterator<Item = &'a [u8]> + Clone) {
        let plain = Numbers { decimal: b'.', thousands: None, ..self.clone() };
        let points = Numbers { decimal: b',', thousands: Some('.'), ..self.clone() };
        let doubtful = |cell: &[u8]| [&plain, &points].iter().all(|n| n.plain(cell.trim_ascii()).is_some());
        for last in [false, true] {
            cells.clone().filter(|cell| last || !doubtful(cell)).for_each(|cell| self.learn_from(cell));
        }
    }

    fn learn_from(&mut self, cell: &[u8]) {
        if self.known != Known::Nothing || !cell.iter().any(|b| matches!(b, b'.' | b',')) {
            return;
        }
        let plain = Numbers { decimal: b'.', thousands: None, ..self.clone() };
        let comma = Numbers { decimal: b',', thousands: None, ..self.clone() };
        let grouped = Numbers { decimal: b'.', thousands: Some(','), ..self.clone() };
        let points = Numbers { decimal: b',', thousands: Some('.'), ..self.clone() };
        let reads = |n: &Numbers| n.plain(cell.trim_ascii()).is_some();
        match (reads(&plain), reads(&comma), reads(&grouped), reads(&points)) {
            // A point alone is a decimal point, as everywhere else in the tool.
            (true, ..) => self.known = Known::Yes,
            (_, true, true, _) => self.known = Known::TwoWays,
            (_, true, ..) => (self.known, self.decimal, self.found) = (Known::Yes, b',', Some("decimal comma")),
            (_, _, true, _) => (self.known, self.thousands, self.found) = (Known::Yes, Some(','), Some("thousands separator `,`")),
            (_, _, _, true) => {
                (self.known, self.decimal, self.thousands) = (Known::Yes, b',', Some('.'));
                self.found = Some("decimal comma and thousands separator `.`");
            }
            _ => {}
        }
    }

    /// A number as other programs write it, with a decimal point and no groups; `None`: it is not written in this way.
    pub(crate) fn plain(&self, text: &[u8]) -> Option<String> {
        let text = str::from_utf8(text).ok()?;
        let (body, exponent) = text.find(['e', 'E']).map_or((text, ""), |i| text.split_at(i));
        let (sign, body) = body.strip_prefix(['+', '-']).map_or(("", body), |rest| (&body[..1], rest));
        let (whole, fraction) = match body.split_once(char::from(self.decimal)) {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (body, None),
        };
        let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
        let ungrouped = self.ungroup(whole)?;
        let fine = digits(&ungrouped) && fraction.is_none_or(digits) && (!ungrouped.is_empty() || fraction.is_some_and(|f| !f.is_empty()));
        let exponent_fine = exponent.is_empty() || {
            let power = exponent[1..].strip_prefix(['+', '-']).unwrap_or(&exponent[1..]);
            !power.is_empty() && digits(power)
        };
        (fine && exponent_fine)
            .then(|| format!("{sign}{ungrouped}{}{}{exponent}", if fraction.is_some() { "." } else { "" }, fraction.unwrap_or("")))
    }

    /// A number of a table that is not written with a decimal point alone, written so; `None`: the cell may stay as it is.
    pub(crate) fn rewritten(&self, cell: &[u8]) -> Option<String> {
        if self.decimal == b'.' && self.thousands.is_none() {
            return None;
        }
        let cell = cell.trim_ascii();
        self.plain(cell).filter(|text| text.as_bytes() != cell)
    }

    /// Digits without what groups them: in threes, the ones before the last three perhaps in twos (1,23,456).
    fn ungroup(&self, whole: &str) -> Option<String> {
        let Some(mark) = self.thousands else { return Some(whole.to_string()) };
        let is_mark = |c: char| c == mark || mark == ' ' && matches!(c, '\u{a0}' | '\u{202f}' | '\u{2009}');
        let groups: Vec<&str> = whole.split(is_mark).collect();
        let [first, middle @ .., last] = &groups[..] else { return Some(whole.to_string()) };
        let size = middle.first().map_or(3, |g| g.len());
        let fine = matches!(first.len(), 1..=3)
            && !first.starts_with('0')
            && matches!(size, 2 | 3)
            && middle.iter().all(|g| g.len() == size)
            && last.len() == 3;
        fine.then(|| groups.concat())
    }

    /// What a cell could mean if the table were written otherwise: readings and the options that say so.
    pub(crate) fn other_readings(&self, cell: &[u8]) -> Vec<(String, String)> {
        let ways = [
            (b'.', None),
            (b',', None),
            (b'.', Some(',')),
            (b',', Some('.')),
            (b'.', Some('\'')),
            (b'.', Some(' ')),
            (b',', Some(' ')),
            (b'.', Some('_')),
        ];
        let mut found: Vec<(String, String)> = Vec::new();
        for (decimal, thousands) in ways {
            let way = Numbers { decimal, thousands, ..self.clone() };
            let Some(x) = way.plain(cell).and_then(|t| t.parse::<f64>().ok()).filter(|x| x.is_finite()) else { continue };
            let group =
                thousands.map(|c| if c == ' ' { " --thousands space".into() } else { format!(" --thousands \"{c}\"") }).unwrap_or_default();
            let reading = format!("{x}");
            if found.iter().all(|f| f.0 != reading) {
                found.push((reading, format!("--decimal {}{group}", char::from(decimal))));
            }
        }
        found
    }
}

/// What was found out about a table, to be told.
#[derive(Default, Debug)]
pub(crate) struct Notes {
    pub(crate) separator: Option<Separator>,
    pub(crate) decimal: Option<&'static str>,
    pub(crate) gzip: bool,
    pub(crate) mark: bool,
    pub(crate) comments: u64,
    pub(crate) empty_rows: u64,
    /// Sentences about columns: missing values, dates.
    pub(crate) columns: Vec<String>,
}

impl Notes {
    pub(crate) fn numbers(&mut self, numbers: &Numbers) {
        self.decimal = numbers.found;
    }

    fn all(&self) -> Vec<String> {
        let mut all = Vec::new();
        if self.gzip {
            all.push("compressed with gzip".into());
        }
        if self.mark {
            all.push("byte order mark".into());
        }
        if let Some(separator) = self.separator.filter(|s| *s != Separator::Byte(b',')) {
            all.push(format!("cells separated by `{}`", separator.name()));
        }
        all.extend(self.decimal.map(String::from));
        if self.comments > 0 {
            all.push(format!("{} skipped", count(self.comments, "line with a comment", "lines with comments")));
        }
        if self.empty_rows > 0 {
            all.push(format!("{} skipped", count(self.empty_rows, "row without any value", "rows without any value")));
        }
        all.extend(self.columns.iter().cloned());
        all
    }

    /// In one line; `None`: there is nothing unusual.
    pub(crate) fn line(&self, path: &str) -> Option<String> {
        let all = self.all();
        (!all.is_empty()).then(|| format!("{path}: {}", all.join("; ")))
    }

    pub(crate) fn json(&self) -> Value {
        let separator = self.separator.unwrap_or(Separator::Byte(b',')).name();
        json!({"separator": separator, "notes": self.all()})
    }
}

/// A number of things in words.
pub(crate) fn count(n: u64, one: &str, many: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {many}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(decimal: u8, thousands: Option<char>, text: &str) -> Option<f64> {
        Numbers { decimal, thousands, ..Numbers::default() }.plain(text.as_bytes()).and_then(|t| t.parse().ok())
    }

    #[test]
    fn numbers_as_they_are_written() {
        assert_eq!(read(b',', None, "-0,02e-3"), Some(-0.02e-3));
        assert_eq!(read(b',', None, ",5"), Some(0.5));
        assert_eq!(read(b',', Some('.'), "1.234.567,5"), Some(1_234_567.5));
        assert_eq!(read(b'.', Some(','), "1,234"), Some(1234.0));
        assert_eq!(read(b'.', Some(','), "12,34,567"), Some(1_234_567.0));
        assert_eq!(read(b'.', Some('\''), "1'234.5"), Some(1234.5));
        assert_eq!(read(b',', Some(' '), "1\u{a0}234,5"), Some(1234.5));
        for text in ["1,76", "0,123", "1,2345", "1,234,56", ",234", "1,,234", "1,234x", "", "-", ".", "e5", "1e"] {
            assert_eq!(read(b'.', Some(','), text), None, "{text}");
        }
    }

    #[test]
    fn the_first_clear_number_decides() {
        let learnt = |cells: &[&str]| {
            let mut numbers = Numbers::default();
            numbers.learn(cells.iter().map(|c| c.as_bytes()));
            (numbers.known, numbers.decimal, numbers.thousands)
        };
        assert_eq!(learnt(&["7", "0,02"]), (Known::Yes, b',', None));
        assert_eq!(learnt(&["0.02", "0,02"]), (Known::Yes, b'.', None));
        assert_eq!(learnt(&["1,234", "0,02"]), (Known::TwoWays, b'.', None));
        // Of 1.234 alone the point is a decimal one; beside a decimal comma it is read in two ways.
        assert_eq!(learnt(&["1.234"]), (Known::Yes, b'.', None));
        assert_eq!(learnt(&["1.234", "5,5"]), (Known::Yes, b',', None));
        assert_eq!(learnt(&["1,234,567"]), (Known::Yes, b'.', Some(',')));
        assert_eq!(learnt(&["1,234.5"]), (Known::Yes, b'.', Some(',')));
        assert_eq!(learnt(&["1.234,5"]), (Known::Yes, b',', Some('.')));
        assert_eq!(learnt(&["a,b", "v1.2", "2024-01-01"]), (Known::Nothing, b'.', None));
    }
}
