//! The pipeline, text to program: read, expand, convert, find loops, infer shapes; then, per combination of input shapes, lower.

use crate::anf::{self, Anf};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::graph::{Graph, GraphInput, verify};
use crate::infer::{InputShape, Solver};
use crate::limits::Limits;
use crate::lower::lower;
use crate::ops::Op;
use crate::ops::row::ShapeRule;
use crate::shape::Shape;
use crate::source::Span;
use crate::syntax::ast::{Ast, Expr, FunId, Input, InputKind, ModelKind, Moment, Part, StateStart, TimeInfo};
use crate::syntax::distributions::Distribution;
use crate::syntax::expand::expand;
use crate::syntax::reader::Data;
use crate::syntax::respell::respell;
use crate::syntax::translate::translate;
use crate::syntax::{Syntax, derivatives, latex, read};
use crate::tail::{self, Tails};
use crate::units::check::Checker;
use crate::units::{Mode, Units};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::sync::{Arc, Mutex};

/// What the caller says about a program besides its text.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The inputs allowed, in order, with shapes where known. `None`: every free name is an input.
    pub inputs: Option<Vec<(String, Option<Shape>)>>,
    /// Bounds on the compilation.
    pub limits: Limits,
    /// What the text is written in.
    pub syntax: Syntax,
    /// What becomes of units that do not fit.
    pub units: Mode,
}

/// A compiled program, for every combination of input shapes it admits.
#[derive(Debug)]
pub struct Program {
    source: String,
    syntax: Syntax,
    ast: Ast,
    anf: Anf,
    tails: Tails,
    shapes: Vec<InputShape>,
    limits: Limits,
    /// What computes the starts of states that are expressions.
    starts: Option<Box<Program>>,
    /// What is observed: names with shapes, and what computes them.
    observables: Option<Observables>,
    units: Units,
    /// What happens to states, and when.
    events: Option<Box<Events>>,
    cache: Mutex<FxHashMap<Vec<Shape>, Arc<Graph>>>,
}

/// What is observed, and what computes everything that predicts it.
#[derive(Debug)]
struct Observables {
    names: Vec<(String, Shape)>,
    noise: Vec<Option<Noise>>,
    /// Where what rows add to the log-likelihood, and a formula's own expression, stand among the numbers of the program.
    loglik: Option<usize>,
    own: Option<usize>,
    program: Box<Program>,
}

/// How the errors of an observable are distributed.
#[derive(Clone, Debug)]
pub struct Noise {
    /// The distribution.
    pub distribution: &'static Distribution,
    /// Where each of its arguments begins among the numbers of the program of observables, and its shape: that of the observable or a
    /// scalar.
    pub arguments: Vec<(usize, Shape)>,
}

impl Observables {
    /// `shape`: of the predictors, one by one.
    fn new(ast: &Ast, shape: impl Fn(usize) -> Result<Shape, Diagnostics>, program: Box<Program>) -> Result<Observables, Diagnostics> {
        let (mut at, mut next) = (0, ast.observables.len());
        let mut names = Vec::new();
        for (k, o) in ast.observables.iter().enumerate() {
            let shape = shape(k)?;
            at += shape.len();
            names.push((o.name.clone(), shape));
        }
        let mut noise = Vec::new();
        for (o, (name, of)) in ast.observables.iter().zip(&names) {
            let Some(distribution) = o.noise else {
                noise.push(None);
                continue;
            };
            let mut arguments = Vec::new();
            for argument in distribution.arguments {
                let found = shape(next)?;
                if found != Shape::Scalar && found != *of {
                    let message = format!("`{name}` is a {of}, the {argument} of its errors a {found}");
                    return Err(Diagnostic::error("shape-mismatch", o.span, message).into());
                }
                arguments.push((at, found));
                (at, next) = (at + found.len(), next + 1);
            }
            noise.push(Some(Noise { distribution, arguments }));
        }
        let loglik = ast.loglik.then_some(at);
        if ast.loglik && shape(next)? != Shape::Scalar {
            let message = "what a row adds to the log-likelihood is a number";
            return Err(Diagnostic::error("shape-mismatch", Span::default(), message).into());
        }
        let own = (ast.kind == ModelKind::Expression && ast.own_value).then_some(at + usize::from(ast.loglik));
        Ok(Observables { names, noise, loglik, own, program })
    }
}

