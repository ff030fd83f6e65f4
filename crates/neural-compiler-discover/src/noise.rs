//! How large errors are. In: a problem with states; out: which of them have errors that grow with the state, and the declarations that say
//! so in a model. A smooth course through the data shows it: what is left of it is more likely with the one or with the other.
//! Invariant: models are told apart by the same assumption about errors.

use crate::problem::{Kind, Problem};
use crate::smooth::Course;
use rayon::prelude::*;

/// How much more likely errors that grow with the state must be, in nats.
const CLEARLY: f64 = 5.0;
/// Errors as small as this share of the largest value are those of computing.
const CLEAN: f64 = 1e-4;

/// The errors of each state: for those that grow with it, the least they are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Errors {
    floors: Vec<(String, Option<f64>)>,
}

impl Errors {
    pub(crate) fn of(problem: &Problem) -> Errors {
        let Kind::Ode { states, time, .. } = &problem.kind else { return Errors::default() };
        let times = problem.column(time);
        let fitted = problem.trajectories();
        let one = |state: &String| {
            let column = problem.column(state);
            let largest = column.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
            let floor = 1e-3 * largest;
            let (mut constant, mut n, mut growing, mut logs) = (0.0, 0.0, 0.0, 0.0);
            for rows in &fitted {
                let t: Vec<f64> = rows.iter().map(|&r| times[r]).collect();
                let y: Vec<f64> = rows.iter().map(|&r| column[r]).collect();
                let course = Course::new(&t, &y);
                for (t, y) in t.iter().zip(&y) {
                    let (at, size) = (course.at(*t), course.at(*t).abs() + floor);
                    constant += (y - at).powi(2);
                    growing += ((y - at) / size).powi(2);
                    logs += size.ln();
                    n += 1.0;
                }
            }
            let gain = -0.5 * n * (growing / n).max(1e-300).ln() - logs + 0.5 * n * (constant / n).max(1e-300).ln();
            let noisy = (constant / n).sqrt() > CLEAN * largest;
            (state.clone(), (noisy && gain > CLEARLY).then_some(floor))
        };
        Errors { floors: states.par_iter().map(one).collect() }
    }

    /// Whether errors of some state grow with it.
    pub(crate) fn grow(&self) -> bool {
        self.floors.iter().any(|f| f.1.is_some())
    }

    /// The standard deviation of a state's error at a value, from the constant of its declaration.
    pub(crate) fn size(&self, state: &str, constant: f64, value: f64) -> f64 {
        match self.floors.iter().find(|f| f.0 == state).and_then(|f| f.1) {
            Some(floor) => constant * (value.abs() + floor),
            None => constant,
        }
    }

    /// The constant of a state's errors.
    pub(crate) fn name(state: &str) -> String {
        format!("{state}_error")
    }

    /// The declarations for these states, of which columns are observed; none where no errors grow.
    pub(crate) fn declared(&self, problem: &Problem, states: &[String]) -> Vec<String> {
        if !self.grow() {
            return vec![];
        }
        let one = |state: &String| {
            let name = Errors::name(state);
            let floor = self.floors.iter().find(|f| f.0 == *state).and_then(|f| f.1);
            let column = problem.column(state);
            let largest = column.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
            let (start, size) = match floor {
                Some(floor) => (0.05, format!("(* {name} (+ (abs {state}) {}))", neural_compiler::number_text(floor))),
                None => (0.05 * largest.max(1e-300), name.clone()),
            };
            let start = neural_compiler::number_text(start);
            [format!("(param {name} {start} :min 0)"), format!("(observe {state} {state} :noise (normal {size}))")]
        };
        states.iter().flat_map(one).collect()
    }
}
