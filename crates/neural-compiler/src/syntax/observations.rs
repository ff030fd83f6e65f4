//! What is said of data: `observe` and `loglik`, distributions of errors, of parameters and of effects. In: data of declarations; out: the
//! expressions that predict the observations of a row, in one order: observables, the arguments of their distributions, what a row adds to
//! the log-likelihood. Invariant: that order is that of `Program::observables`.

use crate::diagnostic::{Diagnostic, did_you_mean};
use crate::ops;
use crate::shape::Shape;
use crate::source::Span;
use crate::syntax::ast::{Effect, Expr, ExprId, InputKind, Observation, Part, Prior};
use crate::syntax::declare::Model;
use crate::syntax::distributions::{self, Distribution};
use crate::syntax::expand::{Expander, Meaning, NOWHERE};
use crate::syntax::forms::Written;
use crate::syntax::reader::{DatumId, Symbol};

/// What a column observes, as it was declared.
pub(crate) struct Observable {
    pub(super) name: Symbol,
    pub(super) value: DatumId,
    noise: Option<(&'static Distribution, Vec<DatumId>)>,
    span: Span,
}

impl Expander<'_> {
    /// `(observe name expression :noise (distribution argument …))`: the column of that name observes the expression.
    pub(crate) fn observe(&mut self, written: Written<'_>, model: &mut Model) {
        let Written { form, args, span } = written;
        let [name, value, options @ ..] = args else {
            return self.bad(span, form);
        };
        let options = self.options(options, form);
        self.take_unit(*name, options.unit);
        let (Some(name), value) = (self.data.symbol(*name), *value) else {
            return self.bad(span, form);
        };
        let noise = options.noise.and_then(|d| self.noise(d));
        model.observables.push(Observable { name, value, noise, span });
    }

    /// A distribution with its arguments, or its name alone where it has none.
    fn noise(&mut self, d: DatumId) -> Option<(&'static Distribution, Vec<DatumId>)> {
        self.distribution(d, distributions::NOISES, "this is no distribution of errors")
    }

    /// A distribution of one of the tables with its arguments.
    fn distribution(&mut self, d: DatumId, table: &'static [Distribution], none: &str) -> Option<(&'static Distribution, Vec<DatumId>)> {
        let span = self.data.span(d);
        let (head, args) = match self.data.list(d) {
            Some([head, args @ ..]) => (*head, args.to_vec()),
            _ => (d, vec![]),
        };
        let name = self.data.symbol(head).map_or("", |s| self.name(s));
        let Some(found) = table.iter().find(|d| d.name == name) else {
            let known: Vec<&str> = table.iter().map(|d| d.name).collect();
            let help = did_you_mean(name, known.iter().copied()).unwrap_or_else(|| format!("known here: {}", known.join(" ")));
            self.error(Diagnostic::error("bad-declaration", span, none).help(help));
            return None;
        };
        if args.len() != found.arguments.len() {
            let message = format!("`{name}` takes {} here, got {}", ops::count(found.arguments.len(), "argument"), args.len());
            self.error(Diagnostic::error("wrong-arity", span, message).help(format!("it is written {}: {}", found.usage(), found.doc)));
            return None;
        }
        Some((found, args))
    }

    /// A distribution of a parameter, whose arguments are numbers.
    pub(super) fn prior(&mut self, d: DatumId) -> Option<Prior> {
        let (distribution, args) = self.distribution(d, distributions::PRIORS, "this is no distribution of a parameter")?;
        let mut arguments = Vec::new();
        for arg in args {
            let Some((Shape::Scalar, x)) = self.numbers(arg) else {
                let error = Diagnostic::error("bad-declaration", self.data.span(arg), "an argument of a prior is a number");
                self.error(error);
                return None;
            };
            arguments.push(x[0]);
        }
        // The middle of the line stands for any value: what is looked at are the arguments.
        let of: Vec<f64> = std::iter::once(f64::NAN).chain(arguments.iter().copied()).collect();
        if arguments.iter().any(|x| !x.is_finite()) || !(distribution.possible)(0.0, &of) {
            let message = format!("there is no such prior: {}", distribution.rule);
            self.error(
                Diagnostic::error("bad-declaration", self.data.span(d), message).help(format!("it is written {}", distribution.usage())),
            );
            return None;
        }
        Some(Prior { distribution, arguments })
    }

    /// `(normal mean s)`: how a constant varies between groups; s is the name of a parameter.
    pub(super) fn effect(&mut self, d: DatumId) -> Option<Effect> {
        let (distribution, args) = self.distribution(d, distributions::PRIORS, "this is no distribution of effects")?;
        match args[..] {
            [mean, s] if distribution.name == "normal" => {
                if let (Some((Shape::Scalar, mean)), Some(s)) = (self.numbers(mean), self.data.symbol(s)) {
                    return Some(Effect { mean: mean[0], deviation: self.name(s).to_string() });
                }
            }
            _ => {}
        }
        let message = "effects are normal around a number, with a parameter as their standard deviation";
        self.error(Diagnostic::error("bad-declaration", self.data.span(d), message).help("as in (normal 0 omega)"));
        None
    }

