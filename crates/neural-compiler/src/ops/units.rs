//! How units go through operations. In: nothing; out: the rules that rows of the table name and `units/rules.rs` applies.

/// What an operation asks of the units of its arguments, and what unit its result has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnitRule {
    /// Arguments of one unit; the result has it. With an origin (degC), one argument may have it, the others are differences.
    Sum,
    /// Arguments of one unit; the result has it, without an origin where both have one.
    Difference,
    /// Arguments of one unit; the result has it.
    Same,
    /// One argument without an origin; the result has its unit.
    Negative,
    /// The product of the units.
    Product,
    /// The first unit over the others; of one argument, one over it.
    Quotient,
    /// The second unit over the first.
    Solution,
    /// The unit of the first to the power of the second, a constant; where it is none, both are pure numbers.
    Power,
    /// The unit to this power, a fraction.
    Fixed(i8, i8),
    /// Pure numbers in and out.
    Pure,
    /// Arguments of one unit; the result is a pure number.
    Relation,
    /// Any unit; the result is a pure number.
    Any,
    /// A test of any unit, then two arguments of one unit, which the result has.
    Choice,
    /// One over the unit that all arguments have.
    Density,
    /// The elements, each with its own unit.
    Elements,
    /// An element or a part of the first; the others are pure numbers.
    Element,
    /// As the first; the others are pure numbers.
    First,
    /// Two arguments of one unit, which the result has, and a pure number.
    Points,
    /// As the first; the others have one unit.
    Between,
    /// Three arguments of one unit; the result has it over that of the fourth to this power.
    Differences(i8),
    /// Zeros, which have any unit.
    Zeros,
    /// Arguments of any unit, a result whose unit is not followed.
    Unfollowed,
    /// No surface: never in a program's text.
    Inner,
}

impl UnitRule {
    /// In words, for the documentation.
    pub fn text(self) -> String {
        match self {
            UnitRule::Sum | UnitRule::Same | UnitRule::Negative => "one unit in, the same out".into(),
            UnitRule::Difference => "one unit in, the same out; a difference has no origin".into(),
            UnitRule::Product => "the product of the units".into(),
            UnitRule::Quotient => "the quotient of the units".into(),
            UnitRule::Solution => "the second unit over the first".into(),
            UnitRule::Power => "the first unit to a constant power".into(),
            UnitRule::Fixed(top, 1) => format!("the unit to the power {top}"),
            UnitRule::Fixed(top, bottom) => format!("the unit to the power {top}/{bottom}"),
            UnitRule::Pure => "pure numbers in and out".into(),
            UnitRule::Relation => "one unit in, a pure number out".into(),
            UnitRule::Any => "any unit in, a pure number out".into(),
            UnitRule::Choice => "what is chosen from has one unit".into(),
            UnitRule::Density => "one unit in, one over it out".into(),
            UnitRule::Elements => "each element its own".into(),
            UnitRule::Element => "that of the element".into(),
            UnitRule::First => "that of the first".into(),
            UnitRule::Points => "that of the first two".into(),
            UnitRule::Between => "that of the first; the others have one".into(),
            UnitRule::Differences(1) => "that of the first three over that of the fourth".into(),
            UnitRule::Differences(power) => format!("that of the first three over that of the fourth to the power {power}"),
            UnitRule::Zeros => "any".into(),
            UnitRule::Unfollowed | UnitRule::Inner => "not followed".into(),
        }
    }
}
