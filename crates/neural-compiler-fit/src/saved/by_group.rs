//! Constants of which a fit found one value for each group. In: a saved model; out: which these are, or a complaint where one value is
//! wanted and nobody gives it.
//!
//! The text of such a model declares the mean over its groups, which is the value of none: using it unasked would be a wrong answer that
//! looks right. The mean of a random effect is its typical value, and no mistake.

use super::remember;
use neural_compiler::syntax::ast::InputKind;
use neural_compiler::{Diagnostic, Program};

/// The names of these constants.
pub fn constants(program: &Program) -> Result<Vec<String>, Diagnostic> {
    let mut local = Vec::new();
    for input in program.inputs() {
        if let InputKind::Param(info) = &input.kind
            && info.per.is_some()
            && info.effect.is_none()
        {
            local.push(input.name.clone());
        }
    }
    if !local.is_empty() {
        let known = remember::of_groups(program)?;
        local.retain(|name| known.iter().any(|k| k.0.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with('['))));
    }
    Ok(local)
}

/// Complains about the first of these constants that is not given; `how`: what gives one.
pub fn check(program: &Program, is_given: impl Fn(&str) -> bool, how: impl Fn(&str) -> String) -> Result<(), Diagnostic> {
    match constants(program)?.into_iter().find(|name| !is_given(name)) {
        None => Ok(()),
        Some(name) => {
            let message = format!("the fit of this model has a value of `{name}` for each group, and one for all is wanted");
            let help = format!("give the one to compute with, {}; `neuralc predict` takes each group's own", how(&name));
            Err(Diagnostic::error("values-by-group", Default::default(), message).help(help))
        }
    }
}
