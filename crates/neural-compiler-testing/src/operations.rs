//! Cases for each operation of the table, its derivative in view: many points inside the domain, far and near, and the points
//! where a convention decides. What rows say is enough for elementwise operations and for those whose shapes are a pattern; the others
//! have a program each, and so has what deserves more.

use crate::case::{Case, CaseInput};
use fastrand::Rng;
use neural_compiler::Shape;
use neural_compiler::ops::domain::Domain;
use neural_compiler::ops::row::{Arity, Len, Pat, Row, ShapeRule};
use neural_compiler::ops::{self, Op};

const SCALAR: Shape = Shape::Scalar;
const V2: Shape = Shape::Vector(2);
const V3: Shape = Shape::Vector(3);
const M22: Shape = Shape::Matrix(2, 2);
const M23: Shape = Shape::Matrix(2, 3);
const M33: Shape = Shape::Matrix(3, 3);

/// A program around an operation that is not elementwise: name, number of arguments, text, inputs.
type Template = (&'static str, usize, &'static str, &'static [(&'static str, Shape)]);

const TEMPLATES: &[Template] = &[
    ("vec", 3, "(dot [0.7 -1.3 2.1] (vec x (* x y) (sin y)))", &[("x", SCALAR), ("y", SCALAR)]),
    ("vec", 2, "(total (square [a [x 2]]))", &[("a", V2), ("x", SCALAR)]),
    ("ref", 2, "(* (ref a 1) (sin (ref a 2)))", &[("a", V3)]),
    ("ref", 2, "(loop ((i 0) (s 1)) (if (= i 3) s (recur (+ i 1) (* s (+ 0.5 (ref a (modulo (* i 2) 3)))))))", &[("a", V3)]),
    ("ref", 2, "(dot (ref a 1) (square (ref a 0)))", &[("a", M23)]),
    ("ref", 3, "(* (ref a 0 2) (exp (ref a 1 1)))", &[("a", M23)]),
    ("dot", 2, "(* x (dot a b))", &[("a", V3), ("b", V3), ("x", SCALAR)]),
    ("cross", 2, "(dot [0.7 -1.3 2.1] (square (cross a b)))", &[("a", V3), ("b", V3)]),
    ("norm", 1, "(norm a)", &[("a", V3)]),
    ("norm", 1, "(exp (norm (* x a)))", &[("a", V2), ("x", SCALAR)]),
    ("normalize", 1, "(dot [0.7 -1.3 2.1] (normalize a))", &[("a", V3)]),
    ("vsum", 1, "(vsum (square a))", &[("a", V3)]),
    ("vlen", 1, "(* (vlen a) (vsum a))", &[("a", V2)]),
    ("scale", 2, "(vsum (square (scale x a)))", &[("a", V3), ("x", SCALAR)]),
    ("scale", 2, "(total (square (scale x a)))", &[("a", M22), ("x", SCALAR)]),
    ("slice", 3, "(dot b (exp (slice a 1 3)))", &[("a", V3), ("b", V2)]),
    ("concat", 3, "(dot [0.7 -1.3 2.1 0.4] (square (concat a x (sin x))))", &[("a", V2), ("x", SCALAR)]),
    ("linspace", 3, "(vsum (square (linspace x (sin y) 4)))", &[("x", SCALAR), ("y", SCALAR)]),
    ("first-difference", 4, "(dot b (exp (first-difference a x 2 (+ 1 (square x)))))", &[("a", V3), ("b", V3), ("x", SCALAR)]),
    ("second-difference", 4, "(dot b (square (second-difference a x (ref a 0) 0.5)))", &[("a", V3), ("b", V3), ("x", SCALAR)]),
    ("interpolate", 4, "(square (interpolate a 0 (+ 2 (square y)) (sigmoid x)))", &[("a", V3), ("x", SCALAR), ("y", SCALAR)]),
    ("total", 1, "(total (square a))", &[("a", M23)]),
    ("total", 1, "(square (total x))", &[("x", SCALAR)]),
    ("mat", 2, "(det (mat a [x (* x y)]))", &[("a", V2), ("x", SCALAR), ("y", SCALAR)]),
    ("matmul", 2, "(total (sin (matmul a b)))", &[("a", M22), ("b", M23)]),
    ("matvec", 2, "(vsum (exp (matvec a b)))", &[("a", M23), ("b", V3)]),
    ("transpose", 1, "(total (square (matmul a (transpose a))))", &[("a", M23)]),
    ("trace", 1, "(trace (matmul a a))", &[("a", M33)]),
    ("det", 1, "(det a)", &[("a", M22)]),
    ("det", 1, "(det a)", &[("a", M33)]),
    ("det", 1, "(det (mat a a [x y 2]))", &[("a", V3), ("x", SCALAR), ("y", SCALAR)]),
    ("det", 1, "(det [[x y 1 2] [y 1 x 3] [2 x x y] [1 y 2 x]])", &[("x", SCALAR), ("y", SCALAR)]),
    ("inv", 1, "(total (* [[0.7 -1.3] [2.1 0.4]] (inv a)))", &[("a", M22)]),
    ("inv", 1, "(total (sin (inv (+ a (* 3 (eye 3))))))", &[("a", M33)]),
    ("solve", 2, "(vsum (square (solve (+ a (* 2 (eye 2))) b)))", &[("a", M22), ("b", V2)]),
    ("solve", 2, "(total (square (solve (+ a (* 2 (eye 2))) b)))", &[("a", M22), ("b", M23)]),
    ("outer", 2, "(total (sin (outer a b)))", &[("a", V3), ("b", V2)]),
    ("eye", 1, "(total (exp (* x (eye 3))))", &[("x", SCALAR)]),
    ("zeros", 1, "(vsum (exp (+ x (zeros 2))))", &[("x", SCALAR)]),
    ("zeros", 2, "(total (exp (+ x (zeros 2 3))))", &[("x", SCALAR)]),
    ("ones", 1, "(vsum (exp (* x (ones 2))))", &[("x", SCALAR)]),
    ("ones", 2, "(total (exp (* x (ones 2 3))))", &[("x", SCALAR)]),
    ("fill", 2, "(vsum (square (fill x 3)))", &[("x", SCALAR)]),
    ("fill", 3, "(total (exp (fill x 2 2)))", &[("x", SCALAR)]),
    ("voigt", 3, "(voigt x (+ 0.2 (square s)) (+ 0.1 (square g)))", &[("x", SCALAR), ("s", SCALAR), ("g", SCALAR)]),
    ("voigt", 3, "(dot [0.7 -1.3] (voigt a -0.8 (square g)))", &[("a", V2), ("g", SCALAR)]),
    ("cofactor", 1, "(total (square (cofactor a)))", &[("a", M22)]),
    ("cofactor", 1, "(total (* [[0.7 -1.3 1] [2.1 0.4 -1] [1 2 3]] (cofactor a)))", &[("a", M33)]),
    ("cofactor", 1, "(total (square (cofactor (mat a a [x 1 2]))))", &[("a", V3), ("x", SCALAR)]),
];

