//! Statements in plain Python, for machines without NumPy. In: functions; out: the text of functions on floats and lists.
//! Invariant: a whole value is a list of its numbers, row by row, and is never changed.

use super::statements::Spelling;
use crate::export::sides;
use crate::export::spell::bare;
use crate::export::structured::{Arguments, Named};
use crate::ops::Op;
use crate::ops::row::Kernel;
use crate::shape::Shape;

/// What the text needs besides the program.
pub(super) const HELPERS: &str = include_str!("plain.py");

/// An elementwise operation on floats.
fn elementwise(op: Op, args: &[String]) -> Option<String> {
    let all: Vec<&str> = args.iter().map(|a| bare(a)).collect();
    let all = all.join(", ");
    let call = |name: &str| Some(format!("{name}({all})"));
    let infix = |sign: &str| Some(format!("({} {sign} {})", args[0], args[1]));
    let test = |sign: &str| Some(format!("(1.0 if {} {sign} {} else 0.0)", args[0], args[1]));
    match &op.row().kernel {
        Kernel::Unary(f) => match f.name {
            "neg" => Some(format!("(-{})", args[0])),
            "square" => Some(format!("({0} * {0})", args[0])),
            "round" => call("nearest"),
            "relu" => Some(format!("(0.0 if {0} <= 0 else {0})", args[0])),
            "bell" => Some(format!("gauss({all}, -1.0)")),
            "half-bell" => Some(format!("gauss({all}, -0.5)")),
            "half-growth" => Some(format!("gauss({all}, 0.5)")),
            name @ ("sin" | "cos" | "tan" | "asin" | "acos" | "atan" | "sinh" | "cosh" | "tanh" | "exp" | "exp2" | "expm1" | "log"
            | "log2" | "log10" | "log1p" | "sqrt" | "cbrt" | "floor" | "ceiling" | "truncate" | "sign" | "abs" | "sigmoid"
            | "softplus" | "erf" | "erfc" | "gamma" | "lgamma") => call(name),
            _ => None,
        },
        Kernel::Binary(f) => match f.name {
            "add" => infix("+"),
            "sub" => infix("-"),
            "mul" => infix("*"),
            "div" => call("divide"),
            "pow" => call("power"),
            "min" => call("smaller"),
            "max" => call("larger"),
            "atan2" => call("atan2"),
            "remainder" => call("fmod"),
            "modulo" => call("modulo"),
            "quotient" => Some(format!("truncate(divide({all}))")),
            "log_base" => Some(format!("divide(log({}), log({}))", bare(&args[0]), bare(&args[1]))),
            "inverse-part" => Some(format!("divide({0}, {0} * {0} + {1} * {1})", args[0], args[1])),
            "eq" => test("=="),
            "lt" => test("<"),
            "gt" => test(">"),
            "le" => test("<="),
            "ge" => test(">="),
            _ => None,
        },
        Kernel::Select => Some(format!("({} if {} != 0 else {})", args[1], args[0], args[2])),
        Kernel::Ternary(_) | Kernel::Tensor(_) | Kernel::Composite(_) => None,
    }
}

