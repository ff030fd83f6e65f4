//! Random numbers with a seed. In: a seed; out: the same stream on every machine (splitmix64, Steele, Lea and Flood 2014).

/// A stream.
#[derive(Clone, Debug)]
pub struct Stream(u64);

impl Stream {
    /// The stream of a seed; different `salt`s give streams that have nothing to do with each other.
    pub fn new(seed: u32, salt: u64) -> Stream {
        Stream(u64::from(seed) ^ salt.wrapping_mul(0xD1B5_4A32_D192_ED03))
    }

    /// The next 64 bits.
    #[allow(clippy::should_implement_trait, reason = "a stream has no end")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    }

    /// In [0, 1).
    pub fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Below a bound.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }

    /// Normal with variance 1 (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let (u, v) = (1.0 - self.uniform(), self.uniform());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments() {
        let mut s = Stream::new(3, 1);
        let all: Vec<f64> = (0..20_000).map(|_| s.normal()).collect();
        let mean = all.iter().sum::<f64>() / 20_000.0;
        let variance = all.iter().map(|x| x * x).sum::<f64>() / 20_000.0;
        assert!(mean.abs() < 0.03 && (variance - 1.0).abs() < 0.04, "{mean} {variance}");
        assert!((0..1000).all(|_| s.below(7) < 7));
    }
}
