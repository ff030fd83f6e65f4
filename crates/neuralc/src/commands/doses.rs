//! `--events`: doses and infusions as rows of a table. In: a table with the columns time, amount, rate, target and that of groups; out: the
//! library's doses.

use crate::commands::fit_table::Whole;
use crate::context::Failure;
use crate::core::Compiled;
use crate::table::dates;
use crate::table::dialect::TableArgs;
use crate::table::{CellError, Reader, rows_for};
use neural_compiler::Diagnostic;
use neural_compiler::units::header::split;
use neural_compiler_fit::{Dose, DoseTable, group_column};

/// Reads the doses of a file. `time`, `group`: the columns the command line names; `data`: the table they are doses for; `every`: a row for
/// a group that it has not is a mistake, else one that is not needed.
pub(crate) fn read(
    path: Option<&str>,
    args: &TableArgs,
    model: &Compiled,
    (time, group): (Option<&str>, Option<&str>),
    data: Option<&Whole>,
    every: bool,
) -> Result<Vec<Dose>, Failure> {
    let Some(path) = path else { return Ok(vec![]) };
    let blame = |d: Diagnostic| Failure::plain(d.code, format!("`{path}`: {}", d.message), d.help);
    let group = group_column(&model.program, group).map_err(|e| Failure::program(&model.source, e))?;
    let mut reader = Reader::open(path, args)?;
    let columns = reader.columns().to_vec();
    let headers: Vec<&str> = columns.iter().map(String::as_str).collect();
    let found = DoseTable::new(&model.program, &headers, time, group.as_deref().filter(|_| data.is_some())).map_err(blame)?;
    let mut doses = Vec::new();
    let most = rows_for(columns.len());
    while let Some(chunk) = reader.next(most)? {
        let before = doses.len() as u64;
        let wrong = |e: CellError, i: usize| e.failure(&format!("`{path}`, {}", chunk.place(before, e.row)), &columns[i]);
        let numbers = |i: usize| -> Result<Vec<f64>, Failure> {
            let mut numbers = vec![f64::NAN; chunk.rows()];
            chunk.numbers_or_missing(i, &mut numbers).map_err(|e| wrong(e, i))?;
            Ok(numbers)
        };
        // Dates are counted as those of the data are; a column in a unit has numbers.
        let time = match split(headers[found.time]) {
            None => dates::times(chunk, found.time, data.and_then(|d| d.calendar)).map_err(|e| wrong(e, found.time))?,
            Some(_) => numbers(found.time)?,
        };
        let amount = numbers(found.amount)?;
        let rate = found.rate.map(numbers).transpose()?;
        let target = found.target.map(|i| chunk.texts(i)).transpose()?;
        let whose = found.group.map(|i| chunk.texts(i)).transpose()?;
        for row in 0..chunk.rows() {
            let number = |name: &String| {
                let number = data.zip(group.as_deref()).and_then(|(data, column)| data.number_of(column, name));
                let none = || error(path, format!("{}: the data have no group `{name}`", chunk.place(before, row)));
                // NaN is no group's number: there are doses, and they are for others.
                number.or((!every).then_some(f64::NAN)).ok_or_else(none)
            };
            let group = whose.as_ref().map(|w| number(&w[row])).transpose()?;
            let target = target.as_ref().map(|t| t[row].clone()).filter(|t| !t.is_empty());
            let rate = rate.as_ref().map_or(0.0, |r| if r[row].is_nan() { 0.0 } else { r[row] });
            let dose = Dose { time: time[row], amount: amount[row], rate, target, group };
            doses.push(found.in_units_of(&model.program, dose, before as usize + row).map_err(blame)?);
        }
    }
    Ok(doses)
}

fn error(path: &str, message: String) -> Failure {
    Failure::plain("bad-events", format!("`{path}`: {message}"), None)
}
