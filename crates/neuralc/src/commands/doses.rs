//! `--events`: doses and infusions as rows of a table. In: a table with the columns time, amount, rate, target and that of groups; out: the
//! library's doses.

use crate::context::Failure;
use crate::core::Compiled;
use crate::table::dialect::TableArgs;
use crate::table::{Reader, rows_for};
use neural_compiler_fit::Dose;

fn wrong(path: &str, message: String, help: Option<&str>) -> Failure {
    Failure::plain("bad-events", format!("`{path}`: {message}"), help.map(String::from))
}

/// Reads the doses of a file. `time`: the column of times where the command line names one; `group`: the column of groups with the names of
/// those there are, in the order of their numbers.
pub(crate) fn read(
    path: Option<&str>,
    args: &TableArgs,
    model: &Compiled,
    time: Option<&str>,
    group: Option<(&str, &[String])>,
) -> Result<Vec<Dose>, Failure> {
    let Some(path) = path else { return Ok(vec![]) };
    let mut reader = Reader::open(path, args)?;
    let columns = reader.columns().to_vec();
    let place = |name: &str| columns.iter().position(|c| c == name);
    let declared = model.program.time().map(|t| t.name.as_str());
    let times = time.and_then(place).or_else(|| declared.and_then(place)).or_else(|| place("time")).or_else(|| place("t"));
    let (Some(times), Some(amounts)) = (times, place("amount")) else {
        let help = "its columns are time, amount, rate (0 or empty: at once), target (a state) and that of --group";
        return Err(wrong(path, "it needs the columns `time` and `amount`".into(), Some(help)));
    };
    let known = [times, amounts].into_iter().chain(place("rate")).chain(place("target")).chain(group.and_then(|g| place(g.0)));
    let known: Vec<usize> = known.collect();
    if let Some(other) = columns.iter().enumerate().find(|(i, c)| !known.contains(i) && !c.is_empty()) {
        let help = "its columns are time, amount, rate, target and that of --group; leave others out";
        return Err(wrong(path, format!("the column `{}` means nothing here", other.1), Some(help)));
    }
    let mut doses = Vec::new();
    let most = rows_for(columns.len());
    while let Some(chunk) = reader.next(most)? {
        let before = doses.len() as u64;
        let numbers = |i: usize| -> Result<Vec<f64>, Failure> {
            let mut numbers = vec![f64::NAN; chunk.rows()];
            chunk.numbers_or_missing(i, &mut numbers).map_err(|e| e.failure(&chunk.place(before, e.row), &columns[i]))?;
            Ok(numbers)
        };
        let (time, amount) = (numbers(times)?, numbers(amounts)?);
        let rate = place("rate").map(numbers).transpose()?;
        let target = place("target").map(|i| chunk.texts(i)).transpose()?;
        let whose = group.and_then(|g| place(g.0)).map(|i| chunk.texts(i)).transpose()?;
        for row in 0..chunk.rows() {
            let group = match (group, whose.as_ref().map(|w| &w[row])) {
                (Some((_, names)), Some(name)) => match names.iter().position(|n| n == name) {
                    Some(number) => Some(number as f64),
                    None => return Err(wrong(path, format!("{}: the data have no group `{name}`", chunk.place(before, row)), None)),
                },
                _ => None,
            };
            let target = target.as_ref().map(|t| t[row].clone()).filter(|t| !t.is_empty());
            let rate = rate.as_ref().map_or(0.0, |r| if r[row].is_nan() { 0.0 } else { r[row] });
            doses.push(Dose { time: time[row], amount: amount[row], rate, target, group });
        }
    }
    Ok(doses)
}
