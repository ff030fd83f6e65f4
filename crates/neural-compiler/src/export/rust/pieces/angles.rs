/// Angles brought down to a quarter of a turn.
pub mod trig {
    use super::coefficients::{PIO2_HI, PIO2_LO, PIO2_LO2, TWO_OVER_PI_HI};
    use super::dd::{two_difference, two_prod};
    pub use super::reduce::reduce_large;

    pub const LIMIT: f64 = 1073741824.0;
    const MAGIC: f64 = 6755399441055744.0;

    pub fn reduce(x: f64) -> (f64, f64, f64) {
        let t = x.mul_add(TWO_OVER_PI_HI, MAGIC);
        let n = t - MAGIC;
        let r = (-n).mul_add(PIO2_HI, x);
        let (p, pe) = two_prod(n, PIO2_LO);
        let (h, e) = two_difference(r, p);
        (t, h, (-n).mul_add(PIO2_LO2, e - pe))
    }
}
