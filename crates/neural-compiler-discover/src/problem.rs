//! What is to be explained. In: a table and the roles of its columns; out: a checked problem, the rows held out, and names that are free.
//! Invariants: the columns a problem names exist and are finite; rows held out are the same for every hypothesis of a problem.

use neural_compiler::units::Unit;
use neural_compiler::units::check::VALUE;
use neural_compiler::{Diagnostic, Diagnostics, Program};
use neural_compiler_fit::{Options, Table, held_out_rows};
use std::collections::HashMap;

/// What kind of model is looked for.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A column as a formula of others.
    Formula {
        /// The column to explain.
        target: String,
        /// The columns it may depend on.
        inputs: Vec<String>,
    },
    /// Columns as states of a differential equation.
    Ode {
        /// The states, each a column.
        states: Vec<String>,
        /// The column of times.
        time: String,
        /// The column that tells trajectories apart.
        group: Option<String>,
    },
}

/// A table with the roles of its columns.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The data.
    pub table: Table,
    /// What is looked for.
    pub kind: Kind,
    /// The units that columns count in, where their headers said them.
    pub units: HashMap<String, Unit>,
    /// The share of the rows that judges hypotheses and fits none of them.
    pub holdout: f64,
    /// Of everything random.
    pub seed: u32,
}

fn wrong(code: &'static str, message: String) -> Diagnostics {
    Diagnostic::error(code, Default::default(), message).into()
}

/// Whether a name can stand for an input: no operation, no form, no number.
pub fn is_name(text: &str) -> bool {
    neural_compiler::compile(&format!("(+ {text} 0)"), &Default::default())
        .is_ok_and(|p| p.inputs().len() == 1 && p.inputs()[0].name == text)
}

impl Problem {
    /// Checks what is asked of a table.
    pub fn new(table: Table, kind: Kind, holdout: f64, seed: u32) -> Result<Problem, Diagnostics> {
        let asked: Vec<&String> = match &kind {
            Kind::Formula { target, inputs } => inputs.iter().chain([target]).collect(),
            Kind::Ode { states, time, group } => states.iter().chain([time]).chain(group).collect(),
        };
        for name in &asked {
            if !table.has(name) {
                return Err(table.missing(name).into());
            }
            table.finite(name)?;
        }
        if let Kind::Formula { target, inputs } = &kind {
            if let Some(bad) = inputs.iter().find(|n| !is_name(n)) {
                let message = format!("`{bad}` is no name a model can have");
                let help = "give the column another name, or leave it out of the inputs";
                return Err(Diagnostic::error("bad-name", Default::default(), message).help(help).into());
            }
            if inputs.contains(target) {
                return Err(wrong("bad-inputs", format!("`{target}` is what is to be explained, and cannot explain itself")));
            }
        }
        if table.rows() < 5 {
            return Err(wrong("too-few-rows", format!("{} rows are too few to tell hypotheses apart: give at least 5", table.rows())));
        }
        if !(0.0..0.9).contains(&holdout) {
            return Err(wrong("bad-holdout", format!("the share held out lies between 0 and 0.9, {holdout} does not")));
        }
        if let Kind::Ode { states, .. } = &kind
            && states.is_empty()
        {
            return Err(wrong("no-states", "name at least one state".into()));
        }
        Ok(Problem { table, kind, units: HashMap::new(), holdout, seed })
    }

    /// The problem with the units its headers said.
    pub fn with_units(mut self, units: HashMap<String, Unit>) -> Problem {
        self.units = units;
        self
    }

    /// Refuses a model that counts in other units than the columns do: its constants would be those of the wrong numbers.
    pub(crate) fn same_units(&self, program: &Program) -> Result<(), Diagnostics> {
        let units = program.units();
        let declared = units.names[..units.declared.min(units.names.len())].iter().map(|(name, text)| (name, name, text));
        let value = match &self.kind {
            Kind::Formula { target, .. } => units.names.iter().find(|n| n.0 == VALUE).map(|(name, text)| (target, name, text)),
            Kind::Ode { .. } => None,
        };
        for (column, name, text) in declared.chain(value) {
            let (Some(theirs), Some(own)) = (self.units.get(column), units.scale(name)) else { continue };
            if *theirs != own.unit {
                let message = format!("`{column}` counts in {text} in this model, and in another unit in the table");
                return Err(Diagnostic::error("unit-mismatch", Default::default(), message)
                    .help("write the model in the units of the headers, or convert the columns")
                    .into());
            }
        }
        Ok(())
    }

    /// Refuses what explains other columns than were asked for: likelihoods of different data cannot be compared.
    pub(crate) fn same_columns(&self, explained: &[String]) -> Result<(), Diagnostics> {
        let mut missing = self.targets().into_iter().filter(|t| !explained.iter().any(|e| e == t));
        let mut more = explained.iter().filter(|e| !self.targets().contains(&e.as_str()));
        let message = match (missing.next(), more.next()) {
            (None, None) => return Ok(()),
            (Some(name), _) => format!("it does not explain `{name}`, which was asked for"),
            (None, Some(name)) => format!("it explains `{name}`, which was not asked for"),
        };
        Err(Diagnostic::error("not-comparable", Default::default(), message)
            .help("likelihoods of different data cannot be compared")
            .into())
    }

    /// The columns explained.
    pub fn targets(&self) -> Vec<&str> {
        match &self.kind {
            Kind::Formula { target, .. } => vec![target],
            Kind::Ode { states, .. } => states.iter().map(String::as_str).collect(),
        }
    }

    /// A column, which [`Problem::new`] has seen.
    pub fn column(&self, name: &str) -> &[f64] {
        self.table.column(name).unwrap_or(&[])
    }

    /// The rows that are not held out.
    pub fn fitted_rows(&self) -> Vec<usize> {
        let share = (self.holdout > 0.0).then_some(self.holdout);
        let out = held_out_rows(self.table.rows(), &Options { holdout: share, seed: self.seed, ..Options::default() });
        (0..self.table.rows()).filter(|r| !out.contains(r)).collect()
    }

    /// The rows of each trajectory that are not held out, in the order of time.
    pub fn trajectories(&self) -> Vec<Vec<usize>> {
        let Kind::Ode { time, group, .. } = &self.kind else { return vec![self.fitted_rows()] };
        let times = self.column(time);
        let fitted = self.fitted_rows();
        let mut all: Vec<Vec<usize>> = match group {
            None => vec![fitted],
            Some(name) => {
                let (of_row, count) = self.table.groups(name);
                let mut rows = vec![Vec::new(); count];
                fitted.iter().for_each(|&row| rows[of_row[row]].push(row));

                rows
            }
        };
        all.iter_mut().for_each(|rows| rows.sort_by(|&a, &b| times[a].total_cmp(&times[b])));
        all
    }

    /// Names with this stem and a number that no column has.
    pub fn fresh(&self, stem: &str, count: usize) -> Vec<String> {
        let taken = |stem: &str| self.table.names().iter().any(|n| n.strip_prefix(stem).is_some_and(|r| r.parse::<usize>().is_ok()));
        let mut stem = stem.to_string();
        while taken(&stem) {
            stem.push('_');
        }
        (1..=count).map(|i| format!("{stem}{i}")).collect()
    }
}
