//! Constants that are drawn at random for each group. In: declarations; out: their means, and which parameter is their standard deviation.

use super::groups::Grouping;
use super::joint::Joint;
use super::marginal::{Deviation, Standard};
use crate::model::layout::Layout;
use crate::optimise::Bounds;
use neural_compiler::{Diagnostic, Diagnostics, Shape};

/// A random effect: its number among the parameters, its mean, and its standard deviation, a parameter or a number.
struct Effect {
    number: usize,
    mean: f64,
    deviation: Deviation,
}

/// All random effects of a model.
pub(super) struct Effects(Vec<Effect>);

fn bad(message: String, help: &str) -> Diagnostics {
    Diagnostic::error("bad-declaration", Default::default(), message).help(help).into()
}

impl Effects {
    /// The effects of a layout, in the order of its parameters; `None` where there are none.
    pub(super) fn new(layout: &Layout, grouping: &Grouping) -> Result<Option<Effects>, Diagnostics> {
        let mut found = Vec::new();
        for shared in &layout.shared {
            let (Some(effect), Some(at)) = (&shared.effect, shared.at) else { continue };
            let deviation = match layout.shared.iter().find(|s| s.name == effect.deviation && s.shape == Shape::Scalar && s.per.is_none()) {
                Some(s) => s.at.map_or(Deviation::Number(s.initial[0]), Deviation::Shared),
                None => {
                    let message =
                        format!("`{}`, the standard deviation of the effect `{}`, is no parameter", effect.deviation, shared.name);
                    return Err(bad(message, "declare it: (param omega 0.5 :min 0)"));
                }
            };
            found.extend((at..at + shared.shape.len()).map(|number| Effect { number, mean: effect.mean, deviation }));
        }
        if found.is_empty() {
            return Ok(None);
        }
        if let (1, Some(effect)) = (grouping.labels.len(), found.iter().find(|e| matches!(e.deviation, Deviation::Shared(_)))) {
            let message = format!(
                "`{}` has one value, `{}`: the data of one group do not say how much `{}` varies between groups",
                grouping.column, grouping.labels[0], layout.names[effect.number]
            );
            let help = "leave the effect out, or give its standard deviation: (param omega 0.5 :fixed)";
            return Err(Diagnostic::error("too-few-groups", Default::default(), message).help(help).into());
        }
        if let Some(&other) = grouping.local.iter().find(|&&j| found.iter().all(|e| e.number != j)) {
            let message = format!("`{}` differs between groups beside constants that are drawn at random for them", layout.names[other]);
            return Err(bad(message, "give it an `:effect` too, or leave out its `:per`"));
        }
        Ok(Some(Effects(found)))
    }

    /// Their means and standard deviations, in the order of the parameters.
    pub(super) fn standard(&self, joint: &Joint<'_>) -> Vec<Standard> {
        let one = |e: &Effect| {
            let deviation = match e.deviation {
                Deviation::Shared(j) => Deviation::Shared(joint.column(j)),
                Deviation::Number(x) => Deviation::Number(x),
            };
            Standard { mean: e.mean, deviation }
        };
        self.0.iter().map(one).collect()
    }

    /// Bounds that hold them at their means, and what they vary by where it is.
    pub(super) fn held(&self, bounds: &Bounds) -> Bounds {
        let mut held = bounds.clone();
        for e in &self.0 {
            (held.min[e.number], held.max[e.number]) = (e.mean, e.mean);
        }
        held
    }
}
