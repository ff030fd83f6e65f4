//! Dates as times. In: dates and date-times (ISO 8601, or as Parquet holds them); out: numbers of a unit since an origin.
//! Invariants: a date with a zone is an instant, one without is taken as it is, and the two are never mixed, neither in one column nor with
//! the origin; differences are taken in whole nanoseconds before anything is rounded; where a program has a unit for what a column of dates
//! feeds, that unit is what they count, or it is an error.

use chrono::{DateTime, NaiveDate, NaiveDateTime, TimeDelta};
use neural_compiler::syntax::ast::ModelKind;
use neural_compiler::units::parse as unit_named;
use neural_compiler::{Diagnostic, Program};
use serde_json::{Value, json};
use std::str::FromStr;

/// How dates become numbers, as the user says it.
#[derive(Clone, Copy, Default)]
pub struct CalendarOptions {
    /// What times count (left out: days, hours or seconds, by what the dates span).
    pub unit: Option<Unit>,
    /// The date that is time 0 (left out: the earliest).
    pub origin: Option<Stamp>,
}

impl CalendarOptions {
    /// The same, with the unit that a program has for a column of dates; an error where another one is said.
    fn within(self, program: &Program, column: &str) -> Result<CalendarOptions, Diagnostic> {
        let own = Unit::of_program(program, column)?;
        match (self.unit, own) {
            (Some(said), Some(own)) if said != own => {
                let message = format!("the program has the times of the column `{column}` in {}, not in {}", own.name(), said.name());
                Err(mismatch(message).help("leave the unit of the dates out: that of the program is what they count"))
            }
            (said, own) => Ok(CalendarOptions { unit: said.or(own), ..self }),
        }
    }
}

/// A unit of time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Unit {
    /// 1 s
    Seconds,
    /// 60 s
    Minutes,
    /// 60 minutes
    Hours,
    /// 24 hours
    Days,
    /// 7 days
    Weeks,
    /// 365.25 days
    Years,
}

impl FromStr for Unit {
    type Err = String;

    fn from_str(text: &str) -> Result<Unit, String> {
        let lower = text.trim().to_ascii_lowercase();
        Unit::ALL
            .into_iter()
            .find(|u| u.name() == lower)
            .ok_or_else(|| format!("`{text}` is no unit of time; there are {}", Unit::ALL.map(Unit::name).join(", ")))
    }
}

const SECOND: i128 = 1_000_000_000;
const HOUR: i128 = 3600 * SECOND;
const DAY: i128 = 24 * HOUR;

impl Unit {
    /// Every unit.
    pub const ALL: [Unit; 6] = [Unit::Seconds, Unit::Minutes, Unit::Hours, Unit::Days, Unit::Weeks, Unit::Years];

    fn nanoseconds(self) -> i128 {
        match self {
            Unit::Seconds => SECOND,
            Unit::Minutes => 60 * SECOND,
            Unit::Hours => HOUR,
            Unit::Days => DAY,
            Unit::Weeks => 7 * DAY,
            Unit::Years => DAY * 36525 / 100,
        }
    }

    /// Its name among the units of programs.
    fn symbol(self) -> &'static str {
        match self {
            Unit::Seconds => "s",
            Unit::Minutes => "min",
            Unit::Hours => "h",
            Unit::Days => "d",
            Unit::Weeks => "wk",
            Unit::Years => "yr",
        }
    }

    /// The unit in which a program counts what a column of dates feeds, declared or inferred; nothing where it has none for it. An error
    /// where that is no unit that dates are counted in.
    fn of_program(program: &Program, column: &str) -> Result<Option<Unit>, Diagnostic> {
        // A column that is no input of a model with states holds its times, whatever it is called.
        let is_input = program.inputs().iter().any(|i| i.name == column);
        let clock = program.time().map_or("t", |t| t.name.as_str());
        let name = if is_input || program.kind() == ModelKind::Expression { column } else { clock };
        let Some((_, text)) = program.units().names.iter().find(|n| n.0 == name) else { return Ok(None) };
        let declared = unit_named(text).ok();
        match Unit::ALL.into_iter().find(|u| unit_named(u.symbol()).ok() == declared) {
            Some(unit) => Ok(Some(unit)),
            None => {
                let message = format!("the column `{column}` holds dates, and the program has `{name}` in `{text}`");
                let known = Unit::ALL.map(Unit::symbol).join(", ");
                Err(mismatch(message).help(format!("dates are counted in {known}: declare one of these")))
            }
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Seconds => "seconds",
            Unit::Minutes => "minutes",
            Unit::Hours => "hours",
            Unit::Days => "days",
            Unit::Weeks => "weeks",
            Unit::Years => "years",
        }
    }
}

