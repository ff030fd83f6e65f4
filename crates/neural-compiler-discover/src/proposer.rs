//! Who proposes. In: a problem, what was judged so far, the time that is left; out: texts of models with a reason each.
//! Invariant: a proposer neither fits nor judges what counts; what it computes for itself only orders its proposals.

use crate::judge::Judged;
use crate::problem::Problem;
use neural_compiler::Diagnostics;
use std::time::Instant;

/// A model somebody proposes.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// Its text, in Scheme.
    pub text: String,
    /// Why it may be better than what there is.
    pub why: String,
}

/// What a proposer is told.
pub struct State<'a> {
    /// What is to be explained.
    pub problem: &'a Problem,
    /// Everything judged so far, the best first.
    pub judged: &'a [Judged],
    /// What became of the proposer's last proposals that could not be fitted: text and reason.
    pub failed: &'a [(String, String)],
    /// The round, from 0.
    pub round: usize,
    /// When the time is over.
    pub deadline: Instant,
    /// Asked by a proposer that waits for somebody, whether the user has had enough.
    pub stop: &'a dyn Fn() -> bool,
}

/// Who proposes.
pub trait Proposer {
    /// What it is called in journals.
    fn name(&self) -> &str;

    /// The next proposals; none: it has nothing to add.
    fn propose(&mut self, state: &State<'_>) -> Result<Vec<Proposal>, Diagnostics>;
}
