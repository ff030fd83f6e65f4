//! Declarations of model files: `param`, `input`, `state`, `net`, `derive`, `next`, `observe`, `loglik`, `event`, `time`, `constants`,
//! `unit`. In: top-level data; out: inputs of the program, functions for nets, and, when there are states, a body that gives the
//! derivatives (or next values) of all of them, or what is asked for instead: starts, observables, events. Invariant: a declaration is
//! recognised only at top level, so its keyword stays usable as a name everywhere else.

use crate::diagnostic::{Diagnostic, did_you_mean};
use crate::ops;
use crate::shape::Shape;
use crate::source::Span;
use crate::syntax::ast::{
    DeclaredUnit, Effect, Expr, ExprId, Input, InputKind, Interpolate, ModelKind, ParamInfo, Part, Prior, StateStart, TimeInfo,
};
use crate::syntax::constants::SETS;
use crate::syntax::events::Event;
use crate::syntax::expand::{Bindings, Expander, Meaning, NOWHERE, Undo};
use crate::syntax::forms::{self, Expansion, Form, Written};
use crate::syntax::observations::Observable;
use crate::syntax::reader::{Datum, DatumId, Symbol};
use crate::units;
use rustc_hash::FxHashMap;

/// `derive` and `next` clauses and the `time` seen so far.
#[derive(Default)]
pub(crate) struct Model {
    steps: Vec<Step>,
    states: Vec<(String, Span)>,
    /// Starts that are expressions.
    starts: Vec<DatumId>,
    pub(super) observables: Vec<Observable>,
    /// `(loglik …)` clauses.
    pub(super) logliks: Vec<(DatumId, Span)>,
    events: Vec<Event>,
    pub(super) time: Option<(Symbol, TimeInfo)>,
}

struct Step {
    kind: ModelKind,
    state: Symbol,
    value: DatumId,
    span: Span,
}

impl Model {
    pub(crate) fn has_steps(&self) -> bool {
        !self.steps.is_empty() || !self.states.is_empty()
    }

    /// Whether anything is said about what columns observe.
    pub(crate) fn observes(&self) -> bool {
        !self.observables.is_empty() || !self.logliks.is_empty()
    }

    /// Where the first event is declared.
    pub(crate) fn event(&self) -> Option<Span> {
        self.events.first().map(|e| e.span)
    }

    /// Where the time is declared.
    pub(crate) fn time(&self) -> Option<Span> {
        self.time.as_ref().map(|(_, t)| t.span)
    }
}

/// The options behind the positional part of a declaration.
#[derive(Default)]
pub(super) struct Options {
    min: Option<f64>,
    max: Option<f64>,
    fixed: bool,
    prior: Option<Prior>,
    per: Option<String>,
    effect: Option<Effect>,
    size: Option<Shape>,
    start: Option<f64>,
    step: Option<f64>,
    pub(super) unit: Option<DatumId>,
    pub(super) noise: Option<DatumId>,
    interpolate: Option<Interpolate>,
}