/// A point in time: nanoseconds since 1970, and whether a zone was given.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Stamp {
    /// Nanoseconds since 1970-01-01T00:00:00.
    pub nanoseconds: i128,
    /// Whether a zone was given: an instant.
    pub zoned: bool,
}

impl FromStr for Stamp {
    type Err = String;

    fn from_str(text: &str) -> Result<Stamp, String> {
        parse(text).ok_or_else(|| "a date such as 2024-03-01 or 2024-03-01T12:00:00Z".into())
    }
}

fn mismatch(message: String) -> Diagnostic {
    Diagnostic::error("unit-mismatch", Default::default(), message)
}

fn of(naive: NaiveDateTime) -> i128 {
    let utc = naive.and_utc();
    i128::from(utc.timestamp()) * SECOND + i128::from(utc.timestamp_subsec_nanos())
}

/// Whether a model asks for a column by name, `named` being the columns that options name: then its dates are times.
pub fn asked_for(program: &Program, named: &[&str], column: &str) -> bool {
    named.contains(&column) || ["t", "time"].contains(&column) || program.reads_column(column)
}

/// Reads a date or a date-time.
pub fn parse(text: &str) -> Option<Stamp> {
    // Four digits, a hyphen: nothing else is worth a closer look.
    let text = text.trim();
    if text.len() < 10 || text.len() > 40 || !text.is_ascii() || text.as_bytes()[4] != b'-' || text.as_bytes()[7] != b'-' {
        return None;
    }
    let naive = |nanoseconds| Some(Stamp { nanoseconds, zoned: false });
    if text.len() == 10 {
        return naive(of(NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?.and_hms_opt(0, 0, 0)?));
    }
    let text = text.replacen(' ', "T", 1).replace(' ', "");
    for format in ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%dT%H:%M"] {
        if let Ok(at) = NaiveDateTime::parse_from_str(&text, format) {
            return naive(of(at));
        }
    }
    let zoned = text.strip_suffix(['Z', 'z']).map(|t| format!("{t}+00:00")).unwrap_or(text);
    ["%Y-%m-%dT%H:%M:%S%.f%#z", "%Y-%m-%dT%H:%M%#z"].iter().find_map(|format| {
        let at = DateTime::parse_from_str(&zoned, format).ok()?;
        Some(Stamp { nanoseconds: of(at.naive_utc()), zoned: true })
    })
}

/// A point in time as ISO 8601.
pub fn text(stamp: Stamp) -> String {
    let (seconds, rest) = (stamp.nanoseconds.div_euclid(SECOND), stamp.nanoseconds.rem_euclid(SECOND));
    let at = i64::try_from(seconds)
        .ok()
        .and_then(|s| DateTime::from_timestamp(s, 0))
        .and_then(|at| at.checked_add_signed(TimeDelta::nanoseconds(rest as i64)));
    match at {
        None => format!("{} ns since 1970", stamp.nanoseconds),
        Some(at) => format!("{}{}", at.format("%Y-%m-%dT%H:%M:%S%.f"), if stamp.zoned { "Z" } else { "" }),
    }
}

/// What time 0 is, and what the times count.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Calendar {
    unit: Unit,
    origin: Stamp,
}

const MARK: &str = "; dates are read as ";

/// Whether a line of a text says how dates are read.
pub(crate) fn is_mark(line: &str) -> bool {
    line.starts_with(MARK)
}

