//! Every elementwise row of the table at the corners: for all intervals between special numbers, with and without NaN, 0 and fractions,
//! the rule's interval holds what the kernel computes at the ends, next to them, at the special numbers between and at points drawn at
//! random; and where the kernel leaves its domain or makes a NaN, the rules say that it may. In f32 and f64.

use fastrand::Rng;
use neural_compiler::ops::bound::{Bound, bound};
use neural_compiler::ops::interval::Interval;
use neural_compiler::ops::real::Real;
use neural_compiler::ops::row::{Group, Row};
use neural_compiler::ops::{Kernel, Op};

/// Ends for functions of one argument. Rounded to f32 some become 0 or infinite, which are ends too.
const MANY: &[f64] = &[
    f64::NEG_INFINITY,
    f64::MIN,
    -3.4e38,
    -1e22,
    -745.2,
    -88.8,
    -7.853981633974483,
    -3.0,
    -std::f64::consts::FRAC_PI_2,
    -1.0000000000000002,
    -1.0,
    -0.9999999999999999,
    -0.5,
    -1e-5,
    -1e-45,
    -2.2250738585072014e-308,
    -5e-324,
    0.0,
    5e-324,
    1e-320,
    2.2250738585072014e-308,
    1e-45,
    1.2e-38,
    1e-5,
    0.5,
    0.9999999999999999,
    1.0,
    1.0000000000000002,
    std::f64::consts::FRAC_PI_2,
    2.0,
    2.5,
    std::f64::consts::PI,
    4.0,
    88.8,
    709.9,
    16777217.0,
    9007199254740993.0,
    1e154,
    3.4e38,
    f64::MAX,
    f64::INFINITY,
];

/// Ends for functions of two arguments.
const FEW: &[f64] = &[
    f64::NEG_INFINITY,
    f64::MIN,
    -1e30,
    -3.0,
    -1.0,
    -0.5,
    -5e-324,
    -1e-45,
    0.0,
    5e-324,
    1e-45,
    0.5,
    1.0,
    1.0000001192092896,
    2.0,
    1e30,
    f64::MAX,
    f64::INFINITY,
];

fn apply<T: Real>(row: &Row, args: &[T]) -> T {
    match row.kernel {
        Kernel::Unary(f) => T::unary(f, args[0]),
        Kernel::Binary(f) => T::binary(f, args[0], args[1]),
        Kernel::Ternary(f) => T::ternary(f, args[0], args[1], args[2]),
        Kernel::Select if args[0] != T::ZERO => args[1],
        Kernel::Select => args[2],
        Kernel::Tensor(_) | Kernel::Composite(_) => unreachable!("elementwise rows only"),
    }
}

/// An interval and numbers in it, NaN where it has one.
struct Probed<T> {
    interval: Interval<T>,
    points: Vec<T>,
}

/// All intervals between these ends, and each without 0, of whole numbers, and with NaN.
fn intervals<T: Real>(ends: &[f64], dense: bool, rng: &mut Rng) -> Vec<Probed<T>> {
    let mut ends: Vec<T> = ends.iter().map(|&x| T::from_f64(x)).collect();
    ends.sort_by(|a, b| a.partial_cmp(b).expect("no NaN"));
    ends.dedup();
    let mut out = Vec::new();
    for (i, &lo) in ends.iter().enumerate() {
        for (j, &hi) in ends.iter().enumerate().skip(i) {
            let mut inside: Vec<T> = vec![lo, hi, lo.next_up(), hi.next_down(), T::from_f64(lo.to_f64() / 2.0 + hi.to_f64() / 2.0)];
            if lo <= T::ZERO && hi >= T::ZERO {
                inside.extend([T::ZERO, -T::ZERO, T::ZERO.next_up(), T::ZERO.next_down()]);
            }
            let between = &ends[i..=j];
            if dense {
                inside.extend(between);
                inside.extend((0..4).map(|_| T::from_f64(lo.to_f64() + (hi.to_f64() - lo.to_f64()) * rng.f64())));
            } else {
                inside.push(between[rng.usize(..between.len())]);
            }
            let plain = Interval::new(lo, hi);
            for interval in [plain, plain.without(T::ZERO), plain.only_whole(true), plain.or_nan(true)] {
                let mut points: Vec<T> = inside.iter().copied().filter(|&x| interval.contains(x)).collect();
                if interval.nan {
                    points.push(T::from_f64(f64::NAN));
                }
                if !points.is_empty() {
                    out.push(Probed { interval, points });
                }
            }
        }
    }
    out
}

