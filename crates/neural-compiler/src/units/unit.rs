//! A unit as exponents. In: base dimensions, numbers, unknowns; out: products and powers of them, equal if and only if they are the same
//! unit, scale included. A number is the product of its primes, so that the group of units is a vector space over the fractions:
//! 1 cm is m^1 2^-2 5^-2, 1 degree is pi^1 2^-2 3^-2 5^-1.
//! Invariants: parts are in order, none has the exponent 0.

use super::ratio::Ratio;

/// What units are made of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Part {
    /// A base dimension, by its place in [`BASES`].
    Base(u8),
    /// A prime number.
    Prime(u64),
    /// pi.
    Pi,
    /// The origin of a scale that does not start at nothing, by the place of its row: a temperature in degC, not a difference of two.
    Origin(u16),
    /// A unit that is not known yet.
    Unknown(u32),
}

/// The base units: those of the SI, and the international unit of pharmacology, which nothing converts.
pub const BASES: &[&str] = &["m", "kg", "s", "A", "K", "mol", "cd", "IU"];

/// Trial division ends here; what is left counts as a prime.
const LARGEST_TRIED: u64 = 1 << 20;

/// A unit.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Unit(Vec<(Part, Ratio)>);

impl Unit {
    /// No unit: a pure number.
    pub fn one() -> Unit {
        Unit::default()
    }

    /// One part.
    pub fn part(part: Part) -> Unit {
        Unit(vec![(part, Ratio::ONE)])
    }

    /// A positive whole number.
    pub fn number(mut n: u64) -> Unit {
        let mut parts: Vec<(Part, Ratio)> = Vec::new();
        let mut p = 2;
        while n > 1 {
            if p > LARGEST_TRIED || p * p > n {
                p = n;
            }
            let mut times = 0;
            while n.is_multiple_of(p) {
                n /= p;
                times += 1;
            }
            if times > 0 {
                parts.push((Part::Prime(p), Ratio::whole(times)));
            }
            p += if p == 2 { 1 } else { 2 };
        }
        parts.sort();
        Unit(parts)
    }

    /// Its parts, with their exponents.
    pub fn parts(&self) -> &[(Part, Ratio)] {
        &self.0
    }

    /// The exponent of a part.
    pub fn exponent(&self, part: Part) -> Ratio {
        self.0.iter().find(|p| p.0 == part).map_or(Ratio::ZERO, |p| p.1)
    }

    /// This times the k-th power of the other; nothing where an exponent would not fit.
    pub fn with(&self, other: &Unit, k: Ratio) -> Option<Unit> {
        let mut parts = self.0.clone();
        for &(part, exponent) in &other.0 {
            let more = exponent.times(k)?;
            match parts.iter_mut().find(|p| p.0 == part) {
                Some(known) => known.1 = known.1.plus(more)?,
                None => parts.push((part, more)),
            }
        }
        parts.retain(|p| !p.1.is_zero());
        parts.sort();
        Some(Unit(parts))
    }

    /// The product.
    pub fn times(&self, other: &Unit) -> Option<Unit> {
        self.with(other, Ratio::ONE)
    }

    /// The quotient.
    pub fn over(&self, other: &Unit) -> Option<Unit> {
        self.with(other, Ratio::whole(-1))
    }

    /// A power.
    pub fn power(&self, k: Ratio) -> Option<Unit> {
        Unit::one().with(self, k)
    }

    /// Only the parts for which this holds.
    pub fn only(&self, keep: impl Fn(Part) -> bool) -> Unit {
        Unit(self.0.iter().copied().filter(|p| keep(p.0)).collect())
    }

    /// Whether it is that of pure numbers.
    pub fn is_one(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether nothing in it is unknown.
    pub fn is_known(&self) -> bool {
        !self.0.iter().any(|p| matches!(p.0, Part::Unknown(_)))
    }

    /// The youngest unknown, with its exponent.
    pub fn youngest(&self) -> Option<(u32, Ratio)> {
        let unknown = |p: &(Part, Ratio)| if let Part::Unknown(i) = p.0 { Some((i, p.1)) } else { None };
        self.0.iter().filter_map(unknown).max_by_key(|p| p.0)
    }

    /// The row of the scale whose origin it has.
    pub fn origin(&self) -> Option<u16> {
        self.0.iter().find_map(|p| if let Part::Origin(row) = p.0 { Some(row) } else { None })
    }

    /// That of differences: without an origin.
    pub fn difference(&self) -> Unit {
        self.only(|p| !matches!(p, Part::Origin(_)))
    }

    /// Only its dimension.
    pub fn dimension(&self) -> Unit {
        self.only(|p| matches!(p, Part::Base(_)))
    }

    /// Whether only a number makes the difference between this and no unit at all.
    pub fn is_scale(&self) -> bool {
        self.0.iter().all(|p| matches!(p.0, Part::Prime(_) | Part::Pi))
    }
}
