//! The interpreter: slow, obviously right, the oracle of every other executor. In: a graph and input values; out: results.
//! Invariants: nodes run in order, each once per activation of its region; only the taken branch of an `If` runs; every loop
//! round and call is counted against the limits, and so is the work of large operations; memory is charged before it is taken; recursion in
//! the program never exhausts the machine's stack; a NaN among the results is the quiet one, before that nothing tells one from another.
//!
//! A region's numbers live in one frame of a stack of frames; arguments are copied into the parameters of the region that runs,
//! results are copied out. Records (the tape of reverse mode) live beside the frames, shared and freed when nobody needs them.

use crate::exec::absent::absent;
use crate::exec::room::{is_there, make_room, no_memory, over_limit, widen};
use crate::exec::watch::Watch;
use crate::exec::{EvalError, Tensor, product};
use crate::graph::{Graph, Kind, NodeId, Region, RegionId, Type};
use crate::limits::Limits;
use crate::ops::real::{Real, quiet};
use crate::ops::row::{Kernel, KernelError, Operand, apply_scalar};
use crate::ops::{Op, Row, work};
use crate::shape::Shape;
use crate::source::Span;
use std::cell::Cell;
use std::rc::Rc;

/// How to run.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunOptions {
    /// Bounds of the run.
    pub limits: Limits,
    /// Stop at the first operation that leaves its domain or makes a NaN of numbers.
    pub trap: bool,
}

/// Runs a graph on input values, in the order of its inputs.
pub fn run<T: Real>(graph: &Graph, inputs: &[Tensor<T>], options: &RunOptions) -> Result<Vec<Tensor<T>>, EvalError> {
    run_watched(graph, inputs, options, &mut Watch::alone())
}

/// The same, for one of several threads.
pub(crate) fn run_watched<T: Real>(
    graph: &Graph,
    inputs: &[Tensor<T>],
    options: &RunOptions,
    watch: &mut Watch<'_>,
) -> Result<Vec<Tensor<T>>, EvalError> {
    if inputs.len() != graph.inputs.len() {
        let message = format!("the program has {} inputs, {} were given", graph.inputs.len(), inputs.len());
        return Err(EvalError::new("missing-input", Span::default(), message));
    }
    for (input, value) in graph.inputs.iter().zip(inputs) {
        if input.shape != value.shape() {
            let message = format!("the input `{}` is a {}, a {} was given", input.name, input.shape, value.shape());
            return Err(EvalError::new("input-shape", Span::default(), message));
        }
    }
    let codes: Vec<Code> = graph.regions.iter().map(|r| Code::new(graph, r)).collect();
    let mut machine = Machine {
        graph,
        codes: &codes,
        options: *options,
        depth: 0,
        steps: 0,
        watch,
        numbers: Vec::new(),
        records: Vec::new(),
        held: Rc::default(),
    };
    let base = Base::default();
    machine.reserve(graph.main, base)?;
    let main = &codes[graph.main.0 as usize];
    for (place, value) in main.params.iter().zip(inputs) {
        machine.numbers[place.at..place.at + place.len].copy_from_slice(value.data());
    }
    machine.region(graph.main, base)?;
    let results: usize = main.results.iter().map(|p| p.len).sum();
    machine.check_memory_with(results.saturating_mul(size_of::<T>()), Span::default())?;
    let tensor = |(place, shape): (&Place, Shape)| {
        let mut numbers = Vec::new();
        make_room(&mut numbers, place.len, Span::default())?;
        numbers.extend(machine.numbers[place.at..place.at + place.len].iter().map(|&x| quiet(x)));
        Ok(Tensor::new(shape, numbers).expect("a result has its shape"))
    };
    main.results.iter().zip(graph.outputs()).map(tensor).collect()
}

/// Where a value lives in its frame: numbers, or (with length 0) a record.
#[derive(Clone, Copy)]
struct Place {
    at: usize,
    len: usize,
    record: bool,
}

