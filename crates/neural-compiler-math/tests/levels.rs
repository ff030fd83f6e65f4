//! Scalar calls and slices give the same bits at every level this CPU has: odd lengths, rare lanes among usual
//! ones, slices and splats.

use neural_compiler_math::{Arg, BINARY, Level, UNARY};

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Usual values, any bit pattern, and special values.
    fn f64(&mut self) -> f64 {
        const SPECIAL: [f64; 16] = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
            5e-324,
            -5e-324,
            f64::MAX,
            f64::MIN,
            1e300,
            2.0,
            0.5,
            710.0,
            -745.0,
        ];
        match self.next() % 16 {
            0 => SPECIAL[self.next() as usize % SPECIAL.len()],
            1..=4 => f64::from_bits(self.next()),
            5..=8 => (self.next() as f64 / u64::MAX as f64 - 0.5) * 2.0,
            _ => (self.next() as f64 / u64::MAX as f64 - 0.5) * 100.0,
        }
    }

    fn f32(&mut self) -> f32 {
        if self.next().is_multiple_of(4) { f32::from_bits(self.next() as u32) } else { self.f64() as f32 }
    }
}

const LENGTHS: [usize; 12] = [0, 1, 2, 3, 7, 15, 17, 63, 64, 65, 129, 1027];

#[test]
fn unary_bits_agree() {
    let mut random = Random(0x9e3779b97f4a7c15);
    for f in UNARY {
        for n in LENGTHS {
            let x: Vec<f64> = (0..n).map(|_| random.f64()).collect();
            let x32: Vec<f32> = (0..n).map(|_| random.f32()).collect();
            for &level in Level::available() {
                let mut out = vec![0.0; n];
                f.f64_slice(level, &x, &mut out);
                for (x, y) in x.iter().zip(&out) {
                    let s = f.f64(*x);
                    assert_eq!(s.to_bits(), y.to_bits(), "{} {level:?} at {x:e}: {s:e} and {y:e}", f.name);
                }
                let mut out = vec![0.0; n];
                f.f32_slice(level, &x32, &mut out);
                for (x, y) in x32.iter().zip(&out) {
                    let s = f.f32(*x);
                    assert_eq!(s.to_bits(), y.to_bits(), "{} {level:?} at {x:e}: {s:e} and {y:e}", f.name);
                }
            }
        }
    }
}

#[test]
fn binary_bits_agree() {
    let mut random = Random(0x2545f4914f6cdd1d);
    for f in BINARY {
        for n in LENGTHS {
            let a: Vec<f64> = (0..n).map(|_| random.f64()).collect();
            let b: Vec<f64> = (0..n).map(|_| random.f64()).collect();
            let a32: Vec<f32> = (0..n).map(|_| random.f32()).collect();
            let b32: Vec<f32> = (0..n).map(|_| random.f32()).collect();
            let (p, q) = (random.f64(), random.f64());
            for &level in Level::available() {
                for shape in 0..4 {
                    let (sa, sb) = (shape & 1 != 0, shape & 2 != 0);
                    let mut out = vec![0.0; n];
                    let left = if sa { Arg::Splat(p) } else { Arg::Slice(&a[..]) };
                    let right = if sb { Arg::Splat(q) } else { Arg::Slice(&b[..]) };
                    f.f64_slice(level, left, right, &mut out);
                    for i in 0..n {
                        let (x, y) = (if sa { p } else { a[i] }, if sb { q } else { b[i] });
                        let s = f.f64(x, y);
                        assert_eq!(s.to_bits(), out[i].to_bits(), "{} {level:?} at {x:e}, {y:e}: {s:e} and {:e}", f.name, out[i]);
                    }
                    let mut out = vec![0.0; n];
                    let left = if sa { Arg::Splat(p as f32) } else { Arg::Slice(&a32[..]) };
                    let right = if sb { Arg::Splat(q as f32) } else { Arg::Slice(&b32[..]) };
                    f.f32_slice(level, left, right, &mut out);
                    for i in 0..n {
                        let (x, y) = (if sa { p as f32 } else { a32[i] }, if sb { q as f32 } else { b32[i] });
                        let s = f.f32(x, y);
                        assert_eq!(s.to_bits(), out[i].to_bits(), "{} {level:?} at {x:e}, {y:e}: {s:e} and {:e}", f.name, out[i]);
                    }
                }
            }
        }
    }
}

#[test]
#[should_panic(expected = "unequal length")]
fn unequal_lengths_panic() {
    neural_compiler_math::SIN.f64_slice(Level::best(), &[1.0], &mut [0.0, 0.0]);
}

#[test]
#[should_panic(expected = "unequal length")]
fn unequal_binary_lengths_panic() {
    neural_compiler_math::ADD.f32_slice(Level::best(), Arg::Splat(1.0), Arg::Slice(&[1.0]), &mut [0.0, 0.0]);
}