impl Calendar {
    /// The calendar that the options say, together with the unit that a program has for a column; nothing where that is not all.
    pub fn said(options: CalendarOptions, program: &Program, column: &str) -> Result<Option<Calendar>, Diagnostic> {
        let options = options.within(program, column)?;
        Ok(options.unit.zip(options.origin).map(|(unit, origin)| Calendar { unit, origin }))
    }

    /// The calendar by which the dates of a table are read: the one the program and the options say, a saved model remembers, or, in a fit,
    /// these dates suggest; none where there are no dates. `named`: the columns the options name, the time before all.
    pub fn of_table(
        dated: &[(String, Vec<Option<Stamp>>)],
        named: &[&str],
        program: &Program,
        options: CalendarOptions,
        fitting: bool,
    ) -> Result<Option<Calendar>, Diagnostic> {
        for (name, stamps) in dated {
            let mut zones = stamps.iter().flatten().map(|s| s.zoned);
            let first = zones.next();
            if zones.any(|z| Some(z) != first) {
                let message = format!("some dates of the column `{name}` have a zone, others have none");
                return Err(
                    Diagnostic::error("mixed-zones", Default::default(), message).help("give all of them a zone, such as Z or +01:00")
                );
            }
        }
        // The times say what the others are counted from.
        let Some(leading) = dated
            .iter()
            .find(|d| named.contains(&d.0.as_str()))
            .or(dated.iter().find(|d| ["t", "time"].contains(&d.0.as_str())))
            .or(dated.first())
        else {
            return Ok(None);
        };
        let saved = Calendar::remembered(&program.scheme())?;
        let options = options.within(program, &leading.0)?;
        if let Some((saved, own)) = saved.zip(Unit::of_program(program, &leading.0)?).filter(|(saved, own)| saved.unit != *own) {
            let message = format!("the saved model counts dates in {}, and has `{}` in {}", saved.unit.name(), leading.0, own.name());
            return Err(mismatch(message).help("its fit read dates in another unit than its own: fit it again"));
        }
        if !fitting && (options.unit.is_none() || options.origin.is_none()) && saved.is_none() {
            let message = format!("the column `{}` holds dates, and nothing says which is time 0", leading.0);
            return Err(Diagnostic::error("no-origin", Default::default(), message));
        }
        let all: Vec<i128> = leading.1.iter().flatten().map(|s| s.nanoseconds).collect();
        let calendar = Calendar::of(options, saved, &all, leading.1.iter().flatten().any(|s| s.zoned));
        // One calendar for all: what its times count is what every column of dates counts.
        for (name, _) in dated {
            if let Some(own) = Unit::of_program(program, name)?.filter(|u| *u != calendar.unit) {
                let message = format!("dates are counted in {}, and the program has `{name}` in {}", calendar.unit.name(), own.name());
                return Err(mismatch(message).help("declare one unit for all that dates feed"));
            }
        }
        let other = dated.iter().find(|d| d.1.iter().flatten().any(|s| !calendar.counts(*s)));
        match other {
            Some((name, _)) => {
                Err(Diagnostic::error("mixed-zones", Default::default(), format!("the column `{name}` and time 0: {}", calendar.mixed()))
                    .help("give both a zone, such as 2024-03-01T00:00:00Z, or neither"))
            }
            None => Ok(Some(calendar)),
        }
    }

    fn of(options: CalendarOptions, saved: Option<Calendar>, dates: &[i128], zoned: bool) -> Calendar {
        let (low, high) = dates.iter().fold((i128::MAX, i128::MIN), |(a, b), &x| (a.min(x), b.max(x)));
        let (low, high) = if low <= high { (low, high) } else { (0, 0) };
        let suggested = match high - low {
            span if span >= 2 * DAY => Unit::Days,
            span if span >= 2 * HOUR => Unit::Hours,
            _ => Unit::Seconds,
        };
        Calendar {
            unit: options.unit.or(saved.map(|c| c.unit)).unwrap_or(suggested),
            origin: options.origin.or(saved.map(|c| c.origin)).unwrap_or(Stamp { nanoseconds: low, zoned }),
        }
    }