/// A node, ready to run.
struct Step {
    node: NodeId,
    kind: Kind,
    row: Option<&'static Row>,
    args: Vec<Place>,
    /// One, or one per result.
    out: Vec<Place>,
}

/// A region, ready to run: the nodes in order, each with the places of its arguments and results.
struct Code {
    steps: Vec<Step>,
    params: Vec<Place>,
    results: Vec<Place>,
    numbers: usize,
    records: usize,
}

impl Code {
    fn new(graph: &Graph, region: &Region) -> Code {
        let (mut numbers, mut records) = (0usize, 0);
        let mut place = |ty: Type| match ty {
            Type::Value(s) => {
                let at = numbers;
                numbers = at.saturating_add(s.len());
                Place { at, len: s.len(), record: false }
            }
            Type::Record | Type::Many => {
                records += 1;
                Place { at: records - 1, len: 0, record: true }
            }
        };
        let mut places: Vec<Vec<Place>> = Vec::with_capacity(region.nodes.len());
        let mut steps = Vec::new();
        let mut params = vec![Place { at: 0, len: 0, record: false }; region.params.len()];
        for id in region.ids() {
            let node = region.node(id);
            let args: Vec<Place> = region
                .args(id)
                .iter()
                .map(|a| places[a.0 as usize].first().copied().unwrap_or(Place { at: 0, len: 0, record: true }))
                .collect();
            let out = match node.kind {
                Kind::Proj(i) => vec![places[region.args(id)[0].0 as usize][i as usize]],
                _ if node.ty == Type::Many => graph.result_types(node.kind).into_iter().map(&mut place).collect(),
                _ => vec![place(node.ty)],
            };
            match node.kind {
                Kind::Param(p) => params[p as usize] = out[0],
                Kind::Proj(_) => {}
                kind => {
                    let row = if let Kind::Op(op, _) = kind { Some(op.row()) } else { None };
                    steps.push(Step { node: id, kind, row, args, out: out.clone() });
                }
            }
            places.push(out);
        }
        let results = region.results.iter().map(|r| places[r.0 as usize][0]).collect();
        Code { steps, params, results, numbers, records }
    }
}

/// What a record holds.
#[derive(Clone)]
enum Slot<T> {
    Numbers(Box<[T]>),
    Record(Rc<Record<T>>),
}

enum Content<T> {
    Packed(Vec<Slot<T>>),
    /// What each round of a loop stored: as many numbers as the loop carries, and the body's own record if it has one.
    Rounds {
        count: usize,
        numbers: Vec<T>,
        records: Vec<Rc<Record<T>>>,
    },
}

/// Values stored by a forward run.
struct Record<T> {
    content: Content<T>,
    bytes: usize,
    /// Bytes held by all records of the run.
    held: Rc<Cell<usize>>,
}

impl<T> Drop for Record<T> {
    /// Frees a chain of records (one per recursive call) without recursion.
    fn drop(&mut self) {
        self.held.set(self.held.get() - self.bytes);
        let mut work: Vec<Slot<T>> = Vec::new();
        let take = |content: &mut Content<T>, work: &mut Vec<Slot<T>>| match content {
            Content::Packed(slots) => work.append(slots),
            Content::Rounds { records, .. } => work.extend(records.drain(..).map(Slot::Record)),
        };
        take(&mut self.content, &mut work);
        while let Some(slot) = work.pop() {
            if let Slot::Record(rc) = slot
                && let Ok(mut record) = Rc::try_unwrap(rc)
            {
                take(&mut record.content, &mut work);
            }
        }
    }
}

/// Machine stack a nested call of the program may take, branches and loops on the way included; generous.
const STACK_PER_CALL: usize = 8 * 1024;

/// Bytes of a record; every stored value is an allocation of its own, with the allocator's bookkeeping.
fn record_bytes<T>(numbers: usize, slots: usize) -> usize {
    numbers * size_of::<T>() + slots * (size_of::<Slot<T>>() + 32)
}

/// Where a frame starts.
#[derive(Clone, Copy, Default)]
struct Base {
    numbers: usize,
    records: usize,
}

