//! Bounds of what a graph computes. In: a graph, asked again and again for boxes of inputs; out: bounds of all its results over a box.
//!
//! Invariant (soundness): for all inputs in the box every number of a result, as computed, lies in its interval, or is NaN and the interval
//! says so. Only straight lines are followed: a graph with choices, loops, calls or roots has no bounds here.

use super::Analysis;
use super::values::{self, Abs};
use crate::graph::{Graph, Kind};
use crate::ops::interval::Interval;

/// A graph whose results are to be bounded.
pub struct Enclosure<'a> {
    analysis: Analysis<'a, f64>,
}

impl<'a> Enclosure<'a> {
    /// `None`: the graph is not a straight line of operations.
    pub fn new(graph: &'a Graph) -> Option<Enclosure<'a>> {
        let straight = |kind: Kind| matches!(kind, Kind::Param(_) | Kind::Const(_) | Kind::Op(..));
        let main = graph.main();
        main.ids().all(|id| straight(main.node(id).kind)).then(|| Enclosure { analysis: Analysis::beginning(graph, false, vec![]) })
    }

    /// Bounds of the elements of each result, for inputs whose elements lie in these intervals; one for all elements of a large value.
    pub fn of(&mut self, inputs: &[Vec<Interval<f64>>]) -> Vec<Vec<Interval<f64>>> {
        self.analysis.visits = 0;
        let graph = self.analysis.graph;
        let given: Vec<Abs<f64>> = inputs.iter().map(|i| values::compress(i.clone())).collect();
        self.analysis.region(graph.main, &given, None).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, compile};

    /// Bounds of the one result of a program of `t` between two numbers.
    fn bounds(text: &str, lo: f64, hi: f64) -> Option<(f64, f64, bool)> {
        let program = compile(text, &Options::default()).unwrap();
        let graph = program.graph().unwrap();
        let found = Enclosure::new(&graph)?.of(&[vec![Interval::new(lo, hi)]])[0][0];
        Some((found.lo, found.hi, found.nan))
    }

    #[test]
    fn what_cannot_change_is_proved() {
        // sin is below 0.9 up to 1.1, and sin 1.1 is 0.8912.
        assert_eq!(bounds("(> (sin t) 0.9)", 0.0, 1.1), Some((0.0, 0.0, false)));
        assert_eq!(bounds("(> (sin t) 0.9)", 1.5, 1.6), Some((1.0, 1.0, false)));
        assert_eq!(bounds("(> (sin t) 0.9)", 1.0, 1.5), Some((0.0, 1.0, false)));
        // A square is never negative, which two factors alone do not say.
        assert_eq!(bounds("(< (* t t) 0)", -1.0, 2.0), Some((0.0, 0.0, false)));
        assert!(bounds("(log t)", -1.0, 1.0).unwrap().2, "the logarithm of -1 is no number");
    }

    #[test]
    fn choices_have_no_bounds() {
        assert_eq!(bounds("(loop ((i 0)) (if (> i t) i (recur (+ i 1))))", 0.0, 1.0), None);
    }
}
