//! Runs tapes over tiles. In: a tile of lanes; out: its results, and errors of lanes that have none.
//! Invariants: an instruction may compute anything in lanes that are not active, but fails, loops and recurses only for active
//! ones; a lane that failed is active no more.

use super::memory::{Base, Memory};
use super::record::{Record, Round, Stored};
use super::tensor::Application;
use super::{BatchOptions, Column, Engine, LaneError};
use crate::exec::EvalError;
use crate::graph::{Graph, Kind, RegionId};
use crate::ops::real::Real;
use crate::ops::row::{Kernel, KernelError, apply_scalar};
use crate::shape::Shape;
use crate::source::Span;
use crate::tape::{Instruction, Place, Rate, Tape};
use neural_compiler_math::Arg;
use std::rc::Rc;

/// The records of the two sides of a choice.
type Sides<T> = (Option<Rc<Record<T>>>, Option<Rc<Record<T>>>);

/// The lanes that count; `None`: all of them.
type Mask<'m> = Option<&'m [bool]>;

pub(super) struct TileRun<'a, T> {
    graph: &'a Graph,
    tape: &'a Tape,
    early: &'a [bool],
    memory: &'a mut Memory<T>,
    options: &'a BatchOptions,
    width: usize,
    lanes: usize,
    /// Errors of the tile, by lane; empty while there are none.
    failed: Vec<Option<EvalError>>,
    depth: usize,
    steps: u64,
    held: usize,
}

