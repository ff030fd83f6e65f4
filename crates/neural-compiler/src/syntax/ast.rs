//! The AST: what is left of the text when every form is one of eight and every name is resolved.
//! Invariants: each variable and each function has one id for the whole program; `let`, `let*`, internal value definitions and
//! immediately applied lambdas are one `Let`, whose bindings are evaluated in order (ids being unique, the order cannot capture);
//! `loop`, named `let` and `letrec` are functions and calls.

use crate::ops::Surface;
use crate::shape::Shape;
use crate::source::Span;
use crate::syntax::distributions::Distribution;

/// Index of an expression.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExprId(pub u32);

/// Index of a variable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct VarId(pub u32);

/// Index of a function. Function 0 is the program itself.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct FunId(pub u32);

/// A range of one of the AST's pools.
pub type Range = (u32, u32);

/// An expression.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Expr {
    /// A literal.
    Number(f64),
    /// A variable.
    Var(VarId),
    /// A primitive operation; arguments in `Ast::args`.
    Op(Surface, Range),
    /// Test, consequent, alternative.
    If(ExprId, ExprId, ExprId),
    /// Bindings in `Ast::bindings`, evaluated in order, then the body.
    Let(Range, ExprId),
    /// A call of a named function; arguments in `Ast::args`.
    Call(FunId, Range),
    /// The derivative of a function by its only parameter; the argument in `Ast::args`.
    Derivative(FunId, Range),
    /// Where a function of one parameter is 0; the start, or the ends of an interval, in `Ast::args`.
    Root(FunId, Range),
}

/// A variable.
#[derive(Clone, Debug)]
pub struct Var {
    /// Its name.
    pub name: String,
    /// The function that binds it.
    pub owner: FunId,
}

/// A function.
#[derive(Clone, Debug)]
pub struct Fun {
    /// Its name.
    pub name: String,
    /// Its parameters.
    pub params: Vec<VarId>,
    /// Its body.
    pub body: ExprId,
    /// Where it is defined.
    pub span: Span,
}

/// The bounds and initial value of a trainable constant.
#[derive(Clone, PartialEq, Debug)]
pub struct ParamInfo {
    /// Initial value, row by row.
    pub initial: Vec<f64>,
    /// Lower bound.
    pub min: Option<f64>,
    /// Upper bound.
    pub max: Option<f64>,
    /// Not to be trained.
    pub fixed: bool,
    /// What is known of it before the data.
    pub prior: Option<Prior>,
    /// The column each value of which has a value of its own.
    pub per: Option<String>,
    /// How these values are distributed over the groups, where they are drawn at random.
    pub effect: Option<Effect>,
}

/// A normal distribution over groups.
#[derive(Clone, PartialEq, Debug)]
pub struct Effect {
    /// Its mean.
    pub mean: f64,
    /// The name of the parameter that is its standard deviation.
    pub deviation: String,
}

/// A distribution of a parameter, with its arguments.
#[derive(Clone, PartialEq, Debug)]
pub struct Prior {
    /// Its row.
    pub distribution: &'static Distribution,
    /// Its arguments.
    pub arguments: Vec<f64>,
}

impl Prior {
    /// The ends of a uniform prior, which are bounds; others have none of their own.
    pub fn ends(&self) -> Option<(f64, f64)> {
        match self.arguments[..] {
            [low, high] if self.distribution.name == "uniform" => Some((low, high)),
            _ => None,
        }
    }
}

/// Where a state starts.
#[derive(Clone, PartialEq, Debug)]
pub enum StateStart {
    /// At these numbers.
    Value(Vec<f64>),
    /// At a parameter or a column of the data with this name.
    Name(String),
    /// At the value of an expression, which `Program::starts` computes.
    Expression,
    /// Where its derivative is 0, found from these numbers.
    Steady(Vec<f64>),
}

/// Which of the values that a text defines a program computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// Its own: that of its last expression, or the derivatives or next values of all states.
    Whole,
    /// The starts that are expressions, one after another.
    Starts,
    /// One of these, counted from 0.
    Start(usize),
    /// The observables, then the arguments of their distributions, what rows add to the log-likelihood and, of a formula that has one, its
    /// own expression: one after another.
    Observables,
    /// One of these, counted from 0.
    Predictor(usize),
    /// The times of all events that have such, one after another; of a schedule its period, its first time and its last.
    EventTimes,
    /// One of those of an event.
    EventTime(usize, usize),
    /// For each event with a condition what is negative where the condition holds, then for each whether it does.
    Levels,
    /// All states behind an event.
    Jump(usize),
    /// The state behind one of its actions.
    Action(usize, usize),
}

