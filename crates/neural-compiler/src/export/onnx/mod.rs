//! ONNX. In: a program without recursion; out: `model.onnx`, whose inputs and results have the axis `batch` in front unless told otherwise.
//!
//! A branch is both sides and a choice; a loop is `Loop`, run until the last lane is done, in which lanes that are done keep what they
//! found. Lanes that do not take a side are marked there: its loops do not wait for them and its indices are not looked up for them.
//! `protobuf` (bytes), `builder` (nodes), `elementwise` and `tensors` (what operations become).

mod builder;
mod elementwise;
mod protobuf;
mod tensors;

use super::{Export, File, Request, comment};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::graph::{Graph, Kind, Node, RegionId, Type};
use crate::ops::Op;
use crate::ops::real::Dtype;
use crate::ops::row::Kernel;
use crate::source::Span;
use builder::{Builder, Value};
use protobuf::{Attribute, Axis, Element, graph as graph_of, info, model, node};
use tensors::{Site, tensor};

/// The name of the axis in front.
const LANES: &str = "batch";
/// Rounds of a loop, as for the other executors.
const MOST_ROUNDS: i64 = 50_000_000;
const MOST_NODES: usize = 200_000;
const OPSET: i64 = 18;
const IR: i64 = 10;

/// What is wanted of a model.
pub struct Wanted<'a> {
    /// Its number type.
    pub dtype: Dtype,
    /// Whether inputs and results have an axis of lanes in front.
    pub batch: bool,
    /// Names and axes of the results.
    pub results: &'a [(String, Vec<usize>)],
    /// What it is, for people.
    pub doc: &'a str,
}

/// Whether an operation can be written.
pub(super) fn spelled(op: Op) -> bool {
    match &op.row().kernel {
        Kernel::Unary(f) => elementwise::unary(f.name).is_some(),
        Kernel::Binary(f) => elementwise::binary(f.name).is_some(),
        Kernel::Select | Kernel::Composite(_) => true,
        Kernel::Ternary(_) => false,
        Kernel::Tensor(_) => tensor(op).is_some(),
    }
}

/// What is known of a node.
#[derive(Clone)]
enum Known {
    One(Value),
    /// A constant that nothing has asked for as a tensor yet.
    Number(f64),
    Many(Vec<Known>),
}

type Written<T> = Result<T, Box<Diagnostic>>;

fn unsupported(span: Span, message: String, help: &str) -> Box<Diagnostic> {
    Box::new(Diagnostic::error("export-unsupported", span, message).help(help))
}

struct Emitter<'g> {
    graph: &'g Graph,
    b: Builder,
    /// Regions inside of which code is written: one of them again is recursion.
    running: Vec<RegionId>,
    /// The size of the batch, as a list of one number.
    size: String,
    written: usize,
}

/// The results of a node that runs regions.
fn several(node: &Node, mut found: Vec<Known>) -> Known {
    if node.ty == Type::Many { Known::Many(found) } else { found.swap_remove(0) }
}

/// The bytes of a model.
pub fn onnx(graph: &Graph, wanted: &Wanted<'_>) -> Result<Vec<u8>, Diagnostics> {
    // A result that is called like an input has another name: a name stands for one value.
    let mut results = wanted.results.to_vec();
    for (name, _) in &mut results {
        while graph.inputs.iter().any(|i| i.name == *name) {
            name.push('_');
        }
    }
    let taken = graph.inputs.iter().map(|i| i.name.clone()).chain(results.iter().map(|r| r.0.clone())).collect();
    let wanted = &Wanted { results: &results, ..*wanted };
    let b = Builder::new(wanted.dtype, taken);
    let mut emitter = Emitter { graph, b, running: Vec::new(), size: String::new(), written: 0 };
    emitter.model(wanted).map_err(|e| Diagnostics(vec![*e]))
}

