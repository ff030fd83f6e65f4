//! Units back as texts. In: a unit and the units a program names; out: the shortest of its spellings: a name, base units, or the program's
//! own units. Invariant: the text reads back as the same unit.

use super::convert;
use super::parse::parse;
use super::ratio::Ratio;
use super::table;
use super::unit::{BASES, Part, Unit};

/// Names of derived units that are worth a look where the program names none.
const USUAL: &[&str] = &["N", "J", "W", "Pa", "V", "C", "F", "ohm", "T", "Hz"];

/// The units a program names, for spelling others in the same terms.
#[derive(Clone, Debug, Default)]
pub(super) struct Vocabulary {
    words: Vec<(String, Unit)>,
}

impl Vocabulary {
    /// Takes the names in a text that was read as a unit.
    pub(super) fn learn(&mut self, text: &str) {
        for word in text.split(|c: char| !(c.is_alphabetic() || matches!(c, '_' | '%' | '°' | '‰'))) {
            if let Some(unit) = table::named(word)
                && !unit.is_one()
                // Differences of temperatures are kelvins.
                && table::lone(word).is_none()
                && self.words.iter().all(|w| w.0 != word)
            {
                self.words.push((word.to_string(), unit));
            }
        }
    }

    /// A unit as text.
    pub(super) fn text(&self, unit: &Unit) -> String {
        if unit.is_one() {
            return "1".into();
        }
        if let Some(row) = unit.origin() {
            let name = table::symbol(row);
            if parse(name).is_ok_and(|s| s.unit == *unit) {
                return name.into();
            }
        }
        let plain = unit.difference();
        let usual = USUAL.iter().filter_map(|n| Some((n.to_string(), table::named(n)?)));
        let alone = self.words.iter().cloned().chain(usual).find(|w| w.1 == plain);
        if let Some((name, _)) = alone {
            return name;
        }
        let own = self.in_own_words(&plain);
        let base = base(&plain);
        match own {
            Some(own) if weight(&own) <= weight(&base.1) || base.0.is_some() => written(None, &own),
            _ => written(base.0, &base.1),
        }
    }

    /// As a product of the program's own units and base units, by elimination: each next word helps with what those before it leave.
    fn in_own_words(&self, unit: &Unit) -> Option<Vec<(String, Ratio)>> {
        // Base units help where the program's own do not reach.
        let bases = BASES.iter().filter_map(|b| Some((b.to_string(), table::named(b)?)));
        let words: Vec<(String, Unit)> = self.words.iter().cloned().chain(bases).collect();
        // Rows: the words with the combination of words each stands for.
        let mut rows: Vec<(Part, Unit, Vec<Ratio>)> = Vec::new();
        let n = words.len();
        let reduce = |unit: &Unit, combination: Vec<Ratio>, rows: &[(Part, Unit, Vec<Ratio>)]| {
            let (mut unit, mut combination) = (unit.clone(), combination);
            for (pivot, row, made) in rows {
                let k = unit.exponent(*pivot);
                if k.is_zero() {
                    continue;
                }
                unit = unit.with(row, k.negated())?;
                for (c, m) in combination.iter_mut().zip(made) {
                    *c = c.plus(m.times(k.negated())?)?;
                }
            }
            Some((unit, combination))
        };
        for (i, (_, word)) in words.iter().enumerate() {
            let mut own = vec![Ratio::ZERO; n];
            own[i] = Ratio::ONE;
            let (left, made) = reduce(word, own, &rows)?;
            let Some(&(pivot, k)) = left.parts().first() else { continue };
            let back = Ratio::ONE.over(k)?;
            let left = left.power(back)?;
            let made = made.into_iter().map(|m| m.times(back)).collect::<Option<Vec<_>>>()?;
            for (_, row, other) in &mut rows {
                let k = row.exponent(pivot);
                *row = row.with(&left, k.negated())?;
                for (o, m) in other.iter_mut().zip(&made) {
                    *o = o.plus(m.times(k.negated())?)?;
                }
            }
            rows.push((pivot, left, made));
        }
        let (rest, combination) = reduce(unit, vec![Ratio::ZERO; n], &rows)?;
        let words = words.iter().zip(combination).filter(|(_, k)| !k.is_zero());
        rest.is_one().then(|| words.map(|(w, k)| (w.0.clone(), k.negated())).collect())
    }
}

/// As base units, with the number before them where it is not 1.
fn base(unit: &Unit) -> (Option<f64>, Vec<(String, Ratio)>) {
    let scale = unit.only(|p| matches!(p, Part::Prime(_) | Part::Pi));
    let bases = unit.parts().iter().filter_map(|&(part, k)| match part {
        Part::Base(b) => Some((BASES[b as usize].to_string(), k)),
        _ => None,
    });
    ((!scale.is_one()).then(|| convert::number(&scale)), bases.collect())
}

/// How much there is to read.
fn weight(words: &[(String, Ratio)]) -> u64 {
    words.iter().map(|(_, k)| 1 + k.top().unsigned_abs() + k.bottom().unsigned_abs()).sum()
}

/// `2.5 kg*m^2/(s*K)`.
fn written(number: Option<f64>, words: &[(String, Ratio)]) -> String {
    let one = |(name, k): &(String, Ratio)| match (k.top().abs(), k.bottom()) {
        (1, 1) => name.clone(),
        (top, 1) => format!("{name}^{top}"),
        (top, bottom) => format!("{name}^({top}/{bottom})"),
    };
    let (top, bottom): (Vec<_>, Vec<_>) = words.iter().partition(|w| w.1.top() > 0);
    let (top, bottom): (Vec<String>, Vec<String>) = (top.into_iter().map(one).collect(), bottom.into_iter().map(one).collect());
    let number = number.map(|x| format!("{x} ")).unwrap_or_default();
    let over = match &top[..] {
        [] if bottom.is_empty() => return number.trim().to_string(),
        [] => "1".to_string(),
        many => many.join("*"),
    };
    match &bottom[..] {
        [] => format!("{number}{over}"),
        [one] => format!("{number}{over}/{one}"),
        many => format!("{number}{over}/({})", many.join("*")),
    }
}