struct Machine<'a, 'w, T> {
    graph: &'a Graph,
    codes: &'a [Code],
    options: RunOptions,
    depth: usize,
    steps: u64,
    watch: &'a mut Watch<'w>,
    numbers: Vec<T>,
    records: Vec<Option<Rc<Record<T>>>>,
    held: Rc<Cell<usize>>,
}

impl<T: Real> Machine<'_, '_, T> {
    fn count(&mut self, span: Span) -> Result<(), EvalError> {
        self.count_all(1, span)
    }

    /// Counts so many loop rounds or calls, or work that is worth as many.
    fn count_all(&mut self, steps: u64, span: Span) -> Result<(), EvalError> {
        self.steps = self.steps.saturating_add(steps);
        if self.steps > self.options.limits.steps {
            return Err(EvalError::new(
                "limit-steps",
                span,
                format!("the run takes more than {} loop rounds and calls", self.options.limits.steps),
            ));
        }
        self.watch.pass(steps, span)
    }

    /// Makes room for a region's frame.
    fn reserve(&mut self, id: RegionId, base: Base) -> Result<(), EvalError> {
        let code = &self.codes[id.0 as usize];
        let (numbers, records) = (base.numbers + code.numbers, base.records + code.records);
        let more = numbers.saturating_sub(self.numbers.len()).saturating_mul(size_of::<T>());
        self.check_memory_with(more, Span::default())?;
        widen(&mut self.numbers, numbers, T::ZERO, Span::default())?;
        widen(&mut self.records, records, None, Span::default())
    }

    /// Whether the run stays within its memory with so many bytes more.
    fn check_memory_with(&self, more: usize, span: Span) -> Result<(), EvalError> {
        let bytes = (self.numbers.len() * size_of::<T>() + self.held.get() + self.depth * STACK_PER_CALL).saturating_add(more);
        let limit = self.options.limits.memory_bytes;
        if bytes > limit { Err(over_limit(limit, span)) } else { Ok(()) }
    }

    /// Runs a region whose parameters are in place.
    fn region(&mut self, id: RegionId, base: Base) -> Result<(), EvalError> {
        crate::deep(|| {
            let region = self.graph.region(id);
            let codes = self.codes;
            let steps = &codes[id.0 as usize].steps;
            // Some steps take as long as a round that does nothing.
            self.watch.pass(steps.len() as u64 / 16, Span::default())?;
            for step in steps {
                self.step(region, id, step, base)?;
            }
            Ok(())
        })
    }

    fn slot(&self, place: Place, base: Base) -> Slot<T> {
        if place.record {
            Slot::Record(self.records[base.records + place.at].clone().expect("a record has been stored"))
        } else {
            let at = base.numbers + place.at;
            Slot::Numbers(self.numbers[at..at + place.len].into())
        }
    }

    fn store(&mut self, slot: &Slot<T>, place: Place, base: Base) {
        match slot {
            Slot::Numbers(n) => {
                let at = base.numbers + place.at;
                self.numbers[at..at + place.len].copy_from_slice(n);
            }
            Slot::Record(r) => self.records[base.records + place.at] = Some(r.clone()),
        }
    }

    fn copy(&mut self, from: Place, from_base: Base, to: Place, to_base: Base) {
        if from.record {
            self.records[to_base.records + to.at] = self.records[from_base.records + from.at].clone();
        } else {
            let at = from_base.numbers + from.at;
            self.numbers.copy_within(at..at + from.len, to_base.numbers + to.at);
        }
    }

    /// The frame behind a region's own.
    fn above(&self, id: RegionId, base: Base) -> Base {
        let code = &self.codes[id.0 as usize];
        Base { numbers: base.numbers + code.numbers, records: base.records + code.records }
    }

