//! How far 95 % intervals reach. In: degrees of freedom; out: the 97.5 % point of Student's distribution with so many.
//! Invariant: it falls as they grow, to that of the normal distribution, however many they are.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// That of the normal distribution.
pub(crate) const NORMAL: f64 = 1.959_963_984_540_054;
/// From here on the series has all digits; the search for the point by the incomplete beta function loses some, and from 14 million on
/// does not end.
const MANY: usize = 200;

/// The 97.5 % point; NaN without a degree of freedom.
pub(crate) fn reach(freedom: usize) -> f64 {
    match freedom {
        0 => f64::NAN,
        few if few < MANY => StudentsT::new(0.0, 1.0, few as f64).map_or(f64::NAN, |t| t.inverse_cdf(0.975)),
        many => series(many as f64),
    }
}

/// Fisher and Cornish's series in one over the degrees of freedom (Abramowitz and Stegun 26.7.5).
fn series(freedom: f64) -> f64 {
    let (z, s) = (NORMAL, NORMAL * NORMAL);
    let terms = [
        z,
        z * (s + 1.0) / 4.0,
        z * ((5.0 * s + 16.0) * s + 3.0) / 96.0,
        z * (((3.0 * s + 19.0) * s + 17.0) * s - 15.0) / 384.0,
        z * ((((79.0 * s + 776.0) * s + 1482.0) * s - 1920.0) * s - 945.0) / 92_160.0,
    ];
    terms.iter().rev().fold(0.0, |sum, term| sum / freedom + term)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against mpmath with 40 digits.
    #[test]
    fn points_of_student() {
        for (freedom, point) in [
            (1, 12.706_204_736_174_705),
            (2, 4.302_652_729_749_464),
            (5, 2.570_581_835_636_315_5),
            (30, 2.042_272_456_301_238),
            (200, 1.971_896_223_633_909_4),
            (201, 1.971_836_506_779_859_3),
            (1000, 1.962_339_080_826_408_5),
            (10_000, 1.960_201_239_890_626_3),
            (1_000_000, 1.959_966_356_814_107),
            (1_000_000_000, 1.959_963_986_912_325_5),
            (1_000_000_000_000, 1.959_963_984_542_426_5),
        ] {
            let found = reach(freedom);
            assert!((found / point - 1.0).abs() < 1e-11, "{freedom}: {found}");
        }
        assert!(reach(0).is_nan() && reach(199) > reach(200));
    }
}
