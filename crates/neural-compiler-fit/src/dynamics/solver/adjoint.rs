//! The discrete adjoint: the gradient of a cost of the states along trajectories, by all free numbers at once. In: a solver, lanes, the
//! derivative of the cost by the states at each time; out: the derivative by the free shared numbers and by the starts.
//!
//! The steps taken are walked back, each by the reverse-mode derivative of the very graph that took it: the result is the exact
//! derivative of the discretised solution, at the price of a few solutions whatever the number of parameters. Forward derivatives
//! (`solver`) cost one solution per few parameters, but give those of every state, which is what a Gauss-Newton step needs.
//! Invariant: contributions of lanes are summed in one order.

use super::events::Jump;
use super::sweep::longest_first;
use super::{Lane, Path, Solver, Step};
use crate::optimise::Unusable;
use neural_compiler::exec::lanes::Workspace;
use std::collections::HashMap;

/// Adds the derivative of a cost by the states at a time of a lane: `slope(lane, time, states, out)`.
pub type Slope<'a> = dyn Fn(usize, usize, &[f64], &mut [f64]) + 'a;

/// A gradient.
#[derive(Clone, Debug)]
pub struct Pulled {
    /// States at each time of each lane.
    pub paths: Vec<Path>,
    /// By the free shared numbers, in order.
    pub shared: Vec<f64>,
    /// By the start of each lane.
    pub starts: Vec<Vec<f64>>,
}