/// Points where a convention decides: `abs`, `relu`, `sign` at 0, ties, bounds, whole numbers.
const CONVENTIONS: &[(&str, usize, &str, &[f64])] = &[
    ("abs", 1, "(abs x)", &[0.0]),
    ("relu", 1, "(relu x)", &[0.0]),
    ("sign", 1, "(* x (sign x))", &[0.0]),
    ("floor", 1, "(* x (floor x))", &[2.0]),
    ("round", 1, "(* x (round x))", &[2.5]),
    ("min", 2, "(min (* 2 x) (* 3 y))", &[3.0, 2.0]),
    ("max", 2, "(max (square x) (* 3 y))", &[3.0, 3.0]),
    ("max", 2, "(max x x)", &[1.25]),
    ("clamp", 3, "(clamp x 0.5 1.5)", &[0.5]),
    ("clamp", 3, "(clamp x 0.5 1.5)", &[1.5]),
    ("modulo", 2, "(modulo x y)", &[6.0, 2.0]),
    ("remainder", 2, "(remainder x y)", &[-6.0, 2.0]),
    ("norm", 1, "(norm [x y])", &[0.0, 0.0]),
    ("sqrt", 1, "(* x (sqrt x))", &[1e-300]),
    ("pow", 2, "(pow x 2)", &[0.0]),
    ("pow", 2, "(pow x 3)", &[-1.5]),
    ("pow", 2, "(pow x 1)", &[0.0]),
    ("pow", 2, "(pow x 0)", &[0.0]),
    ("pow", 2, "(pow x -2)", &[-0.5]),
    ("pow", 2, "(pow x y)", &[2.0, 0.0]),
    ("pow", 2, "(pow x y)", &[1.0, 0.0]),
    ("pow", 2, "(pow x y)", &[2.0, 1.0]),
    ("pow", 2, "(pow x y)", &[0.5, -1.0]),
];

