//! The interpreter: slow, obviously right, the oracle of every other executor. In: a graph and input values; out: results.
//! Invariants: nodes run in order, each once per activation of its region; only the taken branch of an `If` runs; every loop
//! round and call is counted against the limits; recursion in the program never exhausts the machine's stack.

use crate::exec::{EvalError, Tensor};
use crate::graph::{Graph, Kind, NodeId, Region, RegionId, Type};
use crate::limits::Limits;
use crate::ops::real::Real;
use crate::ops::row::{Kernel, KernelError, Operand, TensorFn, apply_scalar};
use crate::shape::Shape;
use crate::source::Span;
use std::rc::Rc;

/// How to run.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunOptions {
    /// Bounds of the run.
    pub limits: Limits,
    /// Stop at the first operation that leaves its domain or makes a NaN of numbers.
    pub trap: bool,
}

/// What a record holds.
#[derive(Clone)]
enum Slot<T> {
    Numbers(Rc<[T]>),
    Record(Rc<Record<T>>),
}

/// Values stored by a forward run.
enum Record<T> {
    Packed(Vec<Slot<T>>),
    /// What each round of a loop stored.
    Rounds(Vec<Vec<Slot<T>>>),
}

impl<T> Drop for Record<T> {
    /// Frees a chain of records (one per recursive call) without recursion.
    fn drop(&mut self) {
        let mut work: Vec<Slot<T>> = Vec::new();
        let take = |r: &mut Record<T>, work: &mut Vec<Slot<T>>| match r {
            Record::Packed(slots) => work.append(slots),
            Record::Rounds(rounds) => rounds.iter_mut().for_each(|r| work.append(r)),
        };
        take(self, &mut work);
        while let Some(slot) = work.pop() {
            if let Slot::Record(rc) = slot
                && let Ok(mut record) = Rc::try_unwrap(rc)
            {
                take(&mut record, &mut work);
            }
        }
    }
}

/// Where each node of a region keeps its numbers.
struct Layout {
    offsets: Vec<usize>,
    size: usize,
}

struct Machine<'a, T> {
    graph: &'a Graph,
    layouts: Vec<Layout>,
    options: RunOptions,
    depth: usize,
    steps: u64,
    memory: usize,
    marker: std::marker::PhantomData<T>,
}

/// A region's values while it runs.
struct Frame<T> {
    numbers: Vec<T>,
    /// Records and the results of nodes with several results, by node; empty where a region has none.
    others: Vec<Other<T>>,
}

#[derive(Clone)]
enum Other<T> {
    None,
    Record(Rc<Record<T>>),
    Many(Vec<Slot<T>>),
}

/// Runs a graph on input values, in the order of its inputs.
pub fn run<T: Real>(graph: &Graph, inputs: &[Tensor<T>], options: &RunOptions) -> Result<Vec<Tensor<T>>, EvalError> {
    if inputs.len() != graph.inputs.len() {
        return Err(EvalError::new("missing-input", Span::default(), format!("the program has {} inputs, {} were given", graph.inputs.len(), inputs.len())));
    }
    for (input, value) in graph.inputs.iter().zip(inputs) {
        if input.shape != value.shape() {
            let message = format!("the input `{}` is a {}, a {} was given", input.name, input.shape, value.shape());
            return Err(EvalError::new("input-shape", Span::default(), message));
        }
    }
    let layouts = graph
        .regions
        .iter()
        .map(|r| {
            let mut size = 0;
            let offsets = r
                .nodes
                .iter()
                .map(|n| {
                    let at = size;
                    if let Type::Value(s) = n.ty {
                        size += s.len();
                    }
                    at
                })
                .collect();
            Layout { offsets, size }
        })
        .collect();
    let mut machine = Machine { graph, layouts, options: *options, depth: 0, steps: 0, memory: 0, marker: std::marker::PhantomData };
    let args: Vec<Slot<T>> = inputs.iter().map(|t| Slot::Numbers(t.data().into())).collect();
    let results = machine.region(graph.main, &args)?;
    Ok(results
        .into_iter()
        .zip(graph.outputs())
        .map(|(slot, shape)| match slot {
            Slot::Numbers(n) => Tensor::new(shape, n.to_vec()).expect("a result has its shape"),
            Slot::Record(_) => unreachable!("a program gives numbers"),
        })
        .collect())
}