impl<'a, T: Real> TileRun<'a, T> {
    pub(super) fn new(engine: &'a Engine, memory: &'a mut Memory<T>, options: &'a BatchOptions, width: usize) -> TileRun<'a, T> {
        let Engine { graph, tape, early, .. } = engine;
        TileRun { graph, tape, early, memory, options, width, lanes: 0, failed: Vec::new(), depth: 0, steps: 0, held: 0 }
    }

    /// Lanes `from .. from + count` of the batch, tile by tile; `outputs` holds just these.
    pub(super) fn batch(mut self, inputs: &[Column<'_, T>], from: usize, count: usize, outputs: &mut [&mut [T]]) -> Result<Vec<LaneError>, EvalError> {
        let main = self.graph.main;
        let code = &self.tape.regions[main.0 as usize];
        self.memory.start(self.width, code.slots as usize);
        self.memory.reserve(self.end(main, Base::default()));
        self.once(inputs)?;
        let mut errors = Vec::new();
        for start in (0..count).step_by(self.width) {
            self.lanes = self.width.min(count - start);
            self.memory.tile(self.lanes);
            self.steps = 0;
            self.bring(inputs, from + start);
            self.lend_outputs(outputs, start);
            self.region(main, Base::default(), None)?;
            self.deliver(outputs, start, from, &mut errors);
            self.memory.end();
            self.memory.reserve(self.end(main, Base::default()));
        }
        self.memory.end();
        Ok(errors)
    }

    /// What all tiles share: uniform inputs and what is computed from them.
    fn once(&mut self, inputs: &[Column<'_, T>]) -> Result<(), EvalError> {
        let tape = self.tape;
        let code = &tape.regions[self.graph.main.0 as usize];
        let base = Base::default();
        for (column, place) in inputs.iter().zip(&code.params) {
            if place.rate == Rate::Uniform {
                for k in 0..place.len as usize {
                    self.memory.uniform[place.at as usize + k] = column.data[k * column.element_stride];
                }
            }
        }
        self.lanes = 1;
        self.memory.tile(1);
        for (i, _) in code.code.iter().zip(self.early).filter(|(_, early)| **early) {
            self.instruction(self.graph.main, i, base, None)?;
        }
        // An error in what all lanes share is an error of all.
        match self.failed.iter_mut().find_map(Option::take) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Brings the inputs of a tile: in place where a column is contiguous, gathered where it is not.
    fn bring(&mut self, inputs: &[Column<'_, T>], from: usize) {
        let code = &self.tape.regions[self.graph.main.0 as usize];
        for (column, place) in inputs.iter().zip(&code.params) {
            if place.rate == Rate::Uniform {
                continue;
            }
            for k in 0..place.len as usize {
                let slot = place.at as usize + k;
                let first = from * column.lane_stride + k * column.element_stride;
                if column.lane_stride == 1 {
                    // SAFETY: the caller checked that the column has a number for every lane; parameters are never written.
                    unsafe { self.memory.lend(slot, column.data[first..first + self.lanes].as_ptr().cast_mut()) };
                } else {
                    let lanes = self.memory.lanes_mut(slot);
                    for (i, x) in lanes.iter_mut().enumerate() {
                        *x = column.data[first + i * column.lane_stride];
                    }
                }
            }
        }
    }

    /// Lets scalar results be computed where the caller wants them.
    fn lend_outputs(&mut self, outputs: &mut [&mut [T]], start: usize) {
        let code = &self.tape.regions[self.graph.main.0 as usize];
        for (k, place) in code.results.iter().enumerate() {
            let own = place.rate == Rate::Varying && place.len == 1 && !self.memory.is_lent(place.at as usize) && !code.params.contains(place);
            if own && code.results.iter().filter(|p| *p == place).count() == 1 {
                // SAFETY: the buffer has a number for every lane, belongs to this run, and is not otherwise touched before `deliver`.
                unsafe { self.memory.lend(place.at as usize, outputs[k][start..start + self.lanes].as_mut_ptr()) };
            }
        }
    }

    /// Hands out results that were not computed in place, and the errors.
    fn deliver(&mut self, outputs: &mut [&mut [T]], start: usize, from: usize, errors: &mut Vec<LaneError>) {
        let code = &self.tape.regions[self.graph.main.0 as usize];
        for (k, &place) in code.results.iter().enumerate() {
            let n = place.len as usize;
            let in_place = place.rate == Rate::Varying && n == 1 && self.memory.is_lent(place.at as usize) && !code.params.contains(&place);
            if in_place {
                continue;
            }
            for element in 0..n {
                let target = outputs[k][start * n..].iter_mut().skip(element).step_by(n);
                match place.rate {
                    Rate::Uniform => {
                        let x = self.memory.uniform[place.at as usize + element];
                        target.take(self.lanes).for_each(|o| *o = x);
                    }
                    Rate::Varying => target.zip(self.memory.lanes(place.at as usize + element)).for_each(|(o, &x)| *o = x),
                }
            }
        }
        for (lane, error) in std::mem::take(&mut self.failed).into_iter().enumerate() {
            if let Some(error) = error {
                for (k, place) in code.results.iter().enumerate() {
                    let n = place.len as usize;
                    outputs[k][(start + lane) * n..(start + lane + 1) * n].fill(T::from_f64(f64::NAN));
                }
                errors.push(LaneError { lane: from + start + lane, error });
            }
        }
    }

    fn end(&self, id: RegionId, base: Base) -> Base {
        let code = &self.tape.regions[id.0 as usize];
        Base { varying: base.varying + code.slots as usize, uniform: base.uniform + code.uniforms as usize, records: base.records + code.records as usize }
    }

    fn fail(&mut self, lane: usize, error: EvalError) {
        if self.failed.is_empty() {
            self.failed = vec![None; self.lanes];
        }
        self.failed[lane].get_or_insert(error);
    }

    /// Fails every active lane.
    fn fail_all(&mut self, mask: Mask<'_>, error: &EvalError) {
        for lane in 0..self.lanes {
            if self.is_active(mask, lane) {
                self.fail(lane, error.clone());
            }
        }
    }

    fn is_active(&self, mask: Mask<'_>, lane: usize) -> bool {
        mask.is_none_or(|m| m[lane]) && self.failed.get(lane).is_none_or(Option::is_none)
    }

    /// Counts a round or call; `false` when the active lanes may take no more.
    fn count(&mut self, mask: Mask<'_>, span: Span) -> bool {
        self.steps += 1;
        let limits = &self.options.run.limits;
        if self.steps > limits.steps {
            self.fail_all(mask, &EvalError::new("limit-steps", span, format!("the run takes more than {} loop rounds and calls", limits.steps)));
            return false;
        }
        true
    }

    fn check_memory(&mut self, bytes: usize, span: Span) -> Result<(), EvalError> {
        let limit = self.options.run.limits.memory_bytes;
        if bytes + self.held + self.depth * 16 * 1024 > limit {
            return Err(EvalError::new("limit-memory", span, format!("the run needs more than {limit} bytes")));
        }
        Ok(())
    }

    fn region(&mut self, id: RegionId, base: Base, mask: Mask<'_>) -> Result<(), EvalError> {
        crate::deep(|| {
            let tape = self.tape;
            let main = id == self.graph.main && base.varying == 0 && base.uniform == 0;
            for (k, i) in tape.regions[id.0 as usize].code.iter().enumerate() {
                if !(main && self.early[k]) {
                    self.instruction(id, i, base, mask)?;
                }
            }
            Ok(())
        })
    }

    fn instruction(&mut self, id: RegionId, i: &Instruction, base: Base, mask: Mask<'_>) -> Result<(), EvalError> {
        let span = self.graph.region(id).node(i.node).span;
        match i.kind {
            Kind::Const(bits) => self.memory.uniform[base.uniform + i.out[0].at as usize] = T::from_f64(f64::from_bits(bits)),
            Kind::Op(..) => self.operation(id, i, base, mask, span),
            Kind::If(yes, no) => self.choice(id, i, (yes, no), base, mask)?,
            Kind::Call(f) => {
                if !self.count(mask, span) {
                    return Ok(());
                }
                self.depth += 1;
                let limit = self.options.run.limits.depth;
                if self.depth > limit {
                    let message = format!("calls of `{}` are nested more than {limit} deep", self.graph.region(f).name);
                    self.fail_all(mask, &EvalError::new("limit-depth", span, message));
                    self.lose(&i.out, base);
                } else {
                    let inner = self.enter(id, base, f, &i.args, None)?;
                    self.region(f, inner, mask)?;
                    self.leave(f, inner, &i.out, base);
                }
                self.depth -= 1;
            }
            Kind::Loop { body, carried, taped } => self.run_loop(id, i, (body, carried as usize, taped), base, mask, span)?,
            Kind::Back { body, stored, carried } => self.run_back(id, i, (body, stored as usize, carried as usize), base, mask, span)?,
            Kind::Pack => {
                let values: Vec<Stored<T>> = i.args.iter().map(|&a| self.memory.keep(a, base)).collect();
                self.held += i.args.iter().map(|a| a.len as usize * self.lanes * size_of::<T>() + 64).sum::<usize>();
                self.check_memory(0, span)?;
                self.memory.records[base.records + i.out[0].at as usize] = Some(Rc::new(Record::Packed(values)));
            }
            Kind::Unpack(k) => {
                if let Some(record) = self.memory.records[base.records + i.args[0].at as usize].clone()
                    && let Record::Packed(values) = &*record
                {
                    self.memory.recall(&values[k as usize], i.out[0], base);
                }
            }
            Kind::Param(_) | Kind::Proj(_) => unreachable!("places, not instructions"),
        }
        Ok(())
    }

    /// Results of a call that no lane finished: empty records, so that nothing behind it finds something stale.
    fn lose(&mut self, out: &[Place], base: Base) {
        for o in out.iter().filter(|o| o.is_record()) {
            self.memory.records[base.records + o.at as usize] = Some(Rc::new(Record::Choice(None, None)));
        }
    }

    /// Makes a frame for another region and copies its arguments in. `branch`: which side of a choice, for records of choices.
    fn enter(&mut self, id: RegionId, base: Base, child: RegionId, args: &[Place], branch: Option<bool>) -> Result<Base, EvalError> {
        let inner = self.end(id, base);
        let bytes = self.memory.reserve(self.end(child, inner));
        self.check_memory(bytes, Span::default())?;
        let tape = self.tape;
        for (&a, &p) in args.iter().zip(&tape.regions[child.0 as usize].params) {
            self.memory.copy(a, base, p, inner);
            if let Some(yes) = branch
                && p.is_record()
                && let Some(record) = self.memory.records[inner.records + p.at as usize].clone()
                && let Record::Choice(a, b) = &*record
            {
                self.memory.records[inner.records + p.at as usize] = if yes { a.clone() } else { b.clone() };
            }
        }
        Ok(inner)
    }

    /// Copies results out and lets the frame's records go.
    fn leave(&mut self, child: RegionId, inner: Base, out: &[Place], base: Base) {
        let code = &self.tape.regions[child.0 as usize];
        for (&r, &o) in code.results.iter().zip(out) {
            self.memory.copy(r, inner, o, base);
        }
        self.memory.records[inner.records..inner.records + code.records as usize].fill(None);
    }

    fn choice(&mut self, id: RegionId, i: &Instruction, (yes, no): (RegionId, RegionId), base: Base, mask: Mask<'_>) -> Result<(), EvalError> {
        let test = i.args[0];
        let (mut first, mut second): (Vec<bool>, Vec<bool>) = (Vec::new(), Vec::new());
        let (run_yes, run_no) = match test.rate {
            Rate::Uniform => {
                let t = self.memory.uniform[base.uniform + test.at as usize] != T::ZERO;
                (t, !t)
            }
            Rate::Varying => {
                let lanes = self.memory.lanes(base.varying + test.at as usize);
                first.extend(lanes.iter().enumerate().map(|(l, &t)| t != T::ZERO && self.is_active(mask, l)));
                second.extend(lanes.iter().enumerate().map(|(l, &t)| t == T::ZERO && self.is_active(mask, l)));
                (first.contains(&true), second.contains(&true))
            }
        };
        let mut records: Vec<Sides<T>> = vec![(None, None); i.out.len()];
        if run_yes {
            let inner = self.enter(id, base, yes, &i.args[1..], Some(true))?;
            self.region(yes, inner, if run_no { Some(&first) } else { mask })?;
            self.leave(yes, inner, &i.out, base);
            for (r, o) in records.iter_mut().zip(&i.out).filter(|(_, o)| o.is_record()) {
                r.0 = self.memory.records[base.records + o.at as usize].take();
            }
        }
        if run_no {
            let inner = self.enter(id, base, no, &i.args[1..], Some(false))?;
            self.region(no, inner, if run_yes { Some(&second) } else { mask })?;
            let tape = self.tape;
            let results = &tape.regions[no.0 as usize].results;
            if run_yes {
                for ((&r, &o), record) in results.iter().zip(&i.out).zip(&mut records) {
                    if o.is_record() {
                        record.1 = self.memory.records[inner.records + r.at as usize].clone();
                    } else {
                        self.memory.blend(r, inner, o, base, &second);
                    }
                }
                let held = tape.regions[no.0 as usize].records as usize;
                self.memory.records[inner.records..inner.records + held].fill(None);
            } else {
                self.leave(no, inner, &i.out, base);
                for (r, o) in records.iter_mut().zip(&i.out).filter(|(_, o)| o.is_record()) {
                    r.1 = self.memory.records[base.records + o.at as usize].take();
                }
            }
        }
        for (record, o) in records.into_iter().zip(&i.out).filter(|(_, o)| o.is_record()) {
            self.memory.records[base.records + o.at as usize] = Some(Rc::new(Record::Choice(record.0, record.1)));
        }
        Ok(())
    }

    fn run_loop(
        &mut self,
        id: RegionId,
        i: &Instruction,
        (body, carried, taped): (RegionId, usize, bool),
        base: Base,
        mask: Mask<'_>,
        span: Span,
    ) -> Result<(), EvalError> {
        let inner = self.enter(id, base, body, &i.args, None)?;
        let tape = self.tape;
        let code = &tape.regions[body.0 as usize];
        let flag = code.results[0];
        let own_record = code.results.last().filter(|r| taped && r.is_record()).copied();
        let mut rounds: Vec<Round<T>> = Vec::new();
        // Lanes still in the loop; kept only once they differ from the mask.
        let mut active: Option<Rc<[bool]>> = None;
        let mut count = 0u64;
        loop {
            let here: Option<Rc<[bool]>> = active.clone();
            let now: Mask<'_> = here.as_deref().or(mask);
            if !self.count(now, span) {
                break;
            }
            count += 1;
            let limit = self.options.run.limits.iterations;
            if count > limit {
                self.fail_all(now, &EvalError::new("limit-iterations", span, format!("this loop runs more than {limit} rounds")));
                break;
            }
            let mut values: Vec<Stored<T>> = if taped { code.params[..carried].iter().map(|&p| self.memory.keep(p, inner)).collect() } else { Vec::new() };
            self.region(body, inner, now)?;
            if taped {
                values.extend(own_record.map(|r| self.memory.keep(r, inner)));
                self.held += code.params[..carried].iter().map(|p| p.len as usize * self.lanes * size_of::<T>() + 64).sum::<usize>();
                self.check_memory(0, span)?;
                rounds.push(Round { values, mask: here.clone() });
            }
            let go_on = match flag.rate {
                Rate::Uniform => {
                    let go_on = self.memory.uniform[inner.uniform + flag.at as usize] != T::ZERO;
                    if !go_on {
                        self.results(code, carried, inner, i, base, here.as_deref());
                    }
                    go_on && (0..self.lanes).any(|l| self.is_active(now, l))
                }
                Rate::Varying => {
                    let flags = self.memory.lanes(inner.varying + flag.at as usize);
                    let stay: Rc<[bool]> = flags.iter().enumerate().map(|(l, &f)| f != T::ZERO && self.is_active(now, l)).collect();
                    let exits: Vec<bool> = flags.iter().enumerate().map(|(l, &f)| f == T::ZERO && self.is_active(now, l)).collect();
                    if exits.contains(&true) {
                        self.results(code, carried, inner, i, base, Some(&exits));
                    }
                    let some = stay.contains(&true);
                    active = Some(stay);
                    some
                }
            };
            if !go_on {
                break;
            }
            self.shuffle(&code.results[1..1 + carried], &code.params[..carried], inner);
        }
        if taped {
            let at = base.records + i.out.last().expect("a taped loop has a record").at as usize;
            self.memory.records[at] = Some(Rc::new(Record::Rounds(rounds)));
        }
        self.memory.records[inner.records..inner.records + code.records as usize].fill(None);
        Ok(())
    }

    /// Hands on the results of lanes that leave a loop.
    fn results(&mut self, code: &crate::tape::RegionTape, carried: usize, inner: Base, i: &Instruction, base: Base, lanes: Mask<'_>) {
        for (&r, &o) in code.results[1 + carried..].iter().zip(&i.out).filter(|(r, _)| !r.is_record()) {
            match lanes {
                Some(mask) if o.rate == Rate::Varying => self.memory.blend(r, inner, o, base, mask),
                _ => self.memory.copy(r, inner, o, base),
            }
        }
    }

    /// Copies results over parameters of the same frame; a result may itself be a parameter, so all are read before any is written.
    fn shuffle(&mut self, from: &[Place], to: &[Place], base: Base) {
        let clash = from.iter().enumerate().any(|(k, f)| to.iter().enumerate().any(|(j, t)| j < k && f == t));
        if clash {
            let kept: Vec<Stored<T>> = from.iter().map(|&p| self.memory.keep(p, base)).collect();
            kept.iter().zip(to).for_each(|(s, &p)| self.memory.recall(s, p, base));
        } else {
            from.iter().zip(to).for_each(|(&f, &t)| self.memory.copy(f, base, t, base));
        }
    }

    fn run_back(
        &mut self,
        id: RegionId,
        i: &Instruction,
        (body, stored, carried): (RegionId, usize, usize),
        base: Base,
        mask: Mask<'_>,
        span: Span,
    ) -> Result<(), EvalError> {
        let record = self.memory.records[base.records + i.args[0].at as usize].clone();
        let inner = self.end(id, base);
        let bytes = self.memory.reserve(self.end(body, inner));
        self.check_memory(bytes, span)?;
        let tape = self.tape;
        let code = &tape.regions[body.0 as usize];
        for (&a, &p) in i.args[1..].iter().zip(&code.params[stored..]) {
            self.memory.copy(a, base, p, inner);
        }
        if let Some(record) = record
            && let Record::Rounds(rounds) = &*record
        {
            for round in rounds.iter().rev() {
                let now: Mask<'_> = round.mask.as_deref().or(mask);
                if !self.count(now, span) {
                    break;
                }
                for (value, &p) in round.values.iter().zip(&code.params) {
                    self.memory.recall(value, p, inner);
                }
                self.region(body, inner, now)?;
                let state = &code.params[stored..stored + carried];
                match now {
                    None => self.shuffle(&code.results[..carried], state, inner),
                    Some(mask) => {
                        let kept: Vec<Stored<T>> = code.results[..carried].iter().map(|&p| self.memory.keep(p, inner)).collect();
                        for (value, &p) in kept.iter().zip(state) {
                            self.put(value, p, inner, mask);
                        }
                    }
                }
            }
        }
        for (&p, &o) in code.params[stored..].iter().zip(&i.out) {
            self.memory.copy(p, inner, o, base);
        }
        self.memory.records[inner.records..inner.records + code.records as usize].fill(None);
        Ok(())
    }

    /// Writes a kept value into the lanes of a mask.
    fn put(&mut self, value: &Stored<T>, place: Place, base: Base, mask: &[bool]) {
        let Stored::Numbers(numbers, rate) = value else { return };
        let n = place.len as usize;
        for k in 0..n {
            let target = self.memory.lanes_mut(base.varying + place.at as usize + k);
            for (l, (o, &m)) in target.iter_mut().zip(mask).enumerate() {
                if m {
                    *o = match rate {
                        Rate::Uniform => numbers[k],
                        Rate::Varying => numbers[k * (numbers.len() / n) + l],
                    };
                }
            }
        }
    }

    fn operation(&mut self, id: RegionId, i: &Instruction, base: Base, mask: Mask<'_>, span: Span) {
        let Kind::Op(op, attr) = i.kind else { unreachable!("an operation") };
        let row = op.row();
        let out = i.out[0];
        if let Kernel::Tensor(kernel) = &row.kernel {
            let region = self.graph.region(id);
            let shapes: Vec<Shape> = region.args(i.node).iter().map(|&a| region.shape(a)).collect();
            let a = Application { kernel, attr, args: &i.args, shapes: &shapes, out, shape: i.shapes[0] };
            let mut failures: Vec<(usize, f64)> = Vec::new();
            if out.rate == Rate::Uniform {
                if let Err(KernelError::IndexOutOfRange) = a.once(self.memory, base) {
                    let index = self.memory.uniform[base.uniform + i.args.last().map_or(0, |p| p.at as usize)].to_f64();
                    failures.extend((0..self.lanes).filter(|&l| self.is_active(mask, l)).map(|l| (l, index)));
                }
            } else {
                let active: Option<Vec<bool>> = (mask.is_some() || !self.failed.is_empty()).then(|| (0..self.lanes).map(|l| self.is_active(mask, l)).collect());
                a.over(self.memory, base, self.lanes, active.as_deref(), |lane, _, index| failures.push((lane, index)));
            }
            let of = shapes.first().copied().filter(|s| s.len() > i.shapes[0].len()).unwrap_or(i.shapes[0]);
            for (lane, index) in failures {
                self.fail(lane, EvalError::new("index-out-of-range", span, format!("the index {} is outside a {of}", crate::number_text(index))));
            }
            return;
        }
        for k in 0..out.len as usize {
            if out.rate == Rate::Uniform {
                let point: [T; 3] = std::array::from_fn(|a| i.args.get(a).map_or(T::ZERO, |&p| self.memory.at(p, base, if p.len == 1 { 0 } else { k }, 0)));
                self.memory.uniform[base.uniform + out.at as usize + k] = apply_scalar(&row.kernel, &point[..i.args.len()]);
                continue;
            }
            let args = std::array::from_fn(|a| i.args.get(a).map(|&p| self.memory.source(p, base, k)));
            let level = self.options.level;
            self.memory.apply(args, base.varying + out.at as usize + k, |args, out| match (&row.kernel, args) {
                (Kernel::Unary(f), [Some(Arg::Slice(x)), ..]) => T::unary_slice(f, level, x, out),
                (Kernel::Unary(f), [Some(Arg::Splat(x)), ..]) => out.fill(T::unary(f, x)),
                (Kernel::Binary(f), [Some(x), Some(y), _]) => T::binary_slice(f, level, x, y, out),
                (Kernel::Select, [Some(test), Some(x), Some(y)]) => select(test, x, y, out),
                _ => unreachable!("an elementwise operation with its arguments"),
            });
        }
    }
}

fn select<T: Real>(test: Arg<'_, T>, x: Arg<'_, T>, y: Arg<'_, T>, out: &mut [T]) {
    /// One loop per combination, so that each is a plain vector loop.
    macro_rules! each {
        ($test:expr, $x:expr, $y:expr) => {
            for (((o, t), x), y) in out.iter_mut().zip($test).zip($x).zip($y) {
                *o = if *t != T::ZERO { *x } else { *y };
            }
        };
    }
    use std::iter::repeat;
    match (test, x, y) {
        (Arg::Slice(t), Arg::Slice(x), Arg::Slice(y)) => each!(t, x, y),
        (Arg::Slice(t), Arg::Slice(x), Arg::Splat(y)) => each!(t, x, repeat(&y)),
        (Arg::Slice(t), Arg::Splat(x), Arg::Slice(y)) => each!(t, repeat(&x), y),
        (Arg::Slice(t), Arg::Splat(x), Arg::Splat(y)) => each!(t, repeat(&x), repeat(&y)),
        (Arg::Splat(t), x, y) => match if t != T::ZERO { x } else { y } {
            Arg::Slice(s) => out.copy_from_slice(s),
            Arg::Splat(v) => out.fill(v),
        },
    }
}