impl Emitter<'_> {
    fn model(&mut self, wanted: &Wanted<'_>) -> Written<Vec<u8>> {
        let (mut infos, mut given) = (Vec::new(), Vec::new());
        let element = self.b.element();
        let axes = |dims: &[usize]| -> Vec<Axis<'_>> {
            wanted.batch.then_some(Axis::Named(LANES)).into_iter().chain(dims.iter().map(|&n| Axis::Of(n))).collect()
        };
        for input in &self.graph.inputs {
            let dims: Vec<usize> = input.shape.dims();
            infos.push(info(&input.name, element, &axes(&dims)));
            let name = if wanted.batch { input.name.clone() } else { self.b.unsqueeze(&input.name, 0) };
            given.push(Known::One(Value::new(name, &dims)));
        }
        self.size = self.b.axes(&[1]);
        if wanted.batch {
            let (start, end) = (self.b.axes(&[0]), self.b.axes(&[1]));
            for (k, input) in self.graph.inputs.iter().enumerate() {
                let shape = self.b.raw("Shape", &[&input.name], &[]);
                let first = self.b.raw("Slice", &[&shape, &start, &end], &[]);
                self.size = if k == 0 { first } else { self.b.raw("Max", &[&self.size, &first], &[]) };
            }
        }
        let every = self.b.truths(&[true], &[1]);
        let everyone = Value::truth(self.b.raw("Expand", &[&every, &self.size], &[]), &[]);
        let found = self.region(self.graph.main, &given, &everyone)?;
        let mut outputs = Vec::new();
        for ((name, dims), value) in wanted.results.iter().zip(&found) {
            let value = self.number(value);
            let value = self.b.reshape(&value, dims);
            let mut last = self.b.whole(&value, &self.size);
            if !wanted.batch {
                let axes = self.b.axes(&[0]);
                last = self.b.raw("Squeeze", &[&last, &axes], &[]);
            }
            self.b.nodes.push(node("Identity", &[last], std::slice::from_ref(name), &[]));
            outputs.push(info(name, element, &axes(dims)));
        }
        let made = graph_of("program", &self.b.nodes, &infos, &outputs, &self.b.constants, wanted.doc);
        Ok(model(&made, OPSET, IR, wanted.doc).0)
    }

    /// A node as a tensor of numbers.
    fn number(&mut self, known: &Known) -> Value {
        let value = self.value(known);
        self.b.float(&value)
    }

    /// A node as a tensor, of numbers or truths.
    fn value(&mut self, known: &Known) -> Value {
        match known {
            Known::One(value) => value.clone(),
            Known::Number(x) => self.b.number(*x),
            Known::Many(_) => unreachable!("the verifier lets only several results be taken apart"),
        }
    }

    fn region(&mut self, id: RegionId, params: &[Known], active: &Value) -> Written<Vec<Known>> {
        let region = self.graph.region(id);
        if self.running.contains(&id) {
            let message = format!("`{}` calls itself, and ONNX has no recursion", region.name);
            return Err(unsupported(Span::default(), message, "write it as a loop, or export it to C, Rust or Python"));
        }
        self.running.push(id);
        let mut known: Vec<Known> = Vec::with_capacity(region.nodes.len());
        for n in region.ids() {
            let args: Vec<Known> = region.args(n).iter().map(|a| known[a.0 as usize].clone()).collect();
            let found = crate::deep(|| self.node(region.node(n), &args, params, active))?;
            known.push(found);
        }
        self.running.pop();
        self.written += region.nodes.len();
        if self.b.nodes.len().max(self.written) > MOST_NODES {
            let message = format!("the model would have more than {MOST_NODES} nodes");
            return Err(unsupported(Span::default(), message, "export it to C or Rust"));
        }
        Ok(region.results.iter().map(|r| known[r.0 as usize].clone()).collect())
    }

    fn node(&mut self, node: &Node, args: &[Known], params: &[Known], active: &Value) -> Written<Known> {
        Ok(match node.kind {
            Kind::Param(p) => params[p as usize].clone(),
            Kind::Const(bits) => Known::Number(f64::from_bits(bits)),
            Kind::Proj(i) => match &args[0] {
                Known::Many(all) => all[i as usize].clone(),
                Known::One(_) | Known::Number(_) => unreachable!("the verifier lets only several results be taken apart"),
            },
            Kind::Op(op, attribute) => self.operation(op, attribute as usize, node, args, active)?,
            Kind::Call(f) | Kind::Root { solve: f, .. } => several(node, self.region(f, args, active)?),
            Kind::If(yes, no) => several(node, self.branch(yes, no, args, active)?),
            Kind::Loop { body, carried, taped: false } => several(node, self.rounds(body, carried as usize, args, active)?),
            Kind::Loop { .. } | Kind::Back { .. } | Kind::Pack | Kind::Unpack(_) => {
                let message = "the derivative of a loop stores its rounds, which ONNX cannot";
                return Err(unsupported(node.span, message.into(), "export the program, and differentiate it elsewhere"));
            }
        })
    }

    fn operation(&mut self, op: Op, attribute: usize, node: &Node, args: &[Known], active: &Value) -> Written<Known> {
        let Type::Value(shape) = node.ty else { unreachable!("operations give values") };
        let dims: Vec<usize> = shape.dims();
        // Constants put together are a constant.
        let numbers: Option<Vec<f64>> = args.iter().map(|a| if let Known::Number(x) = a { Some(*x) } else { None }).collect();
        if let (Op::Join, Some(numbers), false) = (op, numbers, dims.is_empty()) {
            let axes: Vec<usize> = std::iter::once(1).chain(dims.iter().copied()).collect();
            return Ok(Known::One(Value::new(self.b.numbers(&numbers, &axes), &dims)));
        }
        if matches!(op.row().kernel, Kernel::Select) {
            let test = self.value(&args[0]);
            let (test, yes, no) = (self.b.bool(&test), self.value(&args[1]), self.value(&args[2]));
            return Ok(Known::One(self.b.choose(&test, &yes, &no)));
        }
        let args: Vec<Value> = args.iter().map(|a| self.number(a)).collect();
        let found = match &op.row().kernel {
            Kernel::Unary(f) => elementwise::unary(f.name).map(|build| build(&mut self.b, &args[0])),
            Kernel::Binary(f) => elementwise::binary(f.name).map(|build| build(&mut self.b, &args[0], &args[1])),
            Kernel::Tensor(_) => {
                let site = Site { attribute, shape: &dims, batch: &self.size, active };
                tensor(op).map(|build| build(&mut self.b, &site, &args))
            }
            Kernel::Select | Kernel::Ternary(_) | Kernel::Composite(_) => None,
        };
        let message = || format!("ONNX has no operation for `{}`, and none that would give all its digits", op.row().name);
        found.map(Known::One).ok_or_else(|| unsupported(node.span, message(), "take it out of the program, or run it elsewhere"))
    }

    fn branch(&mut self, yes: RegionId, no: RegionId, args: &[Known], active: &Value) -> Written<Vec<Known>> {
        let test = self.value(&args[0]);
        let test = self.b.bool(&test);
        let other = self.b.not(&test);
        let mut sides = Vec::new();
        for (child, taken) in [(yes, &test), (no, &other)] {
            let inside = self.b.test("And", &[active, taken]);
            sides.push(self.region(child, &args[1..], &inside)?);
        }
        let mut found = Vec::new();
        for (yes, no) in sides[0].iter().zip(&sides[1]) {
            let (yes, no) = (self.value(yes), self.value(no));
            found.push(Known::One(if yes == no { yes } else { self.b.choose(&test, &yes, &no) }));
        }
        Ok(found)
    }

    fn rounds(&mut self, body: RegionId, carried: usize, args: &[Known], active: &Value) -> Written<Vec<Known>> {
        let types = self.graph.region(body).result_types();
        let types: Vec<Vec<usize>> = types[1..].iter().map(|ty| ty.shape().dims()).collect();
        // The state: which lanes go on, what is carried, what the loop leaves with.
        let mut begin = vec![self.b.whole(active, &self.size)];
        for arg in &args[..carried] {
            let value = self.number(arg);
            begin.push(self.b.whole(&value, &self.size));
        }
        for dims in &types[carried..] {
            let zeros = vec![0.0; dims.iter().product()];
            let axes: Vec<usize> = std::iter::once(1).chain(dims.iter().copied()).collect();
            let zeros = Value::new(self.b.numbers(&zeros, &axes), dims);
            begin.push(self.b.whole(&zeros, &self.size));
        }
        let names: Vec<String> = begin.iter().map(|_| self.b.fresh("state")).collect();
        let outside = std::mem::take(&mut self.b.nodes);
        let going = Value::truth(names[0].clone(), &[]);
        let now: Vec<Value> = names[1..].iter().zip(&types).map(|(n, t)| Value::new(n.clone(), t)).collect();
        let given: Vec<Known> = now[..carried].iter().cloned().map(Known::One).chain(args[carried..].iter().cloned()).collect();
        let found = self.region(body, &given, &going)?;
        let proceeds = self.value(&found[0]);
        let proceeds = self.b.bool(&proceeds);
        let on = self.b.test("And", &[&going, &proceeds]);
        let ends = self.b.not(&on);
        let done = self.b.test("And", &[&going, &ends]);
        let mut outputs = vec![self.any(&on), self.b.whole(&on, &self.size)];
        for (k, (new, old)) in found[1..].iter().zip(&now).enumerate() {
            let new = self.number(new);
            let next = self.b.choose(if k < carried { &on } else { &done }, &new, old);
            outputs.push(self.b.whole(&next, &self.size));
        }
        let inner = std::mem::replace(&mut self.b.nodes, outside);
        let axes = |dims: &[usize]| -> Vec<Axis<'static>> { std::iter::once(Axis::Any).chain(dims.iter().map(|&n| Axis::Of(n))).collect() };
        let element = self.b.element();
        let state = |names: &[String]| {
            let first = info(&names[0], Element::Bool, &[Axis::Any]);
            let rest = names[1..].iter().zip(&types).map(|(n, t)| info(n, element, &axes(t)));
            std::iter::once(first).chain(rest).collect::<Vec<_>>()
        };
        let (round, goes_on, name) = (self.b.fresh("round"), self.b.fresh("goes_on"), self.b.fresh("body"));
        let mut inputs = vec![info(&round, Element::Int64, &[]), info(&goes_on, Element::Bool, &[])];
        inputs.extend(state(&names));
        let mut results = vec![info(&outputs[0], Element::Bool, &[])];
        results.extend(state(&outputs[1..]));
        let graph = graph_of(&name, &inner, &inputs, &results, &[], "");
        let (most, some) = (self.b.wholes(&[MOST_ROUNDS], &[]), self.any(active));
        let given: Vec<String> = [most, some].into_iter().chain(begin).collect();
        let ended = self.b.several("Loop", &given, names.len(), &[Attribute::Graph("body", graph)]);
        // A loop that did not end has no result: a place that is not there is looked up.
        let late = self.any(&Value::truth(ended[0].clone(), &[]));
        let late = self.b.raw("Cast", &[&late], &[Attribute::Int("to", Element::Int64 as i64)]);
        let zero = self.b.number(-0.0);
        let zero = self.b.raw("Gather", &[&zero.name, &late], &[Attribute::Int("axis", 0)]);
        let zero = Value::new(self.b.unsqueeze(&zero, 0), &[]);
        let mut all = Vec::new();
        for (name, dims) in ended[1 + carried..].iter().zip(&types[carried..]) {
            all.push(Known::One(self.b.op("Add", &[&Value::new(name.clone(), dims), &zero])));
        }
        Ok(all)
    }

    /// Whether it holds for some lane.
    fn any(&mut self, truth: &Value) -> String {
        let count = self.b.raw("Cast", &[&truth.name], &[Attribute::Int("to", Element::Int64 as i64)]);
        let (count, none) = (self.b.raw("ReduceSum", &[&count], &[Attribute::Int("keepdims", 0)]), self.b.wholes(&[0], &[]));
        self.b.raw("Greater", &[&count, &none], &[])
    }
}

/// The file of a program.
pub(super) fn files(request: &Request<'_>, export: &Export<'_>) -> Result<Vec<File>, Diagnostics> {
    let graph = export.gradient.unwrap_or(export.graph);
    let values = export.graph.main().results.len();
    let results: Vec<(String, Vec<usize>)> = graph
        .outputs()
        .iter()
        .enumerate()
        .map(|(k, shape)| {
            let name = match k.checked_sub(values) {
                Some(input) => format!("gradient_{}", graph.inputs[input].name),
                None if values == 1 => "result".into(),
                None => format!("result_{k}"),
            };
            (name, shape.dims())
        })
        .collect();
    let batch = request.batch && !graph.inputs.is_empty();
    let units: Vec<String> = request.units.iter().map(|(name, unit)| format!("{name} [{unit}]\n")).collect();
    let doc = comment(request, "A model", "") + &units.concat();
    let wanted = Wanted { dtype: request.dtype, batch, results: &results, doc: &doc };
    Ok(vec![File { name: "model.onnx", bytes: onnx(graph, &wanted)? }])
}