fn probe<T: Real>(row: &Row, args: &[&Probed<T>], tried: &mut u64) {
    let box_: Vec<Interval<T>> = args.iter().map(|a| a.interval).collect();
    let result = bound(row, &box_);
    let numbers: Vec<Interval<T>> = box_.iter().map(|i| i.numbers()).collect();
    let warned = row.domain.may_be_violated(&box_) || bound(row, &numbers).nan;
    let count: usize = args.iter().map(|a| a.points.len()).product();
    let mut point = vec![T::ZERO; args.len()];
    for k in 0..count {
        let mut rest = k;
        for (p, a) in point.iter_mut().zip(args) {
            *p = a.points[rest % a.points.len()];
            rest /= a.points.len();
        }
        *tried += 1;
        let x = apply(row, &point);
        let held = if x.is_nan() { result.nan } else { result.contains(x) };
        assert!(held, "({} {point:?}) is {x:?}, not in {result:?}, the bounds for {box_:?}", row.name);
        let trapped = row.domain.violated(&point) || (x.is_nan() && point.iter().all(|p| !p.is_nan()));
        assert!(!trapped || warned, "({} {point:?}) leaves its domain, and the bounds for {box_:?} do not say so", row.name);
    }
}

fn all_rows<T: Real>() -> u64 {
    let mut rng = Rng::with_seed(7);
    let one = intervals::<T>(MANY, true, &mut rng);
    let two = intervals::<T>(FEW, false, &mut rng);
    let tests = intervals::<T>(&[-1.0, 0.0, 2.0], false, &mut rng);
    let mut tried = 0;
    // A row that may be anything or NaN promises nothing that could fail.
    for row in Op::ALL.iter().map(|op| op.row()).filter(|row| row.is_elementwise() && row.bound != Bound::Anything) {
        match row.kernel {
            Kernel::Unary(_) => one.iter().for_each(|a| probe(row, &[a], &mut tried)),
            // Every interval with a part of the others, another part for each row and interval; all of them would take minutes.
            Kernel::Binary(_) => {
                let part = if row.group == Group::Special { 12 } else { 48 };
                for a in &two {
                    for _ in 0..part {
                        probe(row, &[a, &two[rng.usize(..two.len())]], &mut tried);
                    }
                }
            }
            // Slow functions at many points each: a quarter of the intervals.
            Kernel::Ternary(_) => {
                for a in two.iter().step_by(4) {
                    probe(row, &[a, &two[rng.usize(..two.len())], &two[rng.usize(..two.len())]], &mut tried);
                }
            }
            Kernel::Select | Kernel::Tensor(_) | Kernel::Composite(_) => {
                for test in &tests {
                    for _ in 0..20 {
                        probe(row, &[test, &tests[rng.usize(..tests.len())], &tests[rng.usize(..tests.len())]], &mut tried);
                    }
                }
            }
        }
    }
    tried
}

#[test]
fn every_row_encloses_what_it_computes_in_f64() {
    println!("{} points", all_rows::<f64>());
}

#[test]
fn every_row_encloses_what_it_computes_in_f32() {
    println!("{} points", all_rows::<f32>());
}

/// The rules promise more than soundness: `Whole` rows make whole numbers only, excluded ends are not there.
#[test]
fn ends_are_numbers_of_the_set() {
    let below = Interval::new(-5.0, 0.0).without(0.0);
    assert_eq!((below.lo, below.hi), (-5.0, -5e-324));
    let index = Interval::new(-0.5, 2.9).only_whole(true);
    assert_eq!((index.lo, index.hi), (0.0, 2.0));
    assert!(Interval::new(0.2, 0.8).only_whole(true).is_empty());
    let inverse = bound(Op::Div.row(), &[Interval::point(1.0), below]);
    assert_eq!((inverse.lo, inverse.hi, inverse.nan), (f64::NEG_INFINITY, -0.2, false));
    assert!(
        Op::ALL.iter().filter(|op| matches!(op.row().bound, Bound::Whole(..))).all(|op| bound(
            op.row(),
            &vec![Interval::new(-3.5, 7.5); op.row().probes[0].len()]
        )
        .whole)
    );
}
