//! A whole table in memory, for fitting. In: a path and the columns that matter; out: their numbers.
//! Invariants: a column nobody needs may hold anything; an empty cell reads as a missing value (NaN), which the fit refuses or
//! takes for "not observed", as it says itself; texts of the column of groups become numbers in the order of appearance.

use crate::context::Failure;
use crate::table::{Reader, rows_for};
use neural_compiler_fit::Table;
use std::collections::HashMap;

/// A table, and why columns that are not in it could not be read.
pub(crate) struct Whole {
    pub(crate) table: Table,
    unreadable: HashMap<String, Failure>,
}

impl Whole {
    /// Reads a table; `group` is the column whose texts are names.
    pub(crate) fn read(path: &str, group: Option<&str>) -> Result<Whole, Failure> {
        let mut reader = Reader::open(path)?;
        let names = reader.columns().to_vec();
        let mut columns: Vec<Vec<f64>> = vec![Vec::new(); names.len()];
        let mut unreadable: HashMap<String, Failure> = HashMap::new();
        let mut groups: HashMap<String, f64> = HashMap::new();
        let most = rows_for(names.len());
        let mut before = 0;
        while let Some(chunk) = reader.next(most)? {
            let rows = chunk.rows();
            for (i, name) in names.iter().enumerate() {
                if unreadable.contains_key(name) {
                    continue;
                }
                if group == Some(name) {
                    for text in chunk.texts(i)? {
                        let next = groups.len() as f64;
                        columns[i].push(*groups.entry(text).or_insert(next));
                    }
                    continue;
                }
                let from = columns[i].len();
                columns[i].resize(from + rows, f64::NAN);
                if let Err(e) = chunk.numbers_or_missing(i, &mut columns[i][from..]) {
                    unreadable.insert(name.clone(), e.failure(before, name));
                }
            }
            before += rows as u64;
        }
        let good = names.into_iter().zip(columns).filter(|(n, _)| !unreadable.contains_key(n));
        let table = Table::new(good).map_err(|d| Failure::plain(d.code, d.message, d.help))?;
        Ok(Whole { table, unreadable })
    }

    /// Which columns are there but cannot be read, in words.
    pub(crate) fn no_numbers(&self) -> Option<String> {
        let mut names: Vec<String> = self.unreadable.keys().map(|n| format!("`{n}`")).collect();
        names.sort();
        (!names.is_empty()).then(|| format!("not every cell of {} is a number", names.join(", ")))
    }

    /// A failure of a fit; when it misses a column that is there but cannot be read, the reason for that instead.
    pub(crate) fn explain(mut self, missing: &[String], failure: Failure) -> Failure {
        missing.iter().find_map(|name| self.unreadable.remove(name)).unwrap_or(failure)
    }
}
