//! Many lanes along the same times, with nothing in their way. In: a solver with adaptive steps, lanes that share their times and have
//! neither stops nor conditions; out: the states at these times, or nothing where something is out of the ordinary: then `march` goes on.
//!
//! What `march` does, to the bit, but with the numbers of all lanes side by side, so that nothing but the steps themselves takes time.

use super::rows::Rows;
use super::segments::Course;
use super::{Lane, Path, Solver, Step};
use crate::optimise::Unusable;
use neural_compiler::exec::interp::RunOptions;
use neural_compiler::exec::lanes::{BatchOptions, Column, Workspace};
use neural_compiler::ode::control::Control;
use std::sync::Arc;

/// Fewer lanes are not worth it.
const FEWEST: usize = 2;

/// Where the lanes are that are under way, side by side.
struct Fleet {
    lane: Vec<usize>,
    time: Vec<f64>,
    wanted: Vec<f64>,
    segment: Vec<usize>,
    tries: Vec<usize>,
    states: Vec<f64>,
    /// For each shared input its values, lane by lane.
    constants: Vec<Vec<f64>>,
}

impl Fleet {
    /// Takes out a lane that has come to its end: the last one takes its place.
    fn remove(&mut self, slot: usize, n: usize, sizes: &[usize]) {
        let last = self.lane.len() - 1;
        let drop = |all: &mut Vec<f64>, width: usize| {
            all.copy_within(last * width..(last + 1) * width, slot * width);
            all.truncate(last * width);
        };
        self.lane.swap_remove(slot);
        self.segment.swap_remove(slot);
        self.tries.swap_remove(slot);
        drop(&mut self.time, 1);
        drop(&mut self.wanted, 1);
        drop(&mut self.states, n);
        self.constants.iter_mut().zip(sizes).for_each(|(c, size)| drop(c, *size));
    }
}

