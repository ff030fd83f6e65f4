//! Numbers from one unit to another. In: two scales of one dimension; out: what turns numbers of the first into numbers of the second.
//! Invariants: factors are exact products of primes until the last step, which is computed in twice the precision, so that a converted
//! number is within one unit in the last place; origins of temperatures are exact, and subtracted first, as in (F - 32) 5/9.

use super::parse::Scale;
use super::ratio::Ratio;
use super::table::Kind;
use super::unit::{Part, Unit};
use crate::ops::real::Real;
use neural_compiler_math as math;
use std::f64::consts::LN_10;

/// A number in two words, about 106 bits.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Double {
    high: f64,
    low: f64,
}

impl Double {
    const ONE: Double = Double { high: 1.0, low: 0.0 };
    /// pi, in two words.
    const PI: Double = Double { high: std::f64::consts::PI, low: 1.224_646_799_147_353_2e-16 };

    fn sum(high: f64, low: f64) -> Double {
        let sum = high + low;
        Double { high: sum, low: low - (sum - high) }
    }

    fn exact(x: f64) -> Double {
        Double { high: x, low: 0.0 }
    }

    fn plus(self, x: f64) -> Double {
        let sum = self.high + x;
        let back = sum - self.high;
        let rest = (self.high - (sum - back)) + (x - back);
        Double::sum(sum, rest + self.low)
    }

    fn times(self, other: Double) -> Double {
        let product = self.high * other.high;
        let rest = self.high.mul_add(other.high, -product);
        Double::sum(product, rest + (self.high * other.low + self.low * other.high))
    }

    fn over(self, other: Double) -> Double {
        let first = self.high / other.high;
        let back = other.times(Double::exact(first));
        let rest = (self.high - back.high) + (self.low - back.low);
        Double::sum(first, rest / other.high)
    }

    fn power(self, n: u64) -> Double {
        (0..n).fold(Double::ONE, |product, _| product.times(self))
    }
}

fn pow(x: f64, y: f64) -> f64 {
    f64::binary(&math::POW, x, y)
}

/// The number that a unit without dimension is; powers of primes that are no whole ones are rounded once.
fn factor(unit: &Unit) -> Double {
    let (mut top, mut bottom) = (Double::ONE, Double::ONE);
    for &(part, exponent) in unit.parts() {
        let base = match part {
            Part::Prime(p) => Double::exact(p as f64),
            Part::Pi => Double::PI,
            Part::Base(_) | Part::Origin(_) | Part::Unknown(_) => continue,
        };
        let side = if exponent.top() < 0 { &mut bottom } else { &mut top };
        let power = match exponent.is_whole() && exponent.top().abs() <= 400 {
            true => base.power(exponent.top().unsigned_abs()),
            false => Double::exact(pow(base.high, exponent.value().abs())),
        };
        *side = side.times(power);
    }
    top.over(bottom)
}

/// How many of the unit of pure numbers a unit without dimension is.
pub fn number(unit: &Unit) -> f64 {
    factor(unit).high
}

/// What turns numbers of one unit into numbers of another.
#[derive(Clone, PartialEq, Debug)]
pub struct Conversion {
    from: Kind,
    to: Kind,
    /// Added before the factor is applied.
    shift: Double,
    factor: Double,
}

/// The linear unit a scale counts.
fn linear(scale: &Scale) -> Unit {
    match &scale.kind {
        Kind::Linear | Kind::Difference | Kind::Shifted(_) => scale.unit.difference(),
        Kind::Logarithmic { reference, .. } => reference.clone(),
    }
}

/// Whether numbers of both scales can be of one quantity, whatever their dimensions: a difference of two temperatures is no temperature,
/// and each pX is the level of a substance of its own (pH + pOH depends on the temperature and the solvent).
fn of_one_quantity(from: &Scale, to: &Scale) -> bool {
    match (&from.kind, &to.kind) {
        (Kind::Difference, Kind::Shifted(_)) | (Kind::Shifted(_), Kind::Difference) => false,
        (Kind::Logarithmic { multiple: a, .. }, Kind::Logarithmic { multiple: b, .. }) if *a < 0.0 || *b < 0.0 => from.unit == to.unit,
        _ => true,
    }
}

