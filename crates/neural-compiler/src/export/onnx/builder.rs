//! Nodes of an ONNX graph. In: names of operations and values; out: values, and lists of nodes for the graph and the bodies of its loops.
//! Invariant: every value has one axis of lanes in front, of the batch's size or 1, so that ONNX's own broadcasting does what the batch
//! asks for.

use super::protobuf::{Attribute, Element, Message, node, tensor};
use crate::ops::real::Dtype;
use rustc_hash::{FxHashMap, FxHashSet};

/// A tensor of the model: its name, its axes behind that of lanes, and whether it is a boolean.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Value {
    pub(super) name: String,
    pub(super) shape: Vec<usize>,
    pub(super) truth: bool,
}

impl Value {
    pub(super) fn new(name: String, shape: &[usize]) -> Value {
        Value { name, shape: shape.to_vec(), truth: false }
    }

    pub(super) fn truth(name: String, shape: &[usize]) -> Value {
        Value { name, shape: shape.to_vec(), truth: true }
    }

    pub(super) fn len(&self) -> usize {
        self.shape.iter().product()
    }
}

/// What tells constants apart.
type Key = (Element, Vec<usize>, Vec<u8>);

/// Collects the nodes of a model.
pub(super) struct Builder {
    pub(super) dtype: Dtype,
    pub(super) nodes: Vec<Message>,
    pub(super) constants: Vec<Message>,
    known: FxHashMap<Key, String>,
    /// Names of inputs and results.
    taken: FxHashSet<String>,
    count: usize,
}

impl Builder {
    pub(super) fn new(dtype: Dtype, taken: FxHashSet<String>) -> Builder {
        Builder { dtype, nodes: Vec::new(), constants: Vec::new(), known: FxHashMap::default(), taken, count: 0 }
    }

    /// The kind of its numbers.
    pub(super) fn element(&self) -> Element {
        if self.dtype == Dtype::F64 { Element::Double } else { Element::Float }
    }

    /// A name nothing else has.
    pub(super) fn fresh(&mut self, hint: &str) -> String {
        loop {
            self.count += 1;
            let name = format!("{hint}_{}", self.count);
            if !self.taken.contains(&name) {
                return name;
            }
        }
    }

    /// A node of several results; their names.
    pub(super) fn several(&mut self, op: &str, inputs: &[String], outputs: usize, attributes: &[Attribute]) -> Vec<String> {
        let hint = op.to_ascii_lowercase();
        let names: Vec<String> = (0..outputs).map(|_| self.fresh(&hint)).collect();
        self.nodes.push(node(op, inputs, &names, attributes));
        names
    }

    /// A node of one result; its name.
    pub(super) fn raw(&mut self, op: &str, inputs: &[&str], attributes: &[Attribute]) -> String {
        let inputs: Vec<String> = inputs.iter().map(|i| i.to_string()).collect();
        self.several(op, &inputs, 1, attributes).swap_remove(0)
    }

    fn constant(&mut self, element: Element, dims: &[usize], raw: Vec<u8>) -> String {
        let key = (element, dims.to_vec(), raw);
        if let Some(name) = self.known.get(&key) {
            return name.clone();
        }
        let name = self.fresh("constant");
        self.constants.push(tensor(&name, element, dims, &key.2));
        self.known.insert(key, name.clone());
        name
    }

    /// Numbers as a constant of these axes, that of lanes included, visible in every scope.
    pub(super) fn numbers(&mut self, numbers: &[f64], dims: &[usize]) -> String {
        let raw = match self.dtype {
            Dtype::F64 => numbers.iter().flat_map(|x| x.to_le_bytes()).collect(),
            Dtype::F32 => numbers.iter().flat_map(|x| (*x as f32).to_le_bytes()).collect(),
        };
        self.constant(self.element(), dims, raw)
    }

    /// Whole numbers, likewise.
    pub(super) fn wholes(&mut self, numbers: &[i64], dims: &[usize]) -> String {
        self.constant(Element::Int64, dims, numbers.iter().flat_map(|x| x.to_le_bytes()).collect())
    }

    /// Truths, likewise.
    pub(super) fn truths(&mut self, truths: &[bool], dims: &[usize]) -> String {
        self.constant(Element::Bool, dims, truths.iter().map(|&t| u8::from(t)).collect())
    }

    /// A list of whole numbers.
    pub(super) fn axes(&mut self, axes: &[usize]) -> String {
        let axes: Vec<i64> = axes.iter().map(|&a| a as i64).collect();
        self.wholes(&axes, &[axes.len()])
    }

    /// A number, the same for all lanes.
    pub(super) fn number(&mut self, x: f64) -> Value {
        Value::new(self.numbers(&[x], &[1]), &[])
    }

