//! The law of a model with states, as one graph. In: a program; out: a graph from the vector of all states, the shared inputs, the time
//! and the forcing to the derivatives (or next values) of all states.

use crate::model::layout::Layout;
use neural_compiler::graph::{Builder, Graph, GraphInput, NodeId, Splice};
use neural_compiler::ode::Law;
use neural_compiler::ops::Op;
use neural_compiler::syntax::ast::{InputKind, Interpolate};
use neural_compiler::{Diagnostic, Diagnostics, Program, Shape, Trigger};
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
    /// From one row to the next it is what it is at the row before, else on the line between the two.
    pub held: bool,
}

/// A column of the data that a law reads, and what it is between rows.
#[derive(Clone, Debug)]
pub struct Read {
    /// Its name.
    pub name: String,
    /// Its shape.
    pub shape: Shape,
    /// What it is between rows.
    pub between: Interpolate,
}

/// The law of a model, and where its inputs come from.
pub struct Field {
    /// Its shared inputs are in the order of the layout.
    pub law: Law,
    /// The states.
    pub states: Vec<State>,
    /// What is read from the data.
    pub columns: Vec<Read>,
    /// What the law gets of it: the columns, but for a cubic one its four coefficients from row to row, and the time of the row.
    pub forcing: Vec<Forcing>,
    /// What is observed besides the states, of the inputs of the law.
    pub observables: Option<Graph>,
    /// For each event of the model all states behind it, of the inputs of the law.
    pub jumps: Vec<Graph>,
    /// The levels of the conditions events wait for, of the inputs of the law, and which event waits for each.
    pub levels: Option<(Graph, Vec<usize>)>,
    /// Numbers of the states that are infused: behind the numbers of the model's states stands for each of them one more, its rate.
    pub infused: Vec<usize>,
}

/// What becomes of the rates of infusions.
#[derive(Clone, Copy, PartialEq)]
enum Rates {
    /// They add to the derivatives of what is infused, and stay what they are.
    Add,
    /// They are handed on.
    Keep,
    /// They do not matter.
    Leave,
}

/// What a law gets of a column.
fn forced(column: &Read) -> Vec<Forcing> {
    let Read { name, shape, between } = column;
    let one = |name: String, shape: Shape, held: bool| Forcing { name, shape, held };
    match between {
        Interpolate::Linear => vec![one(name.clone(), *shape, false)],
        Interpolate::Step => vec![one(name.clone(), *shape, true)],
        Interpolate::Cubic => {
            let coefficients = (0..4).map(|k| one(format!("{name}.{k}"), *shape, true));
            coefficients.chain([one(format!("{name}.row"), Shape::Scalar, true)]).collect()
        }
    }
}

/// Cuts a value of a shape out of a vector.
fn cut(b: &mut Builder, from: NodeId, at: usize, shape: Shape) -> NodeId {
    if b.shape(from) == shape { from } else { b.given(Op::Cut, at as u32, shape, &[from]) }
}