/// What `(observe …)` declares.
#[derive(Clone, Debug)]
pub struct Observation {
    /// The column.
    pub name: String,
    /// How its errors are distributed, where that is said.
    pub noise: Option<&'static Distribution>,
    /// Where it is declared.
    pub span: Span,
}

/// An event of a model, as `(event …)` declares it.
#[derive(Clone, PartialEq, Debug)]
pub struct EventInfo {
    /// When it happens, if that is at times.
    pub times: Vec<Moment>,
    /// Else which of the conditions of all events it waits for.
    pub level: Option<usize>,
    /// The states it changes, and where it says so.
    pub actions: Vec<(String, Span)>,
    /// Where it is declared.
    pub span: Span,
}

/// Times of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moment {
    /// Each number is a time.
    Once,
    /// The numbers are a period, a first time and a last.
    Every,
}

/// The time of a model with states, as `(time …)` declares it. It is an input only where the model's clauses use its name.
#[derive(Clone, PartialEq, Debug)]
pub struct TimeInfo {
    /// Its name: that of the column of times, and of the time in the clauses.
    pub name: String,
    /// When the starts of all states hold.
    pub start: Option<f64>,
    /// The time one step of a map takes.
    pub step: Option<f64>,
    /// Where it is declared.
    pub span: Span,
}

/// What an input of a model with states is between the rows of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Interpolate {
    /// A straight line from row to row.
    #[default]
    Linear,
    /// What it is at the row before.
    Step,
    /// A natural cubic spline through all rows.
    Cubic,
}

impl Interpolate {
    /// All of them.
    pub const ALL: [Interpolate; 3] = [Interpolate::Linear, Interpolate::Step, Interpolate::Cubic];

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Interpolate::Linear => "linear",
            Interpolate::Step => "step",
            Interpolate::Cubic => "cubic",
        }
    }
}

/// What an input of a program stands for.
#[derive(Clone, PartialEq, Debug)]
pub enum InputKind {
    /// Not declared: a free name.
    Free,
    /// `(input …)` or named by the caller.
    Declared,
    /// `(param …)`.
    Param(ParamInfo),
    /// `(state …)`.
    State(StateStart),
    /// A weight of `(net …)`: the net's name, the layer from 0, and whether it is the bias.
    Weight {
        /// Name of the net.
        net: String,
        /// Layer, from 0.
        layer: usize,
        /// Bias rather than matrix.
        bias: bool,
    },
}

/// An input of a program.
#[derive(Clone, PartialEq, Debug)]
pub struct Input {
    /// Its name.
    pub name: String,
    /// What it stands for.
    pub kind: InputKind,
    /// Its shape where declared.
    pub shape: Option<Shape>,
    /// Where it is declared or first used.
    pub span: Span,
}

/// The unit of a name, as `:unit` or `(unit …)` declares it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeclaredUnit {
    /// The name.
    pub name: String,
    /// The unit, as it is written.
    pub unit: String,
    /// Where it is written.
    pub span: Span,
}

/// What the results of a model mean.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ModelKind {
    /// The value of the last expression.
    Expression,
    /// The time derivatives of the states, one after another.
    Derivatives,
    /// The next values of the states, one after another.
    Map,
}

/// A resolved program.
#[derive(Clone, Debug)]
pub struct Ast {
    pub(crate) exprs: Vec<(Expr, Span)>,
    pub(crate) args: Vec<ExprId>,
    pub(crate) bindings: Vec<(VarId, ExprId)>,
    /// Variables.
    pub vars: Vec<Var>,
    /// Functions; the first is the program, its parameters are the inputs.
    pub funs: Vec<Fun>,
    /// Functions made for derivatives. The parameter of such a one is a variable of the function around it, and within it stands for
    /// itself.
    pub(crate) derivatives: Vec<FunId>,
    /// Inputs, in the order of the program's parameters.
    pub inputs: Vec<Input>,
    /// What the results mean.
    pub kind: ModelKind,
    /// The time, where it is declared.
    pub time: Option<TimeInfo>,
    /// What `(observe …)` declares.
    pub observables: Vec<Observation>,
    /// Whether rows add something to the log-likelihood by themselves.
    pub loglik: bool,
    /// Whether it has a value besides its observables: an expression, or states.
    pub own_value: bool,
    /// What inputs are between rows, where that is declared.
    pub interpolate: Vec<(String, Interpolate)>,
    /// What `(event …)` declares, in order.
    pub events: Vec<EventInfo>,
    /// The physical constants it uses, by name.
    pub constants: Vec<(String, f64)>,
    /// The units it declares.
    pub units: Vec<DeclaredUnit>,
}

impl Ast {
    /// An expression.
    pub fn expr(&self, id: ExprId) -> Expr {
        self.exprs[id.0 as usize].0
    }

