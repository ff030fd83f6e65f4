//! Fits by maximum likelihood, of models that say how their observations are distributed. In: a program with noise, log-likelihoods or
//! priors, and a table; out: a [`Fit`](crate::Fit). `observed` says what cells there are, `density` computes their distributions, `problem`
//! makes them a problem of the search that all fits share, `joint` puts those of groups together (`numbers`: what they predict), `maximum`
//! finds and judges the maximum, `fit` says it all; `algebraic` and `dynamic` are the two kinds of model, `groups` the constants that
//! differ between groups, `marginal` those of them that are drawn at random. `alternate` does with these as R's nlme does, `confounded`
//! notices where they are not told from errors, `endless` where there is no maximum.

pub(crate) mod algebraic;
mod alternate;
mod confounded;
pub(crate) mod density;
pub(crate) mod dynamic;
mod effects;
pub(crate) mod endless;
mod fit;
pub(crate) mod groups;
mod joint;
mod marginal;
mod maximum;
pub(crate) mod numbers;
pub(crate) mod observed;
mod problem;

pub(crate) use joint::Joint;
pub(crate) use maximum::Maximum;
pub(crate) use maximum::{MANY, errors};
pub(crate) use observed::is_wanted;
