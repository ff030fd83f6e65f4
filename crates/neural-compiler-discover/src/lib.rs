//! Models found from data. In: a table, models to begin with, proposers; out: hypotheses as text, fitted and judged, and the front of them.
//!
//! ```
//! use neural_compiler_discover::{Kind, Problem, Settings, proposers, refine};
//! use neural_compiler_fit::Table;
//! use std::time::Duration;
//!
//! let x: Vec<f64> = (1..=20).map(f64::from).collect();
//! let y = x.iter().map(|x| 3.0 * x * x).collect();
//! let table = Table::new([("x".to_string(), x), ("y".to_string(), y)]).expect("columns of one length");
//! let kind = Kind::Formula { target: "y".into(), inputs: vec!["x".into()] };
//! let problem = Problem::new(table, kind, 0.2, 0)?;
//! let mut tell = |_: &neural_compiler_discover::Entry| {};
//! let mut settings =
//!     Settings { given: vec![], budget: Duration::from_secs(20), dropped: Default::default(), tell: &mut tell, stop: &|| false };
//! let found = refine(&problem, &mut proposers(&problem), &mut settings)?;
//! assert!((found.best.params[0].value - 3.0).abs() < 1e-9);
//! # Ok::<(), neural_compiler::Diagnostics>(())
//! ```

mod canonical;
mod external;
pub mod journal;
mod judge;
mod noise;
mod problem;
mod proposer;
mod refine;
mod search;
mod smooth;
mod terms;
mod text;

pub use canonical::canonical;
pub use external::{External, Person, VERSION as PROTOCOL, end_proposers, hello};
pub use judge::{Holdout, Judge, Judged};
pub use problem::{Kind, Problem, is_name};
pub use proposer::{Proposal, Proposer, State};
pub use refine::{Entry, Outcome, Settings, as_scheme, constant, refine};
pub use search::Search;
pub use terms::Terms;
pub use text::complexity;

use neural_compiler::Diagnostics;

/// The proposers of these names; none: those built in for the kind of problem. `read` gives the text of a file.
pub fn named(
    problem: &Problem,
    names: &[String],
    read: &dyn Fn(&str) -> Result<String, Diagnostics>,
) -> Result<Vec<Box<dyn Proposer>>, Diagnostics> {
    let one = |name: &String| -> Result<Box<dyn Proposer>, Diagnostics> {
        Ok(match (name.as_str(), name.strip_prefix("person:")) {
            ("terms", _) => Box::new(Terms::default()),
            ("search", _) => Box::new(Search::default()),
            (_, Some(file)) => Box::new(Person::new(&read(file)?)),
            (command, None) => Box::new(External::new(command)?),
        })
    };
    if names.is_empty() { Ok(proposers(problem)) } else { names.iter().map(one).collect() }
}

/// The built-in proposers for a problem.
pub fn proposers(problem: &Problem) -> Vec<Box<dyn Proposer>> {
    match problem.kind {
        Kind::Formula { .. } => vec![Box::new(Search::default())],
        Kind::Ode { .. } => vec![Box::new(Terms::default())],
    }
}

/// Computes with at most so many threads from now on; false where threads are already at work.
pub fn threads(count: usize) -> bool {
    rayon::ThreadPoolBuilder::new().num_threads(count).build_global().is_ok()
}
