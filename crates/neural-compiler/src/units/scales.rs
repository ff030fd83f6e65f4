//! Columns that are differences: standard deviations and the scales of noise. In: a program, the headers of a table; out: on which scale
//! such a column counts, and what turns its numbers into those of the program.
//! Invariant: a difference has no origin: 0.5 degC of scatter is 0.5 K, never 273.65; where nothing says whether a column is a quantity or
//! a difference of it, that is an error.

use super::convert::Conversion;
use super::header::{Header, split};
use super::parse::Scale;
use super::table::Kind;
use crate::compile::Program;
use crate::diagnostic::Diagnostic;
use crate::syntax::ast::{Ast, Expr, ExprId, FunId, InputKind, VarId};
use rustc_hash::{FxHashMap, FxHashSet};

/// The scale of differences of a quantity.
fn difference(scale: &Scale) -> Scale {
    Scale { unit: scale.unit.difference(), kind: Kind::Linear }
}

fn mismatch(message: String) -> Diagnostic {
    Diagnostic::error("unit-mismatch", Default::default(), message)
}

/// What turns the numbers of a column, which the program counts on the scale `wanted`, into its own; nothing where they measure different
/// things. `header`: as it stands in the table; `deviation`: it holds standard deviations.
pub(super) fn conversion(
    program: &Program,
    header: &str,
    unit: &Header<'_>,
    wanted: &Scale,
    deviation: bool,
) -> Result<Option<Conversion>, Diagnostic> {
    let units = program.units();
    let in_noise = units.in_scales.iter().find(|s| s.0 == unit.name).map(|s| s.1);
    if deviation || in_noise == Some(true) {
        return Ok(Conversion::new(&difference(&unit.scale), &difference(wanted)));
    }
    let column = |i: &crate::syntax::ast::Input| i.name == unit.name && matches!(i.kind, InputKind::Free | InputKind::Declared);
    let inferred = program.inputs().iter().any(column) && !units.names[..units.declared].iter().any(|n| n.0 == unit.name);
    if matches!(unit.scale.kind, Kind::Shifted(_)) && wanted.kind == Kind::Linear && (inferred || in_noise.is_some()) {
        let (name, text) = (unit.name, unit.text);
        let message = format!("the column `{header}` may hold values or differences of them, and `{text}` has an origin");
        let help = match in_noise {
            Some(_) => format!("`{name}` is a part of a scale of noise: give it in K, or in delta_{text}"),
            None => format!("declare what `{name}` is, as in (input {name} :unit K), or give differences in delta_{text}"),
        };
        return Err(mismatch(message).help(help));
    }
    Ok(Conversion::new(&unit.scale, wanted))
}

/// What the standard deviations of a table are standard deviations of, in words, with the unit, and the scale on which they count: that of
/// the states and observables in the table. Nothing where no unit is known of them; an error where they have several.
pub(super) fn of_deviations(program: &Program, headers: &[&str], header: &str) -> Result<Option<(String, Scale)>, Diagnostic> {
    let units = program.units();
    let states = program.inputs().iter().filter(|i| matches!(i.kind, InputKind::State(_))).map(|i| i.name.as_str());
    let observed = program.observables().map_or(&[][..], |o| o.0).iter().map(|o| o.0.as_str());
    let base = |h: &str| {
        let name = split(h).map_or(h, |s| s.name).trim();
        name.split_once('[').map_or(name, |n| n.0).to_string()
    };
    let there: FxHashSet<String> = headers.iter().map(|h| base(h)).collect();
    let mut found: Option<(String, Scale)> = None;
    for name in states.chain(observed).filter(|n| there.contains(*n)) {
        let Some(scale) = units.scale(name) else { continue };
        let text = units.names.iter().find(|n| n.0 == name).map_or("", |n| n.1.as_str());
        let words = format!("`{name}` in `{text}`");
        match &found {
            Some((other, known)) if difference(known) != difference(&scale) => {
                let message = format!("the column `{header}` has one unit, and the program has {other} and {words}");
                let help =
                    "standard deviations without a unit count in the unit of each; as (observe … :noise (normal s)) each has its own";
                return Err(mismatch(message).help(help));
            }
            Some(_) => {}
            None => found = Some((words, scale)),
        }
    }
    Ok(found)
}

/// The inputs that a scale of noise is made of, and whether one is that scale itself. `bound`: what the names around it stand for.
pub(super) fn inputs(ast: &Ast, scale: ExprId, bound: &FxHashMap<VarId, ExprId>) -> Vec<(String, bool)> {
    let mut walk = Inputs { ast, bound: bound.clone(), seen: FxHashSet::default(), called: FxHashSet::default(), found: Vec::new() };
    walk.expr(scale, true);
    walk.found
}

struct Inputs<'a> {
    ast: &'a Ast,
    bound: FxHashMap<VarId, ExprId>,
    seen: FxHashSet<(VarId, bool)>,
    called: FxHashSet<FunId>,
    found: Vec<(String, bool)>,
}

impl Inputs<'_> {
    fn expr(&mut self, e: ExprId, alone: bool) {
        crate::deep(|| self.expr_here(e, alone))
    }

    fn expr_here(&mut self, e: ExprId, alone: bool) {
        let ast = self.ast;
        match ast.expr(e) {
            Expr::Number(_) => {}
            Expr::Var(v) if !self.seen.insert((v, alone)) => {}
            Expr::Var(v) => match (ast.funs[0].params.iter().position(|p| *p == v), self.bound.get(&v)) {
                (Some(k), _) => self.found.push((ast.inputs[k].name.clone(), alone)),
                (None, Some(&value)) => self.expr(value, alone),
                (None, None) => {}
            },
            Expr::Op(_, args) => ast.args(args).iter().for_each(|&a| self.expr(a, false)),
            Expr::If(test, yes, no) => {
                self.expr(test, false);
                [yes, no].into_iter().for_each(|side| self.expr(side, alone));
            }
            Expr::Let(bindings, body) => {
                self.bound.extend(ast.bindings(bindings).iter().copied());
                self.expr(body, alone);
            }
            Expr::Call(f, args) | Expr::Derivative(f, args) | Expr::Root(f, args) => {
                ast.args(args).iter().for_each(|&a| self.expr(a, false));
                if self.called.insert(f) {
                    self.expr(ast.funs[f.0 as usize].body, false);
                }
            }
        }
    }
}