impl Solver {
    /// The states of all lanes at their times; `None` where this is not the way.
    pub(super) fn fleet(
        &self,
        workspace: &mut Workspace<f64>,
        lanes: &[Lane<'_>],
        courses: &[Arc<Course>],
    ) -> Result<Option<Vec<Path>>, Unusable> {
        let Some(control) = Control::new(self.scheme) else { return Ok(None) };
        let course = match courses.first() {
            Some(first) if self.own_constants && lanes.len() >= FEWEST && courses.iter().all(|c| Arc::ptr_eq(c, first)) => first,
            _ => return Ok(None),
        };
        let ordinary = self.conditions() == 0 && self.forcing_shapes.is_empty() && course.stops.is_empty() && !course.segments.is_empty();
        let same = |l: &Lane<'_>| l.origin == lanes[0].origin && l.direction == lanes[0].direction;
        if !ordinary || !lanes.iter().all(same) {
            return Ok(None);
        }
        let (n, count) = (self.size, lanes.len());
        let segments = &course.segments;
        let (origin, direction) = (lanes[0].origin, lanes[0].direction);
        let sizes: Vec<usize> = self.shared.iter().map(|s| s.0.len()).collect();
        let mut fleet = Fleet {
            lane: (0..count).collect(),
            time: vec![segments[0].from; count],
            wanted: vec![super::march::begin(segments[0].from, segments[0].to, self.longest); count],
            segment: vec![0; count],
            tries: vec![0; count],
            states: lanes.iter().flat_map(|l| l.start.iter().copied()).collect(),
            constants: self.gathered(lanes.iter().map(|l| (l, 1))),
        };
        let rows = lanes[0].times.len();
        let mut found: Vec<f64> = vec![0.0; count * rows * n];
        lanes.iter().enumerate().for_each(|(i, l)| found[i * rows * n..i * rows * n + n].copy_from_slice(&l.start));
        let absolute: Vec<f64> = self.sizes.iter().map(|size| self.tolerance.of(0.0, *size)).collect();
        let relative = self.tolerance.relative;
        let patience = self.effort.steps(self.most).min(self.most).saturating_add(segments.len());
        let (mut next, mut errors) = (vec![0.0; count * n], vec![0.0; count * n]);
        let (mut now, mut length, mut ends) = (vec![0.0; count], vec![0.0; count], vec![false; count]);
        let (mut shares, mut factors, mut fine) = (vec![0.0; count], vec![0.0; count], vec![false; count]);
        let mut most = 0;
        while !fleet.lane.is_empty() {
            if self.effort.stopped() {
                return Err(Unusable("stopped".into()));
            }
            let active = fleet.lane.len();
            self.effort.lanes(active);
            for s in 0..active {
                let left = segments[fleet.segment[s]].to - fleet.time[s];
                let last = fleet.wanted[s] >= left * (1.0 - 1e-10) || fleet.wanted[s] * 1.01 >= left;
                (ends[s], length[s], now[s]) =
                    (last, direction * if last { left } else { fleet.wanted[s] }, origin + direction * fleet.time[s]);
            }
            let mut inputs: Vec<Column<'_, f64>> = Vec::with_capacity(3 + sizes.len());
            inputs.push(Column::rows(&fleet.states, n));
            inputs.extend(fleet.constants.iter().zip(&sizes).map(|(c, size)| Column::rows(c, *size)));
            inputs.push(Column::rows(&now[..active], 1));
            inputs.push(Column::rows(&length[..active], 1));
            let how = |limits| BatchOptions { run: RunOptions { limits, ..RunOptions::default() }, ..BatchOptions::default() };
            let outputs: &mut [&mut [f64]] = &mut [&mut next[..active * n], &mut errors[..active * n]];
            let failed = self.effort.run(|limits| self.value().run(workspace, &inputs, active, outputs, &how(limits)));
            if !failed.map_err(|e| Unusable(e.message))?.is_empty() {
                return Ok(None);
            }
            // One thing after the other for all lanes: so the processor works on several of them at once.
            let pairs = fleet.states.chunks_exact(n).zip(next.chunks_exact(n)).zip(errors.chunks_exact(n));
            for (share, ((before, after), error)) in shares.iter_mut().zip(pairs) {
                let mut sum = 0.0;
                for k in 0..n {
                    let allowed = relative * before[k].abs().max(after[k].abs()) + absolute[k];
                    sum += (error[k] / allowed).powi(2);
                }
                *share = (sum / n as f64).sqrt();
            }
            for (s, factor) in factors[..active].iter_mut().enumerate() {
                fine[s] = shares[s].is_finite() && next[s * n..(s + 1) * n].iter().all(|x| x.is_finite());
                *factor = control.factor(shares[s], fine[s]);
            }
            // From the last to the first, so that the one that takes a place has been seen.
            for s in (0..active).rev() {
                let own = s * n..(s + 1) * n;
                let factor = factors[s];
                fleet.tries[s] += 1;
                if fleet.tries[s] > patience {
                    return Ok(None);
                }
                let step = direction * length[s];
                if !(fine[s] && shares[s] <= 1.0) {
                    let wanted = step * factor;
                    if wanted <= 1e-14 * fleet.time[s].abs().max(1e-300) || wanted < 1e-290 {
                        return Ok(None);
                    }
                    fleet.wanted[s] = wanted;
                    continue;
                }
                // What is out of the ordinary behind a step is said elsewhere.
                let segment = &segments[fleet.segment[s]];
                let (lane, interval) = (&lanes[fleet.lane[s]], segment.interval);
                let taken = Step { time: fleet.time[s], length: step, interval, last: segment.last && ends[s], jump: None };
                let states = (&fleet.states[own.clone()], &next[own.clone()]);
                if self.overlooks(workspace, (lane, taken), states, &[])? {
                    return Ok(None);
                }
                let wanted = (if ends[s] { fleet.wanted[s].max(step * factor) } else { step * factor }).min(self.longest);
                if taken.last && self.ends_near(workspace, (lane, taken), states, wanted, &[])?.is_some() {
                    return Ok(None);
                }
                fleet.states[own.clone()].copy_from_slice(&next[own.clone()]);
                fleet.wanted[s] = wanted;
                if !ends[s] {
                    fleet.time[s] += step;
                    continue;
                }
                let (lane, at) = (fleet.lane[s], fleet.segment[s] + 1);
                found[(lane * rows + at) * n..][..n].copy_from_slice(&next[own]);
                match segments.get(at) {
                    Some(segment) => (fleet.segment[s], fleet.time[s]) = (at, segment.from),
                    None => {
                        most = most.max(fleet.tries[s]);
                        fleet.remove(s, n, &sizes);
                    }
                }
            }
        }
        self.effort.took(most);
        let path = |numbers: &[f64]| {
            let mut states = Rows::new(n).with_room(rows);
            states.push(numbers.iter().copied());
            Path { states, tangents: Rows::default() }
        };
        Ok(Some(found.chunks(rows * n).map(path).collect()))
    }
}
