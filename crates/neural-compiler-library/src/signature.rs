//! What a program takes and gives. In: a compiled program, ranges by name; out: its inputs with shapes, units and ranges, its constants,
//! and what the check of its domain says.

use crate::module::{Constant, Domain, Output, Quantity};
use neural_compiler::diagnostic::{Severity, did_you_mean};
use neural_compiler::graph::Graph;
use neural_compiler::ops::real::Dtype;
use neural_compiler::syntax::ast::{Input, InputKind, ModelKind};
use neural_compiler::{Diagnostic, Diagnostics, Program, domain};

/// Everything `add` says of a program by itself.
pub(crate) struct Signature {
    pub(crate) inputs: Vec<Quantity>,
    pub(crate) params: Vec<Constant>,
    pub(crate) output: Output,
    pub(crate) domain: Domain,
    /// What the check found that is more than a note.
    pub(crate) open: Vec<Diagnostic>,
}

/// What a program is called by its kind.
pub(crate) fn kind(program: &Program) -> &'static str {
    match program.kind() {
        ModelKind::Expression => "expression",
        ModelKind::Derivatives => "derivatives",
        ModelKind::Map => "map",
    }
}

fn unit(program: &Program, name: &str) -> Option<String> {
    program.units().names.iter().find(|u| u.0 == name).map(|u| u.1.clone())
}

fn is_param(input: &Input) -> bool {
    matches!(input.kind, InputKind::Param(_))
}

/// The values of all parameters of a program, by place.
pub(crate) fn declared(program: &Program) -> Vec<Option<Vec<f64>>> {
    let one = |i: &Input| if let InputKind::Param(info) = &i.kind { Some(info.initial.clone()) } else { None };
    program.inputs().iter().map(one).collect()
}

impl Signature {
    /// `ranges`: names and their ends, infinite ones for no bound.
    pub(crate) fn of(program: &Program, graph: &Graph, ranges: &[(String, (f64, f64))]) -> Result<Signature, Diagnostics> {
        let names: Vec<&str> = program.inputs().iter().filter(|i| !is_param(i)).map(|i| i.name.as_str()).collect();
        if let Some((unknown, _)) = ranges.iter().find(|r| !names.contains(&r.0.as_str())) {
            let message = format!("a range is given for `{unknown}`, which is no input of the module");
            return Err(Diagnostic::error("unknown-input", Default::default(), message).maybe_help(did_you_mean(unknown, names)).into());
        }
        let range = |name: &str| ranges.iter().find(|r| r.0 == name).map(|r| r.1);
        let finite = |x: f64| Some(x).filter(|x| x.is_finite());
        let (mut inputs, mut params, mut checked) = (Vec::new(), Vec::new(), Vec::new());
        for (input, of) in program.inputs().iter().zip(&graph.inputs) {
            let shape = of.shape.dims();
            match &input.kind {
                InputKind::Param(info) if info.per.is_none() => {
                    let fold = |f: fn(f64, f64) -> f64| info.initial.iter().copied().reduce(f);
                    checked.push(fold(f64::min).zip(fold(f64::max)));
                    params.push(Constant {
                        name: input.name.clone(),
                        shape,
                        value: info.initial.clone(),
                        unit: unit(program, &input.name),
                    });
                }
                InputKind::Param(_) | InputKind::Weight { .. } => {
                    let message = format!("`{}` is not a number of this text: a module is frozen, with everything it needs", input.name);
                    return Err(Diagnostic::error("not-a-module", input.span, message).into());
                }
                InputKind::Free | InputKind::Declared | InputKind::State(_) => {
                    let given = range(&input.name);
                    checked.push(given);
                    let range = given.map_or((None, None), |(lo, hi)| (finite(lo), finite(hi)));
                    inputs.push(Quantity { name: input.name.clone(), shape, unit: unit(program, &input.name), range });
                }
            }
        }
        let (notes, open): (Vec<Diagnostic>, Vec<Diagnostic>) =
            domain::check(graph, &checked, Dtype::F64).into_iter().partition(|d| d.severity == Severity::Note);
        let findings = open.iter().chain(&notes).map(|d| d.message.clone()).collect();
        let output = Output { shape: graph.outputs()[0].dims(), unit: unit(program, neural_compiler::units::check::VALUE) };
        let finite = domain::stays_finite(graph, &checked, Dtype::F64);
        Ok(Signature { inputs, params, output, domain: Domain { proved: open.is_empty(), finite, findings }, open })
    }
}