/// The events of a model.
#[derive(Debug)]
pub struct Events {
    /// In the order of declaration.
    pub all: Vec<Event>,
    /// What computes the numbers that say when events happen, where some happen at times.
    pub times: Option<Program>,
    /// What computes a number for each condition, negative where it holds and 0 where it is about to change; behind these for each
    /// condition whether it holds (not 0), which decides where its sides are equal.
    pub levels: Option<Program>,
}

/// An event of a model.
#[derive(Debug)]
pub struct Event {
    /// When it happens.
    pub trigger: Trigger,
    /// What computes all states behind it.
    pub jump: Program,
}

/// When an event happens.
#[derive(Clone, PartialEq, Debug)]
pub enum Trigger {
    /// At times, which these of the numbers of [`Events::times`] say.
    At(Vec<(Moment, std::ops::Range<usize>)>),
    /// When this condition becomes true.
    When(usize),
}

/// Graphs a program keeps.
const MOST_KEPT: usize = 64;

/// Compiles a text.
pub fn compile(source: &str, options: &Options) -> Result<Program, Diagnostics> {
    compiled(source, options).map_err(|e| respell(e, options.syntax))
}

fn compiled(source: &str, options: &Options) -> Result<Program, Diagnostics> {
    let (data, errors) = read(source, options.syntax, &options.limits);
    if !errors.is_empty() {
        return Err(Diagnostics(errors));
    }
    let mut program = compile_part(source, &data, options, Part::Whole)?;
    let computed = |i: &&Input| i.kind == InputKind::State(StateStart::Expression);
    let states: Vec<Input> = program.ast.inputs.iter().filter(computed).cloned().collect();
    if !states.is_empty() {
        let part = |part| compile_part(source, &data, options, part);
        for (k, state) in states.iter().enumerate() {
            part(Part::Start(k))?.check_start(state)?;
        }
        program.starts = Some(Box::new(part(Part::Starts)?));
    }
    if !program.ast.observables.is_empty() || program.ast.loglik {
        let part = |part| compile_part(source, &data, options, part);
        let shape = |k: usize| Ok::<Shape, Diagnostics>(part(Part::Predictor(k))?.graph()?.outputs()[0]);
        program.observables = Some(Observables::new(&program.ast, shape, Box::new(part(Part::Observables)?))?);
    }
    if !program.ast.events.is_empty() {
        program.events = Some(Box::new(events(&program.ast, &|part| compile_part(source, &data, options, part))?));
    }
    program.units = checked_units(&program, options.units)?;
    Ok(program)
}

/// Compiles what the events of a model do, and when.
fn events(ast: &Ast, part: &dyn Fn(Part) -> Result<Program, Diagnostics>) -> Result<Events, Diagnostics> {
    let mut numbers = 0;
    let mut all = Vec::new();
    for (k, event) in ast.events.iter().enumerate() {
        for (a, (state, span)) in event.actions.iter().enumerate() {
            let shape = ast.inputs.iter().find(|i| i.name == *state).and_then(|i| i.shape).unwrap_or(Shape::Scalar);
            let found = part(Part::Action(k, a))?.graph()?.outputs()[0];
            if found != shape {
                let message = format!("the state `{state}` is a {shape}, what the event makes of it a {found}");
                return Err(Diagnostic::error("shape-mismatch", *span, message).into());
            }
        }
        let mut times = Vec::new();
        for (m, moment) in event.times.iter().enumerate() {
            let one = part(Part::EventTime(k, m))?;
            one.check_event_time(event.span)?;
            let count = one.graph()?.outputs()[0].len();
            if *moment == Moment::Every && count != 3 {
                return Err(Diagnostic::error("shape-mismatch", event.span, "period, first and last time of a schedule are numbers").into());
            }
            times.push((*moment, numbers..numbers + count));
            numbers += count;
        }
        let trigger = event.level.map_or(Trigger::At(times), Trigger::When);
        all.push(Event { trigger, jump: part(Part::Jump(k))? });
    }
    let times = (numbers > 0).then(|| part(Part::EventTimes)).transpose()?;
    let levels = ast.events.iter().any(|e| e.level.is_some()).then(|| part(Part::Levels)).transpose()?;
    if let Some(levels) = &levels {
        let (found, wanted) = (levels.graph()?.outputs()[0].len(), ast.events.iter().filter(|e| e.level.is_some()).count());
        if found != 2 * wanted {
            return Err(Diagnostic::error("shape-mismatch", ast.events[0].span, "the condition of an event compares numbers").into());
        }
    }
    Ok(Events { all, times, levels })
}