impl<T: Real> Machine<'_, T> {
    fn step(&mut self, span: Span) -> Result<(), EvalError> {
        self.steps += 1;
        if self.steps > self.options.limits.steps {
            return Err(EvalError::new("limit-steps", span, format!("the run takes more than {} loop rounds and calls", self.options.limits.steps)));
        }
        Ok(())
    }

    fn claim(&mut self, bytes: usize, span: Span) -> Result<(), EvalError> {
        self.memory += bytes;
        if self.memory > self.options.limits.memory_bytes {
            return Err(EvalError::new("limit-memory", span, format!("the run needs more than {} bytes", self.options.limits.memory_bytes)));
        }
        Ok(())
    }

    fn region(&mut self, id: RegionId, args: &[Slot<T>]) -> Result<Vec<Slot<T>>, EvalError> {
        crate::deep(|| {
            let region = self.graph.region(id);
            let size = self.layouts[id.0 as usize].size;
            let bytes = size * size_of::<T>();
            self.claim(bytes, Span::default())?;
            let plain = region.nodes.iter().all(|n| matches!(n.ty, Type::Value(_)));
            let mut frame = Frame { numbers: vec![T::ZERO; size], others: if plain { vec![] } else { vec![Other::None; region.nodes.len()] } };
            for node in region.ids() {
                self.node(region, id, node, args, &mut frame)?;
            }
            let results = region.results.iter().map(|&r| self.slot(region, id, r, &frame)).collect();
            self.memory -= bytes;
            Ok(results)
        })
    }

    fn range(&self, region: &Region, id: RegionId, node: NodeId) -> std::ops::Range<usize> {
        let at = self.layouts[id.0 as usize].offsets[node.0 as usize];
        at..at + region.shape(node).len()
    }

    fn slot(&self, region: &Region, id: RegionId, node: NodeId, frame: &Frame<T>) -> Slot<T> {
        match region.node(node).ty {
            Type::Value(_) => Slot::Numbers(frame.numbers[self.range(region, id, node)].into()),
            Type::Record => match &frame.others[node.0 as usize] {
                Other::Record(r) => Slot::Record(r.clone()),
                Other::None | Other::Many(_) => unreachable!("a record has been stored"),
            },
            Type::Many => unreachable!("several results are taken apart first"),
        }
    }

    fn store(&self, region: &Region, id: RegionId, node: NodeId, slot: &Slot<T>, frame: &mut Frame<T>) {
        match slot {
            Slot::Numbers(n) => frame.numbers[self.range(region, id, node)].copy_from_slice(n),
            Slot::Record(r) => frame.others[node.0 as usize] = Other::Record(r.clone()),
        }
    }

    fn node(&mut self, region: &Region, id: RegionId, node: NodeId, params: &[Slot<T>], frame: &mut Frame<T>) -> Result<(), EvalError> {
        let n = region.node(node);
        let args = region.args(node);
        match n.kind {
            Kind::Param(p) => self.store(region, id, node, &params[p as usize], frame),
            Kind::Const(bits) => frame.numbers[self.layouts[id.0 as usize].offsets[node.0 as usize]] = T::from_f64(f64::from_bits(bits)),
            Kind::Op(..) => self.operation(region, id, node, frame)?,
            Kind::Proj(i) => {
                let slot = match &frame.others[args[0].0 as usize] {
                    Other::Many(results) => results[i as usize].clone(),
                    Other::None | Other::Record(_) => {
                        unreachable!("several results have been stored")
                    }
                };
                self.store(region, id, node, &slot, frame);
            }
            Kind::Pack => {
                let slots = args.iter().map(|&a| self.slot(region, id, a, frame)).collect();
                let bytes = args.iter().map(|&a| region.shape(a).len() * size_of::<T>() + size_of::<Slot<T>>()).sum();
                self.claim(bytes, n.span)?;
                frame.others[node.0 as usize] = Other::Record(Rc::new(Record::Packed(slots)));
            }
            Kind::Unpack(i) => {
                let Other::Record(record) = frame.others[args[0].0 as usize].clone() else { unreachable!("a record has been stored") };
                let Record::Packed(slots) = &*record else { unreachable!("a packed record") };
                self.store(region, id, node, &slots[i as usize], frame);
            }
            Kind::If(yes, no) => {
                let test = frame.numbers[self.layouts[id.0 as usize].offsets[args[0].0 as usize]];
                let slots: Vec<Slot<T>> = args[1..].iter().map(|&a| self.slot(region, id, a, frame)).collect();
                let results = self.region(if test != T::ZERO { yes } else { no }, &slots)?;
                frame.others[node.0 as usize] = Other::Many(results);
            }
            Kind::Call(f) => {
                self.step(n.span)?;
                self.depth += 1;
                if self.depth > self.options.limits.depth {
                    let message = format!("calls of `{}` are nested more than {} deep", self.graph.region(f).name, self.options.limits.depth);
                    return Err(EvalError::new("limit-depth", n.span, message));
                }
                let slots: Vec<Slot<T>> = args.iter().map(|&a| self.slot(region, id, a, frame)).collect();
                let results = self.region(f, &slots)?;
                self.depth -= 1;
                frame.others[node.0 as usize] = Other::Many(results);
            }
            Kind::Loop { body, carried, taped } => {
                let slots = args.iter().map(|&a| self.slot(region, id, a, frame)).collect();
                let results = self.run_loop(body, carried as usize, taped, slots, n.span)?;
                frame.others[node.0 as usize] = Other::Many(results);
            }
            Kind::Back { body, stored, carried } => {
                let Other::Record(record) = frame.others[args[0].0 as usize].clone() else { unreachable!("a record has been stored") };
                let Record::Rounds(rounds) = &*record else { unreachable!("the record of a loop") };
                let (stored, carried) = (stored as usize, carried as usize);
                let mut slots: Vec<Slot<T>> = args[1..].iter().map(|&a| self.slot(region, id, a, frame)).collect();
                for round in rounds.iter().rev() {
                    self.step(n.span)?;
                    debug_assert_eq!(round.len(), stored);
                    let all: Vec<Slot<T>> = round.iter().chain(&slots).cloned().collect();
                    let next = self.region(body, &all)?;
                    slots.splice(..carried, next);
                }
                slots.truncate(carried);
                frame.others[node.0 as usize] = Other::Many(slots);
            }
        }
        Ok(())
    }

    fn run_loop(&mut self, body: RegionId, carried: usize, taped: bool, mut slots: Vec<Slot<T>>, span: Span) -> Result<Vec<Slot<T>>, EvalError> {
        let mut rounds: Vec<Vec<Slot<T>>> = Vec::new();
        let mut count = 0u64;
        let own_record = taped && self.graph.region(body).result_types().last() == Some(&Type::Record);
        loop {
            self.step(span)?;
            count += 1;
            if count > self.options.limits.iterations {
                return Err(EvalError::new("limit-iterations", span, format!("this loop runs more than {} rounds", self.options.limits.iterations)));
            }
            let mut results = self.region(body, &slots)?;
            if taped {
                let mut round: Vec<Slot<T>> = slots[..carried].to_vec();
                if own_record {
                    round.extend(results.pop());
                }
                let bytes = round.iter().map(|s| if let Slot::Numbers(n) = s { n.len() * size_of::<T>() + 24 } else { 24 }).sum();
                self.claim(bytes, span)?;
                rounds.push(round);
            }
            let Slot::Numbers(go_on) = &results[0] else { unreachable!("`continue?` is a number") };
            if go_on[0] == T::ZERO {
                let mut out: Vec<Slot<T>> = results.drain(1 + carried..).collect();
                if taped {
                    out.push(Slot::Record(Rc::new(Record::Rounds(rounds))));
                }
                return Ok(out);
            }
            slots.splice(..carried, results.drain(1..1 + carried));
        }
    }

    fn operation(&mut self, region: &Region, id: RegionId, node: NodeId, frame: &mut Frame<T>) -> Result<(), EvalError> {
        let n = region.node(node);
        let Kind::Op(op, attr) = n.kind else { unreachable!("an operation") };
        let row = op.row();
        let args = region.args(node);
        let shape = n.ty.shape();
        // Arguments come before their users, so the result's place starts behind all of them.
        let at = self.layouts[id.0 as usize].offsets[node.0 as usize];
        let (before, rest) = frame.numbers.split_at_mut(at);
        let out = &mut rest[..shape.len()];
        let operand = |a: NodeId| {
            let range = self.range(region, id, a);
            Operand { data: &before[range], shape: region.shape(a) }
        };
        match &row.kernel {
            Kernel::Tensor(kernel) => {
                let operands: Vec<Operand<'_, T>> = args.iter().map(|&a| operand(a)).collect();
                let f = tensor_kernel::<T>(kernel);
                match f(&operands, attr, shape, out) {
                    Ok(()) => {}
                    Err(KernelError::IndexOutOfRange) => {
                        let index = operands[1].data[0].to_f64();
                        let of = if op == crate::ops::Op::CutAt { operands[0].shape } else { shape };
                        return Err(EvalError::new("index-out-of-range", n.span, format!("the index {} is outside a {of}", crate::number_text(index))));
                    }
                }
                if self.options.trap && out.iter().any(|x| x.is_nan()) && !operands.iter().any(|o| o.data.iter().any(|x| x.is_nan())) {
                    return Err(left_domain::<T>(row.name, &[], row.domain.text(), n.span));
                }
            }
            Kernel::Unary(_) | Kernel::Binary(_) | Kernel::Select => {
                let operands = [args.first(), args.get(1), args.get(2)].map(|a| a.map(|&a| operand(a)));
                let mut point = [T::ZERO; 3];
                let k = args.len();
                for (i, x) in out.iter_mut().enumerate() {
                    for (p, o) in point.iter_mut().zip(&operands).take(k) {
                        let o = o.as_ref().expect("as many operands as arguments");
                        *p = if o.shape == Shape::Scalar { o.data[0] } else { o.data[i] };
                    }
                    *x = apply_scalar(&row.kernel, &point[..k]);
                    if self.options.trap && (row.domain.violated(&point[..k]) || (x.is_nan() && !point[..k].iter().any(|p| p.is_nan()))) {
                        return Err(left_domain(row.name, &point[..k], row.domain.text(), n.span));
                    }
                }
            }
            Kernel::Composite(_) => unreachable!("the verifier admits no composite node"),
        }
        Ok(())
    }
}

fn left_domain<T: Real>(name: &str, point: &[T], domain: &str, span: Span) -> EvalError {
    let args: String = point.iter().map(|x| format!(" {}", crate::number_text(x.to_f64()))).collect();
    let at = if point.is_empty() { format!("`{name}`") } else { format!("({name}{args})") };
    let domain = if domain == "everything" { "its result is not a number".to_string() } else { format!("its domain is {domain}") };
    EvalError::new("domain-left", span, format!("{at} leaves the safe domain: {domain}"))
}

/// The kernel for a number type.
fn tensor_kernel<T: Real>(k: &crate::ops::row::TensorKernel) -> TensorFn<T> {
    use std::any::TypeId;
    // The two arms are the only number types there are; the cast is between identical types.
    if TypeId::of::<T>() == TypeId::of::<f32>() {
        let f: &dyn std::any::Any = &k.f32;
        *f.downcast_ref::<TensorFn<T>>().expect("f32")
    } else {
        let f: &dyn std::any::Any = &k.f64;
        *f.downcast_ref::<TensorFn<T>>().expect("f64")
    }
}
