//! Units of a whole program. In: its AST, with what it declares in `:unit` and `(unit …)`; out: the units of its names, known and inferred,
//! and every place where they do not fit. Invariants: a program that declares no unit is not looked at; numbers in the text are pure but
//! for 0, which has any unit, the values of physical constants, and definitions that are numbers and whose unit is declared; a mistake is
//! said once.
//!
//! A function is checked once, at its first call, and its units are used again with other unknowns at every further call: functions work in
//! whatever units they are called with. Functions that call each other have one set of units while they do.

use super::parse::{Scale, parse};
use super::ratio::Ratio;
use super::solve::{Solver, Unequal};
use super::spelling::Vocabulary;
use super::unit::Unit;
use super::{convert, scales, table};
use crate::diagnostic::{Diagnostic, Severity};
use crate::source::Span;
use crate::syntax::ast::{Ast, Expr, ExprId, FunId, InputKind, ModelKind, Part, StateStart, VarId};
use crate::syntax::constants::SETS;
use crate::syntax::distributions::Support;
use rustc_hash::FxHashMap;

/// What becomes of units that do not fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// They are errors.
    #[default]
    Refuse,
    /// They are warnings, kept with the program.
    Warn,
    /// Nobody looks.
    Ignore,
}

impl Mode {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Refuse => "error",
            Mode::Warn => "warn",
            Mode::Ignore => "off",
        }
    }

    /// The mode of this name.
    pub fn named(name: &str) -> Option<Mode> {
        [Mode::Refuse, Mode::Warn, Mode::Ignore].into_iter().find(|m| m.name() == name)
    }
}

/// What is known of the units of a program.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Units {
    /// Names with their units: as declared, else as inferred. What nothing pins is left out.
    pub names: Vec<(String, String)>,
    /// How many of the names, the first ones, have declared units.
    pub declared: usize,
    /// Inputs that the scales of noise are made of, and whether they are such a scale themselves.
    pub in_scales: Vec<(String, bool)>,
    /// What does not fit, where that is not an error.
    pub findings: Vec<Diagnostic>,
}

impl Units {
    /// The scale on which a name counts.
    pub fn scale(&self, name: &str) -> Option<Scale> {
        let (_, text) = self.names.iter().find(|n| n.0 == name)?;
        parse(text).ok()
    }
}

/// What the value of a program is called among its units.
pub const VALUE: &str = "value";

/// A value: one unit, or one for each element.
#[derive(Clone, Debug)]
pub(super) enum Quantity {
    One(Unit),
    Each(Vec<Unit>),
}

struct Named {
    name: String,
    unit: Unit,
    /// As declared.
    text: Option<String>,
    span: Span,
}

/// A check in progress: the parts of a text one after another.
pub(crate) struct Checker {
    pub(super) solver: Solver,
    named: Vec<Named>,
    pub(super) vocabulary: Vocabulary,
    findings: Vec<Diagnostic>,
    in_scales: Vec<(String, bool)>,
}

/// What a function makes of units.
struct Scheme {
    /// Units of the parameters, then of the result.
    units: Vec<Unit>,
    each: bool,
    /// The first unknown of its own.
    first: u32,
}

/// A function that is being checked, or was for one that still is.
struct Active {
    fun: FunId,
    params: Vec<Unit>,
    result: Unit,
    /// The place of the outermost that it calls: its own while it is being checked.
    calls: usize,
}

/// A walk over one part of a text.
pub(super) struct Walk<'c> {
    pub(super) checker: &'c mut Checker,
    pub(super) ast: &'c Ast,
    source: &'c str,
    vars: Vec<Option<Quantity>>,
    schemes: FxHashMap<FunId, Scheme>,
    active: Vec<Active>,
    /// The place among the active ones of the outermost that was called again.
    reached: usize,
}

const MOST_FINDINGS: usize = 20;

impl Checker {
    /// A check of what an AST declares; nothing where it declares no unit.
    pub(crate) fn new(ast: &Ast) -> Option<Checker> {
        if ast.units.is_empty() {
            return None;
        }
        let mut checker = Checker {
            solver: Solver::default(),
            named: Vec::new(),
            vocabulary: Vocabulary::default(),
            findings: Vec::new(),
            in_scales: Vec::new(),
        };
        for declared in &ast.units {
            if let Ok(scale) = parse(&declared.unit) {
                checker.vocabulary.learn(&declared.unit);
                let (name, text, span) = (declared.name.clone(), Some(declared.unit.clone()), declared.span);
                checker.named.push(Named { name, unit: scale.unit, text, span });
            }
        }
        Some(checker)
    }

