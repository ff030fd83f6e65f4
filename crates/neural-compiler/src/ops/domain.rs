//! Where operations are defined. In: arguments or intervals; out: whether the domain is (or may be) left. Used by trapping evaluation
//! and by the safe-domain analysis.

use crate::ops::interval::Interval;
use crate::ops::real::Real;

/// The set of arguments an operation is defined for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Domain {
    /// Everything.
    All,
    /// `x >= 0`.
    NonNegative,
    /// `x > 0`.
    Positive,
    /// `x > -1`.
    AboveMinusOne,
    /// `-1 <= x <= 1`.
    Unit,
    /// `x != 0`.
    NonZero,
    /// Not 0, -1, -2, ...
    GammaPoles,
    /// `0 < x < 1`.
    OpenUnit,
    /// Both arguments `> 0`.
    BothPositive,
    /// First argument `> 0`, second `>= 0`.
    Incomplete,
    /// First two arguments `> 0`, the third from 0 to 1.
    IncompleteBeta,
    /// Second argument not 0, third `>= 0`: the widths of a line.
    Widths,
    /// Second argument not 0.
    Divisor,
    /// Base positive, or 0 with exponent `>= 0`, or negative with a whole exponent.
    Power,
    /// Argument and base positive, base not 1.
    LogBase,
    /// An invertible matrix.
    Invertible,
    /// An index inside the value.
    Index,
    /// Third argument not the second, fourth from the second to the third.
    Grid,
}

impl Domain {
    /// In words, for documentation and diagnostics.
    pub fn text(self) -> &'static str {
        match self {
            Domain::All => "everything",
            Domain::NonNegative => "x >= 0",
            Domain::Positive => "x > 0",
            Domain::AboveMinusOne => "x > -1",
            Domain::Unit => "-1 <= x <= 1",
            Domain::NonZero => "x != 0",
            Domain::GammaPoles => "x is not 0, -1, -2, …",
            Domain::OpenUnit => "0 < p < 1",
            Domain::BothPositive => "a > 0, b > 0",
            Domain::Incomplete => "a > 0, x >= 0",
            Domain::IncompleteBeta => "a > 0, b > 0, 0 <= x <= 1",
            Domain::Widths => "sigma != 0, gamma >= 0",
            Domain::Divisor => "divisor != 0",
            Domain::Power => "base > 0; or base = 0 and exponent >= 0; or base < 0 and a whole exponent",
            Domain::LogBase => "x > 0, base > 0, base != 1",
            Domain::Invertible => "an invertible matrix",
            Domain::Index => "a whole index inside the value",
            Domain::Grid => "a != b, x from a to b",
        }
    }

    /// Whether scalar arguments lie outside. NaN arguments are somebody else's fault.
    pub fn violated<T: Real>(self, args: &[T]) -> bool {
        let (zero, one) = (T::ZERO, T::ONE);
        if args.iter().any(|x| x.is_nan()) {
            return false;
        }
        let x = args.first().copied().unwrap_or(zero);
        match self {
            Domain::All | Domain::Invertible | Domain::Index | Domain::Grid => false,
            Domain::NonNegative => x < zero,
            Domain::Positive => x <= zero,
            Domain::AboveMinusOne => x <= -one,
            Domain::Unit => x.abs() > one,
            Domain::NonZero => x == zero,
            Domain::GammaPoles => x <= zero && (x.to_f64().fract() == 0.0 || x.to_f64().is_infinite()),
            Domain::OpenUnit => x <= zero || x >= one,
            Domain::BothPositive => x <= zero || args[1] <= zero,
            Domain::Incomplete => x <= zero || args[1] < zero,
            Domain::IncompleteBeta => x <= zero || args[1] <= zero || args[2] < zero || args[2] > one,
            Domain::Widths => args[1] == zero || args[2] < zero,
            Domain::Divisor => args[1] == zero,
            Domain::Power => {
                let y = args[1];
                (x == zero && y < zero) || (x < zero && y.to_f64().fract() != 0.0 && y.to_f64().is_finite())
            }
            Domain::LogBase => x <= zero || args[1] <= zero || args[1] == one,
        }
    }

    /// Whether some arguments in these intervals may lie outside.
    pub fn may_be_violated<T: Real>(self, args: &[Interval<T>]) -> bool {
        if args.iter().any(|i| i.is_empty()) {
            return false;
        }
        let (zero, one) = (T::ZERO, T::ONE);
        let Some(&x) = args.first() else { return false };
        match self {
            Domain::All | Domain::Invertible | Domain::Index | Domain::Grid => false,
            Domain::NonNegative => x.lo < zero,
            Domain::Positive => x.lo < zero || x.has_zero(),
            Domain::AboveMinusOne => x.lo <= -one,
            Domain::Unit => x.lo < -one || x.hi > one,
            Domain::NonZero => x.has_zero(),
            Domain::GammaPoles => x.has_zero() || (x.lo < zero && x.lo.to_f64().ceil() <= x.hi.to_f64().min(-1.0)),
            Domain::OpenUnit => x.lo <= zero || x.hi >= one,
            Domain::BothPositive => args.iter().any(|a| a.lo < zero || a.has_zero()),
            Domain::Incomplete => x.lo < zero || x.has_zero() || args[1].lo < zero,
            Domain::IncompleteBeta => args[..2].iter().any(|a| a.lo < zero || a.has_zero()) || args[2].lo < zero || args[2].hi > one,
            Domain::Widths => args[1].has_zero() || args[2].lo < zero,
            Domain::Divisor => args[1].has_zero(),
            Domain::Power => {
                let y = args[1];
                (x.has_zero() && y.lo < zero) || (x.lo < zero && !y.whole)
            }
            Domain::LogBase => {
                let b = args[1];
                x.lo < zero || x.has_zero() || b.lo < zero || b.has_zero() || b.contains(one)
            }
        }
    }
}
