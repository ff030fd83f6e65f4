//! Units through operations. In: an operation and its arguments; out: the unit of the result, by the rule in the operation's row.
//! Invariant: after a finding the result is unknown, so that one mistake is one finding.

use super::check::{Quantity, Walk};
use super::ratio::Ratio;
use super::unit::{Part, Unit};
use crate::diagnostic::Diagnostic;
use crate::ops::Surface;
use crate::ops::units::UnitRule;
use crate::source::Span;
use crate::syntax::ast::{Expr, ExprId};

/// Between the freezing point of water and absolute zero: what people add to degC to get kelvins.
const FREEZING: f64 = 273.15;

impl Walk<'_> {
    pub(super) fn operation(&mut self, surface: Surface, args: &[ExprId], span: Span) -> Quantity {
        let Some(op) = surface.op(args.len()) else { return Quantity::One(self.fresh()) };
        let name = surface.name();
        let unit = match op.row().units {
            UnitRule::Sum | UnitRule::Difference if args.len() > 1 => return self.sum(op.row().units, args, span),
            UnitRule::Sum | UnitRule::Difference | UnitRule::Same => return self.agree(args, span, "another argument is"),
            UnitRule::Relation => {
                self.agree(args, span, "what it is set against is");
                Unit::one()
            }
            UnitRule::Density => match self.agree(args, span, "another argument is") {
                Quantity::One(unit) => return self.power(&unit, Ratio::whole(-1)),
                each @ Quantity::Each(_) => return each,
            },
            UnitRule::Negative => self.plain(args[0], name),
            UnitRule::Product => return self.product(args, name, |_| 1),
            UnitRule::Quotient if args.len() == 1 => return self.product(args, name, |_| -1),
            UnitRule::Quotient => return self.product(args, name, |i| if i == 0 { 1 } else { -1 }),
            UnitRule::Solution => return self.product(args, name, |i| if i == 0 { -1 } else { 1 }),
            UnitRule::Power => return self.raised(args, name),
            UnitRule::Fixed(top, bottom) => {
                let unit = self.plain(args[0], name);
                return self.power(&unit, Ratio::new(i128::from(top), i128::from(bottom)).unwrap_or(Ratio::ONE));
            }
            UnitRule::Pure => {
                args.iter().for_each(|&a| self.pure(a, name));
                Unit::one()
            }
            UnitRule::Any => {
                args.iter().for_each(|&a| drop(self.expr(a)));
                Unit::one()
            }
            UnitRule::Choice => {
                self.expr(args[0]);
                return self.agree(&args[1..], span, "what it is chosen from is");
            }
            UnitRule::Elements => {
                let mut units = Vec::new();
                for &a in args {
                    match self.expr(a) {
                        Quantity::One(unit) => units.push(unit),
                        each => units.push(self.one(each, self.ast.span(a))),
                    }
                }
                return Quantity::Each(units);
            }
            UnitRule::Element => return self.element(args, name),
            UnitRule::First => {
                args[1..].iter().for_each(|&a| self.pure(a, name));
                return self.expr(args[0]);
            }
            UnitRule::Points => {
                self.pure(args[2], name);
                return self.agree(&args[..2], span, "the other end is");
            }
            UnitRule::Between => {
                self.agree(&args[1..], span, "another place is");
                return self.expr(args[0]);
            }
            UnitRule::Differences(power) => {
                let found = self.agree(&args[..3], span, "another argument is");
                let (unit, step) = (self.one(found, span), self.plain(args[3], name));
                let unit = self.resolved(&unit);
                // A difference has no origin.
                let unit = if unit.origin().is_some() { unit.difference() } else { unit };
                unit.with(&step, Ratio::whole(-i64::from(power))).unwrap_or_else(|| self.fresh())
            }
            UnitRule::Zeros => {
                args.iter().for_each(|&a| self.pure(a, name));
                self.fresh()
            }
            UnitRule::Unfollowed | UnitRule::Inner => {
                args.iter().for_each(|&a| drop(self.expr(a)));
                self.fresh()
            }
        };
        Quantity::One(unit)
    }

    fn unit(&mut self, e: ExprId) -> Unit {
        let found = self.expr(e);
        self.one(found, self.ast.span(e))
    }

    /// A unit without an origin.
    fn plain(&mut self, e: ExprId, operation: &str) -> Unit {
        let unit = self.unit(e);
        self.without_origin(unit, e, operation)
    }

    fn without_origin(&mut self, unit: Unit, e: ExprId, operation: &str) -> Unit {
        let unit = self.resolved(&unit);
        if unit.origin().is_none() {
            return unit;
        }
        let message = format!("this is in `{}`, whose numbers do not start at nothing, and `{operation}` needs such", self.spelled(&unit));
        let help = self.missing(&unit, &unit.difference());
        self.checker.finding(Diagnostic::error("unit-mismatch", self.ast.span(e), message).maybe_help(help));
        self.fresh()
    }

    /// An argument that must be a pure number.
    fn pure(&mut self, e: ExprId, operation: &str) {
        let unit = self.unit(e);
        if !self.equal(&unit, &Unit::one()) {
            let finding = self.mismatch(self.ast.span(e), &unit, &Unit::one(), &format!("`{operation}` takes"));
            self.checker.finding(finding);
        }
    }

    fn power(&mut self, unit: &Unit, k: Ratio) -> Quantity {
        Quantity::One(self.resolved(unit).power(k).unwrap_or_else(|| self.fresh()))
    }

    fn product(&mut self, args: &[ExprId], name: &str, exponent: impl Fn(usize) -> i64) -> Quantity {
        let mut product = Unit::one();
        for (i, &a) in args.iter().enumerate() {
            let unit = self.plain(a, name);
            product = product.with(&unit, Ratio::whole(exponent(i))).unwrap_or_else(|| self.fresh());
        }
        Quantity::One(product)
    }

    /// Arguments of one unit: the unit, or a finding about the one that differs.
    pub(super) fn agree(&mut self, args: &[ExprId], span: Span, why: &str) -> Quantity {
        let found = args.iter().map(|&a| self.expr(a)).collect();
        self.agreed(found, args, span, why)
    }

    fn agreed(&mut self, found: Vec<Quantity>, args: &[ExprId], span: Span, why: &str) -> Quantity {
        // Vectors of several units agree element by element.
        if let [Quantity::Each(a), Quantity::Each(b)] = &found[..]
            && a.len() == b.len()
        {
            let (a, b) = (a.clone(), b.clone());
            for (x, y) in a.iter().zip(&b) {
                if !self.equal(x, y) {
                    let finding = self.mismatch(span, y, x, why);
                    self.checker.finding(finding);
                }
            }
            return Quantity::Each(a);
        }
        let units: Vec<Unit> = found.into_iter().zip(args).map(|(q, &a)| self.one(q, self.ast.span(a))).collect();
        Quantity::One(self.all_equal(&units, args, span, why))
    }

    /// Makes units equal, or says which argument differs from which.
    fn all_equal(&mut self, units: &[Unit], args: &[ExprId], span: Span, why: &str) -> Unit {
        let Some(first) = units.first() else { return self.fresh() };
        let mut odd = None;
        for (i, unit) in units.iter().enumerate().skip(1) {
            if !self.equal(unit, first) && odd.is_none() {
                odd = Some(i);
            }
        }
        let Some(odd) = odd else { return first.clone() };
        let (n, unit) = (units.len(), self.resolved(&units[odd]));
        let like_odd = units[1..].iter().filter(|u| self.resolved(u) == unit).count();
        let blamed = if n > 2 && like_odd == n - 1 { 0 } else { odd };
        // One of many that differs is to blame; of few, what joins them may be the mistake.
        let place = if n > 3 && (like_odd == 1 || like_odd == n - 1) { self.ast.span(args[blamed]) } else { span };
        let other = if blamed == 0 { odd } else { 0 };
        let labels = [(blamed, &units[blamed]), (other, &units[other])].map(|(i, u)| {
            let text = self.spelled(u);
            (self.ast.span(args[i]), if text == "1" { "a pure number".to_string() } else { format!("in `{text}`") })
        });
        let mut finding = self.mismatch(place, &units[blamed], &units[other], why);
        if n == 2 {
            let [(_, second), (_, first)] = &labels;
            finding.message = format!("one side is {first}, the other {second}");
        }
        for (at, text) in labels {
            finding = finding.label(at, text);
        }
        self.checker.finding(finding);
        self.fresh()
    }

    /// Sums and differences, where at most one term of a sum has an origin.
    fn sum(&mut self, rule: UnitRule, args: &[ExprId], span: Span) -> Quantity {
        let found: Vec<Quantity> = args.iter().map(|&a| self.expr(a)).collect();
        let each = found.iter().filter(|q| matches!(q, Quantity::Each(_))).count();
        if each == found.len() {
            return self.agreed(found, args, span, "the other vector has there what is");
        }
        let units: Vec<Unit> = found.into_iter().zip(args).map(|(q, &a)| self.one(q, self.ast.span(a))).collect();
        let units: Vec<Unit> = units.iter().map(|u| self.resolved(u)).collect();
        let points: Vec<usize> = (0..units.len()).filter(|&i| units[i].origin().is_some()).collect();
        if let Some(unit) = self.freezing_shift(rule, args, &units) {
            return Quantity::One(unit);
        }
        let why = "another argument is";
        if points.is_empty() {
            return Quantity::One(self.all_equal(&units, args, span, why));
        }
        match (rule, &points[..]) {
            // A difference of two points of a scale is a difference.
            (UnitRule::Difference, _)
                if units.len() == 2 && (points.len() == 2 || points == [0] && is_open(&units[1]) || is_open(&units[0])) =>
            {
                Quantity::One(self.all_equal(&units, args, span, why).difference())
            }
            (UnitRule::Difference, [0]) | (UnitRule::Sum, [_]) => {
                let point = units[points[0]].clone();
                let steps: Vec<Unit> = units.iter().map(Unit::difference).collect();
                self.all_equal(&steps, args, span, why);
                Quantity::One(point)
            }
            _ => {
                let point = self.spelled(&units[points[0]]);
                let message = format!("numbers in `{point}` do not start at nothing, and cannot be added to each other");
                let help = self.missing(&units[points[0]], &units[points[0]].difference());
                let finding = Diagnostic::error("unit-mismatch", span, message).maybe_help(help);
                self.checker.finding(finding);
                Quantity::One(self.fresh())
            }
        }
    }

    /// `T + 273.15` is in kelvins where T is in degC, and `T - 273.15` in degC where T is in kelvins.
    fn freezing_shift(&mut self, rule: UnitRule, args: &[ExprId], units: &[Unit]) -> Option<Unit> {
        let freezing = |e: ExprId| self.ast.expr(e) == Expr::Number(FREEZING);
        let celsius = super::parse("degC").ok()?.unit;
        match (rule, args, units) {
            (UnitRule::Sum, [_, b], [unit, _]) if freezing(*b) && *unit == celsius => Some(celsius.difference()),
            (UnitRule::Sum, [a, _], [_, unit]) if freezing(*a) && *unit == celsius => Some(celsius.difference()),
            (UnitRule::Difference, [_, b], [unit, _]) if freezing(*b) && *unit == celsius.difference() => Some(celsius),
            _ => None,
        }
    }

    fn raised(&mut self, args: &[ExprId], name: &str) -> Quantity {
        let base = self.plain(args[0], name);
        match self.constant(args[1]) {
            Some(k) => self.power(&base, k),
            None => {
                self.pure(args[1], name);
                if !self.equal(&base, &Unit::one()) {
                    let why = "a power that is no constant is taken of";
                    let finding = self.mismatch(self.ast.span(args[0]), &base, &Unit::one(), why);
                    self.checker.finding(finding);
                }
                Quantity::One(Unit::one())
            }
        }
    }

    /// An exponent that is made of numbers alone.
    fn constant(&self, e: ExprId) -> Option<Ratio> {
        match self.ast.expr(e) {
            Expr::Number(x) => Ratio::of(x),
            Expr::Op(surface, args) => {
                let args: Vec<Ratio> = self.ast.args(args).iter().map(|&a| self.constant(a)).collect::<Option<_>>()?;
                match (surface.name(), &args[..]) {
                    ("-", &[x]) => Some(x.negated()),
                    ("-", &[x, y]) => x.plus(y.negated()),
                    ("+", &[x, y]) => x.plus(y),
                    ("*", &[x, y]) => x.times(y),
                    ("/", &[x, y]) => x.over(y),
                    _ => None,
                }
            }
            Expr::Var(_) | Expr::If(..) | Expr::Let(..) | Expr::Call(..) | Expr::Derivative(..) => None,
        }
    }

    fn element(&mut self, args: &[ExprId], name: &str) -> Quantity {
        args[1..].iter().for_each(|&a| self.pure(a, name));
        let found = self.expr(args[0]);
        let index = |e: ExprId| self.constant(e).filter(|k| k.is_whole()).and_then(|k| usize::try_from(k.top()).ok());
        match (&found, args) {
            (Quantity::Each(units), &[_, i]) if index(i).is_some_and(|i| i < units.len()) => {
                Quantity::One(units[index(i).unwrap_or(0)].clone())
            }
            (Quantity::Each(units), &[_, from, to]) if name == "slice" => match (index(from), index(to)) {
                (Some(from), Some(to)) if from <= to && to <= units.len() => Quantity::Each(units[from..to].to_vec()),
                _ => Quantity::One(self.one(found, self.ast.span(args[0]))),
            },
            _ => Quantity::One(self.one(found, self.ast.span(args[0]))),
        }
    }
}

/// Whether a unit is nothing but unknown.
fn is_open(unit: &Unit) -> bool {
    matches!(unit.parts(), [(Part::Unknown(_), _)])
}
