//! Dates as times. In: dates and date-times (ISO 8601, or as Parquet holds them); out: numbers of a unit since an origin.
//! Invariants: a date with a zone is an instant, one without is taken as it is (as if in UTC), and the two are not mixed in one column;
//! differences are taken in whole nanoseconds before anything is rounded.

use crate::context::Failure;
use chrono::{DateTime, NaiveDate, NaiveDateTime, TimeDelta};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

/// How dates become numbers, as the user says it.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Tables")]
pub(crate) struct DateArgs {
    /// The unit of times that come as dates (default for a fit: days, hours or seconds, by what they span)
    #[arg(long, value_name = "UNIT", value_enum)]
    pub(crate) time_unit: Option<Unit>,
    /// The date that is time 0 (default for a fit: the earliest)
    #[arg(long, value_name = "DATE", value_parser = parse_origin)]
    pub(crate) time_origin: Option<Stamp>,
}

/// A unit of time.
#[derive(Clone, Copy, PartialEq, Debug, ValueEnum)]
pub(crate) enum Unit {
    Seconds,
    Minutes,
    Hours,
    Days,
    Weeks,
    /// 365.25 days
    Years,
}

const SECOND: i128 = 1_000_000_000;
const HOUR: i128 = 3600 * SECOND;
const DAY: i128 = 24 * HOUR;

impl Unit {
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

    fn name(self) -> &'static str {
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
pub(crate) struct Stamp {
    pub(crate) nanoseconds: i128,
    pub(crate) zoned: bool,
}

fn of(naive: NaiveDateTime) -> i128 {
    let utc = naive.and_utc();
    i128::from(utc.timestamp()) * SECOND + i128::from(utc.timestamp_subsec_nanos())
}

/// Reads a date or a date-time.
pub(crate) fn parse(text: &str) -> Option<Stamp> {
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

fn parse_origin(text: &str) -> Result<Stamp, String> {
    parse(text).ok_or_else(|| "a date such as 2024-03-01 or 2024-03-01T12:00:00Z".into())
}

/// A point in time as ISO 8601.
pub(crate) fn text(stamp: Stamp) -> String {
    let (seconds, rest) = (stamp.nanoseconds.div_euclid(SECOND), stamp.nanoseconds.rem_euclid(SECOND));
    let at = i64::try_from(seconds).ok().and_then(|s| DateTime::from_timestamp(s, 0)).and_then(|at| at.checked_add_signed(TimeDelta::nanoseconds(rest as i64)));
    match at {
        None => format!("{} ns since 1970", stamp.nanoseconds),
        Some(at) => format!("{}{}", at.format("%Y-%m-%dT%H:%M:%S%.f"), if stamp.zoned { "Z" } else { "" }),
    }
}

/// What time 0 is, and what the times count.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Clock {
    unit: Unit,
    origin: Stamp,
}

const MARK: &str = "; dates are read as ";

impl Clock {
    /// The clock the options say.
    pub(crate) fn said(args: &DateArgs) -> Option<Clock> {
        Some(Clock { unit: args.time_unit?, origin: args.time_origin? })
    }

    /// The clock the options say, a saved model remembers, or these dates suggest.
    pub(crate) fn of(args: &DateArgs, model: &str, dates: &[i128], zoned: bool) -> Clock {
        let saved = Clock::remembered(model);
        let (low, high) = dates.iter().fold((i128::MAX, i128::MIN), |(a, b), &x| (a.min(x), b.max(x)));
        let (low, high) = if low <= high { (low, high) } else { (0, 0) };
        let suggested = match high - low {
            span if span >= 2 * DAY => Unit::Days,
            span if span >= 2 * HOUR => Unit::Hours,
            _ => Unit::Seconds,
        };
        Clock {
            unit: args.time_unit.or(saved.map(|c| c.unit)).unwrap_or(suggested),
            origin: args.time_origin.or(saved.map(|c| c.origin)).unwrap_or(Stamp { nanoseconds: low, zoned }),
        }
    }

    /// The clock a saved model was fitted with.
    pub(crate) fn remembered(model: &str) -> Option<Clock> {
        let line = model.lines().find_map(|l| l.strip_prefix(MARK))?;
        let (unit, origin) = line.split_once(" since ")?;
        Some(Clock { unit: Unit::from_str(unit.trim(), true).ok()?, origin: parse(origin)? })
    }

    /// A model that remembers this clock and no other.
    pub(crate) fn remember(self, model: &str) -> String {
        let kept: String = model.lines().filter(|l| !l.starts_with(MARK)).map(|l| format!("{l}\n")).collect();
        format!("{MARK}{}\n{kept}", self.words())
    }

    /// A date as a number.
    pub(crate) fn number(self, nanoseconds: i128) -> f64 {
        (nanoseconds - self.origin.nanoseconds) as f64 / self.unit.nanoseconds() as f64
    }

    /// In words.
    pub(crate) fn words(self) -> String {
        format!("{} since {}", self.unit.name(), text(self.origin))
    }

    pub(crate) fn json(self) -> Value {
        json!({"unit": self.unit.name(), "origin": text(self.origin)})
    }
}

/// Dates without an agreed origin.
pub(crate) fn no_origin(column: &str) -> Failure {
    let help = "say what time 0 is and what it counts, as the fit did: --time-origin 2024-01-01 --time-unit days".to_string();
    Failure::plain("no-origin", format!("the column `{column}` holds dates, and nothing says which is time 0"), Some(help))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_with_and_without_zone() {
        let at = |text: &str| parse(text).map(|s| (s.nanoseconds, s.zoned));
        // 2024-03-01 is day 19783 since 1970-01-01.
        let day = 19783 * DAY;
        assert_eq!(at("2024-03-01"), Some((day, false)));
        assert_eq!(at("2024-03-01 12:30"), Some((day + HOUR * 25 / 2, false)));
        assert_eq!(at("2024-03-01T12:30:01.25"), Some((day + HOUR * 25 / 2 + SECOND * 5 / 4, false)));
        for text in ["2024-03-01T01:00:00+01:00", "2024-03-01 00:00:00Z", "2024-02-29T19:00:00-0500", "2024-03-01T00:00Z", "2024-03-01 02:00:00 +02"] {
            assert_eq!(at(text), Some((day, true)), "{text}");
        }
        for text in ["", "2024", "2024-13-01", "2024-02-30", "01.03.2024", "2024-03-01T25:00", "2024-03-01Z", "1e5", "2024-03-01T00:00:00+", "éé24-03-01"] {
            assert_eq!(at(text), None, "{text}");
        }
        assert_eq!(text(parse("2024-03-01T12:30:01.25Z").unwrap()), "2024-03-01T12:30:01.250Z");
    }

    #[test]
    fn a_model_remembers_its_clock() {
        let args = DateArgs::default();
        let clock = Clock::of(&args, "", &[19783 * DAY, 19800 * DAY], true);
        assert_eq!((clock.words().as_str(), clock.number(19784 * DAY + DAY / 2)), ("days since 2024-03-01T00:00:00Z", 1.5));
        let text = clock.remember("(param k 1)\n");
        assert_eq!(Clock::remembered(&text), Some(clock));
        assert_eq!(clock.remember(&text), text);
        assert_eq!(Clock::of(&args, &text, &[19790 * DAY], true), clock);
        assert_eq!(Clock::of(&args, "", &[0, 3 * HOUR], false).words(), "hours since 1970-01-01T00:00:00");
    }
}
