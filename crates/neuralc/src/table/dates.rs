//! The options that say how dates become times. In: the command line; out: what the library reads dates by.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use neural_compiler_fit::dates::{Calendar, CalendarOptions, Stamp, Unit};

/// How dates become numbers, as the user says it.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Tables")]
pub(crate) struct DateArgs {
    /// The unit of times that come as dates (default for a fit: days, hours or seconds, by what they span; years have 365.25 days)
    #[arg(long, value_name = "UNIT", value_parser = PossibleValuesParser::new(Unit::ALL.map(Unit::name)).try_map(|name| name.parse::<Unit>()))]
    pub(crate) time_unit: Option<Unit>,
    /// The date that is time 0 (default for a fit: the earliest)
    #[arg(long, value_name = "DATE")]
    pub(crate) time_origin: Option<Stamp>,
}

impl DateArgs {
    /// What to do about dates without an agreed origin.
    pub(crate) const NO_ORIGIN: &'static str = "say what time 0 is and what it counts, as the fit did: --time-origin 2024-01-01 --time-unit days";

    /// As the library takes them.
    pub(crate) fn options(&self) -> CalendarOptions {
        CalendarOptions { unit: self.time_unit, origin: self.time_origin }
    }

    /// The calendar that the options alone say.
    pub(crate) fn said(&self) -> Option<Calendar> {
        Calendar::said(self.options())
    }
}
