//! Where to measure: log-uniform points over a whole range, uniform points, and points next to hard places.

/// A random source (splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e3779b97f4a7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58476d1ce4e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d049bb133111eb);
        z ^ (z >> 31)
    }

    /// Uniform in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// A distribution of points.
#[derive(Clone, Copy)]
pub enum Spread {
    /// Uniform in the bit pattern between two positive numbers, both signs.
    Log(f64, f64),
    /// The same, positive only.
    LogPositive(f64, f64),
    /// Uniform between two numbers.
    Uniform(f64, f64),
    /// 1 + t, t log-uniform between two numbers, both signs.
    OnePlus(f64, f64),
    /// An f64 next to (i + offset) * step, i up to the given number.
    Multiples { step: f64, offset: f64, up_to: f64 },
    /// A few ULP around one of these.
    Near(&'static [f64]),
}

impl Spread {
    pub fn draw(&self, r: &mut Random) -> f64 {
        match *self {
            Spread::Log(lo, hi) => {
                let v = log_uniform(r, lo, hi);
                if r.next() & 1 == 0 { v } else { -v }
            }
            Spread::LogPositive(lo, hi) => log_uniform(r, lo, hi),
            Spread::Uniform(lo, hi) => lo + (hi - lo) * r.unit(),
            Spread::OnePlus(lo, hi) => {
                let v = log_uniform(r, lo, hi);
                if r.next() & 1 == 0 { 1.0 + v } else { 1.0 - v }
            }
            Spread::Multiples { step, offset, up_to } => {
                let i = log_uniform(r, 1.0, up_to).floor();
                let v = (i + offset) * step;
                let v = f64::from_bits((v.to_bits() as i64 + r.below(5) as i64 - 2) as u64);
                if r.next() & 1 == 0 { v } else { -v }
            }
            Spread::Near(centres) => {
                let v = centres[r.below(centres.len() as u64) as usize];
                f64::from_bits((v.to_bits() as i64 + r.below(4097) as i64 - 2048) as u64)
            }
        }
    }
}

fn log_uniform(r: &mut Random, lo: f64, hi: f64) -> f64 {
    let (a, b) = (lo.to_bits(), hi.to_bits());
    f64::from_bits(a + r.below(b - a + 1))
}