    /// The calendar a saved model was fitted with.
    pub fn remembered(model: &str) -> Result<Option<Calendar>, Diagnostic> {
        let Some(line) = model.lines().find_map(|l| l.strip_prefix(MARK)) else { return Ok(None) };
        let read = || -> Result<Calendar, String> {
            let (unit, origin) = line.split_once(" since ").ok_or("it has no `since`")?;
            Ok(Calendar { unit: unit.parse()?, origin: parse(origin).ok_or_else(|| format!("`{origin}` is no date"))? })
        };
        read().map(Some).map_err(|why| {
            let message = format!("the line `{MARK}{line}` of the model cannot be read: {why}");
            Diagnostic::error("bad-calendar", Default::default(), message)
                .help(format!("it should read like `{MARK}days since 2024-03-01T00:00:00Z`"))
        })
    }

    /// Whether a date can be counted from time 0: both are instants, or neither is.
    pub fn counts(self, date: Stamp) -> bool {
        date.zoned == self.origin.zoned
    }

    /// Why dates of the other kind are not counted.
    pub fn mixed(self) -> String {
        let (date, origin) = if self.origin.zoned { ("no", "one") } else { ("a", "none") };
        format!("the date has {date} zone, and time 0, {}, has {origin}", text(self.origin))
    }

    /// A model that remembers this calendar and no other.
    pub fn remember(self, model: &str) -> String {
        let kept: String = model.lines().filter(|l| !l.starts_with(MARK)).map(|l| format!("{l}\n")).collect();
        format!("{MARK}{}\n{kept}", self.words())
    }

    /// A date as a number.
    pub fn number(self, nanoseconds: i128) -> f64 {
        (nanoseconds - self.origin.nanoseconds) as f64 / self.unit.nanoseconds() as f64
    }

    /// In words.
    pub fn words(self) -> String {
        format!("{} since {}", self.unit.name(), text(self.origin))
    }

