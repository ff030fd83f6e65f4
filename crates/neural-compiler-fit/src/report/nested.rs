//! Whether one model can be a special case of another, and how the ratio of their likelihoods is distributed if it is. In: two fits of
//! which one has some of the other's parameters; out: a law of the ratio, or why there is none.
//!
//! The law of Wilks is that of constants inside their bounds. Where the smaller model holds one at its bound the larger can go to one side
//! only, and by chance does not in half of all cases: then the law is half that of one degree of freedom less (Chernoff 1954; Self and
//! Liang 1987, case 6). Of several at their bounds the weights depend on the model; the law of Wilks bounds p from above.
//! Invariant: p is below that of Wilks only where just one constant is known to be at its bound.

use crate::model::layout::Layout;
use crate::options::Options;
use crate::report::outcome::{Fit, Noise, Random};
use neural_compiler::syntax::distributions;
use neural_compiler::{Diagnostics, Program};
use statrs::distribution::{ChiSquared, ContinuousCDF};

/// How twice the logarithm of a likelihood ratio is distributed if the smaller model is right.
#[derive(Clone, PartialEq, Debug)]
pub enum Law {
    /// As chi-square.
    Inside,
    /// The smaller model holds this one at its bound: half chi-square, half that of one degree of freedom less.
    Edge(String),
    /// The smaller model is what the larger goes over into as this one grows without end: the same.
    Limit(String),
    /// It may hold these at an end of their range: p is at most that of chi-square.
    AtMost(Vec<String>),
}

impl Law {
    /// How probable a statistic as large is.
    pub(crate) fn probability(&self, statistic: f64, freedom: f64) -> f64 {
        let beyond = |freedom: f64| match freedom > 0.0 {
            true => ChiSquared::new(freedom).map_or(f64::NAN, |d| d.sf(statistic)),
            // Of no degrees of freedom it is always 0.
            false => f64::from(statistic <= 0.0),
        };
        match self {
            Law::Inside | Law::AtMost(_) => beyond(freedom),
            Law::Edge(_) | Law::Limit(_) => 0.5 * (beyond(freedom - 1.0) + beyond(freedom)),
        }
    }

    /// For programs.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Law::Inside => "chi-square",
            Law::Edge(_) | Law::Limit(_) => "half chi-square of one degree of freedom less",
            Law::AtMost(_) => "at most chi-square",
        }
    }

    /// For people.
    pub(crate) fn words(&self) -> String {
        match self {
            Law::Inside => String::new(),
            Law::Edge(one) => format!(" (half of chi-square of one degree of freedom less: `{one}` is at its bound in the special case)"),
            Law::Limit(one) => {
                format!(" (half of chi-square of one degree of freedom less: `{one}` grows without end in the special case)")
            }
            Law::AtMost(some) => {
                let names = some.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
                format!(" at most: where the special case has {names} at an end of the range, p is smaller")
            }
        }
    }
}

/// Puts into a fit what its model declares of numbers that are no parameters.
pub(crate) fn declare(program: &Program, options: &Options<'_>, fit: &mut Fit) -> Result<(), Diagnostics> {
    let layout = Layout::new(program, &options.values)?;
    let scalar = |s: &&crate::model::layout::Shared| s.initial.len() == 1;
    fit.fixed = layout.shared.iter().filter(|s| s.at.is_none()).filter(scalar).map(|s| (s.name.clone(), s.initial[0])).collect();
    let value = |name: &str| match fit.parameters.iter().find(|p| p.name == name) {
        Some(p) => Some(p.value),
        None => fit.fixed.iter().find(|f| f.0 == name).map(|f| f.1),
    };
    let one = |s: &crate::model::layout::Shared| {
        let deviation = s.effect.as_ref()?.deviation.clone();
        Some(Random { effect: s.name.clone(), value: value(&deviation)?, deviation })
    };
    fit.random = layout.shared.iter().filter_map(one).collect();
    Ok(())
}