    /// The unit of a name that several parts share.
    fn unit_of(&mut self, name: &str) -> Unit {
        if let Some(known) = self.named.iter().find(|n| n.name == name) {
            return known.unit.clone();
        }
        let unit = self.solver.fresh();
        self.named.push(Named { name: name.into(), unit: unit.clone(), text: None, span: Span::default() });
        unit
    }

    /// Where a name's unit is declared.
    fn declared_at(&self, name: &str) -> Option<Span> {
        self.named.iter().find(|n| n.name == name && n.text.is_some()).map(|n| n.span)
    }

    /// Checks a part of a text.
    pub(crate) fn part(&mut self, ast: &Ast, source: &str, part: Part) {
        let vars = vec![None; ast.vars.len()];
        let schemes = FxHashMap::default();
        let mut walk = Walk { checker: self, ast, source, vars, schemes, active: Vec::new(), reached: usize::MAX };
        walk.inputs();
        walk.body(part);
    }

    pub(super) fn finding(&mut self, finding: Diagnostic) {
        let known = |d: &Diagnostic| d.span == finding.span && d.code == finding.code;
        if self.findings.len() < MOST_FINDINGS && !self.findings.iter().any(known) {
            self.findings.push(finding);
        }
    }

    /// What came out.
    pub(crate) fn finish(mut self, mode: Mode) -> Units {
        let mut names = Vec::new();
        for named in &self.named {
            let text = named.text.clone().or_else(|| {
                let unit = self.solver.resolved(&named.unit)?;
                unit.is_known().then(|| self.vocabulary.text(&unit))
            });
            if let Some(text) = text {
                names.push((named.name.clone(), text));
            }
        }
        if mode == Mode::Warn {
            self.findings.iter_mut().for_each(|d| d.severity = Severity::Warning);
        }
        let declared = self.named.iter().filter(|n| n.text.is_some()).count();
        // Once as a scale itself is enough.
        self.in_scales.sort_by(|a, b| (&a.0, !a.1).cmp(&(&b.0, !b.1)));
        self.in_scales.dedup_by(|a, b| a.0 == b.0);
        Units { names, declared, in_scales: self.in_scales, findings: self.findings }
    }
}