    fn step(&mut self, region: &Region, id: RegionId, step: &Step, base: Base) -> Result<(), EvalError> {
        let codes = self.codes;
        let span = region.node(step.node).span;
        match step.kind {
            Kind::Const(bits) => self.numbers[base.numbers + step.out[0].at] = T::from_f64(f64::from_bits(bits)),
            Kind::Op(_, attr) => return self.operation(region, step, attr, base),
            Kind::If(yes, no) => {
                let test = self.numbers[base.numbers + step.args[0].at];
                let branch = if test != T::ZERO { yes } else { no };
                self.run(branch, &step.args[1..], &step.out, id, base)?;
            }
            Kind::Call(f) | Kind::Root { solve: f, .. } => {
                self.count(span)?;
                self.depth += 1;
                if self.depth > self.options.limits.depth {
                    let message =
                        format!("calls of `{}` are nested more than {} deep", self.graph.region(f).name, self.options.limits.depth);
                    return Err(EvalError::new("limit-depth", span, message));
                }
                self.run(f, &step.args, &step.out, id, base)?;
                self.depth -= 1;
            }
            Kind::Loop { body, carried, taped } => self.run_loop(body, carried as usize, taped, step, id, base, span)?,
            Kind::Back { body, carried, .. } => {
                let record = self.records[base.records + step.args[0].at].clone().expect("a record has been stored");
                let Content::Rounds { count, numbers, records } = &record.content else { unreachable!("the record of a loop") };
                let inner = self.above(id, base);
                self.reserve(body, inner)?;
                let code = &codes[body.0 as usize];
                let stored = code.params.len() - (step.args.len() - 1);
                for (&a, &p) in step.args[1..].iter().zip(&code.params[stored..]) {
                    self.copy(a, base, p, inner);
                }
                let width = numbers.len() / count;
                for round in (0..*count).rev() {
                    self.count(span)?;
                    let mut at = round * width;
                    for &p in &code.params[..stored] {
                        if p.record {
                            self.records[inner.records + p.at] = Some(records[round].clone());
                        } else {
                            self.numbers[inner.numbers + p.at..inner.numbers + p.at + p.len].copy_from_slice(&numbers[at..at + p.len]);
                            at += p.len;
                        }
                    }
                    self.region(body, inner)?;
                    self.shuffle(&code.results[..carried as usize], &code.params[stored..stored + carried as usize], inner);
                }
                for (&p, &out) in code.params[stored..].iter().zip(&step.out) {
                    self.copy(p, inner, out, base);
                }
            }
            Kind::Pack => {
                let numbers: usize = step.args.iter().map(|a| a.len).sum();
                self.check_memory_with(record_bytes::<T>(numbers, step.args.len()), span)?;
                if !is_there(numbers * size_of::<T>()) {
                    return Err(no_memory(numbers * size_of::<T>(), span));
                }
                let slots: Vec<Slot<T>> = step.args.iter().map(|&a| self.slot(a, base)).collect();
                let record = self.record(Content::Packed(slots), numbers, step.args.len());
                self.records[base.records + step.out[0].at] = Some(record);
            }
            Kind::Unpack(i) => {
                let record = self.records[base.records + step.args[0].at].clone().expect("a record has been stored");
                let Content::Packed(slots) = &record.content else { unreachable!("a packed record") };
                self.store(&slots[i as usize], step.out[0], base);
            }
            Kind::Param(_) | Kind::Proj(_) => unreachable!("places, not steps"),
        }
        Ok(())
    }

    fn record(&self, content: Content<T>, numbers: usize, slots: usize) -> Rc<Record<T>> {
        let bytes = record_bytes::<T>(numbers, slots);
        self.held.set(self.held.get() + bytes);
        Rc::new(Record { content, bytes, held: self.held.clone() })
    }

    /// Runs another region on values of this one.
    fn run(&mut self, child: RegionId, args: &[Place], out: &[Place], id: RegionId, base: Base) -> Result<(), EvalError> {
        let inner = self.above(id, base);
        self.reserve(child, inner)?;
        let code = &self.codes[child.0 as usize];
        for (&a, &p) in args.iter().zip(&code.params) {
            self.copy(a, base, p, inner);
        }
        self.region(child, inner)?;
        for (&r, &o) in code.results.iter().zip(out) {
            self.copy(r, inner, o, base);
        }
        self.release(child, inner);
        Ok(())
    }