/// An operation on whole values.
fn tensor(op: Op, start: usize, to: &Named, x: &[Named]) -> Option<String> {
    let given = Arguments(x);
    let (text, list) = (|k: usize| given.text(k), |k: usize| given.list(k));
    let ((rows, columns), (_, others)) = (given.sides(0), given.sides(1));
    Some(match op {
        Op::Dot => format!("dot({}, {})", text(0), text(1)),
        Op::Cross => format!("cross({}, {})", text(0), text(1)),
        Op::Norm => format!("norm({})", text(0)),
        Op::Total => format!("sum({}, 0.0)", list(0)),
        Op::Trace => format!("sum({}[::{}], 0.0)", text(0), columns + 1),
        Op::Transpose => format!("transpose({}, {columns})", text(0)),
        Op::Det => format!("det({}, {rows})", text(0)),
        Op::Inv => format!("solve({}, eye({rows}, {rows}), {rows}, {rows})", text(0)),
        Op::Solve => format!("solve({}, {}, {rows}, {others})", text(0), text(1)),
        Op::Outer => format!("[a * b for a in {} for b in {}]", text(0), text(1)),
        Op::Cofactor => format!("cofactor({}, {rows})", text(0)),
        Op::Product => format!("product({}, {}, {columns}, {others})", text(0), text(1)),
        Op::Identity => format!("eye({}, {})", sides(to.shape()).0, sides(to.shape()).1),
        Op::Join | Op::Place | Op::Spread if to.is_scalar() => format!("{}[0]", list(0)),
        Op::Join => {
            let parts: Vec<String> =
                x.iter().map(|p| if p.is_scalar() { bare(&p.text).to_string() } else { format!("*{}", p.text) }).collect();
            format!("[{}]", parts.join(", "))
        }
        Op::Cut if to.is_scalar() => format!("{}[{start}]", list(0)),
        Op::Cut => format!("{}[{start}:{}]", list(0), start + to.len()),
        Op::Place => format!("placed({}, {start}, {})", list(0), to.len()),
        Op::CutAt if to.is_scalar() => format!("{}[index({}, {rows})]", text(0), bare(text(1))),
        Op::CutAt => format!("rows({}, {})[index({}, {rows})]", text(0), to.len(), bare(text(1))),
        Op::PlaceAt => {
            let n = x[0].len();
            format!("placed({}, {n} * index({}, {}), {})", list(0), bare(text(1)), sides(to.shape()).0, to.len())
        }
        Op::Spread => format!("{}[:1] * {}", list(0), to.len()),
        _ => return None,
    })
}

/// Whether an operation can be written.
pub(super) fn spelled(op: Op) -> bool {
    let named = |shape| Named { text: "x".into(), ty: crate::graph::Type::Value(shape) };
    let square = named(Shape::Matrix(2, 2));
    match &op.row().kernel {
        Kernel::Unary(_) | Kernel::Binary(_) | Kernel::Select => elementwise(op, &["x".into(), "x".into(), "x".into()]).is_some(),
        Kernel::Ternary(_) => false,
        Kernel::Tensor(_) => tensor(op, 0, &square, &[square.clone(), square.clone()]).is_some(),
        Kernel::Composite(_) => true,
    }
}

/// Plain Python.
pub(super) struct Plain;

impl Spelling for Plain {
    fn constant(&mut self, x: f64) -> String {
        super::number(x).replace("np.", "math.")
    }

    fn scalar(&mut self, op: Op, args: &[String]) -> String {
        elementwise(op, args).expect("operations without a text are refused before")
    }

    fn whole(&mut self, to: &Named, op: Op, attribute: u32, args: &[Named]) -> String {
        if let Some(text) = tensor(op, attribute as usize, to, args) {
            return text;
        }
        // Element by element: lists are walked together.
        let lists: Vec<&Named> = args.iter().filter(|a| !a.is_scalar()).collect();
        let names: Vec<String> = (0..lists.len()).map(|k| format!("x{k}")).collect();
        let mut next = 0;
        let each: Vec<String> = args
            .iter()
            .map(|a| {
                if a.is_scalar() {
                    return a.text.clone();
                }
                next += 1;
                names[next - 1].clone()
            })
            .collect();
        let value = self.scalar(op, &each);
        let texts: Vec<&str> = lists.iter().map(|l| l.text.as_str()).collect();
        let from = if lists.len() == 1 { texts[0].to_string() } else { format!("zip({})", texts.join(", ")) };
        format!("[{} for {} in {from}]", bare(&value), names.join(", "))
    }

    fn input(&self, name: &str, shape: Shape) -> String {
        if shape == Shape::Scalar { format!("{name} = float({name})") } else { format!("{name} = flat({name})") }
    }

    fn result(&self, text: &str, shape: Shape) -> String {
        match shape {
            Shape::Scalar => format!("float({})", bare(text)),
            Shape::Vector(_) => text.to_string(),
            Shape::Matrix(_, c) => format!("rows({text}, {c})"),
        }
    }

    fn around(&self) -> Option<&'static str> {
        None
    }
}
