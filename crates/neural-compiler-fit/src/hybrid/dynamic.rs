//! Models with states and nets. In: a model with its trajectories; out: a [`Fit`].
//!
//! Multiple shooting first, stretches held together ever more tightly, so that net and constants see the data before the solution can
//! run away; then the trajectories as a whole.

use super::nets;
use super::scene::Scene;
use super::train::{Trained, Training};
use super::{Followed, Setting};
use crate::dynamics;
use crate::dynamics::prepared::Prepared;
use crate::dynamics::problem::Dynamics;
use crate::dynamics::shooting::Shooting;
use crate::dynamics::trajectories::Trajectory;
use crate::fit::enough;
use crate::model::layout::Layout;
use crate::optimise::loss::Loss;
use crate::optimise::{Residuals, Unusable, dot, penalised};
use crate::options::Options;
use crate::report::Fit;
use crate::report::summary::{Ended, Sure, summarise};
use neural_compiler::{Diagnostics, Program};
use std::sync::Arc;

pub(crate) fn fit(program: &Program, prepared: &Prepared, options: &Options<'_>) -> Result<Fit, Diagnostics> {
    let layout = &prepared.layout;
    let mut nets = nets::nets(program, layout);
    let voices = scene(prepared).thinned().show(&mut nets);
    let mut scatter = dynamics::fit::scales(&prepared.data, prepared.known);
    let mut kept: Option<(Followed, Ended, Sure, f64, Dynamics)> = None;
    // The columns on the scale of their values, then on that of what the first fit leaves unexplained.
    let rounds = if prepared.data.one_scale(prepared.known) { 1 } else { 2 };
    for round in 0..rounds {
        let problem = prepared.problem(&prepared.solver, layout, &scatter, false);
        enough(layout, problem.count())?;
        let rest = prepared.holds_out().then(|| prepared.problem(&prepared.solver, layout, &scatter, true));
        let judge = |theta: &[f64]| {
            let rest = rest.as_ref()?;
            let mut residuals = vec![0.0; rest.count()];
            rest.evaluate(theta, &mut residuals, None).ok()?;
            Some(dot(&residuals, &residuals))
        };
        let options = &dynamics::fit::in_unit(prepared, &scatter, options);
        let setting =
            Setting { options, layout, nets: &nets, voices: &voices, known: prepared.known, judge: rest.is_some().then_some(&judge) };
        let first = setting.first();
        let followed = match &kept {
            None => {
                let alone = setting.law_alone(&first).and_then(|held| dynamics::fit::law_alone(prepared, held, &scatter, options));
                let by_gauss_newton = setting.by_gauss_newton(problem.count());
                setting.follow(&setting.starts(&first, alone), |training, start| match by_gauss_newton {
                    true => whole(&setting, training, &problem, start, &first),
                    false => setting.first_order(training, &problem, start, &first),
                })?
            }
            Some((followed, ..)) if followed.trained.point.jacobian.is_empty() => break,
            Some((followed, ..)) => {
                let Followed { trained, tried, agreed } = followed;
                let again = setting.follow(std::slice::from_ref(&trained.point.theta), |t, s| {
                    t.run(&problem, s.to_vec(), &first, trained.components, setting.judge)
                })?;
                Followed { tried: *tried, agreed: *agreed, ..again }
            }
        };
        if round + 1 < rounds {
            scatter = {
                let left = dynamics::fit::unexplained(&problem, &followed.trained.point.residuals, &scatter, Loss::Squares);
                // A state without noise does not outweigh everything.
                left.into_iter().zip(&scatter).map(|(deviation, s)| deviation.max(1e-6 * s)).collect()
            };
        }
        let (ended, sure, spent) = setting.finish(&followed)?;
        kept = Some((followed, ended, sure, spent, problem));
    }
    let Some((_, ended, sure, spent, problem)) = kept else { return Err(crate::fit::wrong("no-start", "there is nothing to fit")) };
    // What is told of now is the solution at the end.
    let _ = prepared.solver.doubt();
    let compared = prepared.compared(&problem, &ended.theta, spent)?;
    let mut fit = summarise(layout, ended, compared, sure);
    prepared.finish(&mut fit);
    Ok(fit)
}

/// How tightly stretches are held together, one after another.
const HOLD: [f64; 3] = [0.3, 3.0, 30.0];

/// Stretches first, then the whole trajectories.
fn whole(setting: &Setting<'_>, training: &Training<'_>, problem: &Dynamics, start: &[f64], centre: &[f64]) -> Result<Trained, Unusable> {
    let mut theta = start.to_vec();
    let mut found = None;
    if let Some(mut shooting) = Shooting::of(problem) {
        let mut all = shooting.all(start);
        let bounds = shooting.bounds(&setting.layout.bounds);
        for hold in HOLD {
            shooting.hold(hold);
            let search = penalised::Options { evaluations: 12, ..training.search };
            let part = Training { bounds: &bounds, rounds: 2, search, ..*training };
            let mut middle = centre.to_vec();
            middle.resize(all.len(), 0.0);
            match part.run(&shooting, all.clone(), &middle, found, None) {
                Ok(trained) => {
                    found = trained.components;
                    all = trained.point.theta;
                }
                Err(_) => break,
            }
        }
        theta.copy_from_slice(&all[..start.len()]);
    }
    match training.run(problem, theta, centre, found, setting.judge) {
        // Stretches may hold together where a whole trajectory does not.
        Err(_) => training.run(problem, start.to_vec(), centre, None, setting.judge),
        fine => fine,
    }
}

/// The law at the states that were observed, where nothing was observed at those it starts with.
fn scene(prepared: &Prepared) -> Scene {
    let (layout, field, data) = (&prepared.layout, &prepared.field, &prepared.data);
    let whole = Dynamics::new(prepared.solver.clone(), layout.clone(), data.clone(), |_, _| 1.0);
    let begin = whole.lanes(&layout.start).ok();
    let places = |(k, t): (usize, &Trajectory)| t.at.iter().zip(&t.rows).map(|(&i, &row)| (k, i, row)).collect::<Vec<_>>();
    let rows: Vec<(usize, usize, usize)> = data.all.iter().enumerate().flat_map(places).collect();
    let state = |component: usize| {
        let observed = data.observed.iter().find(|o| o.component == component);
        rows.iter()
            .map(|&(k, _, row)| observed.map_or_else(|| begin.as_ref().map_or(0.0, |b| b[k].start[component]), |o| o.values[row]))
            .collect::<Vec<f64>>()
    };
    let mut columns = vec![(0..field.law.size).flat_map(state).collect()];
    columns.extend(layout.shared.iter().map(|_| vec![]));
    columns.push(rows.iter().map(|&(_, _, row)| data.row_times[row]).collect());
    let mut at = 0;
    for f in &field.forcing {
        columns.push((at..at + f.shape.len()).flat_map(|n| rows.iter().map(move |&(k, i, _)| data.all[k].forcing[i][n])).collect());
        at += f.shape.len();
    }
    let mut own = Layout::clone(layout);
    own.shared.iter_mut().enumerate().for_each(|(i, s)| s.input = 1 + i);
    Scene { graph: field.law.graph.clone(), layout: Arc::new(own), columns, rows: rows.len() }
}
