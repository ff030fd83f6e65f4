//! The law of a model with states, as one graph. In: a program; out: a graph from the vector of all states, the shared inputs, the time
//! and the forcing to the derivatives (or next values) of all states.

use crate::model::layout::Layout;
use neural_compiler::graph::{Builder, Graph, GraphInput, NodeId, Splice};
use neural_compiler::ode::Law;
use neural_compiler::ops::Op;
use neural_compiler::syntax::ast::InputKind;
use neural_compiler::{Diagnostic, Diagnostics, Program, Shape};
use std::collections::HashMap;

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
    /// What is observed besides the states, of the inputs of the law.
    pub observables: Option<Graph>,
}

/// Cuts a value of a shape out of a vector.
fn cut(b: &mut Builder, from: NodeId, at: usize, shape: Shape) -> NodeId {
    if b.shape(from) == shape { from } else { b.given(Op::Cut, at as u32, shape, &[from]) }
}

impl Field {
    /// The law of a program. `time` is the name of the time among its inputs.
    pub fn new(program: &Program, layout: &Layout, time: &str) -> Result<Field, Diagnostics> {
        let mut field = Field {
            law: Law { graph: Graph::clone(&*program.graph()?), size: 0, shared: layout.shared.len() },
            states: vec![],
            forcing: vec![],
            observables: None,
        };
        field.declare(program, time);
        if let Some((_, observables)) = program.observables() {
            field.declare(observables, time);
        }
        let found = field.law.graph.outputs()[0].len();
        if found != field.law.size {
            let message = format!("the states have {} numbers, their derivatives {found}", field.law.size);
            return Err(Diagnostic::error("shape-mismatch", Default::default(), message).into());
        }
        field.law.graph = field.of_all_inputs(&field.law.graph, layout, time);
        field.observables = match program.observables() {
            Some((_, observables)) => Some(field.of_all_inputs(&*observables.graph()?, layout, time)),
            None => None,
        };
        Ok(field)
    }

    /// Takes in the states and the forcing of a program that are not known yet.
    fn declare(&mut self, program: &Program, time: &str) {
        for (input, declared) in program.inputs().iter().enumerate() {
            let shape = declared.shape.or(program.input_shapes()[input].known()).unwrap_or(Shape::Scalar);
            let name = declared.name.clone();
            match declared.kind {
                InputKind::State(_) if self.states.iter().all(|s| s.name != name) => {
                    self.states.push(State { name, input, shape, at: self.law.size });
                    self.law.size += shape.len();
                }
                InputKind::Free | InputKind::Declared if name != time && self.forcing.iter().all(|f| f.name != name) => {
                    self.forcing.push(Forcing { name, shape });
                }
                InputKind::Free | InputKind::Declared | InputKind::State(_) | InputKind::Param(_) | InputKind::Weight { .. } => {}
            }
        }
    }

    /// A graph whose inputs are called as the model's, with all inputs of the law in its order, and its result as a vector.
    fn of_all_inputs(&self, graph: &Graph, layout: &Layout, time: &str) -> Graph {
        let mut inputs = vec![GraphInput { name: "states".into(), shape: Shape::Vector(self.law.size as u32) }];
        inputs.extend(layout.shared.iter().map(|s| GraphInput { name: s.name.clone(), shape: s.shape }));
        inputs.push(GraphInput { name: "time".into(), shape: Shape::Scalar });
        inputs.extend(self.forcing.iter().map(|f| GraphInput { name: f.name.clone(), shape: f.shape }));
        let mut whole = Splice::new("law", inputs);
        let nodes = whole.inputs.clone();
        let (all, shared, now, forced) = (nodes[0], &nodes[1..], nodes[1 + layout.shared.len()], &nodes[2 + layout.shared.len()..]);
        let mut known: HashMap<&str, NodeId> = layout.shared.iter().map(|s| s.name.as_str()).zip(shared.iter().copied()).collect();
        known.extend(self.forcing.iter().map(|f| f.name.as_str()).zip(forced.iter().copied()));
        known.insert(time, now);
        for state in self.states.iter().filter(|s| graph.inputs.iter().any(|i| i.name == s.name)) {
            known.insert(&state.name, cut(&mut whole.builder, all, state.at, state.shape));
        }
        let args: Vec<NodeId> = graph.inputs.iter().map(|i| known.get(i.name.as_str()).copied().unwrap_or(now)).collect();
        let value = whole.run(graph, &args)[0];
        let b = &mut whole.builder;
        let vector = Shape::Vector(b.shape(value).len() as u32);
        let value = if b.shape(value) == vector { value } else { b.given(Op::Join, 0, vector, &[value]) };
        whole.finish(vec![value])
    }
}