    /// Lets go of the records of a frame that is done.
    fn release(&mut self, child: RegionId, inner: Base) {
        let records = self.codes[child.0 as usize].records;
        self.records[inner.records..inner.records + records].fill(None);
    }

    /// Copies results over parameters of the same frame; a result may itself be a parameter, so all are read before any is written.
    fn shuffle(&mut self, from: &[Place], to: &[Place], base: Base) {
        let scalars = from.len() <= 8 && from.iter().all(|p| !p.record && p.len == 1);
        if scalars {
            let mut held = [T::ZERO; 8];
            for (h, p) in held.iter_mut().zip(from) {
                *h = self.numbers[base.numbers + p.at];
            }
            for (h, p) in held.iter().zip(to) {
                self.numbers[base.numbers + p.at] = *h;
            }
        } else {
            let held: Vec<Slot<T>> = from.iter().map(|&p| self.slot(p, base)).collect();
            for (slot, &p) in held.iter().zip(to) {
                self.store(slot, p, base);
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn run_loop(
        &mut self,
        body: RegionId,
        carried: usize,
        taped: bool,
        step: &Step,
        id: RegionId,
        base: Base,
        span: Span,
    ) -> Result<(), EvalError> {
        let inner = self.above(id, base);
        self.reserve(body, inner)?;
        let code = &self.codes[body.0 as usize];
        for (&a, &p) in step.args.iter().zip(&code.params) {
            self.copy(a, base, p, inner);
        }
        let own_record = code.results.last().filter(|r| taped && r.record).copied();
        let (mut count, mut numbers, mut records) = (0u64, Vec::<T>::new(), Vec::new());
        loop {
            self.count(span)?;
            count += 1;
            if count > self.options.limits.iterations {
                return Err(EvalError::new(
                    "limit-iterations",
                    span,
                    format!("this loop runs more than {} rounds", self.options.limits.iterations),
                ));
            }
            if taped {
                // What the rounds hold counts while they are collected, not only once they are a record.
                let more = code.params[..carried].iter().map(|p| p.len).sum::<usize>();
                let own = records.capacity() * size_of::<Rc<Record<T>>>();
                if numbers.capacity() - numbers.len() < more {
                    let wanted = (2 * numbers.capacity()).max(numbers.len() + more);
                    self.check_memory_with(wanted * size_of::<T>() + own, span)?;
                    let missing = wanted - numbers.len();
                    make_room(&mut numbers, missing, span)?;
                }
                self.check_memory_with(numbers.capacity() * size_of::<T>() + own, span)?;
                for p in &code.params[..carried] {
                    let at = inner.numbers + p.at;
                    numbers.extend_from_slice(&self.numbers[at..at + p.len]);
                }
            }
            self.region(body, inner)?;
            if let Some(r) = own_record {
                records.extend(self.records[inner.records + r.at].clone());
            }
            if self.numbers[inner.numbers + code.results[0].at] == T::ZERO {
                break;
            }
            self.shuffle(&code.results[1..1 + carried], &code.params[..carried], inner);
        }
        for (&r, &o) in code.results[1 + carried..].iter().zip(&step.out) {
            self.copy(r, inner, o, base);
        }
        if taped {
            let (kept, held) = (numbers.capacity(), records.capacity());
            let record = self.record(Content::Rounds { count: count as usize, numbers, records }, kept, held);
            self.records[base.records + step.out.last().expect("a taped loop has a record").at] = Some(record);
        }
        self.release(body, inner);
        Ok(())
    }

    fn operation(&mut self, region: &Region, step: &Step, attr: u32, base: Base) -> Result<(), EvalError> {
        let row = step.row.expect("an operation has a row");
        let node = region.node(step.node);
        let out = step.out[0];
        let trap = self.options.trap;
        if out.len == 1 && row.is_elementwise() {
            let mut point = [T::ZERO; 3];
            for (p, a) in point.iter_mut().zip(&step.args) {
                *p = self.numbers[base.numbers + a.at];
            }
            let point = &point[..step.args.len()];
            let x = apply_scalar(&row.kernel, point);
            self.numbers[base.numbers + out.at] = x;
            return if trap { check(row, point, x, node.span) } else { Ok(()) };
        }
        let Kind::Op(op, _) = step.kind else { unreachable!("an operation") };
        let shapes = region.args(step.node).iter().map(|&a| region.shape(a));
        self.count_all(work::steps(op, shapes.clone(), node.ty.shape()), node.span)?;
        let scratch = (work::scratch(op, shapes) as usize).saturating_mul(size_of::<T>());
        self.check_memory_with(scratch, node.span)?;
        if !is_there(scratch) {
            return Err(no_memory(scratch, node.span));
        }
        let watch = &mut *self.watch;
        // Arguments come before their users, so the result's place starts behind all of them.
        let (before, rest) = self.numbers[base.numbers..].split_at_mut(out.at);
        let result = &mut rest[..out.len];
        let shape = node.ty.shape();
        let operand = |i: usize| Operand {
            data: &before[step.args[i].at..step.args[i].at + step.args[i].len],
            shape: region.shape(region.args(step.node)[i]),
        };
        match &row.kernel {
            Kernel::Tensor(kernel) => {
                let operands: Vec<Operand<'_, T>> = (0..step.args.len()).map(operand).collect();
                let done = match op {
                    Op::Product => product::by_rows(T::kernel(kernel), &operands, shape, result, || watch.pass(u64::MAX, node.span))?,
                    _ => T::kernel(kernel)(&operands, attr, shape, result),
                };
                match done {
                    Ok(()) => {}
                    Err(KernelError::IndexOutOfRange) => {
                        let of = if operands[0].shape.len() > shape.len() { operands[0].shape } else { shape };
                        return Err(absent(attr, operands[1].data[0].to_f64(), of, node.span));
                    }
                }
                if trap && result.iter().any(|x| x.is_nan()) && !operands.iter().any(|o| o.data.iter().any(|x| x.is_nan())) {
                    return Err(left_domain::<T>(row, &[], node.span));
                }
            }
            Kernel::Unary(_) | Kernel::Binary(_) | Kernel::Ternary(_) | Kernel::Select => {
                let mut point = [T::ZERO; 3];
                for (i, x) in result.iter_mut().enumerate() {
                    for (p, a) in point.iter_mut().zip(&step.args) {
                        *p = before[a.at + if a.len == 1 { 0 } else { i }];
                    }
                    *x = apply_scalar(&row.kernel, &point[..step.args.len()]);
                    if i % LOOK_AFTER == LOOK_AFTER - 1 {
                        watch.pass(u64::MAX, node.span)?;
                    }
                    if trap {
                        check(row, &point[..step.args.len()], *x, node.span)?;
                    }
                }
            }
            Kernel::Composite(_) => unreachable!("the verifier admits no composite node"),
        }
        Ok(())
    }
}

/// Numbers of a long value computed before the next look at whether the run is still wanted.
const LOOK_AFTER: usize = 1 << 16;

/// Whether an elementwise application stays in its domain and makes no NaN of numbers.
fn check<T: Real>(row: &Row, point: &[T], x: T, span: Span) -> Result<(), EvalError> {
    if row.domain.violated(point) || (x.is_nan() && !point.iter().any(|p| p.is_nan())) {
        Err(left_domain(row, point, span))
    } else {
        Ok(())
    }
}

fn left_domain<T: Real>(row: &Row, point: &[T], span: Span) -> EvalError {
    let args: String = point.iter().map(|x| format!(" {}", crate::number_text(x.to_f64()))).collect();
    let at = if point.is_empty() { format!("`{}`", row.name) } else { format!("({}{args})", row.name) };
    let domain = match row.domain {
        crate::ops::domain::Domain::All => "its result is not a number".to_string(),
        domain => format!("its domain is {}", domain.text()),
    };
    EvalError::new("domain-left", span, format!("{at} leaves the safe domain: {domain}"))
}
