//! What options are for. In: options and a model; out: an error for every option that would change nothing of this model, by its name.
//!
//! The one table of options that are not for every model; whether the value of an option is one at all is `options.rs`'s.

use crate::options::{Optimiser, Options};
use crate::saved::weights;
use neural_compiler::syntax::ast::{Input, InputKind, ModelKind};
use neural_compiler::{Diagnostic, Diagnostics, Program};

/// What a model must have for an option to mean something.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// States that follow each other in time.
    States,
    /// Differential equations, which are solved to some accuracy; the steps of a map are exact.
    Equations,
    /// Nets whose weights are trained.
    Nets,
    /// Constants that are drawn at random for each group.
    Effects,
}

const ALL: [Purpose; 4] = [Purpose::States, Purpose::Equations, Purpose::Nets, Purpose::Effects];

impl Purpose {
    fn is_of(self, program: &Program) -> bool {
        let drawn = |i: &Input| matches!(&i.kind, InputKind::Param(info) if info.effect.is_some());
        match self {
            Purpose::States => program.kind() != ModelKind::Expression,
            Purpose::Equations => program.kind() == ModelKind::Derivatives,
            Purpose::Nets => !weights::needed(program).is_empty(),
            Purpose::Effects => program.inputs().iter().chain(program.observables().map_or(&[][..], |o| o.1.inputs())).any(drawn),
        }
    }

    /// What all of these models lack of it, if anything: without states they lack these rather than equations.
    fn lacking(self, programs: &[&Program]) -> Option<Purpose> {
        let lacks = |purpose: Purpose| !programs.iter().any(|p| purpose.is_of(p));
        match self {
            Purpose::Equations if lacks(Purpose::States) => Some(Purpose::States),
            purpose => lacks(purpose).then_some(purpose),
        }
    }

    /// The code, what the model lacks, what such options are about, and what to do.
    fn words(self) -> (&'static str, &'static str, &'static str, &'static str) {
        match self {
            Purpose::States => (
                "no-states",
                "the model has no states: it is a formula",
                "how differential equations are solved, from when on and with which doses",
                "leave that out; the search for constants itself goes on to the last digits and takes no tolerance, and an input of a \
                 formula is the column of its name",
            ),
            Purpose::Equations => (
                "no-equations",
                "the model has no differential equations: it is a map",
                "how these are solved",
                "leave that out; the steps of a map are exact, and `step` says how long they are",
            ),
            Purpose::Nets => ("no-nets", "the model has no nets", "how nets are trained", "leave that out"),
            Purpose::Effects => (
                "no-effects",
                "the model has no random effects",
                "how these are taken out of the likelihood",
                "leave that out, or declare one: (param eta 0 :per group :effect (normal 0 w))",
            ),
        }
    }
}

/// An option that is not for every model.
struct Particular {
    name: &'static str,
    purpose: Purpose,
    is_given: fn(&Options<'_>) -> bool,
    leave_out: fn(&mut Options<'_>),
}

const fn particular(
    name: &'static str,
    purpose: Purpose,
    is_given: fn(&Options<'_>) -> bool,
    leave_out: fn(&mut Options<'_>),
) -> Particular {
    Particular { name, purpose, is_given, leave_out }
}

/// All of them.
const PARTICULAR: [Particular; 12] = [
    particular("time", Purpose::States, |o| o.time.is_some(), |o| o.time = None),
    particular("start_time", Purpose::States, |o| o.start_time.is_some(), |o| o.start_time = None),
    particular("events", Purpose::States, |o| !o.doses.is_empty(), |o| o.doses.clear()),
    particular("method", Purpose::Equations, |o| o.scheme.is_some(), |o| o.scheme = None),
    particular("step", Purpose::States, |o| o.step.is_some(), |o| o.step = None),
    particular("rtol", Purpose::Equations, |o| o.tolerance.is_some(), |o| o.tolerance = None),
    particular("atol", Purpose::Equations, |o| o.absolute_tolerance.is_some(), |o| o.absolute_tolerance = None),
    particular("training", Purpose::Nets, |o| o.training != Optimiser::Auto, |o| o.training = Optimiser::Auto),
    particular("weight_decay", Purpose::Nets, |o| o.weight_decay.is_some(), |o| o.weight_decay = None),
    particular("epochs", Purpose::Nets, |o| o.epochs.is_some(), |o| o.epochs = None),
    particular("batch", Purpose::Nets, |o| o.batch.is_some(), |o| o.batch = None),
    particular("effects", Purpose::Effects, |o| o.effects.is_some(), |o| o.effects = None),
];

/// Whether an option by this name can change anything of a model.
pub(crate) fn is_of_use(option: &str, program: &Program) -> bool {
    PARTICULAR.iter().all(|p| p.name != option || p.purpose.is_of(program))
}

impl Options<'_> {
    /// An error for what would change nothing of any of these models.
    pub fn check_purpose(&self, programs: &[&Program]) -> Result<(), Diagnostics> {
        let one = |purpose: Purpose| {
            let useless = PARTICULAR.iter().filter(|p| p.purpose.lacking(programs) == Some(purpose) && (p.is_given)(self));
            let names: Vec<String> = useless.map(|p| format!("`{}`", p.name)).collect();
            if names.is_empty() {
                return None;
            }
            let (code, lack, about, help) = purpose.words();
            let (verb, names) = (if names.len() == 1 { "says" } else { "say" }, names.join(", "));
            Some(Diagnostic::error(code, Default::default(), format!("{lack}, and {names} {verb} {about}")).help(help))
        };
        let found: Vec<Diagnostic> = ALL.into_iter().filter_map(one).collect();
        if found.is_empty() { Ok(()) } else { Err(Diagnostics(found)) }
    }

    /// Without what this model makes no use of, where others beside it may.
    #[must_use]
    pub fn suited_to(mut self, program: &Program) -> Self {
        PARTICULAR.iter().filter(|p| !p.purpose.is_of(program)).for_each(|p| (p.leave_out)(&mut self));
        self
    }
}
