//! The measurements: blocks of points through the slice kernels, the filter, and the judge for what is left.

use crate::functions::{Of1, Of2};
use crate::points::Random;
use neural_compiler_math::{Arg, Binary, Level, Unary};
use rug::Float;

/// The largest error seen.
#[derive(Clone, Default)]
pub struct Worst {
    pub error: f64,
    pub at: String,
    pub points: u64,
    /// Points that went to the judge.
    pub judged: u64,
    /// Whether the others passed a filter that shows at most half an ULP, rather than being measured.
    pub filtered: bool,
}

impl Worst {
    fn see(&mut self, error: f64, at: impl FnOnce() -> String) {
        if error > self.error || error.is_nan() {
            self.error = if error.is_nan() { f64::INFINITY } else { error };
            self.at = at();
        }
    }

    fn merge(mut self, other: Worst) -> Worst {
        self.points += other.points;
        self.judged += other.judged;
        self.filtered |= other.filtered;
        if other.error > self.error { Worst { points: self.points, judged: self.judged, ..other } } else { self }
    }
}

/// |got - truth| in units of the spacing at the truth, for a format with `digits` bits and smallest exponent `low`.
pub fn ulp_error(got: f64, truth: &Float, digits: i32, low: i32, high: i32) -> f64 {
    if got.is_nan() || truth.is_nan() {
        return if got.is_nan() && truth.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if truth.is_infinite() {
        return if got == truth.to_f64() { 0.0 } else { f64::INFINITY };
    }
    let exponent = truth.get_exp().map_or(low, |e| (e - 1).max(low));
    if exponent >= high && got.is_infinite() && got.is_sign_negative() == truth.is_sign_negative() {
        return 0.0;
    }
    let ulp = exponent.min(high - 1) - (digits - 1);
    let value = if got.is_infinite() { Float::with_val(64, if got > 0.0 { 1 } else { -1 }) << high } else { Float::with_val(64, got) };
    let difference = Float::with_val(truth.prec(), &value - truth);
    (difference >> ulp).to_f64().abs()
}

fn ulp64(got: f64, truth: &Float) -> f64 {
    ulp_error(got, truth, 53, -1022, 1024)
}

fn ulp32(got: f32, truth: &Float) -> f64 {
    ulp_error(got as f64, truth, 24, -126, 128)
}

/// Runs `work` on every core and merges.
fn parallel(work: impl Fn(u64, u64) -> Worst + Sync) -> Worst {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads)
            .map(|i| {
                scope.spawn({
                    let work = &work;
                    move || work(i, threads)
                })
            })
            .collect();
        handles.into_iter().map(|h| h.join().expect("a measuring thread panicked")).fold(Worst::default(), Worst::merge)
    })
}

const BLOCK: usize = 4096;

pub fn f64_unary(f: &Of1, points: u64) -> Worst {
    parallel(|thread, threads| {
        let mut r = Random(0x5eed + thread * 7919);
        let mut worst = Worst { filtered: f.filter.is_some(), ..Worst::default() };
        let mut x = vec![0.0; BLOCK];
        let mut y = vec![0.0; BLOCK];
        while worst.points < points / threads {
            for (i, v) in x.iter_mut().enumerate() {
                *v = f.spreads[i % f.spreads.len()].draw(&mut r);
            }
            f.function.f64_slice(Level::best(), &x, &mut y);
            for (&x, &y) in x.iter().zip(&y) {
                if let Some(filter) = f.filter {
                    let c = filter(x);
                    if c.to_bits() == y.to_bits() || (c.is_nan() && y.is_nan()) {
                        continue;
                    }
                }
                worst.judged += 1;
                worst.see(ulp64(y, &(f.judge)(x)), || format!("{x:e}"));
            }
            worst.points += BLOCK as u64;
        }
        worst
    })
}

pub fn f64_binary(f: &Of2, points: u64) -> Worst {
    parallel(|thread, threads| {
        let mut r = Random(0xb1a5 + thread * 7919);
        let mut worst = Worst { filtered: f.filter.is_some(), ..Worst::default() };
        let (mut a, mut b, mut y) = (vec![0.0; BLOCK], vec![0.0; BLOCK], vec![0.0; BLOCK]);
        while worst.points < points / threads {
            for i in 0..BLOCK {
                (a[i], b[i]) = (f.draw)(&mut r);
            }
            f.function.f64_slice(Level::best(), Arg::Slice(&a), Arg::Slice(&b), &mut y);
            for i in 0..BLOCK {
                let (a, b, y) = (a[i], b[i], y[i]);
                if let Some(filter) = f.filter {
                    let c = filter(a, b);
                    if c.to_bits() == y.to_bits() || (c.is_nan() && y.is_nan()) {
                        continue;
                    }
                }
                if b == 0.0 && f.filter.is_none() {
                    continue;
                }
                worst.judged += 1;
                worst.see(ulp64(y, &(f.judge)(a, b)), || format!("{a:e}, {b:e}"));
            }
            worst.points += BLOCK as u64;
        }
        worst
    })
}

