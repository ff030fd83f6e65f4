//! A case: a program text and values for its inputs. In: text and values; out: a graph and tensors in the graph's order.

use neural_compiler::graph::Graph;
use neural_compiler::ops::real::Real;
use neural_compiler::{Diagnostics, Options, Program, Shape, Tensor, compile};
use std::sync::Arc;

/// A value for an input.
#[derive(Clone, PartialEq, Debug)]
pub struct CaseInput {
    /// Name of the input.
    pub name: String,
    /// Its shape.
    pub shape: Shape,
    /// Its numbers, row by row.
    pub data: Vec<f64>,
}

/// A program and values for its inputs; an input the program does not use is left aside.
#[derive(Clone, PartialEq, Debug)]
pub struct Case {
    /// The program.
    pub source: String,
    /// Values.
    pub inputs: Vec<CaseInput>,
}

/// A case ready to run.
pub struct Compiled {
    /// The program.
    pub program: Program,
    /// Its graph for the shapes of the case.
    pub graph: Arc<Graph>,
    /// Input values in the order of the graph.
    pub inputs: Vec<CaseInput>,
}

impl Case {
    /// Compiles the program for the shapes of the inputs.
    ///
    /// # Panics
    /// When the program has an input the case gives no value for: a bug of the generator.
    pub fn compile(&self) -> Result<Compiled, Diagnostics> {
        let program = compile(&self.source, &Options::default())?;
        let of = |name: &str| {
            self.inputs.iter().find(|i| i.name == name).unwrap_or_else(|| panic!("no value for `{name}` in\n{}", self.source)).clone()
        };
        let inputs: Vec<CaseInput> = program.inputs().iter().map(|i| of(&i.name)).collect();
        let shapes: Vec<Shape> = inputs.iter().map(|i| i.shape).collect();
        let graph = program.specialise(&shapes)?;
        Ok(Compiled { program, graph, inputs })
    }
}

impl Compiled {
    /// The input values, rounded once.
    pub fn tensors<T: Real>(&self) -> Vec<Tensor<T>> {
        self.inputs.iter().map(|i| Tensor::from_f64(i.shape, &i.data).expect("a case's data fit its shape")).collect()
    }
}

/// The bits of all numbers, every NaN alike: what "equal to the bit" compares.
pub fn bits(tensors: &[Tensor<f64>]) -> Vec<u64> {
    tensors.iter().flat_map(|t| t.data()).map(|x| if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() }).collect()
}
