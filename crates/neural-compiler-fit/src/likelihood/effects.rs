//! Constants that are drawn at random for each group. In: declarations; out: their means, which parameter is their standard deviation, and
//! cells that say how probable their values are.

use super::density::Density;
use super::groups::Grouping;
use super::observed::Densities;
use super::problem::{Cells, Source};
use crate::model::layout::Layout;
use crate::optimise::Bounds;
use neural_compiler::syntax::distributions;
use neural_compiler::{Diagnostic, Diagnostics, Shape};

/// A random effect: its number among the parameters, its mean, and where its standard deviation is.
struct Effect {
    number: usize,
    mean: f64,
    deviation: Source,
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
                Some(s) => s.at.map_or(Source::Number(s.initial[0]), Source::Own),
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
        if let Some(&other) = grouping.local.iter().find(|&&j| found.iter().all(|e| e.number != j)) {
            let message = format!("`{}` differs between groups beside constants that are drawn at random for them", layout.names[other]);
            return Err(bad(message, "give it an `:effect` too, or leave out its `:per`"));
        }
        Ok(Some(Effects(found)))
    }

    /// Their means, in the order of the parameters.
    pub(super) fn means(&self) -> Vec<f64> {
        self.0.iter().map(|e| e.mean).collect()
    }

    /// Bounds that hold them at their means, and what they vary by where it is.
    pub(super) fn held(&self, bounds: &Bounds) -> Bounds {
        let mut held = bounds.clone();
        for e in &self.0 {
            (held.min[e.number], held.max[e.number]) = (e.mean, e.mean);
        }
        held
    }

    /// How probable the values of a group are.
    pub(super) fn cells(&self, layout: &Layout, densities: &mut Densities) -> Vec<Cells> {
        let Some(normal) = distributions::prior("normal") else { return vec![] };
        let density = densities.prior(normal, || Density::new(normal.density, &["m", "mean", "s"], normal.curvature, None));
        let one = |e: &Effect| Cells {
            density: density.clone(),
            y: vec![0.0],
            from: vec![vec![Source::Own(e.number)], vec![Source::Number(e.mean)], vec![e.deviation]],
            possible: (normal.possible, "the standard deviation of an effect is positive"),
            places: vec![format!("the effect `{}`", layout.names[e.number])],
            prior: true,
        };
        self.0.iter().map(one).collect()
    }
}