impl Conversion {
    /// From one scale to another; nothing where they measure different things.
    pub fn new(from: &Scale, to: &Scale) -> Option<Conversion> {
        if !of_one_quantity(from, to) {
            return None;
        }
        let ratio = linear(from).over(&linear(to))?;
        if !ratio.is_scale() {
            return None;
        }
        let zero = |kind: &Kind| if let Kind::Shifted(shift) = kind { *shift } else { Ratio::ZERO };
        let (first, second) = (zero(&from.kind), zero(&to.kind));
        // (x + first) ratio - second, as (x + first - second / ratio) ratio.
        let back = if second.is_zero() { Ratio::ZERO } else { second.over(exact(&ratio)?)? };
        let shift = first.plus(back.negated())?;
        let shift = Double::exact(shift.top() as f64).over(Double::exact(shift.bottom() as f64));
        Some(Conversion { from: from.kind.clone(), to: to.kind.clone(), shift, factor: factor(&ratio) })
    }

    /// Whether it changes nothing.
    pub fn is_identity(&self) -> bool {
        let plain = |kind: &Kind| matches!(kind, Kind::Linear | Kind::Difference);
        (self.from == self.to || plain(&self.from) && plain(&self.to)) && self.shift.high == 0.0 && self.factor == Double::ONE
    }

    /// A number of the first unit as a number of the second.
    ///
    /// ```
    /// use neural_compiler::units::{Conversion, parse};
    /// let celsius = Conversion::new(&parse("degF").unwrap(), &parse("degC").unwrap()).unwrap();
    /// assert_eq!(celsius.apply(212.0), 100.0);
    /// let acid = Conversion::new(&parse("pH").unwrap(), &parse("nmol/L").unwrap()).unwrap();
    /// assert_eq!(acid.apply(7.0), 100.0);
    /// ```
    pub fn apply(&self, x: f64) -> f64 {
        let x = match self.from {
            Kind::Logarithmic { multiple, .. } => {
                if self.from == self.to {
                    return x;
                }
                return self.to_scale(self.powered(Double::exact(x).over(Double::exact(multiple))));
            }
            Kind::Linear | Kind::Difference | Kind::Shifted(_) => self.shift.plus(x),
        };
        let product = x.times(self.factor);
        // The low word of what is not finite is not a number.
        self.to_scale(if product.high.is_finite() { product.high + product.low } else { x.high * self.factor.high })
    }

    /// 10^e times the factor. A factor that is a power of ten goes into the exponent, so that whole numbers stay whole; the low word of
    /// the exponent, which the power would lose, follows as a factor of its own.
    fn powered(&self, e: Double) -> f64 {
        let tens = f64::unary(&math::LOG10, self.factor.high);
        let whole = tens.fract() == 0.0 && pow(10.0, tens) == self.factor.high;
        let e = if whole { e.plus(tens) } else { e };
        let power = pow(10.0, e.high);
        let power = (power * (e.low * LN_10)).mul_add(1.0, power);
        if whole { power } else { power * self.factor.high }
    }

    fn to_scale(&self, x: f64) -> f64 {
        match self.to {
            Kind::Logarithmic { multiple, .. } => {
                let log = f64::unary(&math::LOG10, x);
                // What the logarithm lost by rounding, from the power that leads back.
                let back = x / pow(10.0, log) - 1.0;
                let low = if back.abs() < 1e-9 { back / LN_10 } else { 0.0 };
                let product = Double::exact(multiple).times(Double::sum(log, low));
                if product.high.is_finite() { product.high + product.low } else { multiple * log }
            }
            Kind::Linear | Kind::Difference | Kind::Shifted(_) => x,
        }
    }
}

/// A unit that is a fraction of whole numbers.
fn exact(unit: &Unit) -> Option<Ratio> {
    let mut value = Ratio::ONE;
    for &(part, exponent) in unit.parts() {
        let Part::Prime(p) = part else { return None };
        let p = Ratio::new(i128::from(p), 1)?;
        for _ in 0..exponent.top().unsigned_abs().min(64) {
            value = if exponent.top() > 0 { value.times(p)? } else { value.over(p)? };
        }
        if !exponent.is_whole() || exponent.top().unsigned_abs() > 64 {
            return None;
        }
    }
    Some(value)
}
