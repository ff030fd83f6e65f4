//! Units as people write them. In: `m/s^2`, `mg/(kg*d)`, `J mol-1 K-1`, `µg/mL`, `%`; out: the unit and its scale, or what is wrong.
//! Invariant: what has two readings (`J/mol K`) is refused.

use super::ratio::Ratio;
use super::table::{self, Kind};
use super::unit::{Part, Unit};
use crate::diagnostic::did_you_mean;

/// A unit with what is needed to convert numbers to and from it.
#[derive(Clone, PartialEq, Debug)]
pub struct Scale {
    /// The unit, its origin included where it has one.
    pub unit: Unit,
    /// How its numbers are counted.
    pub kind: Kind,
}

/// What is wrong with a text that should be a unit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadUnit {
    /// One sentence.
    pub message: String,
    /// Advice.
    pub help: Option<String>,
}

type Read<T> = Result<T, BadUnit>;

fn bad(message: String) -> BadUnit {
    BadUnit { message, help: None }
}

/// Longest text that is read.
const LONGEST: usize = 200;

/// Reads a unit.
///
/// ```
/// use neural_compiler::units::parse;
/// assert_eq!(parse("kg*m/s^2").unwrap().unit, parse("N").unwrap().unit);
/// assert!(parse("J/mol K").is_err());
/// ```
pub fn parse(text: &str) -> Read<Scale> {
    let text = text.trim();
    if text.is_empty() {
        return Err(bad("a unit is missing".into()));
    }
    if text.len() > LONGEST {
        return Err(bad(format!("a unit of more than {LONGEST} bytes")));
    }
    // `deg C` and `º C`, as keyboards have them.
    let glued = text.replace('º', "°").replace("deg ", "deg").replace("° ", "°");
    if let Some((row, kind)) = table::lone(&glued) {
        return Ok(Scale { unit: row, kind });
    }
    let mut parser = Parser { text, at: 0, depth: 0 };
    let unit = parser.product()?;
    match parser.rest().chars().next() {
        None => Ok(Scale { unit, kind: Kind::Linear }),
        Some(c) => Err(bad(format!("`{c}` has no place in the unit `{text}`"))),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

/// What stands between two factors.
#[derive(Clone, Copy, PartialEq)]
enum Join {
    Times,
    Over,
    /// Nothing but space.
    Beside,
}

fn large() -> BadUnit {
    bad("the exponents of this unit are too large".into())
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn take(&mut self, sign: &str) -> bool {
        let found = self.rest().starts_with(sign);
        self.at += if found { sign.len() } else { 0 };
        found
    }

    fn join(&mut self) -> Option<Join> {
        let before = self.at;
        self.skip();
        if self.take("*") || self.take("·") || self.take("⋅") || self.take("×") {
            return Some(Join::Times);
        }
        if self.take("/") || self.take("per ") {
            return Some(Join::Over);
        }
        let beside = self.at > before && self.rest().chars().next().is_some_and(|c| !matches!(c, ')' | ']'));
        beside.then_some(Join::Beside)
    }

    fn product(&mut self) -> Read<Unit> {
        self.depth += 1;
        if self.depth > 20 {
            return Err(bad("parentheses of a unit are nested too deeply".into()));
        }
        self.skip();
        let mut unit = self.factor()?;
        let mut divided = false;
        while let Some(join) = self.join() {
            if join == Join::Beside && divided {
                let help = "write a/(b*c) if both are divided by, a*c/b if not";
                return Err(BadUnit { message: format!("`{}` has two readings", self.text), help: Some(help.into()) });
            }
            self.skip();
            let factor = self.factor()?;
            // `5/9 K` has one reading.
            divided |= join == Join::Over && !factor.is_scale();
            unit = if join == Join::Over { unit.over(&factor) } else { unit.times(&factor) }.ok_or_else(large)?;
        }
        self.depth -= 1;
        Ok(unit)
    }

    fn factor(&mut self) -> Read<Unit> {
        let base = self.base()?;
        match self.exponent()? {
            Some(k) => base.power(k).ok_or_else(large),
            None => Ok(base),
        }
    }

    fn base(&mut self) -> Read<Unit> {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return Err(bad(format!("the unit `{}` ends too early", self.text))) };
        if self.take("(") {
            let inner = self.product()?;
            self.skip();
            return if self.take(")") { Ok(inner) } else { Err(bad(format!("a `)` is missing in the unit `{}`", self.text))) };
        }
        if first.is_ascii_digit() || first == '.' {
            return self.number();
        }
        let length = table::name_length(rest);
        if length == 0 {
            return Err(bad(format!("`{first}` has no place in the unit `{}`", self.text)));
        }
        let name = &rest[..length];
        self.at += length;
        if name == "pi" {
            return Ok(Unit::part(Part::Pi));
        }
        table::named(name).ok_or_else(|| {
            let help = did_you_mean(name, table::names()).or_else(|| Some("spec/units.md lists the units".into()));
            BadUnit { message: format!("there is no unit `{name}`"), help }
        })
    }

    fn number(&mut self) -> Read<Unit> {
        let rest = self.rest();
        let digits = |from: usize| rest[from..].bytes().take_while(u8::is_ascii_digit).count();
        let whole = digits(0);
        let mut end = whole;
        let mut decimals = 0;
        if rest[end..].starts_with('.') {
            decimals = digits(end + 1);
            end += 1 + decimals;
        }
        let mantissa = rest[..end].replace('.', "");
        let mut power = -(decimals as i64);
        if let Some(exponent) = rest[end..].strip_prefix(['e', 'E']) {
            let sign = usize::from(exponent.starts_with(['+', '-']));
            let length = exponent[sign..].bytes().take_while(u8::is_ascii_digit).count();
            if length > 0 {
                power += exponent[..sign + length].parse::<i64>().map_err(|_| large())?;
                end += 1 + sign + length;
            }
        }
        self.at += end;
        let wrong = || bad(format!("`{}` is no factor of a unit", &rest[..end]));
        let n: u64 = mantissa.trim_start_matches('0').parse().map_err(|_| wrong())?;
        if power.abs() > 60 {
            return Err(wrong());
        }
        Unit::number(n).with(&Unit::number(10), Ratio::whole(power)).ok_or_else(large)
    }

    /// `^2`, `**-1`, `^(1/2)`, `²`, and the bare `2` of `m2` and `-1` of `s-1`.
    fn exponent(&mut self) -> Read<Option<Ratio>> {
        if let Some(k) = self.raised() {
            return Ok(Some(k));
        }
        let marked = self.take("^") || self.take("**");
        let text = self.text;
        let wrong = || bad(format!("an exponent of the unit `{text}` is no number"));
        if marked && self.take("(") {
            let end = self.rest().find(')').ok_or_else(wrong)?;
            let inner = self.rest()[..end].trim();
            self.at += end + 1;
            let (top, bottom) = inner.split_once('/').unwrap_or((inner, "1"));
            let (top, bottom) = (decimal(top.trim()).ok_or_else(wrong)?, decimal(bottom.trim()).ok_or_else(wrong)?);
            return top.over(bottom).ok_or_else(wrong).map(Some);
        }
        let rest = self.rest();
        let sign = usize::from(rest.starts_with(['+', '-']));
        let points = |b: u8| b.is_ascii_digit() || (marked && b == b'.');
        let length = rest[sign..].bytes().take_while(|&b| points(b)).count();
        if length == 0 {
            return if marked { Err(wrong()) } else { Ok(None) };
        }
        self.at += sign + length;
        decimal(&rest[..sign + length]).ok_or_else(wrong).map(Some)
    }

    /// An exponent in raised digits.
    fn raised(&mut self) -> Option<Ratio> {
        const DIGITS: &str = "⁰¹²³⁴⁵⁶⁷⁸⁹";
        let digit = |c: char| DIGITS.chars().position(|d| d == c);
        let rest = self.rest();
        let (negative, digits) = rest.strip_prefix('⁻').map_or((false, rest), |r| (true, r));
        let found: Vec<usize> = digits.chars().map_while(digit).take(4).collect();
        if found.is_empty() {
            return None;
        }
        let length: usize = digits.chars().take(found.len()).map(char::len_utf8).sum();
        self.at += rest.len() - digits.len() + length;
        let n = found.iter().fold(0, |n, &d| 10 * n + d as i64);
        Some(Ratio::whole(if negative { -n } else { n }))
    }
}

fn decimal(text: &str) -> Option<Ratio> {
    Ratio::of(text.parse().ok()?)
}