impl Expander<'_> {
    /// Takes a declaration in, or says that it is none.
    pub(crate) fn declaration(&mut self, d: DatumId, model: &mut Model) -> bool {
        let Some([head, rest @ ..]) = self.data.list(d) else {
            return false;
        };
        let Some(head) = self.data.symbol(*head) else {
            return false;
        };
        let Some(form) = forms::form(self.name(head)) else {
            return false;
        };
        let Expansion::Declaration(declare) = form.expansion else {
            return false;
        };
        declare(self, Written { form, args: rest, span: self.data.span(d) }, model);
        true
    }

    pub(super) fn bad(&mut self, span: Span, form: &Form) {
        self.error(Diagnostic::error("bad-declaration", span, format!("this declaration is written {}", form.usage)).help(form.doc));
    }

    /// Declares an input, or refines one the caller already named.
    fn declare(&mut self, name: DatumId, kind: InputKind, shape: Option<Shape>, span: Span) {
        let Some(s) = self.data.symbol(name) else {
            self.error(Diagnostic::error("bad-declaration", self.data.span(name), "a declaration starts with a name"));
            return;
        };
        let text = self.name(s).to_string();
        if self.is_function(s) {
            self.error(Diagnostic::error("duplicate-name", span, format!("`{text}` is declared twice")));
            return;
        }
        if self.is_constant(s) {
            let error = Diagnostic::error("duplicate-name", span, format!("`{text}` is a constant of this program and declared again"));
            self.error(error.help("rename it, or ask only for the constants you need: (constants si c h)"));
            return;
        }
        if let Some(existing) = self.input_named(&text) {
            if existing.kind == InputKind::Declared && existing.span == Span::default() {
                existing.kind = kind;
                existing.shape = existing.shape.or(shape);
                existing.span = span;
            } else {
                let first = existing.span;
                self.error(
                    Diagnostic::error("duplicate-name", span, format!("`{text}` is declared twice")).label(first, "declared here first"),
                );
            }
            return;
        }
        let var = self.add_input(Input { name: text, kind, shape, span });
        self.bind(s, Meaning::Var(var));
    }

    pub(super) fn options(&mut self, rest: &[DatumId], form: &Form) -> Options {
        let allowed = form.words;
        let mut options = Options::default();
        let mut i = 0;
        while i < rest.len() {
            let span = self.data.span(rest[i]);
            let name = self.data.symbol(rest[i]).map(|s| self.name(s)).unwrap_or("");
            if !allowed.contains(&name) {
                let help = did_you_mean(name, allowed.iter().copied()).or_else(|| Some(format!("known here: {}", allowed.join(" "))));
                self.error(Diagnostic::error("bad-declaration", span, "unknown option in a declaration").maybe_help(help));
                return options;
            }
            if name == ":fixed" {
                options.fixed = true;
                i += 1;
                continue;
            }
            let Some(&value) = rest.get(i + 1) else {
                self.error(Diagnostic::error("bad-declaration", span, format!("`{name}` needs a value")));
                return options;
            };
            if name == ":unit" || name == ":noise" {
                *(if name == ":unit" { &mut options.unit } else { &mut options.noise }) = Some(value);
                i += 2;
                continue;
            }
            let at = self.data.span(value);
            if name == ":prior" || name == ":effect" {
                if name == ":prior" {
                    options.prior = self.prior(value)
                } else {
                    options.effect = self.effect(value)
                }
                i += 2;
                continue;
            }
            if name == ":interpolate" {
                let word = self.data.symbol(value).map_or("", |s| self.name(s));
                options.interpolate = Interpolate::ALL.into_iter().find(|i| i.name() == word);
                if options.interpolate.is_none() {
                    self.error(Diagnostic::error("bad-declaration", at, "inputs are `linear`, `step` or `cubic` between rows"));
                }
                i += 2;
                continue;
            }
            match (name, self.numbers(value)) {
                (":per", None) if self.data.symbol(value).is_some() => {
                    options.per = self.data.symbol(value).map(|s| self.name(s).to_string());
                }
                (":per", _) => {
                    self.error(Diagnostic::error("bad-declaration", at, "`:per` names a column of the data"));
                }
                (":min", Some((Shape::Scalar, v))) => options.min = Some(v[0]),
                (":max", Some((Shape::Scalar, v))) => options.max = Some(v[0]),
                (":start", Some((Shape::Scalar, v))) if v[0].is_finite() => options.start = Some(v[0]),
                (":step", Some((Shape::Scalar, v))) if v[0].is_finite() && v[0] > 0.0 => options.step = Some(v[0]),
                (":step", Some(_)) => {
                    self.error(Diagnostic::error("bad-declaration", at, "a step is a positive number"));
                }
                (":size", Some((shape, v))) => {
                    options.size = match (shape, &v[..]) {
                        (Shape::Scalar, &[n]) => self.size(n).map(Shape::Vector),
                        (Shape::Vector(2), &[r, c]) => self.size(r).zip(self.size(c)).map(|(r, c)| Shape::Matrix(r, c)),
                        _ => None,
                    };
                    if options.size.is_none() {
                        self.error(Diagnostic::error("bad-declaration", at, "a size is a number of elements, or [rows columns]"));
                    }
                }
                _ => {
                    self.error(Diagnostic::error("bad-declaration", at, format!("`{name}` needs a number")));
                }
            }
            i += 2;
        }
        options
    }

    fn size(&self, n: f64) -> Option<u32> {
        (n.fract() == 0.0 && (1.0..=1e6).contains(&n)).then_some(n as u32)
    }

    /// A literal number, vector of numbers or matrix of numbers.
    pub(super) fn numbers(&self, d: DatumId) -> Option<(Shape, Vec<f64>)> {
        let number = |d: DatumId| match self.data.get(d) {
            Datum::Number(x) => Some(x),
            _ => None,
        };
        match self.data.get(d) {
            Datum::Number(x) => Some((Shape::Scalar, vec![x])),
            Datum::Bracket(..) => {
                let items = self.data.children(d);
                if let Some(v) = items.iter().map(|&i| number(i)).collect::<Option<Vec<f64>>>() {
                    return (!v.is_empty()).then_some((Shape::Vector(v.len() as u32), v));
                }
                let rows: Vec<Vec<f64>> =
                    items.iter().map(|&row| self.data.children(row).iter().map(|&i| number(i)).collect()).collect::<Option<_>>()?;
                let columns = rows.first()?.len();
                (columns > 0 && rows.iter().all(|r| r.len() == columns))
                    .then(|| (Shape::Matrix(rows.len() as u32, columns as u32), rows.concat()))
            }
            Datum::Symbol(_) | Datum::List(..) => None,
        }
    }

    pub(crate) fn param(&mut self, written: Written<'_>) {
        let Written { form, args: rest, span } = written;
        let [name, value, options @ ..] = rest else {
            return self.bad(span, form);
        };
        let Some((shape, initial)) = self.numbers(*value) else {
            return self.bad(span, form);
        };
        let options = self.options(options, form);
        if let (Some(min), Some(max)) = (options.min, options.max)
            && min > max
        {
            self.error(Diagnostic::error("bad-declaration", span, format!("the bounds {min} and {max} leave no room")));
        }
        let outside =
            |(min, max): (Option<f64>, Option<f64>)| initial.iter().any(|x| min.is_some_and(|m| *x < m) || max.is_some_and(|m| *x > m));
        if outside((options.min, options.max)) {
            self.error(Diagnostic::error("bad-declaration", self.data.span(*value), "the initial value lies outside the bounds"));
        } else if let Some((low, high)) = options.prior.as_ref().and_then(Prior::ends) {
            // Beyond its ends the density is 0, and nothing on the way there says so.
            let message = match (options.min.is_some_and(|min| min > high), options.max.is_some_and(|max| max < low)) {
                (false, false) => outside((Some(low), Some(high))).then_some("the initial value lies outside its prior"),
                _ => Some("the bounds leave no room beside the prior"),
            };
            if let Some(message) = message {
                let help = format!("a uniform prior allows values from {low} to {high}");
                self.error(Diagnostic::error("bad-declaration", span, message).help(help));
            }
        }
        self.take_unit(*name, options.unit);
        if options.fixed && (options.prior.is_some() || options.per.is_some()) {
            self.error(Diagnostic::error("bad-declaration", span, "what is fixed has neither a prior nor values of its own for groups"));
        }
        if options.effect.is_some() && (options.per.is_none() || options.prior.is_some()) {
            let error = Diagnostic::error("bad-declaration", span, "a random effect has a value for each group, and no other prior");
            self.error(error.help("as in (param eta 0 :per subject :effect (normal 0 omega))"));
        }
        let Options { min, max, fixed, prior, per, effect, .. } = options;
        let info = ParamInfo { initial, min, max, fixed, prior, per, effect };
        self.declare(*name, InputKind::Param(info), Some(shape), span);
    }

    pub(crate) fn input(&mut self, written: Written<'_>) {
        let Written { form, args: rest, span } = written;
        let [name, options @ ..] = rest else {
            return self.bad(span, form);
        };
        let options = self.options(options, form);
        self.take_unit(*name, options.unit);
        if let (Some(how), Some(s)) = (options.interpolate, self.data.symbol(*name)) {
            self.ast.interpolate.push((self.name(s).to_string(), how));
        }
        self.declare(*name, InputKind::Declared, options.size, span);
    }

    pub(crate) fn state(&mut self, written: Written<'_>, model: &mut Model) {
        let Written { form, args: rest, span } = written;
        let [name, value, options @ ..] = rest else {
            return self.bad(span, form);
        };
        let options = self.options(options, form);
        let (start, shape) = match (self.numbers(*value), self.data.symbol(*value)) {
            (Some((shape, v)), _) => {
                let size = options.size.unwrap_or(shape);
                if shape != Shape::Scalar && shape != size {
                    let message = format!("the start is a {shape}, `:size` says {size}");
                    self.error(Diagnostic::error("bad-declaration", self.data.span(*value), message));
                }
                let v = if shape == Shape::Scalar { vec![v[0]; size.len()] } else { v };
                (StateStart::Value(v), Some(if shape == Shape::Scalar { size } else { shape }))
            }
            (None, Some(s)) => (StateStart::Name(self.name(s).to_string()), options.size.or(Some(Shape::Scalar))),
            (None, None) if self.steady(*value).is_some() => {
                let shape = options.size.unwrap_or(Shape::Scalar);
                match self.steady(*value).unwrap_or(Ok((Shape::Scalar, vec![0.0]))) {
                    Ok((_, guess)) if guess.len() == 1 => (StateStart::Steady(vec![guess[0]; shape.len()]), Some(shape)),
                    Ok((own, guess)) => (StateStart::Steady(guess), Some(own)),
                    Err(at) => {
                        let message = "a steady start is written (steady) or (steady guess), with numbers to look from";
                        self.error(Diagnostic::error("bad-declaration", at, message));
                        (StateStart::Steady(vec![0.0; shape.len()]), Some(shape))
                    }
                }
            }
            (None, None) if self.data.list(*value).is_some_and(|list| !list.is_empty()) => {
                model.starts.push(*value);
                (StateStart::Expression, options.size.or(Some(Shape::Scalar)))
            }
            (None, None) => return self.bad(span, form),
        };
        if let Some(s) = self.data.symbol(*name) {
            model.states.push((self.name(s).to_string(), span));
        }
        self.take_unit(*name, options.unit);
        self.declare(*name, InputKind::State(start), shape, span);
    }

    /// `(steady)` or `(steady guess)`: the guess, or where it is none; `None` for anything else.
    fn steady(&self, d: DatumId) -> Option<Result<(Shape, Vec<f64>), Span>> {
        let [head, guess @ ..] = self.data.list(d)? else { return None };
        self.data.symbol(*head).filter(|&s| self.name(s) == "steady" && !self.is_bound(s))?;
        Some(match guess {
            [] => Ok((Shape::Scalar, vec![0.0])),
            [one] => self.numbers(*one).ok_or_else(|| self.data.span(*one)),
            _ => Err(self.data.span(d)),
        })
    }

    pub(crate) fn time(&mut self, written: Written<'_>, model: &mut Model) {
        let Written { form, args: rest, span } = written;
        let [name, options @ ..] = rest else {
            return self.bad(span, form);
        };
        let Some(s) = self.data.symbol(*name) else {
            return self.bad(span, form);
        };
        let options = self.options(options, form);
        self.take_unit(*name, options.unit);
        if let Some(first) = model.time() {
            self.error(Diagnostic::error("bad-declaration", span, "a model has one time").label(first, "declared here first"));
            return;
        }
        model.time = Some((s, TimeInfo { name: self.name(s).to_string(), start: options.start, step: options.step, span }));
    }

    /// The error of a formula that declares a time.
    pub(crate) fn no_time(&mut self, model: &Model) {
        if let Some(span) = model.time() {
            let error = Diagnostic::error("bad-declaration", span, "a time is declared by models with states");
            self.error(error.help("elsewhere it is an input like any other"));
        }
    }

    /// The time of a model: a name that nothing else has.
    fn take_time(&mut self, time: Option<(Symbol, TimeInfo)>, kind: ModelKind) {
        let Some((s, time)) = time else { return };
        let input = self.ast.inputs.iter().any(|i| i.name == time.name && matches!(i.kind, InputKind::Free | InputKind::Declared));
        if self.is_bound(s) && !input {
            let message = format!("`{}` is the time and something else", time.name);
            self.error(Diagnostic::error("duplicate-name", time.span, message));
        }
        if time.step.is_some() && kind != ModelKind::Map {
            let help = "the longest step of the solver is an option of the fit";
            self.error(Diagnostic::error("bad-declaration", time.span, "only a map has a step of its own").help(help));
        }
        self.ast.time = Some(time);
    }

    /// `(constants set)` binds all names of a set, `(constants set name …)` only these.
    pub(crate) fn constants(&mut self, written: Written<'_>) {
        let Written { form, args: rest, span } = written;
        let names: Vec<&str> = rest.iter().filter_map(|&r| self.data.symbol(r)).map(|s| self.name(s)).collect();
        if names.is_empty() || names.len() != rest.len() {
            return self.bad(span, form);
        }
        let Some((_, set)) = SETS.iter().find(|(name, _)| *name == names[0]) else {
            let known: Vec<&str> = SETS.iter().map(|s| s.0).collect();
            let help = format!("known: {}", known.join(" "));
            self.error(
                Diagnostic::error("unknown-constant", self.data.span(rest[0]), format!("there is no set of constants `{}`", names[0]))
                    .help(help),
            );
            return;
        };
        for (&name, &at) in names[1..].iter().zip(&rest[1..]) {
            if !set.iter().any(|c| c.name == name) {
                let help = did_you_mean(name, set.iter().map(|c| c.name)).or_else(|| Some("`neuralc ops` lists them".into()));
                let message = format!("`{}` has no constant `{name}`", names[0]);
                self.error(Diagnostic::error("unknown-constant", self.data.span(at), message).maybe_help(help));
            }
        }
        for constant in set.iter().filter(|c| names.len() == 1 || names[1..].contains(&c.name)) {
            let Some(s) = self.data.names.find(constant.name) else { continue };
            if self.is_constant(s) {
                continue;
            }
            if self.is_bound(s) {
                let message = format!("`{}` is a constant of `{}` ({}) and already declared", constant.name, names[0], constant.doc);
                let help = "rename it, or ask only for the constants you need: (constants si c h)";
                self.error(Diagnostic::error("duplicate-name", span, message).help(help));
                continue;
            }
            self.bind(s, Meaning::Number(constant.value));
        }
    }

    pub(crate) fn step(&mut self, kind: ModelKind, written: Written<'_>, model: &mut Model) {
        let Written { form, args: rest, span } = written;
        let &[state, value] = rest else {
            return self.bad(span, form);
        };
        let Some(state) = self.data.symbol(state) else {
            return self.bad(span, form);
        };
        model.steps.push(Step { kind, state, value, span });
    }

    /// `(unit name unit)`: of what is declared or defined elsewhere.
    pub(crate) fn unit_declaration(&mut self, written: Written<'_>) {
        let Written { form, args, span } = written;
        match *args {
            [name, unit] if self.data.symbol(name).is_some() => self.take_unit(name, Some(unit)),
            _ => self.bad(span, form),
        }
    }

    /// Takes the unit of a name down, where there is one.
    pub(super) fn take_unit(&mut self, name: DatumId, unit: Option<DatumId>) {
        let (Some(name), Some(unit)) = (self.data.symbol(name), unit) else { return };
        let (name, span) = (self.name(name).to_string(), self.data.span(unit));
        let text = match self.data.get(unit) {
            Datum::Symbol(s) => self.name(s).to_string(),
            Datum::Number(x) => crate::number_text(x),
            Datum::List(..) | Datum::Bracket(..) => String::new(),
        };
        if let Err(bad) = units::parse(&text) {
            self.error(Diagnostic::error("unknown-unit", span, bad.message).maybe_help(bad.help));
        } else if let Some(first) = self.ast.units.iter().find(|u| u.name == name) {
            let message = format!("`{name}` has two units");
            self.error(Diagnostic::error("duplicate-name", span, message).label(first.span, "declared here first"));
        } else {
            self.ast.units.push(DeclaredUnit { name, unit: text, span });
        }
    }

    /// `(event (at time …) action …)` or `(event (when condition) action …)`.
    pub(crate) fn event_form(&mut self, written: Written<'_>, model: &mut Model) {
        let event = self.event(written);
        model.events.extend(event);
    }

    /// Definitions, then the derivative (or next value) of each state in the order the states are declared.
    pub(crate) fn model_body(&mut self, rest: &[DatumId], model: Model, end: Span) -> ExprId {
        let (undo, bindings) = self.model_definitions(rest);
        let kind = model.steps.first().map_or(ModelKind::Derivatives, |s| s.kind);
        self.ast.kind = kind;
        self.take_time(model.time.clone(), kind);
        self.name_observables(&model.observables);
        self.ast.loglik = !model.logliks.is_empty();
        self.name_events(&model.events, &model.states, kind);
        if self.part != Part::Whole {
            self.ast.kind = ModelKind::Expression;
            let parts: Vec<ExprId> = match self.part {
                Part::Starts => model.starts.iter().map(|&d| self.expr(d, NOWHERE)).collect(),
                Part::Start(k) => vec![self.expr(model.starts[k], NOWHERE)],
                Part::Observables => self.predictors(&model),
                Part::Predictor(k) => vec![self.predictors(&model)[k]],
                part => self.event_part(part, &model.events, end),
            };
            // One value alone keeps its shape.
            let alone = matches!(self.part, Part::Start(_) | Part::Predictor(_) | Part::EventTime(..) | Part::Action(..));
            if let (true, &[one]) = (alone, &parts[..]) {
                self.restore(undo);
                return self.wrap_let(bindings, one, end);
            }
            return self.joined(parts, undo, bindings, end);
        }
        let mut parts: Vec<Option<ExprId>> = vec![None; model.states.len()];
        let places: FxHashMap<&str, usize> = model.states.iter().enumerate().map(|(i, (s, _))| (s.as_str(), i)).collect();
        for step in &model.steps {
            let name = self.name(step.state).to_string();
            let value = self.expr(step.value, NOWHERE);
            if step.kind != kind {
                self.error(Diagnostic::error("bad-declaration", step.span, "a model has `derive` clauses or `next` clauses, not both"));
            }
            match places.get(name.as_str()).copied() {
                Some(i) if parts[i].is_some() => {
                    self.error(Diagnostic::error("duplicate-name", step.span, format!("`{name}` is derived twice")));
                }
                Some(i) => parts[i] = Some(value),
                None => {
                    let help = did_you_mean(&name, model.states.iter().map(|(s, _)| s.as_str()));
                    self.error(Diagnostic::error("unknown-state", step.span, format!("`{name}` is not a state")).maybe_help(help));
                }
            }
        }
        if kind == ModelKind::Map {
            let steady = |i: &&Input| matches!(i.kind, InputKind::State(StateStart::Steady(_)));
            if let Some(span) = self.ast.inputs.iter().find(steady).map(|i| i.span) {
                self.error(Diagnostic::error("bad-declaration", span, "only differential equations start where they are steady"));
            }
        }
        for ((name, span), part) in model.states.iter().zip(&parts) {
            if part.is_none() {
                self.error(Diagnostic::error("missing-derive", *span, format!("the state `{name}` has no `derive` and no `next` clause")));
            }
        }
        self.joined(parts.into_iter().flatten().collect(), undo, bindings, end)
    }

    /// Values one after another, below the definitions they use.
    pub(super) fn joined(&mut self, parts: Vec<ExprId>, undo: Undo, bindings: Bindings, end: Span) -> ExprId {
        let concat = ops::surface("concat").expect("concat is an operation");
        let from = self.ast.args.len() as u32;
        self.ast.args.extend(&parts);
        let body = self.push(Expr::Op(concat, (from, self.ast.args.len() as u32)), end);
        self.restore(undo);
        self.wrap_let(bindings, body, end)
    }

    fn model_definitions(&mut self, items: &[DatumId]) -> (Undo, Bindings) {
        let (definitions, expressions) = self.split_body(items);
        if let Some(&extra) = expressions.first() {
            let span = self.data.span(extra);
            self.error(
                Diagnostic::error("extra-expression", span, "a model with states has no value of its own")
                    .help("its results are the derivatives; remove this expression"),
            );
        }
        self.define_all(definitions)
    }

    /// `(net name (input …) width … outputs)`: a tanh multilayer perceptron as a function whose weights are inputs `name.w0`,
    /// `name.b0`, … of the program.
    pub(crate) fn net(&mut self, written: Written<'_>) {
        let Written { form, args: rest, span } = written;
        let [name, inputs, widths @ ..] = rest else {
            return self.bad(span, form);
        };
        let (Some(s), Some(inputs)) = (self.data.symbol(*name), self.data.list(*inputs)) else {
            return self.bad(span, form);
        };
        let mut sizes = vec![inputs.len() as u32];
        for &w in widths {
            match self.data.get(w) {
                Datum::Number(x) if x.fract() == 0.0 && (1.0..=65536.0).contains(&x) => sizes.push(x as u32),
                _ => return self.bad(self.data.span(w), form),
            }
        }
        if sizes.len() < 2 || inputs.is_empty() || inputs.iter().any(|&i| self.data.symbol(i).is_none()) {
            return self.bad(span, form);
        }
        let title = self.name(s).to_string();
        if self.is_bound(s) {
            self.error(Diagnostic::error("duplicate-name", span, format!("`{title}` is declared twice")));
            return;
        }
        let f = self.new_fun(&title, inputs, span);
        let op = |x: &mut Self, name: &str, args: &[ExprId]| {
            let surface = ops::surface(name).expect("a net is made of known operations");
            let from = x.ast.args.len() as u32;
            x.ast.args.extend(args);
            let to = x.ast.args.len() as u32;
            x.push(Expr::Op(surface, (from, to)), span)
        };
        let params = self.ast.funs[f.0 as usize].params.clone();
        let inputs: Vec<ExprId> = params.iter().map(|&p| self.push(Expr::Var(p), span)).collect();
        let mut value = op(self, "vec", &inputs);
        let layers = sizes.len() - 1;
        for layer in 0..layers {
            let weight = |x: &mut Self, bias: bool| {
                let shape = if bias { Shape::Vector(sizes[layer + 1]) } else { Shape::Matrix(sizes[layer + 1], sizes[layer]) };
                let kind = InputKind::Weight { net: title.clone(), layer, bias };
                let var =
                    x.add_input(Input { name: format!("{title}.{}{layer}", if bias { 'b' } else { 'w' }), kind, shape: Some(shape), span });
                x.push(Expr::Var(var), span)
            };
            let (w, b) = (weight(self, false), weight(self, true));
            let product = op(self, "matvec", &[w, value]);
            value = op(self, "+", &[product, b]);
            if layer + 1 < layers {
                value = op(self, "tanh", &[value]);
            }
        }
        if sizes[layers] == 1 {
            let zero = self.push(Expr::Number(0.0), span);
            value = op(self, "ref", &[value, zero]);
        }
        self.ast.funs[f.0 as usize].body = value;
        self.bind(s, Meaning::Fun(f));
    }
}
