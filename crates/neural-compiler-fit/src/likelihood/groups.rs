//! Constants that have a value of their own for each value of a column. In: declarations and a table; out: which rows are in which group,
//! and what the numbers of all groups are called: `CL[3]` for the value of `CL` where the column is 3.

use super::joint::Joint;
use crate::data::table::Table;
use crate::model::layout::{Layout, Values};
use crate::optimise::Bounds;
use neural_compiler::{Diagnostic, Diagnostics, Shape};

/// Groups of rows.
pub(crate) struct Grouping {
    /// The column.
    pub(crate) column: String,
    /// The group of each row.
    pub(crate) of_row: Vec<usize>,
    /// What its value is, in words.
    pub(crate) labels: Vec<String>,
    /// Which of the numbers of the model belong to groups.
    pub(crate) local: Vec<usize>,
}

/// The column by which constants differ, where a layout has such.
pub(crate) fn column(layout: &Layout) -> Result<Option<&str>, Diagnostics> {
    let mut columns = layout.shared.iter().filter(|s| s.at.is_some()).filter_map(|s| Some((s.per.as_deref()?, &s.name)));
    let Some((first, of)) = columns.next() else { return Ok(None) };
    match columns.find(|c| c.0 != first) {
        None => Ok(Some(first)),
        Some((other, name)) => {
            let message = format!("`{of}` has a value for each `{first}`, `{name}` one for each `{other}`: one column tells groups apart");
            Err(Diagnostic::error("bad-declaration", Default::default(), message).into())
        }
    }
}

/// The name of a number in a group.
pub(crate) fn named(number: &str, label: &str) -> String {
    format!("{number}[{label}]")
}

impl Grouping {
    /// The groups of a table; `None` where nothing differs between groups.
    pub(crate) fn new(layout: &Layout, table: &Table) -> Result<Option<Grouping>, Diagnostics> {
        let Some(column) = column(layout)? else { return Ok(None) };
        table.finite(column)?;
        let (of_row, count) = table.groups(column);
        let values = table.column(column).unwrap_or(&[]);
        let label = |g: usize| of_row.iter().position(|&r| r == g).map_or(String::new(), |row| table.label(column, values[row]));
        let labels = (0..count).map(label).collect();
        let local = layout.shared.iter().filter(|s| s.per.is_some());
        let local = local.flat_map(|s| s.at.map_or(0..0, |at| at..at + s.shape.len())).collect();
        Ok(Some(Grouping { column: column.to_string(), of_row, labels, local }))
    }

    /// The parameters of all groups, for a report: the way back to the inputs is that of a part.
    pub(crate) fn layout(&self, of_part: &Layout, joint: &Joint<'_>) -> Layout {
        // Numbers in the place of names, so that both go the same way.
        let places: Vec<f64> = (0..of_part.len()).map(|j| j as f64).collect();
        let spread = joint.spread(&places);
        let shared = of_part.len() - self.local.len();
        let name = |(i, j): (usize, &f64)| {
            let number = &of_part.names[*j as usize];
            let group = i.checked_sub(shared).map(|i| i / self.local.len().max(1));
            group.map_or(number.clone(), |g| named(number, &self.labels[g]))
        };
        let names: Vec<String> = spread.iter().enumerate().map(name).collect();
        Layout {
            shared: vec![],
            parameters: names.len(),
            names,
            start: joint.spread(&of_part.start),
            bounds: Bounds { min: joint.spread(&of_part.bounds.min), max: joint.spread(&of_part.bounds.max) },
        }
    }

    /// The parameters that all groups share, for a report as well.
    pub(crate) fn shared_layout(&self, of_part: &Layout, joint: &Joint<'_>) -> Layout {
        let places: Vec<f64> = (0..of_part.len()).map(|j| j as f64).collect();
        let names: Vec<String> = joint.of_shared(&places).into_iter().map(|j| of_part.names[j as usize].clone()).collect();
        Layout {
            shared: vec![],
            parameters: names.len(),
            names,
            start: joint.of_shared(&of_part.start),
            bounds: Bounds { min: joint.of_shared(&of_part.bounds.min), max: joint.of_shared(&of_part.bounds.max) },
        }
    }

    /// What a fit found: inputs all groups share, of the others the mean over groups or, where they are random, of their distribution,
    /// and behind these the numbers of each group by name.
    pub(crate) fn values(&self, layout: &Layout, of_groups: Vec<Vec<f64>>) -> Values {
        let mut typical = of_groups[0].clone();
        for &j in &self.local {
            let mean = || of_groups.iter().map(|theta| theta[j]).sum::<f64>() / of_groups.len() as f64;
            typical[j] = layout.effect(j).map_or_else(mean, |effect| effect.mean);
        }
        let mut all = layout.fitted(&typical);
        for (theta, label) in of_groups.iter().zip(&self.labels) {
            all.extend(self.local.iter().map(|&j| (named(&layout.names[j], label), Shape::Scalar, vec![theta[j]])));
        }
        all
    }

    /// The numbers of a group for a prediction, from what a fit found.
    pub(crate) fn given(&self, layout: &Layout, group: usize, values: &Values) -> Result<Vec<f64>, Diagnostics> {
        let mut theta = layout.start.clone();
        for &j in &self.local {
            let name = named(&layout.names[j], &self.labels[group]);
            theta[j] = match values.iter().find(|v| v.0 == name).and_then(|v| v.2.first()) {
                Some(x) => *x,
                None => {
                    let row = self.of_row.iter().position(|&g| g == group).map_or(0, |row| row + 1);
                    let message = format!("row {row}: the model has no `{name}`: nothing is known of this `{}`", self.column);
                    let fit = "fit the model to data of this group too";
                    let help = match layout.effect(j) {
                        None => format!("{fit}, or take `:per` out to predict with the value in the text"),
                        Some(_) => format!("{fit}, or take `:per` and `:effect` out to predict what is typical"),
                    };
                    return Err(Diagnostic::error("unknown-group", Default::default(), message).help(help).into());
                }
            };
        }
        Ok(theta)
    }
}
