//! Unknown units. In: units that must be equal; out: what the unknown ones are, or that no choice of them helps.
//! Invariant: an equation is solved for its youngest unknown, so that an older one never depends on a younger one. What a function makes of
//! unknowns of its own can therefore be used again with others in their place.

use super::ratio::Ratio;
use super::unit::{Part, Unit};

/// What is known of the unknown.
#[derive(Default)]
pub(super) struct Solver {
    known: Vec<Option<Unit>>,
}

/// Why two units are not equal.
pub(super) enum Unequal {
    /// Nothing makes them so.
    Differ,
    /// Exponents do not fit.
    Large,
}

impl Solver {
    pub(super) fn fresh(&mut self) -> Unit {
        self.known.push(None);
        Unit::part(Part::Unknown(self.known.len() as u32 - 1))
    }

    /// How many unknowns there are so far.
    pub(super) fn len(&self) -> u32 {
        self.known.len() as u32
    }

    /// A unit with all that is known put in.
    pub(super) fn resolved(&self, unit: &Unit) -> Option<Unit> {
        let mut unit = unit.clone();
        loop {
            let known = unit.parts().iter().find_map(|&(part, k)| match part {
                Part::Unknown(i) => self.known[i as usize].as_ref().map(|u| (part, k, u)),
                _ => None,
            });
            let Some((part, k, value)) = known else { return Some(unit) };
            unit = unit.with(&Unit::part(part), k.negated())?.with(value, k)?;
        }
    }

    /// Makes two units equal.
    pub(super) fn equal(&mut self, a: &Unit, b: &Unit) -> Result<(), Unequal> {
        let quotient = a.over(b).and_then(|q| self.resolved(&q)).ok_or(Unequal::Large)?;
        if quotient.is_one() {
            return Ok(());
        }
        let Some((youngest, k)) = quotient.youngest() else { return Err(Unequal::Differ) };
        let back = Ratio::whole(-1).over(k).ok_or(Unequal::Large)?;
        let rest = quotient.only(|p| p != Part::Unknown(youngest));
        self.known[youngest as usize] = Some(rest.power(back).ok_or(Unequal::Large)?);
        Ok(())
    }

    /// The same units, resolved, with fresh unknowns in the place of those from `first` on.
    pub(super) fn renewed(&mut self, units: &[Unit], first: u32) -> Option<Vec<Unit>> {
        let mut fresh: Vec<(Part, Unit)> = Vec::new();
        let mut renewed = Vec::with_capacity(units.len());
        for unit in units {
            let unit = self.resolved(unit)?;
            let mut new = unit.clone();
            for &(part, k) in unit.parts() {
                if !matches!(part, Part::Unknown(i) if i >= first) {
                    continue;
                }
                let place = match fresh.iter().position(|f| f.0 == part) {
                    Some(place) => place,
                    None => {
                        let unknown = self.fresh();
                        fresh.push((part, unknown));
                        fresh.len() - 1
                    }
                };
                new = new.with(&Unit::part(part), k.negated())?.with(&fresh[place].1, k)?;
            }
            renewed.push(new);
        }
        Some(renewed)
    }
}
