//! Tables of doses. In: a model, the headers of a table, what the user calls times and groups; out: which column says what, and doses in
//! the units of the model.
//! Invariants: `amount (mg)` is the column `amount`; amounts are differences of the state they go to, rates such per time; a table without
//! units is in those of the model, and one with units needs such.

use super::schedule::{Dose, target};
use super::trajectories::error;
use crate::likelihood::groups;
use crate::model::layout::Layout;
use neural_compiler::units::header::{self, Header};
use neural_compiler::units::table::Kind;
use neural_compiler::units::{Conversion, Scale, Unit};
use neural_compiler::{Diagnostic, Diagnostics, Program};

/// What the columns of a table of doses are.
#[derive(Clone, Debug)]
pub struct DoseTable {
    /// The column of times.
    pub time: usize,
    /// That of amounts.
    pub amount: usize,
    /// That of rates.
    pub rate: Option<usize>,
    /// That of the states doses go to.
    pub target: Option<usize>,
    /// That of groups.
    pub group: Option<usize>,
    /// What the time is called in the model.
    clock: String,
    /// The headers of times, amounts and rates, and their units where they say some.
    units: [Option<(String, Scale)>; 3],
}

/// The column that tells the groups of a model's data apart: the one the user names, else the one by which its constants differ.
pub fn group_column(program: &Program, given: Option<&str>) -> Result<Option<String>, Diagnostics> {
    match given {
        Some(name) => Ok(Some(name.to_string())),
        None => Ok(groups::column(&Layout::new(program, &[])?)?.map(String::from)),
    }
}

impl DoseTable {
    /// Reads headers; `time` and `group`: what the user, or the model, calls these columns.
    pub fn new(program: &Program, headers: &[&str], time: Option<&str>, group: Option<&str>) -> Result<DoseTable, Diagnostic> {
        let split: Vec<Option<Header<'_>>> = headers.iter().map(|h| header::split(h)).collect();
        let named = |k: usize| split[k].as_ref().map_or(headers[k].trim(), |h| h.name);
        let place = |name: &str| headers.iter().position(|h| h.trim() == name).or_else(|| (0..headers.len()).find(|&k| named(k) == name));
        let declared = program.time().map(|t| t.name.as_str());
        let called = [time, declared, Some("time"), Some("t")].into_iter().flatten();
        const COLUMNS: &str = "time, amount, rate (0 or empty: at once), target (a state) and that of the groups";
        let (Some(at), Some(amount)) = (called.clone().find_map(place), place("amount")) else {
            let message = "doses need the columns `time` and `amount`".to_string();
            return Err(error("bad-events", message).help(format!("the columns are {COLUMNS}")));
        };
        let (rate, target, group) = (place("rate"), place("target"), group.and_then(place));
        let known: Vec<usize> = [Some(at), Some(amount), rate, target, group].into_iter().flatten().collect();
        if let Some(other) = (0..headers.len()).find(|k| !known.contains(k) && !headers[*k].is_empty()) {
            let message = format!("the column `{}` means nothing here", headers[other]);
            return Err(error("bad-events", message).help(format!("the columns are {COLUMNS}; leave others out")));
        }
        let said = |k: usize| split[k].as_ref().map(|h| (headers[k].to_string(), h.scale.clone()));
        let units = [said(at), said(amount), rate.and_then(said)];
        Ok(DoseTable { time: at, amount, rate, target, group, clock: declared.unwrap_or("t").to_string(), units })
    }

    /// A dose whose numbers are those of the table, in the units of the model; `row`: counted from 0.
    pub fn in_units_of(&self, program: &Program, dose: Dose, row: usize) -> Result<Dose, Diagnostic> {
        if self.units.iter().all(Option::is_none) {
            return Ok(dose);
        }
        let known = |name: &str| program.units().scale(name);
        let difference = |scale: Scale| Scale { unit: scale.unit.difference(), kind: Kind::Linear };
        let clock = known(&self.clock);
        let state = target(&dose, program).ok().and_then(known).map(difference);
        let per = |a: &Scale, b: &Scale| Some(Scale { unit: Unit::over(&a.unit, &b.unit.difference())?, kind: Kind::Linear });
        let rate = state.as_ref().zip(clock.as_ref()).and_then(|(a, b)| per(a, b));
        let convert = |x: f64, said: &Option<(String, Scale)>, wanted: Option<Scale>, is_difference: bool| {
            let Some((header, scale)) = said.as_ref() else { return Ok(x) };
            let Some(wanted) = wanted else {
                if scale.unit.is_one() && scale.kind == Kind::Linear {
                    return Ok(x);
                }
                let message = format!("the column `{header}` has a unit, and nothing in the model fixes one to convert it to");
                return Err(error("unit-mismatch", message).help("say the unit in the model, or leave it out of the header"));
            };
            let from = if is_difference { difference(scale.clone()) } else { scale.clone() };
            Conversion::new(&from, &wanted).map(|c| c.apply(x)).ok_or_else(|| {
                let message = format!("events, row {}: the column `{header}` has a unit of another dimension than the model", row + 1);
                error("unit-mismatch", message).help("amounts are in units of the state they go to, rates in such units per time")
            })
        };
        Ok(Dose {
            time: convert(dose.time, &self.units[0], clock, false)?,
            amount: convert(dose.amount, &self.units[1], state, true)?,
            rate: convert(dose.rate, &self.units[2], rate, true)?,
            ..dose
        })
    }
}