/// Error of an f32 result against an f64 reference value.
#[inline(always)]
fn f32_error(y: f32, reference: f64) -> f64 {
    let magnitude = reference.abs();
    let exponent = (magnitude.to_bits() & (0x7ff << 52)).max((1023 - 126) << 52);
    let per_ulp = f64::from_bits(((2046 + 23) << 52) - exponent);
    (y as f64 - reference).abs() * per_ulp
}

/// The same with overflow, infinities, NaN and the sign of zeros.
fn f32_error_special(y: f32, reference: f64) -> f64 {
    let top = 2f64.powi(128);
    if y.is_nan() || reference.is_nan() {
        return if y.is_nan() && reference.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if y.is_infinite() {
        let same = y.is_sign_negative() == reference.is_sign_negative();
        return if !same {
            f64::INFINITY
        } else if reference.abs() >= top {
            0.0
        } else {
            (top - reference.abs()) / 2f64.powi(104)
        };
    }
    if reference.abs() >= top {
        return ((reference.abs() - y.abs() as f64) / 2f64.powi(104)).abs();
    }
    if reference == 0.0 {
        return if y == 0.0 && y.is_sign_negative() == reference.is_sign_negative() { 0.0 } else { f64::INFINITY };
    }
    f32_error(y, reference)
}

/// Every f32 (or every `stride`-th) against the f64 kernel of the same function; the worst input goes to the judge.
pub fn f32_unary(f: &Unary, judge: Option<fn(f64) -> Float>, stride: u64) -> Worst {
    let mut worst = parallel(|thread, threads| {
        let mut worst = Worst::default();
        let (mut x, mut y) = (vec![0.0f32; BLOCK], vec![0.0f32; BLOCK]);
        let (mut wide, mut reference) = (vec![0.0f64; BLOCK], vec![0.0f64; BLOCK]);
        let all = (1u64 << 32) / stride;
        let mut start = thread * BLOCK as u64;
        while start < all {
            let n = BLOCK.min((all - start) as usize);
            for i in 0..n {
                x[i] = f32::from_bits(((start + i as u64) * stride) as u32);
                wide[i] = x[i] as f64;
            }
            f.f32_slice(Level::best(), &x[..n], &mut y[..n]);
            f.f64_slice(Level::best(), &wide[..n], &mut reference[..n]);
            let mut top = 0.0f64;
            let mut odd = false;
            for (&y, &r) in y[..n].iter().zip(&reference[..n]) {
                let e = f32_error(y, r);
                top = if e > top { e } else { top };
                odd |= !(r.abs() < 3e38 && r.abs() > 1e-300 && y.abs() < f32::INFINITY);
            }
            if odd || top > worst.error {
                for i in 0..n {
                    worst.see(f32_error_special(y[i], reference[i]), || format!("{:e}", x[i]));
                }
            }
            worst.points += n as u64;
            start += BLOCK as u64 * threads;
        }
        worst
    });
    // a larger error is no matter of the reference's last bit and stands as it is
    if let (Some(judge), Ok(x)) = (judge, worst.at.parse::<f32>())
        && worst.error < 0.6
    {
        worst.error = ulp32(f.f32(x), &judge(x as f64));
        worst.judged = 1;
    }
    worst
}

/// Random f32 pairs against the f64 kernel; the worst pair goes to the judge.
pub fn f32_binary(f: &Binary, draw: fn(&mut Random) -> (f64, f64), judge: fn(f64, f64) -> Float, points: u64) -> Worst {
    let mut worst = parallel(|thread, threads| {
        let mut r = Random(0xf32 + thread * 7919);
        let mut worst = Worst::default();
        let (mut a, mut b, mut y) = (vec![0.0f32; BLOCK], vec![0.0f32; BLOCK], vec![0.0f32; BLOCK]);
        let (mut wa, mut wb, mut reference) = (vec![0.0f64; BLOCK], vec![0.0f64; BLOCK], vec![0.0f64; BLOCK]);
        while worst.points < points / threads {
            for i in 0..BLOCK {
                // half of the pairs are any two bit patterns
                let (p, q) = if i % 2 == 0 {
                    (f32::from_bits(r.next() as u32), f32::from_bits(r.next() as u32))
                } else {
                    let (p, q) = draw(&mut r);
                    (p as f32, q as f32)
                };
                (a[i], b[i], wa[i], wb[i]) = (p, q, p as f64, q as f64);
            }
            f.f32_slice(Level::best(), Arg::Slice(&a), Arg::Slice(&b), &mut y);
            f.f64_slice(Level::best(), Arg::Slice(&wa), Arg::Slice(&wb), &mut reference);
            for i in 0..BLOCK {
                worst.see(f32_error_special(y[i], reference[i]), || format!("{:e}, {:e}", a[i], b[i]));
            }
            worst.points += BLOCK as u64;
        }
        worst
    });
    let pair: Vec<f32> = worst.at.split(", ").filter_map(|v| v.parse().ok()).collect();
    if let [a, b] = pair[..]
        && worst.error < 0.6
        && b != 0.0
    {
        worst.error = ulp32(f.f32(a, b), &judge(a as f64, b as f64));
        worst.judged = 1;
    }
    worst
}