/// The distribution of a column and the names of its arguments; of a fit by least squares the normal one.
fn distribution<'a>(fit: &'a Fit, column: &str) -> (&'a str, Vec<&'a str>) {
    let Some(Noise { words, .. }) = fit.noise.iter().find(|n| n.column == column) else { return ("normal", vec![]) };
    let mut all = words.split(|c: char| c == '(' || c == ')' || c.is_whitespace()).filter(|w| !w.is_empty());
    (all.next().unwrap_or(""), all.collect())
}

/// How the ratio of the likelihoods of two models is distributed, if the smaller is right and a special case of the larger; why it is none.
pub(crate) fn law(small: &Fit, large: &Fit) -> Result<Law, String> {
    let more: Vec<usize> =
        (0..large.parameters.len()).filter(|&j| small.parameters.iter().all(|p| p.name != large.parameters[j].name)).collect();
    let (mut limits, mut edges, mut perhaps): (Vec<String>, Vec<String>, Vec<String>) = (vec![], vec![], vec![]);
    let mut of_noise: Vec<&str> = vec![];
    for column in &large.targets {
        let ((a, _), (b, arguments)) = (distribution(small, column), distribution(large, column));
        of_noise.extend(&arguments);
        if a == b {
            continue;
        }
        let end = arguments.first().filter(|first| limit(b) == Some(a) && more.iter().any(|&j| large.parameters[j].name == **first));
        let Some(end) = end else {
            return Err(format!(
                "it says that `{column}` is {a}, the other that it is {b}, and neither distribution is a case of the other"
            ));
        };
        limits.push(end.to_string());
    }
    for &j in &more {
        let (name, (low, high)) = (&large.parameters[j].name, large.bounds.get(j).copied().unwrap_or((f64::NEG_INFINITY, f64::INFINITY)));
        if limits.contains(name) {
            continue;
        }
        let drawn: Vec<&Random> = large.random.iter().filter(|r| r.deviation == *name).collect();
        if !drawn.is_empty() {
            let value = |r: &&Random| small.random.iter().find(|s| s.effect == r.effect).map_or(0.0, |s| s.value);
            match drawn.iter().map(value).fold((f64::INFINITY, 0.0f64), |(a, b), x| (a.min(x.abs()), b.max(x.abs()))) {
                (_, 0.0) => edges.push(name.clone()),
                (least, _) if least > 0.0 => {}
                _ => perhaps.push(name.clone()),
            }
        } else if let Some((_, held)) = small.fixed.iter().find(|f| f.0 == *name) {
            edges.extend((*held <= low || *held >= high).then(|| name.clone()));
        } else if (low.is_finite() || high.is_finite()) && !of_noise.contains(&name.as_str()) {
            perhaps.push(name.clone());
        }
    }
    Ok(match (&limits[..], &edges[..], perhaps.is_empty()) {
        ([], [], true) => Law::Inside,
        ([], [_], true) => Law::Edge(edges.remove(0)),
        ([_], [], true) => Law::Limit(limits.remove(0)),
        _ => Law::AtMost([limits, edges, perhaps].concat()),
    })
}

/// The distribution another goes over into as its first argument grows without end.
fn limit(name: &str) -> Option<&'static str> {
    let of = distributions::noise(name)?;
    let words = of.limit?.to_lowercase();
    ["normal", "poisson"].into_iter().find(|name| words.contains(&format!("the {name} ")) || words.contains(&format!("{name}'s ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_chances_stay_at_the_bound() {
        // R: 0.5 * pchisq(3.5736, 1, lower = FALSE), and with a degree of freedom more the mean of pchisq(3.5736, 1:2, lower = FALSE).
        let edge = Law::Edge("omega".into());
        assert!((edge.probability(3.5736, 1.0) - 0.029_350).abs() < 1e-5, "{}", edge.probability(3.5736, 1.0));
        let two = 0.5 * (0.058_702 + (-3.5736f64 / 2.0).exp());
        assert!((edge.probability(3.5736, 2.0) - two).abs() < 1e-5);
        assert_eq!((edge.probability(0.0, 1.0), Law::Inside.probability(0.0, 1.0)), (1.0, 1.0));
    }

    #[test]
    fn what_goes_over_into_what() {
        let all = ["student-t", "negative-binomial", "normal", "poisson", "laplace"].map(limit);
        assert_eq!(all, [Some("normal"), Some("poisson"), None, None, None]);
    }
}