impl Walk<'_> {
    pub(super) fn fresh(&mut self) -> Unit {
        self.checker.solver.fresh()
    }

    pub(super) fn resolved(&self, unit: &Unit) -> Unit {
        self.checker.solver.resolved(unit).unwrap_or_default()
    }

    /// A unit in words; what is not known of it is left out.
    pub(super) fn spelled(&self, unit: &Unit) -> String {
        self.checker.vocabulary.text(&self.resolved(unit))
    }

    /// Makes two units equal, or gives the finding.
    pub(super) fn equal(&mut self, a: &Unit, b: &Unit) -> bool {
        match self.checker.solver.equal(a, b) {
            Ok(()) => true,
            Err(Unequal::Differ | Unequal::Large) => false,
        }
    }

    /// Says that `found` stands where `wanted` should.
    pub(super) fn mismatch(&mut self, span: Span, found: &Unit, wanted: &Unit, why: &str) -> Diagnostic {
        let (has, needs) = (self.spelled(found), self.spelled(wanted));
        let pure = |text: String| if text == "1" { "a pure number".to_string() } else { format!("in `{text}`") };
        let message = format!("this is {}, and {why} {}", pure(has), pure(needs));
        Diagnostic::error("unit-mismatch", span, message).maybe_help(self.missing(found, wanted))
    }

    /// What `found` must be multiplied by to be `wanted`.
    pub(super) fn missing(&self, found: &Unit, wanted: &Unit) -> Option<String> {
        let (found, wanted) = (self.resolved(found), self.resolved(wanted));
        match (found.origin(), wanted.origin()) {
            (None, None) => {}
            (Some(row), _) | (_, Some(row)) => {
                let help = "has an origin of its own: take differences, or declare the quantity in another unit (kelvin, mW, mol/L); \
                            tables are converted when they are read";
                return Some(format!("`{}` {help}", table::symbol(row)));
            }
        }
        let factor = wanted.over(&found)?;
        if !factor.is_known() {
            return None;
        }
        if factor.is_scale() {
            // A number that converts has a unit itself: 0.01 m/cm.
            let (number, texts) = (convert::number(&found.over(&wanted)?), [&wanted, &found].map(|u| self.checker.vocabulary.text(u)));
            let simple = texts.iter().all(|t| t.chars().all(char::is_alphanumeric));
            let unit = if simple { format!(" in `{}/{}`", texts[0], texts[1]) } else { String::new() };
            return Some(format!("the missing factor is {number}{unit}"));
        }
        Some(format!("a factor in `{}` is missing", self.checker.vocabulary.text(&factor)))
    }

    /// One unit of a value, whose elements must agree.
    pub(super) fn one(&mut self, quantity: Quantity, span: Span) -> Unit {
        match quantity {
            Quantity::One(unit) => unit,
            Quantity::Each(units) => {
                let Some(first) = units.first().cloned() else { return Unit::one() };
                for unit in &units[1..] {
                    if !self.equal(unit, &first) {
                        let finding = self.mismatch(span, unit, &first, "another element of the same vector is");
                        self.checker.finding(finding);
                        return self.fresh();
                    }
                }
                first
            }
        }
    }

    fn inputs(&mut self) {
        let ast = self.ast;
        for (input, &var) in ast.inputs.iter().zip(&ast.funs[0].params) {
            let unit = match input.kind {
                InputKind::Weight { .. } => self.fresh(),
                InputKind::Free | InputKind::Declared | InputKind::Param(_) | InputKind::State(_) => self.checker.unit_of(&input.name),
            };
            self.vars[var.0 as usize] = Some(Quantity::One(unit));
        }
    }

    /// The body of the program: what each part of its value must be.
    fn body(&mut self, part: Part) {
        let ast = self.ast;
        let mut root = ast.funs[0].body;
        let mut bound = FxHashMap::default();
        while let Expr::Let(bindings, body) = ast.expr(root) {
            self.bind(bindings);
            bound.extend(ast.bindings(bindings).iter().copied());
            root = body;
        }
        let states = || ast.inputs.iter().filter(|i| matches!(i.kind, InputKind::State(_)));
        let wanted: Vec<(String, Unit, &str)> = match (part, ast.kind) {
            (Part::Whole, ModelKind::Expression) => {
                let found = self.expr(root);
                self.value(root, found);
                return;
            }
            (Part::Whole, ModelKind::Derivatives) => {
                let time = ast.time.as_ref().map_or("t", |t| t.name.as_str());
                let time = self.checker.unit_of(time);
                self.starts_by_name();
                let per_time = |walk: &mut Self, name: &str| {
                    let state = walk.checker.unit_of(name);
                    let state = walk.resolved(&state).difference();
                    let time = walk.resolved(&time).difference();
                    state.over(&time).unwrap_or_default()
                };
                states().map(|s| (s.name.clone(), per_time(self, &s.name), "the derivative of")).collect()
            }
            (Part::Whole, ModelKind::Map) => {
                self.starts_by_name();
                states().map(|s| (s.name.clone(), self.checker.unit_of(&s.name), "the next value of")).collect()
            }
            (Part::Starts, _) => {
                let computed = states().filter(|s| s.kind == InputKind::State(StateStart::Expression));
                computed.map(|s| (s.name.clone(), self.checker.unit_of(&s.name), "the start of")).collect()
            }
            (Part::Observables, _) => {
                let own: Vec<_> = ast.observables.iter().map(|o| (o.name.clone(), self.checker.unit_of(&o.name), "")).collect();
                own.into_iter().chain(self.arguments_of_noise()).collect()
            }
            (Part::Jump(_), _) => states().map(|s| (s.name.clone(), self.checker.unit_of(&s.name), "the state")).collect(),
            (Part::EventTimes, _) => {
                let time = ast.time.as_ref().map_or("t", |t| t.name.as_str());
                let unit = self.checker.unit_of(time);
                let count = if let Expr::Op(_, args) = ast.expr(root) { ast.args(args).len() } else { 0 };
                vec![(time.to_string(), unit, "the time"); count]
            }
            (Part::Levels, _) => {
                // What a condition compares is of one unit, whatever that is; behind the levels stand the same conditions again.
                if let Expr::Op(_, args) = ast.expr(root) {
                    let levels = ast.args(args);
                    levels[..levels.len() / 2].iter().for_each(|&arg| drop(self.expr(arg)));
                }
                return;
            }
            // One value of several: nothing of its own to compare with.
            (Part::Start(_) | Part::Predictor(_) | Part::EventTime(..) | Part::Action(..), _) => return,
        };
        let Expr::Op(_, args) = ast.expr(root) else { return };
        if part == Part::Observables {
            let arguments = ast.args(args).get(ast.observables.len()..).unwrap_or(&[]);
            for (&arg, _) in arguments.iter().zip(self.are_scales()).filter(|(_, is_scale)| *is_scale) {
                self.checker.in_scales.extend(scales::inputs(ast, arg, &bound));
            }
        }
        for (&arg, (name, unit, what)) in ast.args(args).iter().zip(wanted) {
            // A time that is written as a number is one of the clock's, as the start of a state is one of the state's.
            if part == Part::EventTimes && matches!(ast.expr(arg), Expr::Number(_)) {
                continue;
            }
            let found = self.expr(arg);
            let span = ast.span(arg);
            let found = self.one(found, span);
            if !self.equal(&found, &unit) {
                let what = if what.is_empty() { format!("`{name}` is") } else { format!("{what} `{name}` is") };
                let mut finding = self.mismatch(span, &found, &unit, &what);
                if let Some(at) = self.checker.declared_at(&name) {
                    finding = finding.label(at, "declared here");
                }
                self.checker.finding(finding);
            }
        }
    }

    /// The units of the arguments of distributions: a scale `s` on the line is a difference of observations, all else is a number.
    fn arguments_of_noise(&mut self) -> Vec<(String, Unit, &'static str)> {
        let mut wanted = Vec::new();
        let mut are_scales = self.are_scales().into_iter();
        for o in &self.ast.observables {
            let Some(noise) = o.noise else { continue };
            for _ in noise.arguments {
                let unit = match are_scales.next() {
                    Some(true) => {
                        let observed = self.checker.unit_of(&o.name);
                        self.resolved(&observed).difference()
                    }
                    _ => Unit::default(),
                };
                wanted.push((o.name.clone(), unit, "an argument of the noise of"));
            }
        }
        wanted
    }

    /// Which arguments of distributions, one after another, are scales on the line.
    fn are_scales(&self) -> Vec<bool> {
        let noise = self.ast.observables.iter().filter_map(|o| o.noise);
        noise.flat_map(|n| n.arguments.iter().map(move |a| n.support == Support::Line && *a == "s")).collect()
    }

    /// States that start at the value of a name have its unit.
    fn starts_by_name(&mut self) {
        for input in &self.ast.inputs {
            if let InputKind::State(StateStart::Name(start)) = &input.kind {
                let (state, start) = (self.checker.unit_of(&input.name), self.checker.unit_of(start));
                if !self.equal(&start, &state) {
                    let finding = self.mismatch(input.span, &start, &state, "the state that starts there is");
                    self.checker.finding(finding);
                }
            }
        }
    }

    /// The value of a program that is an expression.
    fn value(&mut self, root: ExprId, found: Quantity) {
        let taken = self.ast.inputs.iter().any(|i| i.name == VALUE);
        if let (Quantity::One(found), false) = (found, taken) {
            let named = self.checker.unit_of(VALUE);
            if !self.equal(&found, &named) {
                let finding = self.mismatch(self.ast.span(root), &found, &named, "the value is declared");
                self.checker.finding(finding);
            }
        }
    }

    fn bind(&mut self, bindings: (u32, u32)) {
        for &(var, value) in self.ast.bindings(bindings) {
            let of = &self.ast.vars[var.0 as usize];
            let named = of.owner == FunId(0) && self.active.is_empty();
            let found = if named && self.checker.declared_at(&of.name).is_some() && self.is_literal(value, 2) {
                // As the value of a parameter is in the unit of the parameter.
                Quantity::One(self.checker.unit_of(&of.name))
            } else {
                let found = self.expr(value);
                if named { self.defined(&of.name, found, self.ast.span(value)) } else { found }
            };
            self.vars[var.0 as usize] = Some(found);
        }
    }

    /// Whether an expression is a number of the text, or so many axes of such.
    fn is_literal(&self, e: ExprId, axes: usize) -> bool {
        match self.ast.expr(e) {
            Expr::Number(_) => true,
            Expr::Op(surface, args) => {
                axes > 0 && surface.name() == "vec" && self.ast.args(args).iter().all(|&a| self.is_literal(a, axes - 1))
            }
            Expr::Var(_) | Expr::If(..) | Expr::Let(..) | Expr::Call(..) | Expr::Derivative(..) | Expr::Root(..) => false,
        }
    }

    /// A definition, whose unit may be declared.
    fn defined(&mut self, name: &str, found: Quantity, span: Span) -> Quantity {
        let declared = self.checker.declared_at(name);
        if let (Quantity::Each(_), None) = (&found, declared) {
            return found;
        }
        let found = self.one(found, span);
        let unit = self.checker.unit_of(name);
        if !self.equal(&found, &unit) {
            let finding = self.mismatch(span, &found, &unit, &format!("`{name}` is"));
            self.checker.finding(if let Some(at) = declared { finding.label(at, "declared here") } else { finding });
        }
        Quantity::One(unit)
    }

    pub(super) fn expr(&mut self, e: ExprId) -> Quantity {
        crate::deep(|| self.expr_here(e))
    }

    fn expr_here(&mut self, e: ExprId) -> Quantity {
        let (ast, span) = (self.ast, self.ast.span(e));
        match ast.expr(e) {
            Expr::Number(x) => Quantity::One(self.literal(x, span)),
            Expr::Var(v) => self.variable(v),
            Expr::Op(surface, args) => self.operation(surface, ast.args(args), span),
            Expr::If(test, yes, no) => {
                self.expr(test);
                self.agree(&[yes, no], span, "the other branch is")
            }
            Expr::Let(bindings, body) => {
                self.bind(bindings);
                self.expr(body)
            }
            Expr::Call(f, args) => self.call(f, ast.args(args)),
            Expr::Derivative(f, _) => self.derivative(f),
            Expr::Root(f, args) => self.root(f, ast.args(args), span),
        }
    }

    fn variable(&mut self, v: VarId) -> Quantity {
        match self.vars[v.0 as usize].clone() {
            Some(known) => known,
            None => {
                let unit = Quantity::One(self.fresh());
                self.vars[v.0 as usize] = Some(unit.clone());
                unit
            }
        }
    }

    /// The unit of a number in the text.
    fn literal(&mut self, x: f64, span: Span) -> Unit {
        if x == 0.0 || !x.is_finite() {
            return self.fresh();
        }
        let written = span.text(self.source);
        if let Some(constant) = self.ast.constants.iter().find(|c| c.0 == written).and_then(|c| constants().find(|k| k.name == c.0)) {
            return parse(constant.unit).map(|s| s.unit).unwrap_or_default();
        }
        let meant: Vec<Unit> = constants().filter(|c| is_rounding(x, c.value)).filter_map(|c| Some(parse(c.unit).ok()?.unit)).collect();
        match &meant[..] {
            [] => Unit::one(),
            [one, rest @ ..] if rest.iter().all(|u| u == one) => one.clone(),
            // The elementary charge and the electron volt have one value.
            _ => self.fresh(),
        }
    }

    fn call(&mut self, f: FunId, args: &[ExprId]) -> Quantity {
        let ast = self.ast;
        let found: Vec<(Unit, Span)> = args
            .iter()
            .map(|&a| {
                let found = self.expr(a);
                (self.one(found, ast.span(a)), ast.span(a))
            })
            .collect();
        let fun = &ast.funs[f.0 as usize];
        // A net takes and gives whatever its weights make of it.
        let net = |i: &crate::syntax::ast::Input| matches!(&i.kind, InputKind::Weight { net, .. } if *net == fun.name);
        if ast.inputs.iter().any(net) {
            return Quantity::One(self.fresh());
        }
        let (params, result) = match self.active.iter().position(|a| a.fun == f) {
            Some(place) => {
                self.reached = self.reached.min(self.active[place].calls);
                (self.active[place].params.clone(), Quantity::One(self.active[place].result.clone()))
            }
            None => match self.instance(f) {
                Some(instance) => instance,
                None => return Quantity::One(self.fresh()),
            },
        };
        for ((found, span), wanted) in found.iter().zip(&params) {
            if !self.equal(found, wanted) {
                let finding = self.mismatch(*span, found, wanted, &format!("`{}` takes what is", fun.name));
                self.checker.finding(finding);
            }
        }
        result
    }

    /// Parameters and result of a function for one of its calls.
    fn instance(&mut self, f: FunId) -> Option<(Vec<Unit>, Quantity)> {
        if !self.schemes.contains_key(&f) {
            let first = self.checker.solver.len();
            let (mut scheme, is_whole) = self.function(f, first);
            if !is_whole {
                // It called one that is still being checked: until that one is done it has one set of units.
                let result = scheme.units.pop()?;
                return Some((scheme.units, Quantity::One(result)));
            }
            self.schemes.insert(f, scheme);
        }
        let Scheme { units, each, first } = &self.schemes[&f];
        let (units, each, first) = (units.clone(), *each, *first);
        let mut renewed = self.checker.solver.renewed(&units, first)?;
        let results = renewed.split_off(self.ast.funs[f.0 as usize].params.len());
        let result = if each { Quantity::Each(results) } else { Quantity::One(results.into_iter().next()?) };
        Some((renewed, result))
    }

    /// Checks a function; says too whether it calls none that is still being checked.
    fn function(&mut self, f: FunId, first: u32) -> (Scheme, bool) {
        let fun = &self.ast.funs[f.0 as usize];
        let params: Vec<Unit> = fun.params.iter().map(|_| self.fresh()).collect();
        for (&p, unit) in fun.params.iter().zip(&params) {
            self.vars[p.0 as usize] = Some(Quantity::One(unit.clone()));
        }
        let result = self.fresh();
        let place = self.active.len();
        self.active.push(Active { fun: f, params: params.clone(), result: result.clone(), calls: place });
        let outer = std::mem::replace(&mut self.reached, usize::MAX);
        let found = self.expr(fun.body);
        let recursive = self.reached <= place;
        let (each, results) = match found {
            Quantity::Each(units) if !recursive && self.checker.declared_at(&fun.name).is_none() => (true, units),
            found => {
                let span = self.ast.span(fun.body);
                let found = self.one(found, span);
                if !self.equal(&found, &result) {
                    let finding = self.mismatch(span, &found, &result, "what the function gives elsewhere is");
                    self.checker.finding(finding);
                }
                if let Some(at) = self.checker.declared_at(&fun.name) {
                    let unit = self.checker.unit_of(&fun.name);
                    if !self.equal(&result, &unit) {
                        let finding = self.mismatch(span, &found, &unit, &format!("`{}` is", fun.name)).label(at, "declared here");
                        self.checker.finding(finding);
                    }
                }
                (false, vec![result])
            }
        };
        let is_whole = self.reached >= place;
        if is_whole {
            // Those above it were kept for its sake.
            self.active.truncate(place);
        } else {
            self.active[place].calls = self.reached;
        }
        self.reached = outer.min(if is_whole { usize::MAX } else { self.reached });
        (Scheme { units: params.into_iter().chain(results).collect(), each, first }, is_whole)
    }

    /// The derivative of an expression by what a name stands for.
    /// What is looked for has the unit of where it is looked for; a number there is one of that unit.
    fn root(&mut self, f: FunId, starts: &[ExprId], span: Span) -> Quantity {
        let said: Vec<ExprId> = starts.iter().copied().filter(|&s| !matches!(self.ast.expr(s), Expr::Number(_))).collect();
        let unit = if said.is_empty() { Quantity::One(self.fresh()) } else { self.agree(&said, span, "the other end is") };
        let fun = &self.ast.funs[f.0 as usize];
        self.vars[fun.params[0].0 as usize] = Some(unit.clone());
        self.expr(fun.body);
        unit
    }

    fn derivative(&mut self, f: FunId) -> Quantity {
        let fun = &self.ast.funs[f.0 as usize];
        let span = self.ast.span(fun.body);
        let by = self.variable(fun.params[0]);
        let by = self.one(by, fun.span);
        let found = self.expr(fun.body);
        let found = self.one(found, span);
        let (found, by) = (self.resolved(&found).difference(), self.resolved(&by).difference());
        Quantity::One(found.with(&by, Ratio::whole(-1)).unwrap_or_default())
    }
}

fn constants() -> impl Iterator<Item = &'static crate::syntax::constants::Constant> {
    SETS.iter().flat_map(|s| s.1)
}

/// Fewest digits that tell a physical constant from another number.
const FEWEST_DIGITS: usize = 4;

/// Whether a number is a constant, rounded to some of its digits or cut off behind them.
fn is_rounding(x: f64, constant: f64) -> bool {
    if (x - constant).abs() > 1e-3 * constant.abs() {
        return false;
    }
    let digits = format!("{x:e}").split('e').next().map_or(0, |m| m.bytes().filter(u8::is_ascii_digit).count());
    let rounded = format!("{:.*e}", digits.max(1) - 1, constant).parse() == Ok(x);
    let whole = format!("{constant:.20e}");
    let (mantissa, power) = whole.split_once('e').unwrap_or((&whole, "0"));
    let cut = mantissa.get(..digits + 1 + usize::from(constant < 0.0)).map(|m| format!("{m}e{power}"));
    digits >= FEWEST_DIGITS && (rounded || cut.is_some_and(|c| c.parse() == Ok(x)))
}