/// The units of a program, over all its parts; what does not fit is an error, unless the caller wants to be warned only.
fn checked_units(program: &Program, mode: Mode) -> Result<Units, Diagnostics> {
    let Some(mut checker) = Checker::new(&program.ast).filter(|_| mode != Mode::Ignore) else { return Ok(Units::default()) };
    let parts = [
        (Part::Whole, Some(program)),
        (Part::Starts, program.starts.as_deref()),
        (Part::Observables, program.observables.as_ref().map(|o| &*o.program)),
    ];
    let events = program.events.iter().flat_map(|e| {
        let jumps = e.all.iter().enumerate().map(|(k, event)| (Part::Jump(k), Some(&event.jump)));
        [(Part::EventTimes, e.times.as_ref()), (Part::Levels, e.levels.as_ref())].into_iter().chain(jumps)
    });
    for (part, of) in parts.into_iter().chain(events) {
        if let Some(of) = of {
            checker.part(&of.ast, &of.source, part);
        }
    }
    let units = checker.finish(mode);
    if mode == Mode::Refuse && !units.findings.is_empty() {
        return Err(Diagnostics::sorted(units.findings));
    }
    Ok(units)
}

/// Compiles what computes one part of a text.
fn compile_part(source: &str, data: &Data, options: &Options, part: Part) -> Result<Program, Diagnostics> {
    let mut ast = expand(data, options.inputs.as_deref(), part)?;
    derivatives::close(&mut ast, &options.limits)?;
    let anf = anf::convert(&ast, &options.limits)?;
    debug_assert_eq!(anf.verify(), Ok(()));
    let tails = tail::analyse(&anf);
    let (shapes, guessed) = input_shapes(&ast, &anf)?;
    let program = Program {
        source: source.to_string(),
        syntax: options.syntax,
        ast,
        anf,
        tails,
        shapes,
        limits: options.limits,
        cache: Mutex::default(),
        starts: None,
        observables: None,
        units: Units::default(),
        events: None,
    };
    if let Some(shapes) = program.default_shapes()
        && !guessed
    {
        // Shapes are known: find what is wrong with them now rather than at the first call. Where an input was taken for a scalar
        // only because nothing says otherwise, the shapes of actual values decide.
        program.specialised(&shapes)?;
    }
    Ok(program)
}

/// What the program pins of its inputs' shapes, and whether any is a guess.
fn input_shapes(ast: &Ast, anf: &Anf) -> Result<(Vec<InputShape>, bool), Diagnostics> {
    let elementwise = |op: Op| matches!(op.row().shape, ShapeRule::Elementwise);
    let scalar_op = |e: &(Expr, Span)| match e.0 {
        Expr::Op(s, args) => s.op((args.1 - args.0) as usize).is_some_and(elementwise),
        _ => true,
    };
    let scalars = ast.inputs.iter().all(|i| matches!(i.shape, None | Some(Shape::Scalar))) && ast.exprs.iter().all(scalar_op);
    if scalars {
        // Nothing in the program makes or needs anything but scalars.
        return Ok((vec![InputShape::Known(Shape::Scalar); ast.inputs.len()], false));
    }
    let mut solver = Solver::new(anf);
    let terms: Vec<_> = ast.inputs.iter().map(|i| i.shape.map_or_else(|| solver.fresh(), Into::into)).collect();
    solver.call(FunId(0), terms.clone());
    solver.settle();
    let guessed = terms.iter().any(|&t| solver.is_open(t));
    if !solver.errors.is_empty() {
        return Err(Diagnostics::sorted(solver.errors));
    }
    Ok((terms.into_iter().map(|t| solver.input_shape(t)).collect(), guessed))
}

impl Program {
    /// The text it was compiled from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// What that text is written in.
    pub fn syntax(&self) -> Syntax {
        self.syntax
    }