impl Solver {
    /// Solves all lanes and pulls a cost back.
    pub fn pull(&self, lanes: &[Lane<'_>], shared: &[&[f64]], slope: &Slope<'_>) -> Result<Pulled, Unusable> {
        let mut workspace = self.workspace();
        let outcome = self.pull_in(&mut workspace, lanes, shared, slope);
        self.put_back(workspace);
        outcome
    }

    fn pull_in(
        &self,
        workspace: &mut Workspace<f64>,
        lanes: &[Lane<'_>],
        shared: &[&[f64]],
        slope: &Slope<'_>,
    ) -> Result<Pulled, Unusable> {
        let n = self.size;
        let courses = self.courses(lanes, shared)?;
        let plan = self.plan(workspace, lanes, shared, &courses)?;
        let order = longest_first(&plan);
        let rounds = order.first().map_or(0, |&i| plan[i].steps.len());
        let batch = |k: usize| -> Vec<(&Lane<'_>, Step)> {
            order.iter().take_while(|&&i| plan[i].steps.len() > k).map(|&i| (&lanes[i], plan[i].steps[k])).collect()
        };
        // Forward, keeping the states before every step, and what jumps do to derivatives.
        let mut jumps: HashMap<(usize, usize), Jump> = HashMap::new();
        let mut before: Vec<Vec<f64>> = Vec::with_capacity(rounds);
        let mut paths: Vec<Path> = lanes.iter().map(|l| Path::starting(l, None)).collect();
        let mut states: Vec<f64> = order.iter().flat_map(|&i| lanes[i].start.iter().copied()).collect();
        let (mut next, mut error) = (vec![0.0; states.len()], vec![0.0; states.len()]);
        for k in 0..rounds {
            let batch = batch(k);
            let count = batch.len() * n;
            for (a, (lane, step)) in batch.iter().enumerate() {
                let Some(jump) = step.jump.map(|j| plan[order[a]].jumps[j].clone()) else { continue };
                let own = &mut states[a * n..(a + 1) * n];
                let jump = self.replay(workspace, lane, *step, (jump, &*courses[order[a]]), own, shared, true)?;
                jumps.extend(jump.map(|jump| ((k, a), jump)));
            }
            let mut outputs: Vec<&mut [f64]> = vec![&mut next[..count]];
            if self.adaptive() {
                outputs.push(&mut error[..count]);
            }
            self.run(self.value(), workspace, &states[..count], shared, (&batch, 1), &[], &mut outputs)?;
            for (a, (lane, step)) in batch.iter().enumerate() {
                let after = &next[a * n..(a + 1) * n];
                if after.iter().any(|x| !x.is_finite()) {
                    return Err(self.lost(workspace, lane, *step, &states[a * n..(a + 1) * n], shared));
                }
                if step.last {
                    paths[order[a]].states.push(after.iter().copied());
                }
            }
            before.push(states[..count].to_vec());
            states[..count].copy_from_slice(&next[..count]);
        }
        // Back.
        let adjoint = self.adjoint()?;
        let mut bars = vec![0.0; lanes.len() * n];
        let mut total = vec![0.0; self.columns()];
        let mut part = vec![0.0; self.columns()];
        let mut pulled = vec![0.0; lanes.len() * n];
        for k in (0..rounds).rev() {
            let batch = batch(k);
            let count = batch.len() * n;
            for (a, (_, step)) in batch.iter().enumerate().filter(|(_, b)| b.1.last) {
                let at = step.interval + 1;
                slope(order[a], at, &paths[order[a]].states[at], &mut bars[a * n..(a + 1) * n]);
            }
            let mut outputs: Vec<&mut [f64]> = vec![&mut next[..count], &mut pulled[..count]];
            let mut rest: &mut [f64] = &mut part;
            for size in self.free_sizes() {
                let (block, behind) = rest.split_at_mut(size);
                outputs.push(block);
                rest = behind;
            }
            self.run(adjoint, workspace, &before[k], shared, (&batch, 1), &[(&bars[..count], n)], &mut outputs)?;
            bars[..count].copy_from_slice(&pulled[..count]);
            total.iter_mut().zip(&part).for_each(|(t, p)| *t += p);
            for a in 0..batch.len() {
                if let Some(jump) = jumps.get(&(k, a)) {
                    jump.pull(&mut bars[a * n..(a + 1) * n], &mut total);
                }
            }
        }
        let mut starts = vec![vec![0.0; n]; lanes.len()];
        for (a, &i) in order.iter().enumerate() {
            starts[i].copy_from_slice(&bars[a * n..(a + 1) * n]);
            slope(i, 0, &lanes[i].start, &mut starts[i]);
        }
        if total.iter().chain(starts.iter().flatten()).any(|x| !x.is_finite()) {
            return Err(Unusable("a derivative of the solution is not finite".into()));
        }
        Ok(Pulled { paths, shared: total, starts })
    }
}

#[cfg(test)]
mod tests {
    use crate::data::table::Table;
    use crate::dynamics::clock::Pace;
    use crate::dynamics::problem::Dynamics;
    use crate::dynamics::solver::field::Field;
    use crate::dynamics::solver::{Lane, Solver, Tolerance};
    use crate::dynamics::trajectories::{self, Purpose};
    use crate::model::layout::Layout;
    use crate::optimise::gradient::Gradient;
    use crate::optimise::{Residuals, dot};
    use crate::options::Options;
    use neural_compiler::ode::Scheme;
    use std::sync::Arc;

    /// A driven model with a net, a start and a switching time to be found, two trajectories and missing cells.
    const MODEL: &str = "(param k 0.7) (param x0 1.2) (param lag 0.55) (param c 0.4 :fixed) (net f (a b) 3 1) (state x x0) (state y 0.5)
        (MOVE x (+ (* k y) (f x (* c u)))) (MOVE y (- (f y t) (if (< t lag) 0.3 (* x (sin t)))))";

    fn problem(scheme: Scheme) -> (Dynamics, Vec<f64>) {
        let text = MODEL.replace("MOVE", if scheme.is_map() { "next" } else { "derive" });
        let program = neural_compiler::compile(&text, &Default::default()).unwrap();
        let layout = Arc::new(Layout::new(&program, &[]).unwrap());
        let count = 9;
        let column = |f: &dyn Fn(f64) -> f64| (0..2 * count).map(|i| f(f64::from(i))).collect::<Vec<f64>>();
        let hole = |x: f64| if x == 4.0 { f64::NAN } else { (0.3 * x).cos() };
        let table = Table::new([
            ("t".to_string(), column(&|i| (i % 9.0) * 0.2)),
            ("who".to_string(), column(&|i| (i / 9.0).floor())),
            ("u".to_string(), column(&|i| (0.9 * i).sin())),
            ("x".to_string(), column(&hole)),
            ("y".to_string(), column(&|i| (0.2 * i).sin())),
        ])
        .unwrap();
        let field = Field::new(&program, &layout, "t", &[]).unwrap();
        let pace =
            Pace::new(&program, &table, &Options { step: Some(if scheme.is_map() { 0.2 } else { 0.1 }), ..Options::default() }).unwrap();
        let data = Arc::new(
            trajectories::read(&program, &field, &layout, &table, &pace, (Some("who"), &[]), Purpose::Fit { target: None }).unwrap(),
        );
        let solver =
            Arc::new(Solver::new(&field, &layout, scheme, pace.step.or(Some(0.1)), Tolerance { relative: 1e-6, absolute: None }).unwrap());
        let theta = (0..layout.len()).map(|j| if j < 3 { layout.start[j] } else { 0.4 * (1.3 * j as f64).sin() }).collect();
        (Dynamics::new(solver, layout, data, |c, r| 1.0 + 0.1 * (c + r) as f64), theta)
    }

    #[test]
    fn a_solution_that_ends_is_said_to() {
        let text = "(param k 1) (state h 1) (derive h (* (- k) (sqrt h)))";
        let program = neural_compiler::compile(text, &Default::default()).unwrap();
        let layout = Layout::new(&program, &[]).unwrap();
        let field = Field::new(&program, &layout, "t", &[]).unwrap();
        let solver = Solver::new(&field, &layout, "rk4".parse().unwrap(), Some(0.1), Tolerance::default()).unwrap();
        let lane = Lane {
            start: vec![1.0],
            origin: 0.0,
            direction: 1.0,
            times: &[0.0, 3.0],
            forcing: &[vec![], vec![]],
            constants: None,
            events: Default::default(),
        };
        let error = solver.pull(&[lane], &[&[1.0]], &|_, _, _, _| ()).unwrap_err().0;
        assert!(error.contains("the solution ends between the times") && error.contains("sqrt"), "{error}");
    }

    #[test]
    fn forward_and_back_agree_for_every_scheme() {
        for scheme in std::iter::once(Scheme::MAP).chain(Scheme::all()) {
            let (problem, theta) = problem(scheme);
            let (m, n) = (problem.count(), theta.len());
            assert_eq!((m, n), (35, 16));
            let (mut residuals, mut jacobian) = (vec![0.0; m], vec![0.0; m * n]);
            problem.evaluate(&theta, &mut residuals, Some(&mut jacobian)).unwrap();
            let mut gradient = vec![0.0; n];
            let cost = problem.gradient(&theta, &[0, 1], &mut gradient).unwrap();
            assert!((cost / dot(&residuals, &residuals) - 1.0).abs() < 1e-12, "{scheme:?}");
            let largest = gradient.iter().fold(0.0f64, |m, g| m.max(g.abs()));
            for (j, g) in gradient.iter().enumerate() {
                let forward = 2.0 * dot(&jacobian[j * m..(j + 1) * m], &residuals);
                assert!((g - forward).abs() < 1e-11 * largest, "{scheme:?}, number {j}: {g} back, {forward} forward");
            }
            // A trajectory at a time, the same.
            let mut parts = vec![0.0; n];
            problem.gradient(&theta, &[0], &mut parts).unwrap();
            problem.gradient(&theta, &[1], &mut parts).unwrap();
            assert!(parts.iter().zip(&gradient).all(|(a, b)| (a - b).abs() < 1e-11 * largest), "{scheme:?}");
        }
    }
}
