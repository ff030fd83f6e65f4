//! The law of a model with states, as one graph. In: a program; out: a graph from the vector of all states, the shared inputs, the time
//! and the forcing to the derivatives (or next values) of all states.

use crate::model::layout::Layout;
use neural_compiler::graph::{Builder, Graph, GraphInput, NodeId, Splice};
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

/// The law.
pub struct Field {
    /// Inputs: states, shared inputs in the order of the layout, the time, forcing.
    pub graph: Graph,
    /// The states.
    pub states: Vec<State>,
    /// Numbers of all states.
    pub size: usize,
    /// Shared inputs.
    pub shared: usize,
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
        let mut inputs = vec![GraphInput { name: "states".into(), shape: vector }];
        inputs.extend(layout.shared.iter().map(|s| GraphInput { name: s.name.clone(), shape: s.shape }));
        inputs.push(GraphInput { name: "time".into(), shape: Shape::Scalar });
        inputs.extend(forcing.iter().map(|f| GraphInput { name: f.name.clone(), shape: f.shape }));
        let mut whole = Splice::new("law", inputs);
        let nodes = whole.inputs.clone();
        let (all, shared, now, forced) = (nodes[0], &nodes[1..], nodes[1 + layout.shared.len()], &nodes[2 + layout.shared.len()..]);
        let mut args = vec![now; law.inputs.len()];
        for state in &states {
            args[state.input] = cut(&mut whole.builder, all, state.at, state.shape);
        }
        layout.shared.iter().zip(shared).for_each(|(s, &node)| args[s.input] = node);
        forcing.iter().zip(forced).for_each(|(f, &node)| args[f.input] = node);
        let value = whole.run(&law, &args)[0];
        let b = &mut whole.builder;
        let value = if b.shape(value) == vector { value } else { b.given(Op::Join, 0, vector, &[value]) };
        let graph = whole.finish(vec![value]);
        Ok(Field { graph, states, size, shared: layout.shared.len(), forcing })
    }
}
