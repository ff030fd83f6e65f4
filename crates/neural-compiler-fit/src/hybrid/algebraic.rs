//! Algebraic models with nets. In: a model with its data; out: a [`Fit`].

use super::Setting;
use super::nets;
use super::scene::Scene;
use crate::algebraic::fit::search;
use crate::algebraic::prepared::Prepared;
use crate::fit::enough;
use crate::optimise::{Residuals, dot};
use crate::options::Options;
use crate::report::Fit;
use crate::report::summary::summarise;
use neural_compiler::{Diagnostics, Program};
use std::sync::Arc;

pub(crate) fn fit(program: &Program, prepared: &Prepared, options: &Options<'_>) -> Result<Fit, Diagnostics> {
    let layout = &prepared.layout;
    let (whole, rest) = prepared.problems(layout);
    enough(layout, whole.observations())?;
    let mut nets = nets::nets(program, layout);
    let scene = Scene { graph: (*prepared.graph).clone(), layout: layout.clone(), columns: whole.columns().to_vec(), rows: whole.rows() };
    let voices = scene.thinned().show(&mut nets);
    let judge = |theta: &[f64]| {
        let rest = rest.as_ref()?;
        let mut residuals = vec![0.0; rest.count()];
        rest.evaluate(theta, &mut residuals, None).ok()?;
        Some(dot(&residuals, &residuals))
    };
    let setting = Setting { options, layout, nets: &nets, voices: &voices, known: prepared.known, judge: rest.is_some().then_some(&judge) };
    let first = setting.first();
    let alone = setting.law_alone(&first).and_then(|held| {
        let held = Arc::new(held);
        let (problem, _) = prepared.problems(&held);
        let quiet = Options { progress: None, ..options.clone() };
        search(&prepared.graph, &problem, &held, prepared.known, &quiet).ok().map(|(found, _)| found.best.theta)
    });
    let by_gauss_newton = setting.by_gauss_newton(whole.count());
    let followed = setting.follow(&setting.starts(&first, alone), |training, start| match by_gauss_newton {
        true => training.run(&whole, start.to_vec(), &first, None, setting.judge),
        false => setting.first_order(training, &whole, start, &first),
    })?;
    let (mut ended, sure, spent) = setting.finish(&followed)?;
    ended.warnings.extend(prepared.about_groups());
    let compared = prepared.compared(&ended.theta, spent)?;
    let mut fit = summarise(layout, ended, compared, sure);
    prepared.tell(&mut fit);
    Ok(fit)
}
