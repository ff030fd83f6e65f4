//! The command lines of `neuralc fit`, `neuralc predict` and `neuralc simulate` as types.

use crate::args::SourceArgs;
use crate::table::dates::{DateArgs, Moment};
use crate::table::dialect::TableArgs;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use neural_compiler::ode::schemes::{AUTO, Row, SCHEMES, Scheme, chosen};
use neural_compiler_fit::{EffectMethod, Loss, Optimiser, Resampling};

/// `neuralc fit`
#[derive(Args)]
#[command(after_help = "\
The model declares what is to be found: (param k 1.0 :min 0). Columns of the table bind by name: to inputs, to the time, and, where \
a column is named like a state, as observations of that state; states without a column are unobserved, and empty cells in them are \
times without an observation. Rows are sorted by time within their group; rows at equal times are replicates. The starts of states hold at \
the first row, unless the model says when, (time t :start 0), or --start-time does; the report says it, and --save keeps it. \
Parameters tied to others are defined, not declared: (define k2 (* 2 k1)).

A net in the model, (net drag (v) 16 1), is trained together with the parameters. Its weights are held as strongly as the data ask for, \
the parameters are free: what the known law can explain is not left to the net.

Many starts are tried unless --starts says otherwise, or the first fit leaves nothing but noise: thousands of rows of a formula, or \
the course of a model with states, show it. The report says how many agree; --budget ends the search with the best so far. A parameter \
that ends at its bound, or that the data do not determine, is named instead of given an error bar, with the combination that is determined.

AIC and BIC are those of normal errors with all constants, the same for formulas and states; k counts the \
standard deviations of the errors unless --sigma gives them. Several observed states are weighed by what the fit leaves of \
each, until that settles.

A model that says how its observations are distributed, (observe y EXPR :noise (poisson)), is fitted by maximum likelihood; cells such as \
<0.5 and >100 then count by their probability. (param k 1 :prior (lognormal 0 0.5)) makes it the posterior mode, (param CL 3 :per subject) \
has a value for each subject, and :effect (normal 0 omega) draws these at random.

A formula is fitted to more rows than fit into memory with --stream: they are read some ten times, and values, errors and likelihood are \
those of the same rows in memory. --data may then be a directory of tables or a pattern, 'rows/*.parquet', read in the order of their names.

Examples:
  neuralc fit decay.scm --data measured.csv --target y
  neuralc fit decay.scm --data 'rows/*.parquet' --target y
  neuralc fit -e '(param a 1) (param k 1) (* a (exp (- (* k t))))' --data measured.csv --sigma 0.1 --json
  neuralc fit lynx-hare.scm --data lynx-hare.csv --time year --plot fit.svg --save fitted.scm
  neuralc fit decay.scm --data german.csv --separator ';' --decimal , --plot fit.pdf --log y
  neuralc predict fitted.scm --data new.csv --out predicted.csv")]
pub(crate) struct FitArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) how: Fitting,
    /// The column of relative weights of the rows
    #[arg(long, value_name = "COLUMN", conflicts_with = "sigma")]
    pub(crate) weights: Option<String>,
    /// How residuals count; the robust losses take their scale from the data, or from NAME:SCALE, in the unit of the data, with --sigma in
    /// standard deviations, for several states without --sigma in the scatter of each
    #[arg(long, value_name = "squares|huber|soft-l1|cauchy", default_value = "squares")]
    pub(crate) loss: Loss,
    /// Share of the rows held out, to judge the fit by and to stop the training of nets by
    #[arg(long, value_name = "SHARE")]
    pub(crate) holdout: Option<f64>,
    /// How nets are trained: by Gauss-Newton steps on all constants and weights, or first-order, Adam on minibatches, then L-BFGS; auto
    /// takes the first where the derivatives fit into memory
    #[arg(long, value_name = "auto|gauss-newton|first-order", default_value = "auto")]
    pub(crate) training: Optimiser,
    /// Penalty on a squared weight of a net (default: estimated from the data)
    #[arg(long, value_name = "P")]
    pub(crate) weight_decay: Option<f64>,
    /// Passes over the data in first-order training (default: 200)
    #[arg(long, value_name = "N")]
    pub(crate) epochs: Option<usize>,
    /// Rows, or trajectories of a model with states, of a minibatch in first-order training (default: 256)
    #[arg(long, value_name = "N")]
    pub(crate) batch: Option<usize>,
    /// Also 95 % intervals by profile likelihood
    #[arg(long)]
    pub(crate) profile: bool,
    /// Also errors and 95 % intervals of so many fits to data drawn anew
    #[arg(long, value_name = "N")]
    pub(crate) bootstrap: Option<usize>,
    /// What these data are drawn from: the fitted model, or the data, row by row within their group, trajectories and groups of random
    /// effects whole (default: the model, where it says how)
    #[arg(long, value_name = "parametric|cases", requires = "bootstrap")]
    pub(crate) resample: Option<Resampling>,
    /// Read the rows again and again instead of holding them in memory, for formulas; auto does so for files of more than 1 GiB
    #[arg(long, value_enum, value_name = "WHEN", num_args = 0..=1, require_equals = true, default_value = "auto")]
    #[arg(default_missing_value = "always")]
    pub(crate) stream: Streaming,
    /// Draw data, fit with 95 % bands (of the fit, paler of new observations) and residuals, over the time and by quantiles, for two states
    /// also the one over the other, into a .svg, .png or .pdf file; with bars for --sigma, a colour for each group
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<String>,
    /// Axes of the plot that go by powers of ten
    #[arg(long, value_enum, requires = "plot")]
    pub(crate) log: Option<Log>,
    /// Write the model with the fitted values in place, and as a comment covariance, options and a hash of the data; weights of
    /// nets go into a .safetensors file of the same name beside it
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<String>,
}