    /// As reports in JSON have it.
    pub fn json(self) -> Value {
        json!({"unit": self.unit.name(), "origin": text(self.origin)})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(text: &str) -> Program {
        neural_compiler::compile(text, &Default::default()).unwrap()
    }

    #[test]
    fn dates_with_and_without_zone() {
        let at = |text: &str| parse(text).map(|s| (s.nanoseconds, s.zoned));
        // 2024-03-01 is day 19783 since 1970-01-01.
        let day = 19783 * DAY;
        assert_eq!(at("2024-03-01"), Some((day, false)));
        assert_eq!(at("2024-03-01 12:30"), Some((day + HOUR * 25 / 2, false)));
        assert_eq!(at("2024-03-01T12:30:01.25"), Some((day + HOUR * 25 / 2 + SECOND * 5 / 4, false)));
        for text in [
            "2024-03-01T01:00:00+01:00",
            "2024-03-01 00:00:00Z",
            "2024-02-29T19:00:00-0500",
            "2024-03-01T00:00Z",
            "2024-03-01 02:00:00 +02",
        ] {
            assert_eq!(at(text), Some((day, true)), "{text}");
        }
        for text in [
            "",
            "2024",
            "2024-13-01",
            "2024-02-30",
            "01.03.2024",
            "2024-03-01T25:00",
            "2024-03-01Z",
            "1e5",
            "2024-03-01T00:00:00+",
            "éé24-03-01",
        ] {
            assert_eq!(at(text), None, "{text}");
        }
        assert_eq!(text(parse("2024-03-01T12:30:01.25Z").unwrap()), "2024-03-01T12:30:01.250Z");
    }

    #[test]
    fn a_model_remembers_its_calendar() {
        let args = CalendarOptions::default();
        let calendar = Calendar::of(args, None, &[19783 * DAY, 19800 * DAY], true);
        assert_eq!((calendar.words().as_str(), calendar.number(19784 * DAY + DAY / 2)), ("days since 2024-03-01T00:00:00Z", 1.5));
        let text = calendar.remember("(param k 1)\n");
        assert_eq!(Calendar::remembered(&text), Ok(Some(calendar)));
        assert_eq!(calendar.remember(&text), text);
        assert_eq!(Calendar::of(args, Some(calendar), &[19790 * DAY], true), calendar);
        assert_eq!(Calendar::of(args, None, &[0, 3 * HOUR], false).words(), "hours since 1970-01-01T00:00:00");
    }

    #[test]
    fn instants_and_dates_without_a_zone_are_not_mixed() {
        let column = |text: &str| vec![("t".to_string(), vec![parse(text), None])];
        let read = |text: &str, model: &str, origin: Option<&str>| {
            let options = CalendarOptions { unit: origin.map(|_| Unit::Days), origin: origin.and_then(parse) };
            Calendar::of_table(&column(text), &[], &program(model), options, false).map(|_| ()).map_err(|d| d.code)
        };
        let naive = "; dates are read as days since 2024-03-01T00:00:00\nt";
        let zoned = "; dates are read as days since 2024-03-01T00:00:00Z\nt";
        assert_eq!(read("2024-04-05", naive, None), Ok(()));
        assert_eq!(read("2024-04-05T00:00:00Z", zoned, None), Ok(()));
        assert_eq!(read("2024-04-05T00:00:00Z", naive, None), Err("mixed-zones"));
        assert_eq!(read("2024-04-05", zoned, None), Err("mixed-zones"));
        assert_eq!(read("2024-04-05", zoned, Some("2024-03-01")), Ok(()));
        assert_eq!(read("2024-04-05", "t", Some("2024-03-01T00:00:00Z")), Err("mixed-zones"));
    }

    /// The unit of the program is what dates count, whoever says otherwise.
    #[test]
    fn the_unit_of_the_program_decides() {
        let dated = vec![("when".to_string(), vec![parse("2024-03-01"), parse("2024-03-25")])];
        let read = |model: &str, unit: Option<Unit>| {
            let found = Calendar::of_table(&dated, &["when"], &program(model), CalendarOptions { unit, origin: None }, true);
            found.map(|c| c.unwrap().unit).map_err(|d| d.code)
        };
        let law = "(state A 1) (derive A (* (- k) A))";
        for (declared, unit) in
            [("min", Unit::Minutes), ("hour", Unit::Hours), ("d", Unit::Days), ("week", Unit::Weeks), ("a", Unit::Years)]
        {
            assert_eq!(read(&format!("(time when :unit {declared}) (param k 1) {law}"), None), Ok(unit), "{declared}");
        }
        assert_eq!(read(&format!("(time when) (param k 1) {law}"), None), Ok(Unit::Days));
        // A time of another name, and one whose unit follows from a rate.
        assert_eq!(read(&format!("(time t :unit h) (param k 1) {law}"), None), Ok(Unit::Hours));
        assert_eq!(read("(param k 1 :unit 1/h) (exp (- (* k when)))", None), Ok(Unit::Hours));
        let hours = "(input when :unit h) (param k 1) (* k when)";
        assert_eq!(read(hours, Some(Unit::Hours)), Ok(Unit::Hours));
        assert_eq!(read(hours, Some(Unit::Days)), Err("unit-mismatch"));
        assert_eq!(read(&format!("; dates are read as days since 2024-03-01T00:00:00\n{hours}"), None), Err("unit-mismatch"));
        for unit in ["ms", "mg", "1"] {
            assert_eq!(read(&hours.replace(":unit h", &format!(":unit {unit}")), None), Err("unit-mismatch"), "{unit}");
        }
        let two = vec![dated[0].clone(), ("then".to_string(), dated[0].1.clone())];
        let model = program("(input when :unit h) (input then :unit d) (/ then when)");
        assert_eq!(Calendar::of_table(&two, &[], &model, CalendarOptions::default(), true).map_err(|d| d.code), Err("unit-mismatch"));
    }

    #[test]
    fn a_line_that_cannot_be_read_is_no_line_to_pass_over() {
        for line in ["fortnights since 2024-03-01", "days since 2024-13-01", "days"] {
            assert_eq!(Calendar::remembered(&format!("; dates are read as {line}\nt")).map_err(|d| d.code), Err("bad-calendar"), "{line}");
        }
        assert_eq!(Calendar::remembered("; dates\nt"), Ok(None));
    }
}