    /// An operation on values, scalars aligned with the largest of them; of the shape of that.
    pub(super) fn with(&mut self, op: &str, args: &[&Value], attributes: &[Attribute]) -> Value {
        // Others are scalars, or have one element along each axis.
        let wanted = args.iter().max_by_key(|a| (a.shape.len(), a.len())).map(|a| a.shape.clone()).unwrap_or_default();
        let given: Vec<String> = args.iter().map(|a| self.aligned(a, &wanted).name).collect();
        let given: Vec<&str> = given.iter().map(String::as_str).collect();
        Value::new(self.raw(op, &given, attributes), &wanted)
    }

    pub(super) fn op(&mut self, op: &str, args: &[&Value]) -> Value {
        self.with(op, args, &[])
    }

    /// An operation that gives truths.
    pub(super) fn test(&mut self, op: &str, args: &[&Value]) -> Value {
        Value { truth: true, ..self.op(op, args) }
    }

    pub(super) fn not(&mut self, x: &Value) -> Value {
        self.test("Not", &[x])
    }

    /// An operation with a number.
    pub(super) fn by(&mut self, op: &str, x: &Value, c: f64) -> Value {
        let c = self.number(c);
        self.op(op, &[x, &c])
    }

    /// A comparison with a number.
    pub(super) fn against(&mut self, op: &str, x: &Value, c: f64) -> Value {
        let c = self.number(c);
        self.test(op, &[x, &c])
    }

    /// A scalar with as many axes as others have.
    pub(super) fn aligned(&mut self, value: &Value, wanted: &[usize]) -> Value {
        if !value.shape.is_empty() || wanted.is_empty() {
            return value.clone();
        }
        let axes: Vec<usize> = (1..=wanted.len()).collect();
        let axes = self.axes(&axes);
        Value { name: self.raw("Unsqueeze", &[&value.name, &axes], &[]), shape: vec![1; wanted.len()], truth: value.truth }
    }

    /// A boolean as the number it is.
    pub(super) fn float(&mut self, value: &Value) -> Value {
        if !value.truth {
            return value.clone();
        }
        let to = Attribute::Int("to", self.element() as i64);
        Value::new(self.raw("Cast", &[&value.name], &[to]), &value.shape)
    }

    /// A number as a boolean.
    pub(super) fn bool(&mut self, value: &Value) -> Value {
        if value.truth {
            return value.clone();
        }
        let zero = self.against("Equal", value, 0.0);
        self.not(&zero)
    }

    /// The same elements with other axes.
    pub(super) fn reshape(&mut self, value: &Value, shape: &[usize]) -> Value {
        if value.shape == shape {
            return value.clone();
        }
        let dims: Vec<i64> = std::iter::once(-1).chain(shape.iter().map(|&n| n as i64)).collect();
        let dims = self.wholes(&dims, &[dims.len()]);
        Value { name: self.raw("Reshape", &[&value.name, &dims], &[]), shape: shape.to_vec(), truth: value.truth }
    }

    /// The elements as one axis.
    pub(super) fn flat(&mut self, value: &Value) -> Value {
        self.reshape(value, &[value.len()])
    }

    /// Some places of an axis, counted from 0 behind that of lanes.
    pub(super) fn pick(&mut self, value: &Value, axis: usize, places: &[usize]) -> Value {
        let indices = self.axes(places);
        let name = self.raw("Gather", &[&value.name, &indices], &[Attribute::Int("axis", axis as i64 + 1)]);
        let mut shape = value.shape.clone();
        shape[axis] = places.len();
        Value::new(name, &shape)
    }

    /// One element, by its place among all.
    pub(super) fn at(&mut self, value: &Value, place: usize) -> Value {
        let (flat, place) = (self.flat(value), self.wholes(&[place as i64], &[]));
        Value::new(self.raw("Gather", &[&flat.name, &place], &[Attribute::Int("axis", 1)]), &[])
    }

    /// The sum over all axes but that of lanes.
    pub(super) fn summed(&mut self, value: &Value) -> Value {
        if value.shape.is_empty() {
            return value.clone();
        }
        let axes: Vec<usize> = (1..=value.shape.len()).collect();
        let axes = self.axes(&axes);
        Value::new(self.raw("ReduceSum", &[&value.name, &axes], &[Attribute::Int("keepdims", 0)]), &[])
    }

    /// One of two values for each element; of numbers: onnxruntime chooses between no booleans.
    pub(super) fn choose(&mut self, test: &Value, yes: &Value, no: &Value) -> Value {
        let (yes, no) = (self.float(yes), self.float(no));
        self.op("Where", &[test, &yes, &no])
    }

    /// Adds an axis.
    pub(super) fn unsqueeze(&mut self, name: &str, axis: usize) -> String {
        let axes = self.axes(&[axis]);
        self.raw("Unsqueeze", &[name, &axes], &[])
    }

    /// A value for every lane of a batch, whose size is a list of one number.
    pub(super) fn whole(&mut self, value: &Value, batch: &str) -> String {
        let shape = self.axes(&value.shape);
        let shape = self.raw("Concat", &[batch, &shape], &[Attribute::Int("axis", 0)]);
        self.raw("Expand", &[&value.name, &shape], &[])
    }
}
