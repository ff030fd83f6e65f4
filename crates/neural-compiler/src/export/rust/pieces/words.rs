/// Sums and products of two numbers and what rounding dropped of them.
pub mod dd {
    pub fn two_sum(a: f64, b: f64) -> (f64, f64) {
        let s = a + b;
        let t = s - a;
        (s, (a - (s - t)) + (b - t))
    }

    pub fn two_difference(a: f64, b: f64) -> (f64, f64) {
        let s = a - b;
        let t = s - a;
        (s, (a - (s - t)) - (b + t))
    }

    pub fn fast_two_sum(a: f64, b: f64) -> (f64, f64) {
        let s = a + b;
        (s, b - (s - a))
    }

    pub fn two_prod(a: f64, b: f64) -> (f64, f64) {
        let p = a * b;
        (p, a.mul_add(b, -p))
    }

    pub fn mul(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
        let (p, e) = two_prod(a.0, b.0);
        fast_two_sum(p, e + a.0.mul_add(b.1, a.1 * b.0))
    }
}
