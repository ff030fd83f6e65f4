//! Products of matrices, dot products and sums hold to the order of the language at every level: beside loops that do nothing but that.

use neural_compiler_math::Level;
use neural_compiler_math::matrix::{
    INTERLEAVED, Matrices, PARTIAL, View, dot_f32, dot_f64, product_f32, product_f64, products_f32, products_f64, sum_f32, sum_f64,
    transpose_f32, transpose_f64,
};

/// Numbers of very different sizes, zeros of both signs and now and then what is no number.
fn numbers(count: usize, seed: u64, odd: bool) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let one = |_| match next() % 97 {
        0 => 0.0,
        1 => -0.0,
        2 if odd => f64::INFINITY,
        3 if odd => f64::NAN,
        _ => ((next() % 2_000_001) as f64 - 1e6) * 10f64.powi((next() % 9) as i32 - 8),
    };
    (0..count).map(one).collect()
}

macro_rules! holds {
    ($name:ident, $t:ident, $product:ident, $dot:ident, $sum:ident, $transpose:ident) => {
        #[test]
        fn $name() {
            let bits = |x: $t| if x.is_nan() { $t::NAN.to_bits() } else { x.to_bits() };
            let sequential = |terms: &[($t, $t)]| {
                terms.split_first().map_or(0.0, |((x, y), rest)| rest.iter().fold(x * y, |s, (x, y)| x.mul_add(*y, s)))
            };
            let sizes = [
                (1, 1, 1),
                (1, 7, 1),
                (3, 1, 5),
                (8, 8, 8),
                (5, 9, 7),
                (16, 16, 16),
                (17, 33, 19),
                (32, 32, 32),
                (33, 300, 35),
                (9, 520, 70),
                (70, 64, 3),
                (40, 12, 1),
                (1, 40, 50),
                (4, 0, 4),
                (0, 3, 2),
                (100, 270, 40),
                (70, 80, 100),
                (13, 11, 10),
                (6, 5, 1),
            ];
            for (seed, (m, k, n)) in sizes.into_iter().enumerate() {
                for odd in [false, true] {
                    let a: Vec<$t> = numbers(m * k, 2 * seed as u64 + 1, odd).into_iter().map(|x| x as $t).collect();
                    let b: Vec<$t> = numbers(k * n, 2 * seed as u64 + 2, odd).into_iter().map(|x| x as $t).collect();
                    let expected: Vec<_> = (0..m * n)
                        .map(|o| bits(sequential(&(0..k).map(|l| (a[o / n * k + l], b[l * n + o % n])).collect::<Vec<_>>())))
                        .collect();
                    for &level in Level::available() {
                        let turned = |x: &[$t], rows: usize, columns: usize| {
                            let mut out = vec![0.0; x.len()];
                            $transpose(level, x, rows, columns, &mut out);
                            (0..x.len()).for_each(|i| assert_eq!(bits(out[i % columns * rows + i / columns]), bits(x[i])));
                            out
                        };
                        let (at, bt) = (turned(&a, m, k), turned(&b, k, n));
                        let ways = [
                            (View::new(&a, m, k), View::new(&b, k, n)),
                            (View::new(&at, k, m).transposed(), View::new(&b, k, n)),
                            (View::new(&a, m, k), View::new(&bt, n, k).transposed()),
                            (View::new(&at, k, m).transposed(), View::new(&bt, n, k).transposed()),
                        ];
                        for (way, (x, y)) in ways.into_iter().enumerate() {
                            let mut out = vec![7.0; m * n];
                            $product(level, x, y, &mut out, &mut Vec::new());
                            assert!(out.iter().map(|x| x.to_bits()).eq(expected.iter().copied()), "{m} {k} {n}, way {way}, {level:?}");
                        }
                    }
                }
            }
            for n in (0..100).chain([255, 256, 1000, 1001]) {
                for odd in [false, true] {
                    let x: Vec<$t> = numbers(n, 3 * n as u64 + 5, odd).into_iter().map(|x| x as $t).collect();
                    let y: Vec<$t> = numbers(n, 3 * n as u64 + 6, odd).into_iter().map(|x| x as $t).collect();
                    let halves = |mut s: Vec<$t>| {
                        while s.len() > 1 {
                            let back = s.split_off(s.len() / 2);
                            s.iter_mut().zip(back).for_each(|(a, b)| *a += b);
                        }
                        bits(s[0])
                    };
                    let part = |p: usize| (p..n).step_by(PARTIAL).map(|k| (x[k], y[k])).collect::<Vec<_>>();
                    let added = |terms: &[($t, $t)]| terms.split_first().map_or(0.0, |(x, rest)| rest.iter().fold(x.0, |s, x| s + x.0));
                    let all: Vec<($t, $t)> = x.iter().copied().zip(y.iter().copied()).collect();
                    let (dot, sum) = if n < INTERLEAVED {
                        (bits(sequential(&all)), bits(added(&all)))
                    } else {
                        (
                            halves((0..PARTIAL).map(|p| sequential(&part(p))).collect()),
                            halves((0..PARTIAL).map(|p| added(&part(p))).collect()),
                        )
                    };
                    for &level in Level::available() {
                        assert_eq!($dot(level, &x, &y).to_bits(), dot, "dot of {n}, {level:?}");
                        assert_eq!($sum(level, &x).to_bits(), sum, "sum of {n}, {level:?}");
                    }
                }
            }
        }
    };
}