    /// The text in Scheme, comments included: as it was written, or translated.
    pub fn scheme(&self) -> Cow<'_, str> {
        if self.syntax == Syntax::Scheme {
            return Cow::Borrowed(&self.source);
        }
        // The text was read before, under limits of its own.
        let limits = Limits { source_bytes: usize::MAX, nesting: usize::MAX, ..self.limits };
        translate(&self.source, self.syntax, Syntax::Scheme, &limits).map_or(Cow::Borrowed(&self.source), Cow::Owned)
    }

    /// The program as LaTeX: one formula, or several below each other.
    pub fn latex(&self) -> String {
        let limits = Limits { source_bytes: usize::MAX, nesting: usize::MAX, ..self.limits };
        let (data, _) = read(&self.source, self.syntax, &limits);
        format!("{}\n", latex::printer::print(&data))
    }

    /// The units of its names, where it declares any.
    pub fn units(&self) -> &Units {
        &self.units
    }

    /// Its AST.
    pub fn ast(&self) -> &Ast {
        &self.ast
    }

    /// Its A-normal form with tail calls turned into jumps, as text.
    pub fn anf_text(&self) -> String {
        tail::to_text(&self.anf, &self.tails)
    }

    /// Its inputs, in order.
    pub fn inputs(&self) -> &[Input] {
        &self.ast.inputs
    }

    /// Whether the numbers of a column of this name go into the model: as an input or a state of any of its parts, as what is observed, or
    /// as the time it declares.
    pub fn reads_column(&self, name: &str) -> bool {
        let own = |program: &Program| {
            let read = |i: &&Input| !matches!(i.kind, InputKind::Param(_) | InputKind::Weight { .. });
            program.ast.inputs.iter().filter(read).any(|i| i.name == name)
        };
        let observed = |o: &Observables| own(&o.program) || o.names.iter().any(|n| n.0 == name);
        let happens = |e: &Events| e.times.iter().chain(&e.levels).chain(e.all.iter().map(|event| &event.jump)).any(own);
        own(self)
            || self.time().is_some_and(|t| t.name == name)
            || self.starts().is_some_and(own)
            || self.observables.as_ref().is_some_and(observed)
            || self.events().is_some_and(happens)
    }

    /// An error if one of these columns has the name of a physical constant the program uses: it would be ignored.
    pub fn check_columns<'a>(&self, columns: impl IntoIterator<Item = &'a str>) -> Result<(), Diagnostics> {
        let errors = columns.into_iter().filter_map(|column| {
            let (name, value) = self.ast.constants.iter().find(|c| c.0 == column)?;
            let message = format!("the data have a column `{name}`, and in this program `{name}` is the constant {value:e}");
            let help = "rename the column, or ask only for the constants you need: (constants si c h)";
            Some(Diagnostic::error("duplicate-name", Default::default(), message).help(help))
        });
        let errors: Vec<Diagnostic> = errors.collect();
        if errors.is_empty() { Ok(()) } else { Err(respell(Diagnostics(errors), self.syntax)) }
    }

    /// What it says about the shapes of its inputs.
    pub fn input_shapes(&self) -> &[InputShape] {
        &self.shapes
    }

    /// The bounds it was compiled under.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// What its results mean.
    pub fn kind(&self) -> ModelKind {
        self.ast.kind
    }

    /// The time of a model with states, where it declares one.
    pub fn time(&self) -> Option<&TimeInfo> {
        self.ast.time.as_ref()
    }

    /// What computes the starts that are expressions, where there are such: a program whose value is these starts one after another, in the
    /// order of their states, and whose inputs are called as this one's.
    pub fn starts(&self) -> Option<&Program> {
        self.starts.as_deref()
    }

    /// The observables of a model, where it declares some: their names with shapes, and a program whose value is all of them one after
    /// another, of states and other inputs that are called as this one's; behind them the arguments of their distributions and what else
    /// [`Program::noise`], [`Program::loglik`] and [`Program::own_value`] name.
    pub fn observables(&self) -> Option<(&[(String, Shape)], &Program)> {
        self.observables.as_ref().map(|o| (&o.names[..], &*o.program))
    }

    /// How the errors of each observable are distributed, where that is declared.
    pub fn noise(&self) -> &[Option<Noise>] {
        self.observables.as_ref().map_or(&[], |o| &o.noise)
    }

    /// Where, among the numbers of the program of observables, what a row adds to the log-likelihood stands.
    pub fn loglik(&self) -> Option<usize> {
        self.observables.as_ref().and_then(|o| o.loglik)
    }

    /// Where, among the numbers of the program of observables, the own expression of a formula begins, where it has one.
    pub fn own_value(&self) -> Option<usize> {
        self.observables.as_ref().and_then(|o| o.own)
    }

    /// The events of a model, where it declares some.
    pub fn events(&self) -> Option<&Events> {
        self.events.as_deref()
    }

    /// Complains about the time of an event, which this program computes, if it needs a state or the time.
    fn check_event_time(&self, span: Span) -> Result<(), Diagnostics> {
        let time = self.ast.time.as_ref().map_or("t", |t| &t.name);
        let needs = |i: &usize| matches!(self.ast.inputs[*i].kind, InputKind::State(_)) || self.ast.inputs[*i].name == time;
        match self.graph()?.used_inputs().into_iter().find(needs) {
            Some(i) => {
                let message = format!("the time of an event depends on `{}`", self.ast.inputs[i].name);
                let help = "times are made of params, inputs, definitions and constants; what waits for a state is (when condition)";
                Err(Diagnostic::error("bad-declaration", span, message).help(help).into())
            }
            None => Ok(()),
        }
    }

    /// Complains about the start of a state, which this program computes, if it is of another shape or needs a state.
    fn check_start(&self, state: &Input) -> Result<(), Diagnostics> {
        let graph = self.graph()?;
        let (name, shape) = (&state.name, state.shape.unwrap_or(Shape::Scalar));
        let found = graph.outputs()[0];
        if found != shape {
            let message = format!("the state `{name}` is a {shape}, its start a {found}");
            let help = "say how large the state is, as in (state u (* a [1 2 3]) :size 3)";
            return Err(Diagnostic::error("shape-mismatch", state.span, message).help(help).into());
        }
        let is_state = |i: &usize| matches!(self.ast.inputs[*i].kind, InputKind::State(_));
        match graph.used_inputs().into_iter().find(is_state) {
            Some(i) => {
                let message = format!("the start of `{name}` depends on the state `{}`", self.ast.inputs[i].name);
                let help = "starts are made of params, inputs, definitions and constants";
                Err(Diagnostic::error("bad-declaration", state.span, message).help(help).into())
            }
            None => Ok(()),
        }
    }

    /// The input shapes, when the program pins them all.
    pub fn default_shapes(&self) -> Option<Vec<Shape>> {
        self.shapes.iter().map(|s| s.known()).collect()
    }

    /// The graph for the shapes the program pins, or an error that names the input it leaves open.
    pub fn graph(&self) -> Result<Arc<Graph>, Diagnostics> {
        for (input, shape) in self.ast.inputs.iter().zip(&self.shapes) {
            if shape.known().is_none() {
                let what = if *shape == InputShape::Matrix { "matrix" } else { "vector" };
                let message = format!("the program does not say how large the {what} `{}` is", input.name);
                let error = Diagnostic::error("shape-unknown", input.span, message).help(format!(
                    "declare it, as in (input {} :size {}), or give it a value",
                    input.name,
                    if what == "matrix" { "[2 2]" } else { "3" }
                ));
                return Err(respell(error.into(), self.syntax));
            }
        }
        self.specialise(&self.default_shapes().expect("all are known"))
    }

    /// The graph for these input shapes; made once, then kept, as long as they are not too many.
    pub fn specialise(&self, shapes: &[Shape]) -> Result<Arc<Graph>, Diagnostics> {
        self.specialised(shapes).map_err(|e| respell(e, self.syntax))
    }

    fn specialised(&self, shapes: &[Shape]) -> Result<Arc<Graph>, Diagnostics> {
        // Nobody waits here: the lock may be one of a parent that was forked meanwhile.
        if let Some(graph) = self.cache.try_lock().ok().and_then(|cache| cache.get(shapes).cloned()) {
            return Ok(graph);
        }
        if shapes.len() != self.ast.inputs.len() {
            return Err(Diagnostic::error(
                "missing-input",
                Span::default(),
                format!("the program has {} inputs, {} shapes were given", self.ast.inputs.len(), shapes.len()),
            )
            .into());
        }
        for (input, &shape) in self.ast.inputs.iter().zip(shapes) {
            if let Some(declared) = input.shape
                && declared != shape
            {
                let message = format!("the input `{}` is declared as a {declared}, a {shape} was given", input.name);
                return Err(Diagnostic::error("input-shape", input.span, message).into());
            }
        }
        let inputs = self.ast.inputs.iter().zip(shapes).map(|(i, &shape)| GraphInput { name: i.name.clone(), shape }).collect();
        let graph = Arc::new(lower(&self.anf, &self.tails, inputs, &self.limits)?);
        debug_assert_eq!(verify::verify(&graph), Ok(()));
        if let Ok(mut cache) = self.cache.try_lock() {
            if cache.len() >= MOST_KEPT {
                cache.clear();
            }
            cache.insert(shapes.to_vec(), graph.clone());
        }
        Ok(graph)
    }
}
