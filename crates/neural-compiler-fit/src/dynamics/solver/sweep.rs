//! Along given steps. In: lanes and the steps of each; out: states at the lanes' times and, where wanted, their derivatives: those of the
//! steps as they are, exactly.

use super::events::{At, Crossing, Jump};
use super::segments::Course;
use super::tangents::{Tangents, turned};
use super::{Directions, Lane, Path, Plan, Solver, Step};
use crate::optimise::Unusable;
use neural_compiler::exec::lanes::Workspace;
use std::sync::Arc;

/// The longest lanes first, so that those still under way are the first ones.
pub(super) fn longest_first(plan: &[Plan]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..plan.len()).collect();
    order.sort_by_key(|&i| (std::cmp::Reverse(plan[i].steps.len()), i));
    order
}

impl Solver {
    /// Walks the lanes along their steps, with derivatives where wanted.
    pub(super) fn sweep(
        &self,
        workspace: &mut Workspace<f64>,
        lanes: &[Lane<'_>],
        shared: &[&[f64]],
        courses: &[Arc<Course>],
        plan: &[Plan],
        tangents: Option<Directions<'_>>,
    ) -> Result<Vec<Path>, Unusable> {
        let mut way: Box<dyn Way> = match tangents {
            None => Box::new(Values),
            Some(d) if self.one_by_one(d.0) => Box::new(Tangents::new(self, shared, d)),
            Some(d) => Box::new(Whole::new(self, d)),
        };
        self.walk(workspace, (lanes, courses), shared, plan, &mut *way)
    }

    fn walk(
        &self,
        workspace: &mut Workspace<f64>,
        (lanes, courses): (&[Lane<'_>], &[Arc<Course>]),
        shared: &[&[f64]],
        plan: &[Plan],
        way: &mut dyn Way,
    ) -> Result<Vec<Path>, Unusable> {
        let n = self.size;
        let order = longest_first(plan);
        let mut states: Vec<f64> = order.iter().flat_map(|&i| lanes[i].start.iter().copied()).collect();
        let mut next = vec![0.0; states.len()];
        let mut paths: Vec<Path> = lanes.iter().enumerate().map(|(i, l)| Path::starting(l, way.of(i, n).as_deref())).collect();
        for k in 0.. {
            if self.effort.stopped() {
                return Err(Unusable("stopped".into()));
            }
            let under_way = order.iter().take_while(|&&i| plan[i].steps.len() > k).count();
            if under_way == 0 {
                break;
            }
            self.effort.lanes(under_way);
            let batch: Vec<(&Lane<'_>, Step)> = order[..under_way].iter().map(|&i| (&lanes[i], plan[i].steps[k])).collect();
            for (a, (lane, step)) in batch.iter().enumerate() {
                let Some(jump) = step.jump.map(|j| plan[order[a]].jumps[j].clone()) else { continue };
                let own = &mut states[a * n..(a + 1) * n];
                let jump = self.replay(workspace, lane, *step, (jump, &*courses[order[a]]), own, shared, way.wants_jumps())?;
                if let Some(jump) = jump {
                    way.jumps(order[a], &jump);
                }
            }
            way.step(self, workspace, shared, (&order[..under_way], &batch), &states[..under_way * n], &mut next[..under_way * n])?;
            for (a, &i) in order[..under_way].iter().enumerate() {
                let (step, after) = (batch[a].1, &next[a * n..(a + 1) * n]);
                if after.iter().any(|x| !x.is_finite()) {
                    return Err(self.lost(workspace, &lanes[i], step, &states[a * n..(a + 1) * n], shared));
                }
                if step.last {
                    paths[i].states.push(after.iter().copied());
                    if let Some(derivatives) = way.of(i, n) {
                        paths[i].tangents.push(derivatives);
                    }
                }
            }
            states[..under_way * n].copy_from_slice(&next[..under_way * n]);
        }
        Ok(paths)
    }
}

impl Solver {
    /// Crosses a jump that a step begins with, as it was crossed before.
    #[allow(clippy::too_many_arguments, reason = "a lane, its step, and what there is to be known of it")]
    pub(super) fn replay(
        &self,
        workspace: &mut Workspace<f64>,
        lane: &Lane<'_>,
        step: Step,
        (mut jump, course): (Crossing, &Course),
        states: &mut [f64],
        shared: &[&[f64]],
        derivatives: bool,
    ) -> Result<Option<Jump>, Unusable> {
        let stop = jump.stop.map(|k| &course.stops[k]);
        let at = At { interval: step.interval, time: step.time };
        self.cross(workspace, lane, at, (&mut jump, stop), states, shared, derivatives, None)
    }
}

/// What is carried along with the states.
trait Way {
    /// Moves some lanes, with their numbers, by a step each.
    fn step(
        &mut self,
        solver: &Solver,
        workspace: &mut Workspace<f64>,
        shared: &[&[f64]],
        lanes: (&[usize], &[(&Lane<'_>, Step)]),
        states: &[f64],
        next: &mut [f64],
    ) -> Result<(), Unusable>;

    /// Whether it is to be told what jumps do to derivatives.
    fn wants_jumps(&self) -> bool {
        true
    }

    /// What a jump does to the derivatives of a lane.
    fn jumps(&mut self, lane: usize, jump: &Jump);

    /// The derivatives of a lane, state by state, if they are wanted.
    fn of(&self, lane: usize, size: usize) -> Option<Vec<f64>>;
}

/// States alone.
struct Values;

impl Way for Values {
    fn step(
        &mut self,
        solver: &Solver,
        workspace: &mut Workspace<f64>,
        shared: &[&[f64]],
        (_, batch): (&[usize], &[(&Lane<'_>, Step)]),
        states: &[f64],
        next: &mut [f64],
    ) -> Result<(), Unusable> {
        // Adaptive lanes have their states already: this is a scheme of fixed steps, without an error estimate.
        solver.run(solver.value(), workspace, states, shared, (batch, 1), &[], &mut [next])
    }

    fn wants_jumps(&self) -> bool {
        false
    }

    fn jumps(&mut self, _: usize, _: &Jump) {}

    fn of(&self, _: usize, _: usize) -> Option<Vec<f64>> {
        None
    }
}

/// Direction by direction.
impl Way for Tangents {
    fn step(
        &mut self,
        solver: &Solver,
        workspace: &mut Workspace<f64>,
        shared: &[&[f64]],
        (numbers, batch): (&[usize], &[(&Lane<'_>, Step)]),
        states: &[f64],
        next: &mut [f64],
    ) -> Result<(), Unusable> {
        let (n, q) = (solver.size, self.count);
        let repeated: Vec<f64> = states.chunks(n).flat_map(|x| x.repeat(q)).collect();
        let slopes: Vec<f64> = numbers.iter().flat_map(|&i| self.lanes[i].iter().copied()).collect();
        let (mut after, mut moved) = (vec![0.0; repeated.len()], vec![0.0; repeated.len()]);
        let (mut error, mut stray) = (vec![], vec![]);
        let mut extra: Vec<(&[f64], usize)> = vec![(&slopes, n)];
        extra.extend(self.seeds(numbers.len()));
        let mut outputs: Vec<&mut [f64]> = vec![&mut after, &mut moved];
        if solver.adaptive() {
            error.resize(repeated.len(), 0.0);
            stray.resize(repeated.len(), 0.0);
            outputs.insert(1, &mut error);
            outputs.push(&mut stray);
        }
        solver.run(solver.along(), workspace, &repeated, shared, (batch, q), &extra, &mut outputs)?;
        for (a, &i) in numbers.iter().enumerate() {
            next[a * n..(a + 1) * n].copy_from_slice(&after[a * q * n..a * q * n + n]);
            self.lanes[i].copy_from_slice(&moved[a * q * n..(a + 1) * q * n]);
        }
        Ok(())
    }

    fn jumps(&mut self, lane: usize, jump: &Jump) {
        self.jump(lane, jump);
    }

    fn of(&self, lane: usize, size: usize) -> Option<Vec<f64>> {
        Some(turned(&self.lanes[lane], self.count, size).collect())
    }
}

/// By way of the derivative of a step by all states and free numbers.
struct Whole {
    directions: usize,
    /// Derivatives of each lane's states, state by state.
    lanes: Vec<Vec<f64>>,
    by_state: Vec<f64>,
    by_shared: Vec<f64>,
    moved: Vec<f64>,
}

impl Whole {
    fn new(solver: &Solver, (directions, starts): Directions<'_>) -> Whole {
        let (n, own) = (solver.size, solver.columns());
        Whole {
            directions,
            lanes: starts.to_vec(),
            by_state: vec![0.0; starts.len() * n * n],
            by_shared: vec![0.0; starts.len() * n * own],
            moved: vec![0.0; n * directions],
        }
    }
}

impl Way for Whole {
    fn step(
        &mut self,
        solver: &Solver,
        workspace: &mut Workspace<f64>,
        shared: &[&[f64]],
        (numbers, batch): (&[usize], &[(&Lane<'_>, Step)]),
        states: &[f64],
        next: &mut [f64],
    ) -> Result<(), Unusable> {
        let (n, count) = (solver.size, numbers.len());
        let (directions, own) = (self.directions, solver.columns());
        let mut outputs: Vec<&mut [f64]> = vec![next, &mut self.by_state[..count * n * n]];
        let mut rest: &mut [f64] = &mut self.by_shared;
        for size in solver.free_sizes() {
            let (block, behind) = rest.split_at_mut(count * n * size);
            outputs.push(block);
            rest = behind;
        }
        solver.run(solver.whole()?, workspace, states, shared, (batch, 1), &[], &mut outputs)?;
        for (a, &i) in numbers.iter().enumerate() {
            let matrix = &self.by_state[a * n * n..(a + 1) * n * n];
            self.moved.fill(0.0);
            for r in 0..n {
                let out = &mut self.moved[r * directions..(r + 1) * directions];
                for c in 0..n {
                    let factor = matrix[r * n + c];
                    out.iter_mut().zip(&self.lanes[i][c * directions..(c + 1) * directions]).for_each(|(o, s)| *o += factor * s);
                }
                let (mut from, mut column) = (0, directions - own);
                for size in solver.free_sizes() {
                    let block = &self.by_shared[from + (a * n + r) * size..][..size];
                    out[column..column + size].iter_mut().zip(block).for_each(|(o, x)| *o += x);
                    from += count * n * size;
                    column += size;
                }
            }
            self.lanes[i].copy_from_slice(&self.moved);
        }
        Ok(())
    }

    fn jumps(&mut self, lane: usize, jump: &Jump) {
        self.lanes[lane] = jump.apply(&self.lanes[lane], self.directions);
    }

    fn of(&self, lane: usize, _: usize) -> Option<Vec<f64>> {
        Some(self.lanes[lane].clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dynamics::solver::Tolerance;
    use crate::dynamics::solver::field::Field;
    use crate::model::layout::Layout;

    /// Ten states in a chain, whose Jacobian is taken by colours, driven by a column and by a jump whose time is a parameter.
    const CHAIN: &str = "(param k 0.7) (param lag 0.55) (state u [1 2 3 2 1 0 1 2 3 4])
        (derive u (concat (if (< t lag) 0.3 w) (* k (+ (slice u 2 10) (square (slice u 0 8)) (* -2 (slice u 1 9)))) (sin t)))";

    const SCHEMES: [&str; 5] = ["rk4", "dopri5", "tsit5", "rosenbrock", "rodas5p"];

    /// Sixteen states in a ring, so that the band of the Jacobian closes.
    const RING: &str = "(param k 0.7) (param lag 0.55) (state u 1 :size 16)
        (derive u (+ (if (< t lag) 0.3 w) (* k u (second-difference u (ref u 15) (ref u 0) 1))))";

    fn lanes(size: usize, forcing: &[Vec<f64>]) -> Vec<Lane<'_>> {
        let start = |k: usize| 0.1 * (k as f64).sin();
        vec![Lane {
            origin: 0.0,
            direction: 1.0,
            start: (0..size).map(start).collect(),
            times: &[0.0, 0.5, 1.3],
            forcing,
            constants: None,
            events: Default::default(),
        }]
    }

    #[test]
    fn both_ways_to_carry_derivatives_agree_for_every_scheme_and_with_differences() {
        for (text, scheme) in [CHAIN, RING].into_iter().flat_map(|text| SCHEMES.map(|s| (text, s))) {
            let program = neural_compiler::compile(text, &Default::default()).unwrap();
            let layout = Layout::new(&program, &[]).unwrap();
            let field = Field::new(&program, &layout, "t", &[]).unwrap();
            let scheme = scheme.parse().unwrap();
            let solver = Solver::new(&field, &layout, scheme, Some(0.02), Tolerance::default()).unwrap();
            let (k, lag) = ([0.7], [0.55]);
            let shared: Vec<&[f64]> = vec![&k, &lag];
            let forcing = [vec![0.2], vec![0.4], vec![-0.1]];
            let lanes = lanes(field.law.size, &forcing);
            let mut workspace = Workspace::new();
            let courses = solver.courses(&lanes, &shared).unwrap();
            let plan = solver.plan(&mut workspace, &lanes, &shared, &courses).unwrap();
            let directions: Directions<'_> = (2, &[vec![0.0; 2 * field.law.size]]);
            let mut walk = |way: &mut dyn Way| solver.walk(&mut workspace, (&lanes, &courses), &shared, &plan, way).unwrap();
            let (one, all) = (walk(&mut Tangents::new(&solver, &shared, directions)), walk(&mut Whole::new(&solver, directions)));
            let state = |k: f64, lag: f64| solver.solve(&lanes, &[&[k], &[lag]], None).unwrap().remove(0).states[2].to_vec();
            let h = 1e-5;
            let (by_k, by_lag) = ((state(k[0] + h, lag[0]), state(k[0] - h, lag[0])), (state(k[0], lag[0] + h), state(k[0], lag[0] - h)));
            for (i, (a, b)) in one[0].tangents[2].iter().zip(&all[0].tangents[2]).enumerate() {
                assert!((a - b).abs() <= 1e-10 * b.abs().max(1e-3), "{scheme:?}, {i}: {a} and {b}");
                let (up, down) = if i % 2 == 0 { &by_k } else { &by_lag };
                let difference = (up[i / 2] - down[i / 2]) / (2.0 * h);
                assert!((a - difference).abs() < 1e-5 * b.abs().max(1e-1), "{scheme:?}, {i}: {a}, by differences {difference}");
            }
        }
    }
}