/// The data of a fit, and how it is done: what `fit` and `compare` have in common.
#[derive(Args)]
pub(crate) struct Fitting {
    #[command(flatten)]
    pub(crate) from: DataArgs,
    /// The column to explain (default: the only one that feeds nothing, or `y`; of a model with states, all that observe it)
    #[arg(long, value_name = "COLUMN")]
    pub(crate) target: Option<String>,
    /// The column of times, for models with states (default: `t`)
    #[arg(long, value_name = "COLUMN")]
    pub(crate) time: Option<String>,
    #[command(flatten)]
    pub(crate) begin: StartArgs,
    /// The column that tells trajectories apart; a formula has none, its groups share every parameter
    #[arg(long, value_name = "COLUMN")]
    pub(crate) group: Option<String>,
    /// Known standard deviation of the data: a column, or a number in the unit the model has for the data
    #[arg(long, value_name = "COLUMN|NUMBER", allow_negative_numbers = true)]
    pub(crate) sigma: Option<String>,
    /// Most starts to follow; 1 is the declared values alone
    #[arg(long, value_name = "N")]
    pub(crate) starts: Option<usize>,
    /// Seconds a fit may take; then the best values so far are the result (default: no limit)
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    pub(crate) budget: Option<f64>,
    /// How random effects are taken out: laplace integrates them out (conditional, with interaction); lindstrom-bates alternates between a
    /// linear model and the most probable effects, as R's nlme does (default: laplace)
    #[arg(long, value_name = "laplace|lindstrom-bates")]
    pub(crate) effects: Option<EffectMethod>,
    /// How differential equations are solved
    #[arg(long, value_parser = Methods, default_value = AUTO)]
    pub(crate) method: Method,
    /// Largest step of the solver, in units of the time (default for rk4: from one row to the next); of a map, the time one step takes
    #[arg(long, value_name = "H")]
    pub(crate) step: Option<f64>,
    /// Relative tolerance of adaptive steps (default: 1e-8)
    #[arg(long, value_name = "TOL", visible_alias = "tolerance")]
    pub(crate) rtol: Option<f64>,
    /// Absolute tolerance of adaptive steps, in the unit of the states (default: 1e-4 of --rtol times the size of the data)
    #[arg(long, value_name = "TOL")]
    pub(crate) atol: Option<f64>,
    /// Of everything random
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    pub(crate) seed: u32,
    /// Most threads to compute with (default: all)
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<std::num::NonZeroUsize>,
}

/// A table and how it is read.
#[derive(Args)]
pub(crate) struct DataArgs {
    /// The table: a .csv (.tsv, .txt, .dat, also with .gz) or .parquet file, `-` for text on standard input
    #[arg(long, value_name = "TABLE")]
    pub(crate) data: String,
    #[command(flatten)]
    pub(crate) table: TableArgs,
    #[command(flatten)]
    pub(crate) dates: DateArgs,
}

/// How trajectories begin, and what is given to them.
#[derive(Args)]
pub(crate) struct StartArgs {
    /// The time at which the starts of states hold, a number, or a date where times are dates (default: as the model declares, (time t
    /// :start 0), else the first row of each group)
    #[arg(long, visible_alias = "t0", value_name = "T", allow_negative_numbers = true)]
    pub(crate) start_time: Option<Moment>,
    /// Doses and infusions: a table with the columns time, amount, rate (0 or empty: at once), target (a state) and that of --group
    #[arg(long, value_name = "TABLE")]
    pub(crate) events: Option<String>,
}

