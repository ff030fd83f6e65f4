//! Exact fractions, for exponents of units. In: whole numbers or a number that is a simple fraction; out: lowest terms, or nothing where a
//! part would not fit. Invariant: the denominator is positive.

/// A fraction in lowest terms.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ratio {
    top: i64,
    bottom: i64,
}

/// Denominators that a binary number is taken to stand for: thirds, sevenths and their like.
const LARGEST_BOTTOM: i64 = 64;

fn divisor(mut a: i128, mut b: i128) -> i128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.abs()
}

impl Ratio {
    /// Nothing.
    pub const ZERO: Ratio = Ratio { top: 0, bottom: 1 };
    /// One.
    pub const ONE: Ratio = Ratio { top: 1, bottom: 1 };

    /// A whole number.
    pub const fn whole(n: i64) -> Ratio {
        Ratio { top: n, bottom: 1 }
    }

    /// `top / bottom`; nothing for a denominator of 0 or parts too large.
    pub fn new(top: i128, bottom: i128) -> Option<Ratio> {
        let by = divisor(top, bottom);
        if bottom == 0 {
            return None;
        }
        let by = if bottom < 0 { -by } else { by };
        Some(Ratio { top: i64::try_from(top / by).ok()?, bottom: i64::try_from(bottom / by).ok()? })
    }

    /// The fraction a number stands for: one with a small denominator that rounds to it, else its decimals.
    ///
    /// ```
    /// use neural_compiler::units::ratio::Ratio;
    /// assert_eq!(Ratio::of(1.0 / 3.0), Ratio::new(1, 3));
    /// assert_eq!(Ratio::of(0.385), Ratio::new(385, 1000));
    /// ```
    pub fn of(x: f64) -> Option<Ratio> {
        if !x.is_finite() || x.abs() > 1e6 {
            return None;
        }
        let simple = (1..=LARGEST_BOTTOM).find_map(|bottom| {
            let top = (x * bottom as f64).round();
            (top / bottom as f64 == x).then(|| Ratio::new(top as i128, i128::from(bottom)))?
        });
        simple.or_else(|| {
            let text = format!("{x}");
            let (whole, decimals) = text.split_once('.')?;
            if decimals.len() > 12 {
                return None;
            }
            Ratio::new(format!("{whole}{decimals}").parse().ok()?, 10i128.pow(decimals.len() as u32))
        })
    }

    /// Its numerator.
    pub fn top(self) -> i64 {
        self.top
    }

    /// Its denominator.
    pub fn bottom(self) -> i64 {
        self.bottom
    }

    /// Whether it is nothing.
    pub fn is_zero(self) -> bool {
        self.top == 0
    }

    /// Whether it is a whole number.
    pub fn is_whole(self) -> bool {
        self.bottom == 1
    }

    /// As a number.
    pub fn value(self) -> f64 {
        self.top as f64 / self.bottom as f64
    }

    /// The sum.
    pub fn plus(self, other: Ratio) -> Option<Ratio> {
        let [a, b, c, d] = [self.top, self.bottom, other.top, other.bottom].map(i128::from);
        Ratio::new(a * d + c * b, b * d)
    }

    /// The product.
    pub fn times(self, other: Ratio) -> Option<Ratio> {
        let [a, b, c, d] = [self.top, self.bottom, other.top, other.bottom].map(i128::from);
        Ratio::new(a * c, b * d)
    }

    /// The quotient.
    pub fn over(self, other: Ratio) -> Option<Ratio> {
        let [a, b, c, d] = [self.top, self.bottom, other.top, other.bottom].map(i128::from);
        Ratio::new(a * d, b * c)
    }

    /// With the other sign.
    pub fn negated(self) -> Ratio {
        Ratio { top: self.top.saturating_neg(), ..self }
    }
}
