//! Densities by batches. In: a text in the language, of an observation and what predicts it; out: its values, slopes and second derivatives
//! for many cells at once. Invariant: nothing here knows a distribution: derivatives are those of the program.

use crate::optimise::Unusable;
use crate::optimise::effort::Effort;
use neural_compiler::exec::interp::RunOptions;
use neural_compiler::exec::lanes::{BatchOptions, Column, Engine, Workspace};
use neural_compiler::graph::Graph;
use neural_compiler::{Options, Shape, compile, diff};
use std::sync::OnceLock;

/// A logarithm of a density, ready to be computed.
pub(crate) struct Density {
    graph: Graph,
    /// Numbers that predict an observation.
    pub(crate) size: usize,
    value: Engine,
    slope: OnceLock<Engine>,
    second: OnceLock<Engine>,
    /// How sharply an observation determines each of these numbers; 0 where nothing is said of it.
    curvature: Option<Engine>,
    /// In place of the second derivative by the first of them, where that does not tell.
    kinked: Option<Engine>,
}

/// Values of a density, its slopes by each number that predicts, and its second derivatives; cell by cell for each.
#[derive(Default)]
pub(crate) struct Slopes {
    pub(crate) values: Vec<f64>,
    pub(crate) first: Vec<Vec<f64>>,
    pub(crate) second: Vec<Vec<f64>>,
}

/// The graph of a text in `y` and the names of what predicts it.
fn graph(text: &str, names: &[&str]) -> Graph {
    let inputs = std::iter::once(&"y").chain(names).map(|n| (n.to_string(), Some(Shape::Scalar))).collect();
    let program = compile(text, &Options { inputs: Some(inputs), ..Options::default() });
    Graph::clone(&program.and_then(|p| p.graph()).unwrap_or_else(|e| panic!("a density of the table compiles: {e}\n{text}")))
}

impl Density {
    /// The density a text of the table says. `names`: of what predicts, the location first.
    pub(crate) fn new(text: &str, names: &[&str], curvature: &[&str], kinked: Option<&str>) -> Density {
        let engine = |text: &str| {
            let graph = graph(text, names);
            Engine::new(&graph, &vec![false; graph.inputs.len()])
        };
        let density = graph(text, names);
        let value = Engine::new(&density, &vec![false; density.inputs.len()]);
        let parts: Vec<&str> = curvature.iter().map(|c| if c.is_empty() { "0" } else { c }).collect();
        let curvature = (!parts.is_empty()).then(|| engine(&format!("[{}]", parts.join(" "))));
        let (slope, second) = (OnceLock::new(), OnceLock::new());
        Density { graph: density, size: names.len(), value, slope, second, curvature, kinked: kinked.map(engine) }
    }

    fn wrt(&self) -> Vec<usize> {
        (1..=self.size).collect()
    }

    fn run(engine: &Engine, y: &[f64], of: &[Vec<f64>], outputs: &mut [&mut [f64]]) -> Result<(), Unusable> {
        let inputs: Vec<Column<'_, f64>> = std::iter::once(y).chain(of.iter().map(Vec::as_slice)).map(|c| Column::rows(c, 1)).collect();
        let how = |limits| BatchOptions { run: RunOptions { limits, ..RunOptions::default() }, ..BatchOptions::default() };
        let mut workspace = Workspace::default();
        let once = |limits| engine.run(&mut workspace, &inputs, y.len(), outputs, &how(limits));
        match Effort::default().run(once).map_err(|e| Unusable(e.message))?.first() {
            None => Ok(()),
            Some(e) => Err(Unusable(e.error.message.clone())),
        }
    }

    /// The values.
    pub(crate) fn values(&self, y: &[f64], of: &[Vec<f64>]) -> Result<Vec<f64>, Unusable> {
        let mut values = vec![0.0; y.len()];
        Density::run(&self.value, y, of, &mut [&mut values])?;
        Ok(values)
    }

    /// The values and slopes; `second`: with second derivatives, row by row of their matrix, of a location with a kink the expected ones.
    pub(crate) fn slopes(&self, y: &[f64], of: &[Vec<f64>], second: bool) -> Result<Slopes, Unusable> {
        let engine = |graph: Graph| Engine::new(&graph, &vec![false; graph.inputs.len()]);
        let made = "a density is a number of numbers";
        let engine = match second {
            false => self.slope.get_or_init(|| engine(diff::gradient(&self.graph, &self.wrt()).expect(made))),
            true => self.second.get_or_init(|| engine(diff::hessian(&self.graph, &self.wrt()).expect(made))),
        };
        let blank = || vec![0.0; y.len()];
        let mut found = Slopes {
            values: blank(),
            first: (0..self.size).map(|_| blank()).collect(),
            second: (0..if second { self.size * self.size } else { 0 }).map(|_| blank()).collect(),
        };
        let mut outputs: Vec<&mut [f64]> = vec![&mut found.values];
        outputs.extend(found.first.iter_mut().chain(&mut found.second).map(Vec::as_mut_slice));
        Density::run(engine, y, of, &mut outputs)?;
        if let (true, Some(kinked)) = (second, &self.kinked) {
            Density::run(kinked, y, of, &mut [&mut found.second[0]])?;
            found.second[0].iter_mut().for_each(|x| *x = -*x);
            // To either side of a location errors are equally probable: what it has in common with a scale cancels.
            for other in 1..self.size {
                found.second[other].fill(0.0);
                found.second[other * self.size].fill(0.0);
            }
        }
        Ok(found)
    }

    /// Whether the number of this place among those that predict is where the density has a kink: its slope there jumps, so that the
    /// information about it is the expected one.
    pub(crate) fn is_kinked(&self, place: usize) -> bool {
        place == 0 && self.kinked.is_some()
    }

    /// How sharply each cell determines each number that predicts it, given the slopes: cell by cell for each number. Never negative.
    pub(crate) fn curvature(&self, y: &[f64], of: &[Vec<f64>], slopes: &Slopes) -> Result<Vec<Vec<f64>>, Unusable> {
        let (d, mut told) = (self.size, vec![0.0; y.len() * self.size]);
        if let Some(engine) = &self.curvature {
            Density::run(engine, y, of, &mut [&mut told])?;
        }
        let one = |k: usize, cell: usize| {
            let (known, slope) = (told[cell * d + k], slopes.first[k][cell]);
            if known > 0.0 && known.is_finite() { known } else { slope * slope }
        };
        Ok((0..d).map(|k| (0..y.len()).map(|cell| one(k, cell)).collect()).collect())
    }
}