/// `neuralc compare`
#[derive(Args)]
#[command(after_help = "\
Every model is fitted to the same table as `neuralc fit` does it. Likelihoods have all their constants, so that models with different \
distributions of errors can be compared; they must explain the same observations. A model whose parameters are some of another's, by \
name, is taken for a part of it, and tested by the likelihood ratio.

Examples:
  neuralc compare line.scm curve.scm --data measured.csv --target y
  neuralc compare poisson.scm overdispersed.scm --data counts.csv --json")]
pub(crate) struct CompareArgs {
    /// Files with models, two or more
    #[arg(value_name = "FILE", required = true, num_args = 2..)]
    pub(crate) files: Vec<String>,
    #[command(flatten)]
    pub(crate) how: Fitting,
}

/// `neuralc predict`
#[derive(Args)]
#[command(after_help = "\
Parameters have their declared values, which `neuralc fit --save` has replaced by the fitted ones; weights of nets are read from the \
.safetensors file of the same name beside the model. The output has all columns of \
the table, then `prediction` (or for a model with states STATE.predicted for every state). --bands adds standard errors and 95 % \
intervals, of the prediction (prediction.stderr, prediction.ci95.low and .high) and of new observations (prediction.pi95.low and .high; of \
binomial noise, how many of the row's trials succeed). Where --sigma named a column, the table needs it for these; where there are none, a \
note says why.

A saved model remembers how it was fitted: --time (where the table has the column), --group, --method, --step, --rtol and --atol are as in \
the fit unless they are given. A table that is one trajectory of a model fitted to several: --group ''.

Examples:
  neuralc predict fitted.scm --data new.csv --out predicted.csv
  neuralc predict fitted.scm --data new.parquet --out -
  zcat new.csv.gz | neuralc predict fitted.scm --data - > predicted.csv")]
pub(crate) struct PredictArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) from: DataArgs,
    /// Also standard errors and 95 % intervals of predictions and of new observations, from the record of the fit
    #[arg(long)]
    pub(crate) bands: bool,
    /// Where the results go: a .csv or .parquet file, a pipe or device, `-` for CSV on standard output
    #[arg(long, value_name = "TABLE", default_value = "-")]
    pub(crate) out: String,
    /// The column of times, for models with states (default: as in the fit, else `t`)
    #[arg(long, value_name = "COLUMN")]
    pub(crate) time: Option<String>,
    #[command(flatten)]
    pub(crate) begin: StartArgs,
    /// The column that tells trajectories apart (default: as in the fit); '' for one trajectory
    #[arg(long, value_name = "COLUMN")]
    pub(crate) group: Option<String>,
    /// How differential equations are solved (default: as in the fit, else auto)
    #[arg(long, value_parser = Methods)]
    pub(crate) method: Option<Method>,
    /// Largest step of the solver, in units of the time; of a map, the time one step takes (default: as in the fit)
    #[arg(long, value_name = "H")]
    pub(crate) step: Option<f64>,
    /// Relative tolerance of adaptive steps (default: as in the fit, else 1e-8)
    #[arg(long, value_name = "TOL", visible_alias = "tolerance")]
    pub(crate) rtol: Option<f64>,
    /// Absolute tolerance of adaptive steps, in the unit of the states (default: as in the fit, else 1e-4 of --rtol times the size of the
    /// data)
    #[arg(long, value_name = "TOL")]
    pub(crate) atol: Option<f64>,
}

/// `neuralc simulate`
#[derive(Args)]
#[command(
    override_usage = "neuralc simulate [OPTIONS] <FILE | -e EXPR> [NAME=VALUE]... <--until T | --times TABLE>",
    after_help = "\
NAME=VALUE sets a parameter, an input that is no column, or where a state starts. Each --sweep gives a name several values, several \
of them every combination; all sets are solved together, each with steps of its own. The output has a column for every name swept
(NAME.start \
where it is a state), then the time, every state and every observable.