holds!(f32_holds_to_the_order, f32, product_f32, dot_f32, sum_f32, transpose_f32);
holds!(f64_holds_to_the_order, f64, product_f64, dot_f64, sum_f64, transpose_f64);

macro_rules! lanes_hold {
    ($name:ident, $t:ident, $product:ident, $products:ident) => {
        /// The matrices of many lanes have the products of each alone: small ones, large ones, shared ones, read as they lie or turned.
        #[test]
        fn $name() {
            for (lanes, m, k, n) in
                [(1, 3, 4, 5), (5, 8, 8, 8), (700, 16, 16, 16), (9, 7, 3, 1), (9, 1, 5, 20), (9, 6, 1, 7), (3, 130, 140, 150), (4, 0, 3, 2)]
            {
                let numbers = |count: usize, seed: u64| numbers(count, seed, true).into_iter().map(|x| x as $t).collect::<Vec<$t>>();
                for way in 0..16 {
                    let [a_turned, b_turned, a_shared, b_shared] = [1, 2, 4, 8].map(|bit| way & bit > 0);
                    let of = |shared: bool, (rows, columns): (usize, usize), seed| {
                        numbers(if shared { 1 } else { lanes } * rows * columns, seed)
                    };
                    let (a_sides, b_sides) = (if a_turned { (k, m) } else { (m, k) }, if b_turned { (n, k) } else { (k, n) });
                    let (a, b) = (of(a_shared, a_sides, 5), of(b_shared, b_sides, 6));
                    let matrices = |data, (rows, columns), turned, shared| Matrices { data, rows, columns, turned, shared };
                    let (a, b) = (matrices(&a[..], a_sides, a_turned, a_shared), matrices(&b[..], b_sides, b_turned, b_shared));
                    for &level in Level::available() {
                        let (mut all, mut each) = (vec![7.0; lanes * m * n], vec![7.0; lanes * m * n]);
                        $products(level, lanes, a, b, &mut all, &mut Vec::new());
                        for lane in 0..lanes {
                            $product(
                                Level::Baseline,
                                a.lane(lane),
                                b.lane(lane),
                                &mut each[lane * m * n..(lane + 1) * m * n],
                                &mut Vec::new(),
                            );
                        }
                        assert!(
                            all.iter().map(|x| x.to_bits()).eq(each.iter().map(|x| x.to_bits())),
                            "{lanes} {m} {k} {n}, way {way}, {level:?}"
                        );
                    }
                }
            }
        }
    };
}

lanes_hold!(f32_lanes_hold, f32, product_f32, products_f32);
lanes_hold!(f64_lanes_hold, f64, product_f64, products_f64);
