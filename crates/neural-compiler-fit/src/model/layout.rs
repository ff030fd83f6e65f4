//! Parameters and weights in a row. In: a program's declarations; out: one name, start and pair of bounds for each number to be fitted,
//! and the way back to the inputs of the program.
//! Invariants: parameters come first, then weights of nets, each in the order of the program's inputs, the numbers of a vector or matrix
//! row by row; a weight starts at 0 unless a value is given (`nets` says where training starts).

use crate::optimise::Bounds;
use neural_compiler::syntax::ast::{Effect, Input, InputKind, ParamInfo, Prior};
use neural_compiler::{Diagnostic, Diagnostics, Program, Shape};

/// An input of the program that all rows share.
#[derive(Clone, Debug)]
pub struct Shared {
    /// Its place among the program's inputs.
    pub input: usize,
    /// Its name.
    pub name: String,
    /// Its shape.
    pub shape: Shape,
    /// Its values as declared.
    pub initial: Vec<f64>,
    /// Where its numbers begin among the free ones; `None` when it is fixed.
    pub at: Option<usize>,
    /// A weight of a net rather than a parameter: it has no error bar.
    pub weight: bool,
    /// What is known of it before the data.
    pub prior: Option<Prior>,
    /// The column each value of which has a value of its own of this input.
    pub per: Option<String>,
    /// How these vary, where they are drawn at random.
    pub effect: Option<Effect>,
}

/// Names, shapes and numbers of parameters and weights: what a fit found, or what to use instead of the declared values.
pub type Values = Vec<(String, Shape, Vec<f64>)>;

/// Everything a program shares between rows: parameters, free or fixed, and weights.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The inputs.
    pub shared: Vec<Shared>,
    /// Names of the free numbers: `k`, `w[0]`, `m[0,1]`.
    pub names: Vec<String>,
    /// Where the free numbers start.
    pub start: Vec<f64>,
    /// Their bounds.
    pub bounds: Bounds,
    /// How many of the free numbers are parameters; the rest are weights.
    pub parameters: usize,
}

/// The names of the numbers of an input.
pub fn element_names(name: &str, shape: Shape) -> Vec<String> {
    match shape {
        Shape::Scalar => vec![name.to_string()],
        Shape::Vector(n) => (0..n).map(|i| format!("{name}[{i}]")).collect(),
        Shape::Matrix(r, c) => (0..r).flat_map(|i| (0..c).map(move |j| (i, j))).map(|(i, j)| format!("{name}[{i},{j}]")).collect(),
    }
}

impl Layout {
    /// How the free number `j` is drawn at random, where it is.
    pub(crate) fn effect(&self, j: usize) -> Option<&Effect> {
        let holds = |s: &&Shared| s.at.is_some_and(|at| (at..at + s.shape.len()).contains(&j));
        self.shared.iter().find(holds)?.effect.as_ref()
    }

    /// The parameters and weights of a program, at their declared values or those given instead.
    pub fn new(program: &Program, given: &[(String, Shape, Vec<f64>)]) -> Result<Layout, Diagnostics> {
        let mut layout = Layout { shared: vec![], names: vec![], start: vec![], bounds: Bounds::none(0), parameters: 0 };
        let mut weights = Vec::new();
        for (input, Input { name, kind, shape, .. }) in program.inputs().iter().enumerate() {
            let shape = shape.unwrap_or(Shape::Scalar);
            match kind {
                InputKind::Param(info) => layout.add(input, name, shape, info, false, given)?,
                InputKind::Weight { .. } => weights.push((input, name, shape)),
                InputKind::Free | InputKind::Declared | InputKind::State(_) => {}
            }
        }
        layout.parameters = layout.names.len();
        for (input, name, shape) in weights {
            let info =
                ParamInfo { initial: vec![0.0; shape.len()], min: None, max: None, fixed: false, prior: None, per: None, effect: None };
            layout.add(input, name, shape, &info, true, given)?;
        }
        Ok(layout)
    }

    fn add(
        &mut self,
        input: usize,
        name: &str,
        shape: Shape,
        info: &ParamInfo,
        weight: bool,
        given: &[(String, Shape, Vec<f64>)],
    ) -> Result<(), Diagnostics> {
        let initial = match given.iter().find(|g| g.0 == name) {
            Some(g) if g.1 != shape || g.2.len() != shape.len() => {
                let message = format!("`{name}` is a {shape} in the model, the value given for it is a {}", g.1);
                return Err(Diagnostic::error("input-shape", Default::default(), message).into());
            }
            Some(g) => g.2.clone(),
            None => info.initial.clone(),
        };
        let at = (!info.fixed).then_some(self.names.len());
        if at.is_some() {
            self.names.extend(element_names(name, shape));
            self.start.extend(&initial);
            let (low, high) = info.prior.as_ref().and_then(Prior::ends).unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
            self.bounds.min.extend(initial.iter().map(|_| info.min.unwrap_or(f64::NEG_INFINITY).max(low)));
            self.bounds.max.extend(initial.iter().map(|_| info.max.unwrap_or(f64::INFINITY).min(high)));
        }
        let (prior, per, effect) = (info.prior.clone(), info.per.clone(), info.effect.clone());
        self.shared.push(Shared { input, name: name.to_string(), shape, initial, at, weight, prior, per, effect });
        Ok(())
    }

    /// How many of the free numbers are weights of nets.
    pub fn weights(&self) -> usize {
        self.names.len() - self.parameters
    }

    /// The same with some of the free inputs held where they start.
    pub fn holding(&self, held: impl Fn(&Shared) -> bool) -> Layout {
        let mut layout = Layout { shared: vec![], names: vec![], start: vec![], bounds: Bounds::none(0), parameters: 0 };
        for s in &self.shared {
            let range = s.at.map(|at| at..at + s.shape.len()).filter(|_| !held(s));
            let at = range.as_ref().map(|_| layout.names.len());
            if let Some(range) = range {
                layout.names.extend_from_slice(&self.names[range.clone()]);
                layout.start.extend_from_slice(&self.start[range.clone()]);
                layout.bounds.min.extend_from_slice(&self.bounds.min[range.clone()]);
                layout.bounds.max.extend_from_slice(&self.bounds.max[range.clone()]);
                layout.parameters += if s.weight { 0 } else { range.len() };
            }
            layout.shared.push(Shared { at, initial: self.values(s, &self.start).to_vec(), ..s.clone() });
        }
        layout
    }

    /// How many numbers are free.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether nothing is free.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The inputs with free numbers, in order.
    pub fn free_inputs(&self) -> Vec<usize> {
        self.shared.iter().filter(|s| s.at.is_some()).map(|s| s.input).collect()
    }

    /// The free inputs with their fitted values.
    pub fn fitted(&self, theta: &[f64]) -> Values {
        self.shared
            .iter()
            .filter(|s| s.at.is_some())
            .map(|s| {
                let values = self.values(s, theta).to_vec();
                (s.name.clone(), s.shape, values)
            })
            .collect()
    }

    /// The numbers of a shared input, given the free ones.
    pub fn values<'a>(&'a self, shared: &'a Shared, theta: &'a [f64]) -> &'a [f64] {
        match shared.at {
            Some(at) => &theta[at..at + shared.shape.len()],
            None => &shared.initial,
        }
    }
}
