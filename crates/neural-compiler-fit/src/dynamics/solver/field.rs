//! The law of a model with states, as one graph. In: a program; out: a graph from the vector of all states, the shared inputs, the time
//! and the forcing to the derivatives (or next values) of all states.

use crate::model::layout::Layout;
use neural_compiler::graph::{Builder, GraphInput, NodeId, Type, copy};
use neural_compiler::ode::{Law, assemble};
use neural_compiler::ops::Op;
use neural_compiler::syntax::ast::InputKind;
use neural_compiler::{Diagnostic, Diagnostics, Program, Shape};

/// A state of a model and where its numbers are in the vector of all states.
#[derive(Clone, Debug)]
pub struct State {
    /// Its name.
    pub name: String,
    /// Its place among the program's inputs.
    pub input: usize,
    /// Its shape.
    pub shape: Shape,
    /// Its first number.
    pub at: usize,
}

/// An input that is read from the data at every time.
#[derive(Clone, Debug)]
pub struct Forcing {
    /// Its name.
    pub name: String,
    /// Its place among the program's inputs.
    pub input: usize,
    /// Its shape.
    pub shape: Shape,
}

/// The law of a model, and where its inputs come from.
pub struct Field {
    /// Its shared inputs are in the order of the layout.
    pub law: Law,
    /// The states.
    pub states: Vec<State>,
    /// Forcing.
    pub forcing: Vec<Forcing>,
}

/// Cuts a value of a shape out of a vector.
fn cut(b: &mut Builder, from: NodeId, at: usize, shape: Shape) -> NodeId {
    if b.shape(from) == shape { from } else { b.given(Op::Cut, at as u32, shape, &[from]) }
}

impl Field {
    /// The law of a program. `time` is the name of the time among its inputs.
    pub fn new(program: &Program, layout: &Layout, time: &str) -> Result<Field, Diagnostics> {
        let mut states = Vec::new();
        let mut forcing = Vec::new();
        let mut size = 0;
        for (input, declared) in program.inputs().iter().enumerate() {
            let shape = declared.shape.or(program.input_shapes()[input].known()).unwrap_or(Shape::Scalar);
            match declared.kind {
                InputKind::State(_) => {
                    states.push(State { name: declared.name.clone(), input, shape, at: size });
                    size += shape.len();
                }
                InputKind::Free | InputKind::Declared if declared.name != time => {
                    forcing.push(Forcing { name: declared.name.clone(), input, shape })
                }
                InputKind::Free | InputKind::Declared | InputKind::Param(_) | InputKind::Weight { .. } => {}
            }
        }
        let law = program.graph()?;
        let vector = Shape::Vector(size as u32);
        if law.outputs()[0].len() != size {
            let message = format!("the states have {size} numbers, their derivatives {}", law.outputs()[0].len());
            return Err(Diagnostic::error("shape-mismatch", Default::default(), message).into());
        }
        let mut b = Builder::new("law");
        let mut inputs = Vec::new();
        let mut add = |b: &mut Builder, name: &str, shape: Shape| {
            inputs.push(GraphInput { name: name.into(), shape });
            b.param(Type::Value(shape))
        };
        let all = add(&mut b, "states", vector);
        let shared: Vec<NodeId> = layout.shared.iter().map(|s| add(&mut b, &s.name, s.shape)).collect();
        let now = add(&mut b, "time", Shape::Scalar);
        let forced: Vec<NodeId> = forcing.iter().map(|f| add(&mut b, &f.name, f.shape)).collect();
        let mut args = vec![now; law.inputs.len()];
        for state in &states {
            args[state.input] = cut(&mut b, all, state.at, state.shape);
        }
        layout.shared.iter().zip(&shared).for_each(|(s, &node)| args[s.input] = node);
        forcing.iter().zip(&forced).for_each(|(f, &node)| args[f.input] = node);
        let value = copy::inline(&mut b, law.main(), &law.regions, &args)[0];
        let value = if b.shape(value) == vector { value } else { b.given(Op::Join, 0, vector, &[value]) };
        let graph = assemble(law.regions.clone(), b.finish(vec![value]), inputs);
        Ok(Field { law: Law { graph, size, shared: layout.shared.len() }, states, forcing })
    }
}
