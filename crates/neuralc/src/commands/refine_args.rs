//! The command line of `neuralc refine` as a type.

use crate::commands::fit_args::DataArgs;
use clap::Args;
use std::time::Duration;

/// `neuralc refine`
#[derive(Args)]
#[command(after_help = "\
Hypotheses are models as text: proposed, compiled, checked (domain, units), fitted as `neuralc fit` does it, judged, and proposed anew \
from what is left. With --states the columns are states of a differential equation, with --target one column is a formula of the \
others; a MODEL says which by itself, and is what the search begins with; without one it begins with a constant.

What decides is the length of the description: twice the negative log-likelihood, the logarithm of the number of rows for each \
constant, and 2 for each operation, name and number of the formulas. Rows held out fit nothing: they count as the fit to the others \
predicts them, and their likelihood, with its error, is told of every hypothesis. The front has what no simpler hypothesis equals, the \
best is the simplest of it that is not clearly worse; constants are fitted to all rows at the end.

Proposers: `terms` (sums of few terms of a grammar, for differential equations), `search` (formulas), `person:FILE` (models in a file, \
separated by lines of ---), or a command that speaks the protocol of docs/proposers.md. Default: `terms` or `search`. The same seed \
gives the same outcome where the budget does not end the search.

Examples:
  neuralc refine --data orbit.csv --target period
  neuralc refine --data predators.csv --states hare,lynx --time year --budget 1m --journal journal/
  neuralc refine exponential.scm --data predators.csv --time year --proposer terms --proposer 'python3 mine.py' --json")]
pub(crate) struct RefineArgs {
    /// Files with models to begin with
    #[arg(value_name = "MODEL")]
    pub(crate) files: Vec<String>,
    #[command(flatten)]
    pub(crate) from: DataArgs,
    /// The column that a formula is to explain
    #[arg(long, value_name = "COLUMN", conflicts_with = "states")]
    pub(crate) target: Option<String>,
    /// The columns a formula may depend on, with commas (default: all others)
    #[arg(long, value_name = "COLUMN,…", value_delimiter = ',')]
    pub(crate) inputs: Vec<String>,
    /// The columns that are states of a differential equation, with commas
    #[arg(long, value_name = "COLUMN,…", value_delimiter = ',')]
    pub(crate) states: Vec<String>,
    /// The column of times, for models with states (default: `t`)
    #[arg(long, value_name = "COLUMN")]
    pub(crate) time: Option<String>,
    /// The column that tells trajectories apart
    #[arg(long, value_name = "COLUMN")]
    pub(crate) group: Option<String>,
    /// Who proposes: terms, search, person:FILE or a command; may be given several times
    #[arg(long = "proposer", value_name = "P")]
    pub(crate) proposers: Vec<String>,
    /// The time there is: 30s, 10m, 1h, or a number of seconds
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    pub(crate) budget: Duration,
    /// Share of the rows that judges hypotheses and fits none
    #[arg(long, value_name = "SHARE", default_value_t = 0.2)]
    pub(crate) holdout: f64,
    /// Of everything random
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u32,
    /// Write every hypothesis into this folder: journal.jsonl, report.md, report.html and pictures of the front
    #[arg(long, value_name = "DIR")]
    pub(crate) journal: Option<String>,
    /// Go on from the journal in that folder: what was dropped there is not fitted again
    #[arg(long, requires = "journal")]
    pub(crate) resume: bool,
    /// Most threads to compute with (default: all)
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<std::num::NonZeroUsize>,
}

/// A time as people write it.
fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" | "s" => 1.0,
        "ms" => 1e-3,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        other => return Err(format!("a time is a number with s, m or h, not with `{other}`")),
    };
    let seconds = digits.parse::<f64>().map(|x| x * unit).unwrap_or(f64::NAN);
    Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|d| !d.is_zero() && seconds < 1e8)
        .ok_or_else(|| "a time is a positive number, such as 30s or 10m".into())
}