Examples:
  neuralc simulate pendulum.scm theta=2 --until 10
  neuralc simulate lynx-hare.scm --until 1920 --sweep death=0.5:1.5:11 --plot cycles.svg --out cycles.csv
  neuralc simulate drug.scm dose=100 --times samples.csv --out predicted.csv"
)]
pub(crate) struct SimulateArgs {
    /// A model as text; without it the first argument is a file (`-` for standard input)
    #[arg(short, long = "expression", value_name = "EXPR", allow_hyphen_values = true)]
    pub(crate) expression: Option<String>,
    /// FILE unless -e is given, then values: NAME=VALUE
    #[arg(value_name = "FILE | NAME=VALUE", required_unless_present = "expression")]
    pub(crate) words: Vec<String>,
    /// The last time; the first is when starts hold, 0 unless the model or --start-time says otherwise
    #[arg(long, value_name = "T", allow_negative_numbers = true, conflicts_with = "times")]
    pub(crate) until: Option<f64>,
    /// How many times, evenly spaced up to --until (default: 101; of a map, every step)
    #[arg(long, value_name = "N", requires = "until")]
    pub(crate) points: Option<std::num::NonZeroUsize>,
    /// A table with the times and those inputs that are columns: a .csv (.tsv, .txt, .dat, also with .gz) or .parquet file
    #[arg(long, value_name = "TABLE")]
    pub(crate) times: Option<String>,
    /// Values for a name, FROM:TO:COUNT or a list A,B,C; may be given several times
    #[arg(long = "sweep", value_name = "NAME=FROM:TO:COUNT", allow_hyphen_values = true)]
    pub(crate) sweeps: Vec<String>,
    #[command(flatten)]
    pub(crate) table: TableArgs,
    #[command(flatten)]
    pub(crate) dates: DateArgs,
    /// Where the results go: a .csv or .parquet file, a pipe or device, `-` for CSV on standard output
    #[arg(long, value_name = "TABLE", default_value = "-")]
    pub(crate) out: String,
    /// Draw every state and observable over the time, a line for each set, into a .svg, .png or .pdf file
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<String>,
    /// The column of times (default: as the model declares, else `t`)
    #[arg(long, value_name = "COLUMN")]
    pub(crate) time: Option<String>,
    /// The time at which the starts of states hold (default: as the model declares, (time t :start 0), else 0 with --until and the first
    /// row with --times)
    #[arg(long, visible_alias = "t0", value_name = "T", allow_negative_numbers = true)]
    pub(crate) start_time: Option<Moment>,
    /// The column of --times that tells trajectories apart
    #[arg(long, value_name = "COLUMN", requires = "times")]
    pub(crate) group: Option<String>,
    /// Doses and infusions: a table with the columns time, amount, rate (0 or empty: at once), target (a state) and that of --group
    #[arg(long, value_name = "TABLE")]
    pub(crate) events: Option<String>,
    /// How differential equations are solved
    #[arg(long, value_parser = Methods, default_value = AUTO)]
    pub(crate) method: Method,
    /// Largest step of the solver, in units of the time; of a map, the time one step takes
    #[arg(long, value_name = "H")]
    pub(crate) step: Option<f64>,
    /// Relative tolerance of adaptive steps (default: tight enough that a tighter one tells the same to five digits)
    #[arg(long, value_name = "TOL", visible_alias = "tolerance")]
    pub(crate) rtol: Option<f64>,
    /// Absolute tolerance of adaptive steps, in the unit of the states (default: 1e-4 of the relative one times the size of the starts)
    #[arg(long, value_name = "TOL")]
    pub(crate) atol: Option<f64>,
    /// Most threads to compute with (default: all)
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<std::num::NonZeroUsize>,
}

/// How differential equations are solved: a scheme of the library's table, or its choice.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Method(pub(crate) Option<Scheme>);

/// The methods, told by the table.
#[derive(Clone)]
pub(crate) struct Methods;

impl TypedValueParser for Methods {
    type Value = Method;

    fn parse_ref(&self, command: &clap::Command, arg: Option<&clap::Arg>, value: &std::ffi::OsStr) -> Result<Method, clap::Error> {
        let known = PossibleValuesParser::new(methods()).parse_ref(command, arg, value)?;
        Ok(Method(chosen(&known).unwrap_or_default()))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(methods().into_iter()))
    }
}

fn methods() -> Vec<PossibleValue> {
    let auto = PossibleValue::new(AUTO).help("Adaptive explicit, or implicit where that costs less");
    let one = |row: &'static Row| PossibleValue::new(row.name).aliases(row.aliases).help(row.about);
    std::iter::once(auto).chain(SCHEMES.iter().map(one)).collect()
}

/// When rows are read again and again instead of held in memory.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub(crate) enum Streaming {
    /// Those of many tables, and of large files where the fit can be done so.
    Auto,
    Always,
    Never,
}

/// Axes that go by powers of ten.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub(crate) enum Log {
    X,
    Y,
    Xy,
}

impl Log {
    /// Whether the one across does, and the one upwards.
    pub(crate) fn axes(self) -> (bool, bool) {
        (self != Log::Y, self != Log::X)
    }
}
