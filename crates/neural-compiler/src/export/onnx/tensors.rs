//! Operations on vectors and matrices in ONNX. In: values; out: values. Linear systems, which ONNX has not, are solved by elimination with
//! pivots that each lane chooses for itself.

use super::builder::{Builder, Value};
use super::elementwise::{infinite, nan};
use super::protobuf::{Attribute, Element};
use crate::ops::Op;

/// What an operation needs to know besides its arguments.
pub(super) struct Site<'a> {
    pub(super) attribute: usize,
    /// Axes of the result.
    pub(super) shape: &'a [usize],
    /// The size of the batch, as a list of one number.
    pub(super) batch: &'a str,
    /// Which lanes run: the others must not fail.
    pub(super) active: &'a Value,
}

type Build = fn(&mut Builder, &Site<'_>, &[Value]) -> Value;

fn norm(b: &mut Builder, _: &Site<'_>, x: &[Value]) -> Value {
    let (size, axes) = (b.op("Abs", &[&x[0]]), b.axes(&[1]));
    let largest = Value::new(b.raw("ReduceMax", &[&size.name, &axes], &[Attribute::Int("keepdims", 0)]), &[]);
    let (zero, large, one) = (b.against("Equal", &largest, 0.0), infinite(b, &largest), b.number(1.0));
    let odd = b.test("Or", &[&zero, &large]);
    let scale = b.choose(&odd, &one, &largest);
    let share = b.op("Div", &[&x[0], &scale]);
    let square = b.op("Mul", &[&share, &share]);
    let sum = b.summed(&square);
    let root = b.op("Sqrt", &[&sum]);
    b.op("Mul", &[&root, &scale])
}

fn cross(b: &mut Builder, _: &Site<'_>, x: &[Value]) -> Value {
    let mut half = |one: &[usize], two: &[usize]| {
        let (u, v) = (b.pick(&x[0], 0, one), b.pick(&x[1], 0, two));
        b.op("Mul", &[&u, &v])
    };
    let (first, second) = (half(&[1, 2, 0], &[2, 0, 1]), half(&[2, 0, 1], &[1, 2, 0]));
    b.op("Sub", &[&first, &second])
}

fn join(b: &mut Builder, site: &Site<'_>, x: &[Value]) -> Value {
    let mut parts = Vec::new();
    for part in x {
        let flat = b.flat(part);
        parts.push(b.whole(&flat, site.batch));
    }
    let count = x.iter().map(Value::len).sum();
    let name = b.several("Concat", &parts, 1, &[Attribute::Int("axis", 1)]).swap_remove(0);
    b.reshape(&Value::new(name, &[count]), site.shape)
}

fn cut(b: &mut Builder, site: &Site<'_>, x: &[Value]) -> Value {
    let count: usize = site.shape.iter().product();
    let places: Vec<usize> = (site.attribute..site.attribute + count).collect();
    let flat = b.flat(&x[0]);
    let some = b.pick(&flat, 0, &places);
    b.reshape(&some, site.shape)
}

fn place(b: &mut Builder, site: &Site<'_>, x: &[Value]) -> Value {
    let (flat, count) = (b.flat(&x[0]), site.shape.iter().product::<usize>());
    let pads = b.axes(&[0, site.attribute, 0, count - site.attribute - flat.len()]);
    let name = b.raw("Pad", &[&flat.name, &pads], &[]);
    b.reshape(&Value::new(name, &[count]), site.shape)
}

/// A checked index of every lane: what is no place of the value is one behind it, which no runtime takes.
fn index(b: &mut Builder, site: &Site<'_>, i: &Value, size: usize) -> String {
    let floor = b.op("Floor", &[i]);
    let whole = b.test("Equal", &[i, &floor]);
    let (from, to) = (b.against("GreaterOrEqual", i, 0.0), b.against("Less", i, size as f64));
    let inside = b.test("And", &[&from, &to]);
    let good = b.test("And", &[&whole, &inside]);
    let (behind, zero) = (b.number(size as f64), b.number(0.0));
    let shown = b.choose(&good, i, &behind);
    let safe = b.choose(site.active, &shown, &zero);
    let name = b.raw("Cast", &[&safe.name], &[Attribute::Int("to", Element::Int64 as i64)]);
    b.raw("Expand", &[&name, site.batch], &[])
}

fn cut_at(b: &mut Builder, site: &Site<'_>, x: &[Value]) -> Value {
    let index = index(b, site, &x[1], x[0].shape[0]);
    let index = b.unsqueeze(&index, 1);
    let whole = b.whole(&x[0], site.batch);
    Value::new(b.raw("GatherND", &[&whole, &index], &[Attribute::Int("batch_dims", 1)]), &x[0].shape[1..])
}

fn place_at(b: &mut Builder, site: &Site<'_>, x: &[Value]) -> Value {
    let n = site.shape[0];
    let index = index(b, site, &x[1], n);
    let index = Value::new(b.unsqueeze(&index, 1), &[1]);
    // Nothing is looked up here, so a place beyond the value must be asked for.
    let zeros = b.numbers(&vec![-0.0; n], &[n]);
    let nothing = Value::new(b.raw("Gather", &[&zeros, &index.name], &[Attribute::Int("axis", 0)]), &[1]);
    let nothing = b.reshape(&nothing, &[]);
    let given = b.op("Add", &[&x[0], &nothing]);
    let places: Vec<i64> = (0..n as i64).collect();
    let places = Value::new(b.wholes(&places, &[1, n]), &[n]);
    let here = Value::truth(b.test("Equal", &[&index, &places]).name, &[n]);
    let zero = b.number(0.0);
    if site.shape.len() == 1 {
        return b.choose(&here, &given, &zero);
    }
    let rows = Value::truth(b.unsqueeze(&here.name, 2), &[n, 1]);
    let wide = Value::new(b.unsqueeze(&given.name, 1), &[1, given.shape[0]]);
    let zero = b.aligned(&zero, site.shape);
    Value::new(b.op("Where", &[&rows, &wide, &zero]).name, site.shape)
}

fn spread(b: &mut Builder, site: &Site<'_>, x: &[Value]) -> Value {
    let first = if x[0].shape.is_empty() { x[0].clone() } else { b.at(&x[0], 0) };
    if site.shape.is_empty() {
        return first;
    }
    let aligned = b.aligned(&first, site.shape);
    let shape: Vec<usize> = std::iter::once(1).chain(site.shape.iter().copied()).collect();
    let shape = b.axes(&shape);
    Value::new(b.raw("Expand", &[&aligned.name, &shape], &[]), site.shape)
}

fn product(b: &mut Builder, site: &Site<'_>, x: &[Value]) -> Value {
    if x[1].shape.len() == 2 {
        return Value::new(b.raw("MatMul", &[&x[0].name, &x[1].name], &[]), site.shape);
    }
    let column = b.unsqueeze(&x[1].name, 2);
    let (found, axes) = (b.raw("MatMul", &[&x[0].name, &column], &[]), b.axes(&[2]));
    Value::new(b.raw("Squeeze", &[&found, &axes], &[]), site.shape)
}

fn eye(b: &mut Builder, rows: usize, columns: usize) -> Value {
    let numbers: Vec<f64> = (0..rows * columns).map(|i| f64::from(u8::from(i / columns == i % columns))).collect();
    Value::new(b.numbers(&numbers, &[1, rows, columns]), &[rows, columns])
}

/// Two matrices side by side, for all lanes.
fn beside(b: &mut Builder, left: &Value, right: &Value, batch: &str) -> Value {
    let whole = [b.whole(left, batch), b.whole(right, batch)];
    let name = b.several("Concat", &whole, 1, &[Attribute::Int("axis", 2)]).swap_remove(0);
    Value::new(name, &[left.shape[0], left.shape[1] + right.shape[1]])
}

/// 1, or NaN where a matrix holds one.
fn sound(b: &mut Builder, matrix: &Value) -> Value {
    let (lost, none, zero) = (nan(b, matrix), b.number(f64::NAN), b.number(0.0));
    let holes = b.choose(&lost, &none, &zero);
    let sum = b.summed(&holes);
    b.by("Add", &sum, 1.0)
}

/// Of a matrix with n rows and more columns: what is behind the first n columns when these have become the unit matrix, NaN where they
/// cannot or hold NaN, and the determinant of those.
fn eliminated(b: &mut Builder, matrix: &Value, n: usize) -> (Value, Value) {
    let columns = matrix.shape[1];
    let first: Vec<usize> = (0..n).collect();
    let square = b.pick(matrix, 1, &first);
    let sound = sound(b, &square);
    let (mut matrix, mut determinant) = (matrix.clone(), sound.clone());
    let (one, opposite, most) = (b.number(1.0), b.number(-1.0), b.number(f64::INFINITY));
    let mut regular = Value::truth(b.truths(&[true], &[1]), &[]);
    for k in 0..n {
        let column = b.pick(&matrix, 1, &[k]);
        let column = b.reshape(&column, &[n]);
        // Rows above are done: they are no pivots. Runtimes pass over NaN, which infinite numbers leave, when they look for the largest.
        let above: Vec<bool> = (0..n).map(|i| i < k).collect();
        let (above, size, lost) = (Value::truth(b.truths(&above, &[1, n]), &[n]), b.op("Abs", &[&column]), nan(b, &column));
        let sizes = b.choose(&lost, &most, &size);
        let sizes = b.choose(&above, &opposite, &sizes);
        let pivot = b.raw("ArgMax", &[&sizes.name], &[Attribute::Int("axis", 1), Attribute::Int("keepdims", 1)]);
        let pivot = Value::new(pivot, &[1]);
        let all: Vec<i64> = (0..n as i64).collect();
        let here = Value::new(b.wholes(&vec![k as i64; n], &[1, n]), &[n]);
        let index = Value::new(b.wholes(&all, &[1, n]), &[n]);
        let (at_pivot, at_here) = (b.op("Equal", &[&index, &pivot]), b.op("Equal", &[&index, &here]));
        let swapped = b.op("Where", &[&at_pivot, &here, &index]);
        let swapped = b.op("Where", &[&at_here, &pivot, &swapped]);
        let (places, wanted) = (b.unsqueeze(&swapped.name, 2), b.axes(&[1, n, columns]));
        let whole = b.raw("Expand", &[&places, &wanted], &[]);
        // Both with all lanes, as gathering wants them.
        let shape = b.raw("Shape", &[&matrix.name], &[]);
        let whole = b.raw("Expand", &[&whole, &shape], &[]);
        let rows = b.raw("GatherElements", &[&matrix.name, &whole], &[Attribute::Int("axis", 1)]);
        matrix = Value::new(rows, &[n, columns]);
        let this = Value::new(b.axes(&[k]), &[]);
        let same = Value::truth(b.op("Equal", &[&pivot, &this]).name, &[1]);
        let same = b.reshape(&same, &[]);
        let (value, sign) = (b.at(&matrix, k * columns + k), b.choose(&same, &one, &opposite));
        let factor = b.op("Mul", &[&sign, &value]);
        determinant = b.op("Mul", &[&determinant, &factor]);
        // Without a pivot there is nothing to eliminate: the determinant is 0, and no NaN.
        let some = b.bool(&value);
        let (row, by) = (b.pick(&matrix, 0, &[k]), b.choose(&some, &value, &one));
        let row = b.op("Div", &[&row, &by]);
        regular = b.test("And", &[&regular, &some]);
        let own: Vec<bool> = (0..n).map(|i| i == k).collect();
        let own = Value::truth(b.truths(&own, &[1, n, 1]), &[n, 1]);
        let (others, zero) = (b.pick(&matrix, 1, &[k]), b.number(0.0));
        let others = b.choose(&own, &zero, &others);
        let change = Value::new(b.op("Mul", &[&others, &row]).name, &[n, columns]);
        let rest = b.op("Sub", &[&matrix, &change]);
        matrix = Value::new(b.op("Where", &[&own, &row, &rest]).name, &[n, columns]);
    }
    if columns == n {
        // The 0 of a singular matrix has no sign, whatever the other pivots have.
        let size = b.op("Abs", &[&determinant]);
        return (matrix, b.choose(&regular, &determinant, &size));
    }
    let behind: Vec<usize> = (n..columns).collect();
    let (found, none) = (b.pick(&matrix, 1, &behind), b.number(f64::NAN));
    let kept = b.choose(&regular, &sound, &none);
    (b.op("Mul", &[&found, &kept]), determinant)
}

fn solve(b: &mut Builder, site: &Site<'_>, x: &[Value]) -> Value {
    let n = x[0].shape[0];
    let right = if x[1].shape.len() == 1 { b.reshape(&x[1], &[n, 1]) } else { x[1].clone() };
    let both = beside(b, &x[0], &right, site.batch);
    let found = eliminated(b, &both, n).0;
    b.reshape(&found, site.shape)
}

/// An operation of the table, if ONNX can say it.
pub(super) fn tensor(op: Op) -> Option<Build> {
    Some(match op {
        Op::Dot => |b, _, x| {
            let product = b.op("Mul", &[&x[0], &x[1]]);
            b.summed(&product)
        },
        Op::Cross => cross,
        Op::Norm => norm,
        Op::Total => |b, _, x| b.summed(&x[0]),
        Op::Transpose => |b, site, x| {
            let turned = b.raw("Transpose", &[&x[0].name], &[Attribute::Ints("perm", vec![0, 2, 1])]);
            Value::new(turned, site.shape)
        },
        Op::Trace => |b, _, x| {
            let eye = eye(b, x[0].shape[0], x[0].shape[1]);
            let kept = b.op("Mul", &[&x[0], &eye]);
            b.summed(&kept)
        },
        Op::Det => |b, _, x| eliminated(b, &x[0], x[0].shape[0]).1,
        Op::Inv => |b, site, x| {
            let n = x[0].shape[0];
            let eye = eye(b, n, n);
            let both = beside(b, &x[0], &eye, site.batch);
            eliminated(b, &both, n).0
        },
        Op::Solve => solve,
        Op::Outer => |b, site, x| {
            let (column, row) = (b.unsqueeze(&x[0].name, 2), b.unsqueeze(&x[1].name, 1));
            Value::new(b.raw("Mul", &[&column, &row], &[]), site.shape)
        },
        Op::Join => join,
        Op::Cut => cut,
        Op::Place => place,
        Op::CutAt => cut_at,
        Op::PlaceAt => place_at,
        Op::Spread => spread,
        Op::Identity => |b, site, _| eye(b, site.shape[0], site.shape[1]),
        Op::Product => product,
        _ => return None,
    })
}
