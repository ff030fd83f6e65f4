//! Columns meet inputs. In: a program, a table, the names the user gave; out: which columns feed which input and which are the
//! data to be explained; or every mistake at once.

use crate::data::table::Table;
use crate::model::layout::element_names;
use crate::options::Options;
use crate::support::memory;
use neural_compiler::syntax::ast::InputKind;
use neural_compiler::{Diagnostic, Diagnostics, Program, Shape, Syntax};
use std::collections::HashSet;

/// An algebraic model's columns.
pub(crate) struct Bound {
    /// Shapes of all inputs of the program.
    pub(crate) shapes: Vec<Shape>,
    /// Per input its numbers, number by number; empty for parameters.
    pub(crate) columns: Vec<Vec<f64>>,
    /// Names of the columns to be explained.
    pub(crate) targets: Vec<String>,
    /// Names of the columns that have another role.
    used: HashSet<String>,
}

impl Bound {
    /// Columns that are taken by something else than the target.
    pub(crate) fn reserve(&mut self, names: &[String]) {
        self.targets.retain(|t| !names.contains(t));
        self.used.extend(names.iter().cloned());
    }
}

/// The error about a column, with how to declare a constant where the syntax of the model has no declarations.
fn undeclared(program: &Program, missing: Diagnostic) -> Diagnostic {
    if program.syntax() != Syntax::Latex {
        return missing;
    }
    let how = "a constant that is to be fitted is declared: `neuralc fmt --to scheme` writes the model in Scheme, and (param k 1) before \
               it declares `k`";
    let help = missing.help.as_ref().map_or(how.to_string(), |help| format!("{help}; {how}"));
    missing.help(help)
}

/// The inputs of an algebraic model, and its target if the user named one. What stands in the columns is not looked at.
pub(crate) fn algebraic(program: &Program, table: &Table, options: &Options<'_>) -> Result<Bound, Diagnostics> {
    let mut errors = Vec::new();
    let mut shapes = Vec::new();
    let mut columns = Vec::new();
    let mut used: HashSet<String> =
        [&options.sigma_column, &options.weights_column, &options.group].into_iter().flatten().cloned().collect();
    for (input, pinned) in program.inputs().iter().zip(program.input_shapes()) {
        let known = pinned.known().or_else(|| table.vector_length(&input.name).map(Shape::Vector));
        // Scalars that only the data can tell from vectors.
        let shape = match known {
            Some(Shape::Scalar) if table.column(&input.name).is_none() && input.shape.is_none() => {
                table.vector_length(&input.name).map_or(Shape::Scalar, Shape::Vector)
            }
            Some(shape) => shape,
            None => Shape::Scalar,
        };
        shapes.push(shape);
        match input.kind {
            InputKind::Param(_) | InputKind::Weight { .. } => columns.push(Vec::new()),
            InputKind::Free | InputKind::Declared | InputKind::State(_) => {
                let names = element_names(&input.name, shape);
                for name in names.iter().filter(|n| table.column(n).is_none()) {
                    errors.push(undeclared(program, Diagnostic { span: input.span, ..table.missing(name) }));
                }
                columns.push(memory::joined(&names.iter().map(|n| table.column(n).unwrap_or(&[])).collect::<Vec<_>>()));
                used.extend(names);
            }
        }
    }
    if let Some(Err(e)) = options.group.as_ref().map(|g| table.finite(g)) {
        errors.push(e);
    }
    if !errors.is_empty() {
        return Err(Diagnostics(errors));
    }
    let targets = match &options.target {
        Some(name) => vec![name.clone()],
        None => table.names().iter().filter(|n| !used.contains(*n)).cloned().collect(),
    };
    Ok(Bound { shapes, columns, targets, used })
}

/// Every value the inputs need that is not there, in rows that are not left out.
pub(crate) fn complete(program: &Program, bound: &Bound, table: &Table, without: &[usize]) -> Result<(), Diagnostics> {
    let read = program.inputs().iter().zip(&bound.shapes).zip(&bound.columns).filter(|(_, columns)| !columns.is_empty());
    let names = read.flat_map(|((input, &shape), _)| element_names(&input.name, shape));
    let errors: Vec<Diagnostic> = names.filter_map(|n| table.finite_except(&n, without).err()).collect();
    if errors.is_empty() { Ok(()) } else { Err(Diagnostics(errors)) }
}

/// The columns of the target: as many as a prediction has numbers.
pub(crate) fn target_columns(bound: &Bound, table: &Table, options: &Options<'_>, outputs: Shape) -> Result<Vec<String>, Diagnostics> {
    let error = |message: String, help: &str| Diagnostics::from(Diagnostic::error("no-target", Default::default(), message).help(help));
    if let Some(name) = &options.target {
        let names = if outputs == Shape::Scalar { vec![name.clone()] } else { element_names(name, outputs) };
        return there(names, table);
    }
    // None may be chosen in the place of one that is spoilt.
    if let Some(name) = table.nearly_numbers().find(|n| !bound.used.contains(*n)) {
        return Err(table.missing(name).help("mend the cell, or name the column to explain with --target").into());
    }
    let left = &bound.targets;
    let names = match (outputs, &left[..]) {
        (Shape::Scalar, [one]) => vec![one.clone()],
        (Shape::Scalar, many) if many.iter().any(|n| n == "y") => vec!["y".to_string()],
        (Shape::Scalar, []) => {
            return Err(error(
                "every column of the data feeds an input; none is left to be explained".into(),
                "name the column to explain with --target",
            ));
        }
        (Shape::Scalar, many) => {
            let list = many.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
            return Err(error(format!("several columns could be the one to explain: {list}"), "name it with --target"));
        }
        (shape, many) => {
            let bases: Vec<&str> = many.iter().filter_map(|n| n.strip_suffix("[0]").or_else(|| n.strip_suffix("[0,0]"))).collect();
            match bases[..] {
                [base] => element_names(base, shape),
                _ => {
                    let message = format!("the model predicts a {shape}, and the data do not say which columns it explains");
                    return Err(error(message, "name them with --target NAME for the columns NAME[0], NAME[1], …"));
                }
            }
        }
    };
    there(names, table)
}

/// The names, if the table has all these columns.
fn there(names: Vec<String>, table: &Table) -> Result<Vec<String>, Diagnostics> {
    match names.iter().find(|n| table.column(n).is_none()) {
        Some(missing) => Err(table.missing(missing).into()),
        None => Ok(names),
    }
}