    /// Where an expression stands.
    pub fn span(&self, id: ExprId) -> Span {
        self.exprs[id.0 as usize].1
    }

    /// Arguments of an operation or a call.
    pub fn args(&self, range: Range) -> &[ExprId] {
        &self.args[range.0 as usize..range.1 as usize]
    }

    /// Bindings of a `Let`.
    pub fn bindings(&self, range: Range) -> &[(VarId, ExprId)] {
        &self.bindings[range.0 as usize..range.1 as usize]
    }

    /// Shows every expression of a tree, functions that are called left out.
    pub(crate) fn walk(&self, root: ExprId, mut look: impl FnMut(Expr)) {
        let mut stack = vec![root];
        while let Some(e) = stack.pop() {
            let e = self.expr(e);
            look(e);
            match e {
                Expr::Number(_) | Expr::Var(_) => {}
                Expr::Op(_, args) | Expr::Call(_, args) | Expr::Derivative(_, args) | Expr::Root(_, args) => stack.extend(self.args(args)),
                Expr::If(a, b, c) => stack.extend([a, b, c]),
                Expr::Let(bindings, body) => {
                    stack.extend(self.bindings(bindings).iter().map(|&(_, e)| e));
                    stack.push(body);
                }
            }
        }
    }

    /// The AST as text: one `define` per function, every variable by its unique name.
    pub fn to_text(&self) -> String {
        let names: Vec<String> = unique_names(self.vars.iter().map(|v| v.name.as_str()));
        let funs: Vec<String> = unique_names(self.funs.iter().map(|f| f.name.as_str()));
        let mut out = String::new();
        for (i, f) in self.funs.iter().enumerate().skip(1).chain(self.funs.iter().enumerate().take(1)) {
            let params: Vec<&str> = f.params.iter().map(|p| names[p.0 as usize].as_str()).collect();
            let head = if i == 0 { "program" } else { "define" };
            out.push_str(&format!("({head} ({})\n  ", [&[funs[i].as_str()], &params[..]].concat().join(" ")));
            self.write_expr(f.body, 1, &names, &funs, &mut out);
            out.push_str(")\n");
        }
        out
    }

    fn write_expr(&self, id: ExprId, depth: usize, names: &[String], funs: &[String], out: &mut String) {
        crate::deep(|| {
            let application = |head: &str, args: Range, out: &mut String| {
                out.push('(');
                out.push_str(head);
                for &a in self.args(args) {
                    out.push(' ');
                    self.write_expr(a, depth, names, funs, out);
                }
                out.push(')');
            };
            // Deeper indentation than this only wastes memory.
            let newline = |d: usize, out: &mut String| {
                out.push('\n');
                out.extend(std::iter::repeat_n("  ", d.min(40)));
            };
            match self.expr(id) {
                Expr::Number(x) => out.push_str(&crate::number_text(x)),
                Expr::Var(v) => out.push_str(&names[v.0 as usize]),
                Expr::Op(s, args) => application(s.name(), args, out),
                Expr::Call(f, args) => application(&funs[f.0 as usize], args, out),
                Expr::Derivative(f, args) => application(&format!("d {}", funs[f.0 as usize]), args, out),
                Expr::Root(f, args) => application(&format!("root {}", funs[f.0 as usize]), args, out),
                Expr::If(c, t, e) => {
                    out.push_str("(if ");
                    self.write_expr(c, depth + 1, names, funs, out);
                    for branch in [t, e] {
                        newline(depth + 1, out);
                        self.write_expr(branch, depth + 1, names, funs, out);
                    }
                    out.push(')');
                }
                Expr::Let(bindings, body) => {
                    out.push_str("(let* (");
                    for (i, &(v, value)) in self.bindings(bindings).iter().enumerate() {
                        if i > 0 {
                            newline(depth + 3, out);
                        }
                        out.push_str(&format!("({} ", names[v.0 as usize]));
                        self.write_expr(value, depth + 3, names, funs, out);
                        out.push(')');
                    }
                    out.push(')');
                    newline(depth + 1, out);
                    self.write_expr(body, depth + 1, names, funs, out);
                    out.push(')');
                }
            }
        })
    }
}

/// Makes names unique by adding `.2`, `.3`, … to repetitions.
pub(crate) fn unique_names<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut seen = rustc_hash::FxHashMap::<String, u32>::default();
    let mut taken = rustc_hash::FxHashSet::<String>::default();
    names
        .map(|n| {
            let n = if n.is_empty() { "_" } else { n };
            loop {
                let count = seen.entry(n.to_string()).or_insert(0);
                *count += 1;
                let unique = if *count == 1 { n.to_string() } else { format!("{n}.{count}") };
                if taken.insert(unique.clone()) {
                    return unique;
                }
            }
        })
        .collect()
}
