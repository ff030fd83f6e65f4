//! The options that say how dates become times. In: the command line; out: what the library reads dates by.

use crate::context::Failure;
use crate::table::{CellError, Chunk};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use neural_compiler::{Diagnostic, Program};
use neural_compiler_fit::dates::{Calendar, CalendarOptions, Stamp, Unit, text};
use std::str::FromStr;

fn unit_parser() -> impl TypedValueParser<Value = Unit> {
    PossibleValuesParser::new(Unit::ALL.map(Unit::name)).try_map(|name| name.parse::<Unit>())
}

/// How dates become numbers, as the user says it.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Tables")]
pub(crate) struct DateArgs {
    /// The unit of times that come as dates (default: the unit the model has for them; else, for a fit, days, hours or seconds, by what
    /// they span; years have 365.25 days)
    #[arg(long, value_name = "UNIT", value_parser = unit_parser())]
    pub(crate) time_unit: Option<Unit>,
    /// The date that is time 0 (default for a fit: the earliest)
    #[arg(long, value_name = "DATE")]
    pub(crate) time_origin: Option<Stamp>,
}

impl DateArgs {
    /// What to do about dates without an agreed origin.
    pub(crate) const NO_ORIGIN: &'static str =
        "say what time 0 is and what it counts, as the fit did: --time-origin 2024-01-01 --time-unit days";

    /// As the library takes them.
    pub(crate) fn options(&self) -> CalendarOptions {
        CalendarOptions { unit: self.time_unit, origin: self.time_origin }
    }

    /// The calendar that the options say, with the unit the program has for a column.
    pub(crate) fn said(&self, program: &Program, column: &str) -> Result<Option<Calendar>, Diagnostic> {
        Calendar::said(self.options(), program, column)
    }
}

/// A column of times, missing ones as NaN: numbers, or dates by the calendar of another table, the one they are beside.
pub(crate) fn times(chunk: Chunk<'_>, column: usize, calendar: Option<Calendar>) -> Result<Vec<f64>, CellError> {
    let mut times = vec![f64::NAN; chunk.rows()];
    let Err(e) = chunk.numbers_or_missing(column, &mut times) else { return Ok(times) };
    let stamps = match chunk.dates(column) {
        Ok(stamps) => stamps,
        // It begins with dates, so that is what it should hold.
        Err(d) if d.row > e.row => return Err(d),
        Err(_) => return Err(e),
    };
    let Some(calendar) = calendar else { return Err(CellError::date_beside_numbers(e.row)) };
    counted(stamps, calendar)
}

/// A column of dates, missing ones as NaN, in which nothing else may stand.
pub(crate) fn dates_alone(chunk: Chunk<'_>, column: usize, calendar: Calendar) -> Result<Vec<f64>, CellError> {
    let mut none = vec![f64::NAN; chunk.rows()];
    match chunk.dates(column) {
        Ok(stamps) => counted(stamps, calendar),
        // Where there is no value at all, the column may be of another type.
        Err(_) if chunk.numbers_or_missing(column, &mut none).is_ok() && none.iter().all(|x| x.is_nan()) => Ok(none),
        Err(e) => Err(e),
    }
}

/// A column of numbers, missing ones as NaN, in which no dates may stand; `dates`: what to do where one does.
pub(crate) fn numbers_alone(chunk: Chunk<'_>, column: usize, dates: &str) -> Result<Vec<f64>, CellError> {
    let mut numbers = vec![f64::NAN; chunk.rows()];
    let Err(e) = chunk.numbers_or_missing(column, &mut numbers) else { return Ok(numbers) };
    let is_date = match chunk.dates(column) {
        Ok(_) => true,
        Err(d) => d.row > e.row,
    };
    Err(if is_date { CellError { help: Some(dates.into()), ..e } } else { e })
}

/// Dates as times.
fn counted(stamps: Vec<Option<Stamp>>, calendar: Calendar) -> Result<Vec<f64>, CellError> {
    let one = |(row, stamp): (usize, Option<Stamp>)| match stamp {
        Some(stamp) if !calendar.counts(stamp) => Err(CellError::mixed_zones(row, calendar.mixed())),
        stamp => Ok(stamp.map_or(f64::NAN, |s| calendar.number(s.nanoseconds))),
    };
    stamps.into_iter().enumerate().map(one).collect()
}

/// A time on the command line: a number, or a date where times are dates.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Moment {
    Number(f64),
    Date(Stamp),
}

impl FromStr for Moment {
    type Err = String;

    fn from_str(given: &str) -> Result<Moment, String> {
        let date = || given.parse::<Stamp>().map(Moment::Date).map_err(|_| "neither a number nor a date such as 2024-03-01".to_string());
        given.parse::<f64>().map(Moment::Number).or_else(|_| date())
    }
}

impl Moment {
    /// As a number, by the calendar of the table.
    pub(crate) fn number(self, calendar: Option<Calendar>) -> Result<f64, Failure> {
        match (self, calendar) {
            (Moment::Number(x), _) => Ok(x),
            (Moment::Date(date), Some(calendar)) if calendar.counts(date) => Ok(calendar.number(date.nanoseconds)),
            (Moment::Date(_), Some(calendar)) => Err(Failure::plain("mixed-zones", calendar.mixed(), None)),
            (Moment::Date(date), None) => {
                let message = format!("the start time {} is a date, and the times of the table are numbers", text(date));
                Err(Failure::plain("bad-start-time", message, Some("give it as a number".to_string())))
            }
        }
    }
}