impl Field {
    /// The law of a program. `time` is the name of the time among its inputs; `infused`: names of the states that are infused.
    pub fn new(program: &Program, layout: &Layout, time: &str, infused: &[&str]) -> Result<Field, Diagnostics> {
        let mut field = Field {
            law: Law { graph: Graph::clone(&*program.graph()?), size: 0, shared: layout.shared.len() },
            states: vec![],
            columns: vec![],
            forcing: vec![],
            observables: None,
            jumps: vec![],
            levels: None,
            infused: vec![],
        };
        field.declare(program, time);
        if let Some((_, observables)) = program.observables() {
            field.declare(observables, time);
        }
        let events = program.events();
        for part in events.iter().flat_map(|e| e.all.iter().map(|e| &e.jump).chain(&e.levels)) {
            field.declare(part, time);
        }
        field.forcing = field.columns.iter().flat_map(forced).collect();
        let found = field.law.graph.outputs()[0].len();
        if found != field.law.size {
            let message = format!("the states have {} numbers, their derivatives {found}", field.law.size);
            return Err(Diagnostic::error("shape-mismatch", Default::default(), message).into());
        }
        let at = |name: &&str| field.states.iter().find(|s| s.name == **name && s.shape == Shape::Scalar).map(|s| s.at);
        field.infused = infused.iter().filter_map(at).collect();
        field.law.size += field.infused.len();
        field.law.graph = field.of_all_inputs(&field.law.graph, layout, time, Rates::Add);
        field.observables = match program.observables() {
            Some((_, observables)) => Some(field.of_all_inputs(&*observables.graph()?, layout, time, Rates::Leave)),
            None => None,
        };
        let mut waiting = Vec::new();
        for (k, event) in events.iter().flat_map(|e| e.all.iter().enumerate()) {
            field.jumps.push(field.of_all_inputs(&*event.jump.graph()?, layout, time, Rates::Keep));
            if let Trigger::When(_) = event.trigger {
                waiting.push(k);
            }
        }
        if let Some(program) = events.and_then(|e| e.levels.as_ref()) {
            field.levels = Some((field.of_all_inputs(&*program.graph()?, layout, time, Rates::Leave), waiting));
        }
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
                InputKind::Free | InputKind::Declared if name != time && self.columns.iter().all(|f| f.name != name) => {
                    let between = program.ast().interpolate.iter().find(|i| i.0 == name).map(|i| i.1).unwrap_or_default();
                    self.columns.push(Read { name, shape, between });
                }
                InputKind::Free | InputKind::Declared | InputKind::State(_) | InputKind::Param(_) | InputKind::Weight { .. } => {}
            }
        }
    }

    /// A graph whose inputs are called as the model's, with all inputs of the law in its order, and its result as a vector.
    fn of_all_inputs(&self, graph: &Graph, layout: &Layout, time: &str, rates: Rates) -> Graph {
        let mut inputs = vec![GraphInput { name: "states".into(), shape: Shape::Vector(self.law.size as u32) }];
        inputs.extend(layout.shared.iter().map(|s| GraphInput { name: s.name.clone(), shape: s.shape }));
        inputs.push(GraphInput { name: "time".into(), shape: Shape::Scalar });
        inputs.extend(self.forcing.iter().map(|f| GraphInput { name: f.name.clone(), shape: f.shape }));
        let mut whole = Splice::new("law", inputs);
        let nodes = whole.inputs.clone();
        let (all, shared, now, forced) = (nodes[0], &nodes[1..], nodes[1 + layout.shared.len()], &nodes[2 + layout.shared.len()..]);
        let mut known: HashMap<&str, NodeId> = layout.shared.iter().map(|s| s.name.as_str()).zip(shared.iter().copied()).collect();
        let mut forced = forced.iter().copied();
        for column in &self.columns {
            let mut next = || forced.next().expect("the law gets every column");
            let value = if column.between == Interpolate::Cubic {
                let (coefficients, row) = ([next(), next(), next(), next()], next());
                let b = &mut whole.builder;
                let since = b.sub(now, row);
                let [a0, a1, a2, a3] = coefficients;
                [a2, a1, a0].into_iter().fold(a3, |sum, a| {
                    let product = b.mul(since, sum);
                    b.add(a, product)
                })
            } else {
                next()
            };
            known.insert(&column.name, value);
        }
        known.insert(time, now);
        for state in self.states.iter().filter(|s| graph.inputs.iter().any(|i| i.name == s.name)) {
            known.insert(&state.name, cut(&mut whole.builder, all, state.at, state.shape));
        }
        let args: Vec<NodeId> = graph.inputs.iter().map(|i| known.get(i.name.as_str()).copied().unwrap_or(now)).collect();
        let value = whole.run(graph, &args)[0];
        let b = &mut whole.builder;
        let vector = Shape::Vector(b.shape(value).len() as u32);
        let mut value = if b.shape(value) == vector { value } else { b.given(Op::Join, 0, vector, &[value]) };
        if !self.infused.is_empty() && rates != Rates::Leave {
            let (zero, own) = (b.constant(0.0), self.law.size - self.infused.len());
            let rate: Vec<NodeId> = (own..self.law.size).map(|k| cut(b, all, k, Shape::Scalar)).collect();
            let mut parts: Vec<NodeId> = (0..own).map(|k| cut(b, value, k, Shape::Scalar)).collect();
            if rates == Rates::Add {
                for (&k, &rate) in self.infused.iter().zip(&rate) {
                    parts[k] = b.add(parts[k], rate);
                }
            }
            parts.extend(rate.iter().map(|&r| if rates == Rates::Add { zero } else { r }));
            value = b.given(Op::Join, 0, Shape::Vector(self.law.size as u32), &parts);
        }
        whole.finish(vec![value])
    }
}