/// A case and what it probes.
pub struct OperationCase {
    /// The operation.
    pub op: Op,
    /// The case.
    pub case: Case,
}

/// Cases for every operation users can write, so many points each.
pub fn cases(seed: u64, points: usize) -> Vec<OperationCase> {
    let mut rng = Rng::with_seed(seed);
    let mut out = Vec::new();
    for &op in Op::ALL {
        let row = op.row();
        match row.shape {
            ShapeRule::Elementwise if row.has_surface() => elementwise(op, row, points, &mut rng, &mut out),
            ShapeRule::Pattern(patterns, _) if row.has_surface() => by_pattern(op, row, patterns, points / 3, &mut rng, &mut out),
            _ => {}
        }
    }
    let op_of = |name: &str, arguments: usize| {
        ops::surface(name).and_then(|s| s.op(arguments)).unwrap_or_else(|| panic!("no operation {name} of {arguments}"))
    };
    for &(name, arguments, body, inputs) in TEMPLATES {
        for _ in 0..points / 3 {
            let values: Vec<Vec<f64>> = inputs.iter().map(|(_, s)| (0..s.len()).map(|_| near(&mut rng)).collect()).collect();
            out.push(OperationCase { op: op_of(name, arguments), case: with_inputs(body, inputs, &values) });
        }
    }
    for &(name, arguments, body, point) in CONVENTIONS {
        let inputs: Vec<(&str, Shape)> = ["x", "y"][..point.len()].iter().map(|&n| (n, SCALAR)).collect();
        let values: Vec<Vec<f64>> = point.iter().map(|&x| vec![x]).collect();
        out.push(OperationCase { op: op_of(name, arguments), case: with_inputs(body, &inputs, &values) });
    }
    out
}

fn with_inputs(body: &str, inputs: &[(&str, Shape)], values: &[Vec<f64>]) -> Case {
    let mut source = String::new();
    for (name, shape) in inputs {
        match shape {
            Shape::Scalar => {}
            Shape::Vector(n) => source += &format!("(input {name} :size {n})\n"),
            Shape::Matrix(r, c) => source += &format!("(input {name} :size [{r} {c}])\n"),
        }
    }
    let inputs =
        inputs.iter().zip(values).map(|(&(name, shape), data)| CaseInput { name: name.into(), shape, data: data.clone() }).collect();
    Case { source: source + body, inputs }
}

fn near(rng: &mut Rng) -> f64 {
    (rng.f64() - 0.5) * 4.0
}

/// Any number whose derivatives neither overflow nor underflow.
fn wide(rng: &mut Rng) -> f64 {
    let sign = if rng.bool() { 1.0 } else { -1.0 };
    match rng.u32(..4) {
        0 | 1 => near(rng),
        2 => sign * 10f64.powf(rng.f64() * 9.0 - 8.0),
        _ => sign * rng.f64() * 30.0,
    }
}