    /// `(loglik expression)`: what a row adds to the log-likelihood.
    pub(crate) fn loglik(&mut self, written: Written<'_>, model: &mut Model) {
        let Written { form, args, span } = written;
        let &[value] = args else {
            return self.bad(span, form);
        };
        model.logliks.push((value, span));
    }

    /// The names of observables, which nothing else has: a column of such a name would be two things. But a state may be observed under its
    /// own name, to say how its errors are distributed.
    pub(super) fn name_observables(&mut self, observables: &[Observable]) {
        for o in observables {
            let name = self.name(o.name).to_string();
            let first = self.ast.observables.iter().find(|n| n.name == name).map(|n| n.span);
            let itself = self.data.symbol(o.value) == Some(o.name);
            let state = itself && self.input_named(&name).is_some_and(|i| matches!(i.kind, InputKind::State(_)));
            if let Some(first) = first {
                let message = format!("`{name}` is observed twice");
                self.error(Diagnostic::error("duplicate-name", o.span, message).label(first, "declared here first"));
            } else if self.is_bound(o.name) && !state {
                let message = format!("`{name}` is an observable and something else");
                let help = "the column of a state observes that state; give the observable a name of its own";
                self.error(Diagnostic::error("duplicate-name", o.span, message).help(help));
            }
            let noise = o.noise.as_ref().map(|n| n.0);
            self.ast.observables.push(Observation { name, noise, span: o.span });
        }
    }

    /// Everything that predicts the observations of a row: the observables, then the arguments of their distributions, in which the name of
    /// an observable is its value, then what rows add to the log-likelihood.
    pub(super) fn predictors(&mut self, model: &Model) -> Vec<ExprId> {
        let mut values = Vec::new();
        let mut arguments = Vec::new();
        for o in &model.observables {
            values.push(self.expr(o.value, NOWHERE));
            let Some((_, args)) = &o.noise else { continue };
            for &arg in args {
                arguments.push(self.argument(o, arg));
            }
        }
        values.extend(arguments);
        values.extend(self.loglik_sum(model));
        values
    }

    /// An argument of the distribution of an observable, whose name stands for its value there.
    fn argument(&mut self, of: &Observable, arg: DatumId) -> ExprId {
        let value = self.expr(of.value, NOWHERE);
        let var = self.new_var(self.name(of.name));
        let before = self.rebind(of.name, Some(Meaning::Var(var)));
        let body = self.expr(arg, NOWHERE);
        self.rebind(of.name, before);
        let span = self.data.span(arg);
        self.wrap_let(vec![(var, value)], body, span)
    }

    /// The sum of all `loglik` clauses.
    fn loglik_sum(&mut self, model: &Model) -> Option<ExprId> {
        let plus = ops::surface("+").expect("+ is an operation");
        let mut sum: Option<ExprId> = None;
        for &(value, span) in &model.logliks {
            let next = self.expr(value, NOWHERE);
            sum = Some(match sum {
                None => next,
                Some(before) => {
                    let from = self.ast.args.len() as u32;
                    self.ast.args.extend([before, next]);
                    self.push(Expr::Op(plus, (from, from + 2)), span)
                }
            });
        }
        sum
    }

    /// A formula with observables: its own expression, where there is one, is what the column to explain observes.
    pub(crate) fn formula_body(&mut self, rest: &[DatumId], model: Model, end: Span) -> ExprId {
        if model.time.is_some() {
            self.no_time(&model);
        }
        let (definitions, expressions) = self.split_body(rest);
        let (undo, bindings) = self.define_all(definitions);
        self.name_observables(&model.observables);
        self.ast.loglik = !model.logliks.is_empty();
        self.ast.own_value = !expressions.is_empty();
        if let [first, second, ..] = expressions[..] {
            let (first, second) = (self.data.span(first), self.data.span(second));
            let error = Diagnostic::error("extra-expression", second, "the program has more than one expression");
            self.error(
                error.label(first, "this value would be thrown away").help("(observe name expression) says what another column observes"),
            );
        }
        let own = expressions.first().copied();
        let (parts, alone) = match (self.part, own) {
            (Part::Whole, Some(own)) => (vec![self.expr(own, NOWHERE)], true),
            (Part::Whole, None) => {
                let mut values: Vec<ExprId> = model.observables.iter().map(|o| self.expr(o.value, NOWHERE)).collect();
                if values.is_empty() {
                    values.extend(self.loglik_sum(&model));
                }
                let alone = values.len() == 1;
                (values, alone)
            }
            (Part::Predictor(k), _) => (vec![self.predictors(&model)[k]], true),
            _ => {
                let mut values = self.predictors(&model);
                values.extend(own.map(|own| self.expr(own, NOWHERE)));
                (values, false)
            }
        };
        if alone {
            self.restore(undo);
            return self.wrap_let(bindings, parts[0], end);
        }
        self.joined(parts, undo, bindings, end)
    }
}