/// A point inside a domain.
fn inside(domain: Domain, arguments: usize, rng: &mut Rng) -> Vec<f64> {
    let positive = |rng: &mut Rng| wide(rng).abs() + 1e-9;
    let mut x: Vec<f64> = (0..arguments).map(|_| wide(rng)).collect();
    match domain {
        Domain::All | Domain::NonZero | Domain::Divisor | Domain::Invertible | Domain::Index | Domain::Grid => {}
        Domain::NonNegative | Domain::Positive => x[0] = positive(rng),
        Domain::AboveMinusOne => x[0] = if rng.bool() { positive(rng) } else { -1.0 + rng.f64() },
        Domain::Unit => x[0] = if rng.bool() { rng.f64() * 2.0 - 1.0 } else { 1.0 - 10f64.powf(-rng.f64() * 9.0) },
        // off the poles, and where gamma neither overflows nor vanishes
        Domain::GammaPoles => x[0] = if rng.bool() { positive(rng) } else { -f64::from(rng.u32(..6)) - 0.1 - 0.8 * rng.f64() },
        Domain::OpenUnit => x[0] = if rng.bool() { 0.001 + 0.998 * rng.f64() } else { 10f64.powf(-1.0 - rng.f64() * 30.0) },
        Domain::Incomplete => {
            x[0] = near(rng).abs() * 10.0 + 0.05;
            x[1] = near(rng).abs() * 10.0 + 0.01;
        }
        Domain::IncompleteBeta => {
            x[..2].iter_mut().for_each(|x| *x = near(rng).abs() * 10.0 + 0.05);
            x[2] = 0.01 + 0.98 * rng.f64();
        }
        Domain::Widths => {
            x[1] = if rng.bool() { 0.1 + near(rng).abs() } else { -0.1 - near(rng).abs() };
            x[2] = near(rng).abs();
        }
        Domain::BothPositive => x.iter_mut().for_each(|x| *x = near(rng).abs() * 10.0 + 0.01),
        Domain::Power => {
            x[0] = near(rng).abs() + 0.01;
            x[1] = near(rng) * 3.0;
        }
        Domain::LogBase => {
            x[0] = positive(rng);
            x[1] = if rng.bool() { 1.5 + positive(rng) } else { 0.05 + rng.f64() * 0.8 };
        }
    }
    x
}

/// The operation on values of lengths that can be told apart.
fn by_pattern(op: Op, row: &Row, patterns: &[Pat], points: usize, rng: &mut Rng, out: &mut Vec<OperationCase>) {
    let names = ["a", "b", "c", "x"];
    let length = |len: Len| match len {
        Len::Is(n) => n,
        Len::N(i) => 2 + u32::from(i),
    };
    let shape = |pattern: Pat| match pattern {
        Pat::S => SCALAR,
        Pat::V(n) => Shape::Vector(length(n)),
        Pat::M(r, c) => Shape::Matrix(length(r), length(c)),
        Pat::Any(_) => M23,
    };
    let inputs: Vec<(&str, Shape)> = names.into_iter().zip(patterns.iter().map(|&p| shape(p))).collect();
    let written = inputs.iter().map(|&(name, shape)| match (row.domain, shape) {
        (Domain::Invertible, Shape::Matrix(n, _)) => format!("(+ {name} (* 3 (eye {n})))"),
        _ => name.to_string(),
    });
    let body = format!("(total (sin ({} {})))", row.name, written.collect::<Vec<_>>().join(" "));
    for _ in 0..points {
        let values: Vec<Vec<f64>> = inputs.iter().map(|(_, s)| (0..s.len()).map(|_| near(rng)).collect()).collect();
        out.push(OperationCase { op, case: with_inputs(&body, &inputs, &values) });
    }
}

/// The operation on scalars at many points, and on a vector.
fn elementwise(op: Op, row: &Row, points: usize, rng: &mut Rng, out: &mut Vec<OperationCase>) {
    let counts = match row.arity {
        Arity::Exactly(k) => vec![k],
        Arity::Between(a, b) => (a..=b).collect(),
        // One and two arguments may be other operations of the same name.
        Arity::AtLeast(k) | Arity::Fold(k, _) => vec![k.max(2), k.max(3)],
        Arity::Chain => vec![2, 3],
    };
    let names = ["x", "y", "z"];
    for arguments in counts {
        for i in 0..points {
            let vector = i % 5 == 4;
            let shape = if vector { V2 } else { SCALAR };
            let lanes: Vec<Vec<f64>> = (0..shape.len()).map(|_| inside(row.domain, arguments, rng)).collect();
            let values: Vec<Vec<f64>> = (0..arguments).map(|a| lanes.iter().map(|l| l[a]).collect()).collect();
            let inputs: Vec<(&str, Shape)> = names[..arguments].iter().map(|&n| (n, shape)).collect();
            let applied = format!("({} {})", row.name, names[..arguments].join(" "));
            let body = if vector { format!("(dot [0.7 -1.3] {applied})") } else { applied };
            out.push(OperationCase { op, case: with_inputs(&body, &inputs, &values) });
        }
    }
}
