//! The command line as types. In: what clap parses; out: one struct per command. Help texts live here, with their examples.

use crate::commands::fit_args::{CompareArgs, FitArgs, PredictArgs, SimulateArgs};
use crate::commands::library_args::LibraryArgs;
use crate::commands::refine_args::RefineArgs;
use crate::table::dates::DateArgs;
use crate::table::dialect::TableArgs;
use crate::value;
use clap::builder::PossibleValue;
use clap::{Args, Parser, Subcommand, ValueEnum};
use neural_compiler::export::Target;
use neural_compiler::ops::real::Dtype;
use neural_compiler::units::Mode;
use neural_compiler::{Limits, Shape, Syntax};

/// Scientific equations as text, compiled into exact, differentiable programs.
#[derive(Parser)]
#[command(
    name = "neuralc",
    version,
    max_term_width = 100,
    after_help = "\
Examples:
  neuralc run -e '(* 0.5 (* m (square v)))' m=2 v=3 --grad
  neuralc run --syntax infix -e 'm*v^2/2' m=2 v=3 --grad
  neuralc eval model.scm --data in.csv --out out.csv --grad
  neuralc bench model.scm --grad
  neuralc fit model.scm --data measured.csv --target y
  neuralc simulate model.scm k=2 --until 10 --plot model.svg --out model.csv
  neuralc check model.scm --range x=0:10
  neuralc show -e '(sin (* 2 x))' --stage grad
  neuralc export model.scm --to c --grad --out model/
  neuralc ops

Exit codes: 0 fine, 1 the program or its data is wrong, 2 the command line is wrong."
)]
pub(crate) struct Cli {
    /// Print JSON instead of text
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// What programs are written in (default: infix for files that end in .eq, latex for .tex, else scheme)
    #[arg(long, value_enum, global = true, value_name = "SYNTAX")]
    pub(crate) syntax: Option<SyntaxArg>,

    /// What becomes of units that do not fit: an error, a warning of `check`, or nothing
    #[arg(long, value_enum, global = true, value_name = "MODE", default_value = "error")]
    pub(crate) units: UnitsArg,

    /// The library that `(use name@2)` and `neuralc library` mean (default: the nearest folder `library` or `neuralc.library`, beside
    /// the program or above it)
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) library: Option<std::path::PathBuf>,

    /// Use no file outside of this folder by `(use "file.scm" …)`
    #[arg(long, global = true, hide = true, value_name = "DIR")]
    pub(crate) files_under: Option<std::path::PathBuf>,

    #[command(flatten)]
    pub(crate) limits: LimitArgs,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Evaluate a program, with derivatives on request
    Run(RunArgs),
    /// Evaluate a program for every row of a table
    Eval(EvalArgs),
    /// Measure how long a program takes to compile and to run over batches
    Bench(BenchArgs),
    /// Find the constants of a model from data, with standard errors
    Fit(Box<FitArgs>),
    /// Fit several models to the same data and put them side by side
    Compare(Box<CompareArgs>),
    /// Find models from data: propose, fit, judge, propose again
    Refine(Box<RefineArgs>),
    /// Predictions of a model, fitted and saved, for every row of a table
    Predict(PredictArgs),
    /// Trajectories of a model with states, for one or many sets of values
    Simulate(Box<SimulateArgs>),
    /// Find mistakes, and operations that may leave their domain
    Check(CheckArgs),
    /// Print a stage of the compilation
    Show(ShowArgs),
    /// Format a program
    Fmt(FmtArgs),
    /// List the operations and forms of the language
    #[command(after_help = "Examples:\n  neuralc ops\n  neuralc ops --json | jq '.ops[] | select(.paper) | .name'")]
    Ops,
    /// Chain programs into one
    Compose(ComposeArgs),
    /// Write a program as source for others: C and more
    Export(ExportArgs),
    /// Frozen modules: programs with their signature, proved domain, examples and hash
    Library(LibraryArgs),
    /// Ask a language model for a program, and hold its answers to the compiler
    #[cfg(feature = "ask")]
    Ask(Box<crate::ask::AskArgs>),
    /// Serve programs that write programs, by the Model Context Protocol
    #[cfg(feature = "mcp")]
    Mcp(crate::mcp::McpArgs),
    /// Try things out line by line
    Repl(ReplArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
}

/// Bounds on compiling and running.
#[derive(Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitArgs {
    /// Most loop rounds and calls of a whole run
    #[arg(long, value_name = "N", global = true)]
    max_steps: Option<u64>,
    /// Most rounds of any one loop
    #[arg(long, value_name = "N", global = true)]
    max_iterations: Option<u64>,
    /// Most calls within calls
    #[arg(long, value_name = "N", global = true)]
    max_depth: Option<usize>,
    /// Most nodes of the graph
    #[arg(long, value_name = "N", global = true)]
    max_nodes: Option<usize>,
    /// Deepest nesting of parentheses
    #[arg(long, value_name = "N", global = true)]
    max_nesting: Option<usize>,
    /// Largest source text
    #[arg(long, value_name = "BYTES", global = true)]
    max_source_bytes: Option<usize>,
    /// Most memory a run may take
    #[arg(long, value_name = "BYTES", global = true)]
    max_memory: Option<usize>,
}

impl LimitArgs {
    /// The library's limits with these changes.
    pub(crate) fn limits(&self) -> Limits {
        let d = Limits::default();
        Limits {
            source_bytes: self.max_source_bytes.unwrap_or(d.source_bytes),
            nesting: self.max_nesting.unwrap_or(d.nesting),
            nodes: self.max_nodes.unwrap_or(d.nodes),
            iterations: self.max_iterations.unwrap_or(d.iterations),
            depth: self.max_depth.unwrap_or(d.depth),
            steps: self.max_steps.unwrap_or(d.steps),
            memory_bytes: self.max_memory.unwrap_or(d.memory_bytes),
        }
    }
}

/// A number type on the command line.
#[derive(Clone, Copy)]
pub(crate) struct DtypeArg(pub(crate) Dtype);

impl ValueEnum for DtypeArg {
    fn value_variants<'a>() -> &'a [DtypeArg] {
        &[DtypeArg(Dtype::F64), DtypeArg(Dtype::F32)]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.name()))
    }
}

/// A syntax on the command line.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct SyntaxArg(pub(crate) Syntax);

impl ValueEnum for SyntaxArg {
    fn value_variants<'a>() -> &'a [SyntaxArg] {
        &[SyntaxArg(Syntax::Scheme), SyntaxArg(Syntax::Infix), SyntaxArg(Syntax::Latex)]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.name()))
    }
}

/// What becomes of units that do not fit, on the command line.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct UnitsArg(pub(crate) Mode);

impl ValueEnum for UnitsArg {
    fn value_variants<'a>() -> &'a [UnitsArg] {
        &[UnitsArg(Mode::Refuse), UnitsArg(Mode::Warn), UnitsArg(Mode::Ignore)]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.name()))
    }
}

/// Where a program comes from.
#[derive(Args)]
pub(crate) struct SourceArgs {
    /// A file with a program, `-` for standard input
    #[arg(value_name = "FILE", required_unless_present = "expression", conflicts_with = "expression")]
    pub(crate) file: Option<String>,
    /// A program as text
    #[arg(short, long = "expression", value_name = "EXPR", allow_hyphen_values = true)]
    pub(crate) expression: Option<String>,
}

/// `neuralc run`
#[derive(Args)]
#[command(
    override_usage = "neuralc run [OPTIONS] <FILE | -e EXPR> [NAME=VALUE]...",
    after_help = "\
A value is a number (1.5, 1/3, -inf), a vector [1,2,3] or a matrix [[1,2],[3,4]]; blanks may stand for commas. \
Parameters and states declared in the program start at their declared values.

Examples:
  neuralc run -e '(* 0.5 (* m (square v)))' m=2 v=3
  neuralc run pendulum.scm theta=1 omega=0 --json
  neuralc run -e '(dot a b)' a=[1,2,3] b=[4,5,6] --grad
  echo '(log x)' | neuralc run - x=-1 --trap"
)]
pub(crate) struct RunArgs {
    /// A program as text; without it the first argument is a file (`-` for standard input)
    #[arg(short, long = "expression", value_name = "EXPR", allow_hyphen_values = true)]
    pub(crate) expression: Option<String>,
    /// FILE unless -e is given, then values of inputs: NAME=VALUE
    #[arg(value_name = "FILE | NAME=VALUE", required_unless_present = "expression")]
    pub(crate) words: Vec<String>,
    /// Also the gradient with respect to every input (the result must be a scalar)
    #[arg(long)]
    pub(crate) grad: bool,
    /// Also the gradient and all second derivatives
    #[arg(long)]
    pub(crate) hessian: bool,
    /// Number type to compute in
    #[arg(long, value_enum, default_value = "f64")]
    pub(crate) dtype: DtypeArg,
    /// Stop at the first operation that leaves its domain, and name it
    #[arg(long)]
    pub(crate) trap: bool,
}

/// `neuralc eval`
#[derive(Args)]
#[command(after_help = "\
The first row of a CSV file names its columns. A column named like an input feeds it; the columns v[0], v[1], … feed a vector \
v, and m[0,0], m[0,1], … a matrix m. Inputs without a column are set with --set; parameters and states without one start \
at their declared values. The output has all columns of the table, then `value` (for a vector value[0], value[1], …) and with \
--grad `d/dNAME` for every input that has columns. Text columns that feed no input are handed on. Memory does not grow with \
the table; an output file appears when it is complete, or not at all, and what goes to standard output or into a pipe comes as soon \
as its row has been read. What separates cells, the decimal sign, comments and packing are recognised and said; what could be read in two \
ways is an error that names the option to use.

Many tables, those of a directory and of the folders in it or those that fit a pattern (`*`, `?`), go into a directory, each under its \
own name. Run again, the same command goes on: tables whose results are there, made from them by the same program and options, \
are left alone.

Examples:
  neuralc eval model.scm --data in.csv --out out.parquet --grad
  neuralc eval model.scm --data 'rows/*.parquet' --out values
  neuralc eval -e '(* a (sin x))' --set a=2 --data in.csv --out -
  cat in.csv | neuralc eval model.scm --data - --out out.csv --keep-going")]
pub(crate) struct EvalArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// The table: a .csv (.tsv, .txt, .dat, also with .gz) or .parquet file, `-` for text on standard input; or many: a directory or a
    /// quoted pattern ('rows/*.parquet')
    #[arg(long, value_name = "TABLE")]
    pub(crate) data: String,
    /// Where the results go: a .csv or .parquet file, a pipe or device, `-` for CSV on standard output; of many tables, a directory
    #[arg(long, value_name = "TABLE")]
    pub(crate) out: String,
    /// The value of an input that is no column, the same for all rows
    #[arg(long = "set", value_name = "NAME=VALUE", allow_hyphen_values = true)]
    pub(crate) sets: Vec<String>,
    /// Also the gradient with respect to every input that has columns (the result must be a scalar)
    #[arg(long)]
    pub(crate) grad: bool,
    /// Number type to compute in
    #[arg(long, value_enum, default_value = "f64")]
    pub(crate) dtype: DtypeArg,
    /// Most threads to compute with (default: all)
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<std::num::NonZeroUsize>,
    /// Leave the results of rows that fail, or that hold something else than numbers, empty instead of stopping at the first
    #[arg(long)]
    pub(crate) keep_going: bool,
    #[command(flatten)]
    pub(crate) table: TableArgs,
    #[command(flatten)]
    pub(crate) dates: DateArgs,
}

/// `neuralc bench`
#[derive(Args)]
#[command(after_help = "\
The program is compiled and run over batches of several sizes by the engine that `neuralc eval` uses; the best of many rounds \
counts, because whatever else the machine does only ever adds. Values come from the rows of --data, repeated until the batch is \
full, or are spread evenly over a range: that of --range, else 0.5 to 2. Inputs given with --set and declared parameters are \
shared by all lanes. With --grad, the gradient with respect to every input that is not shared is computed too.

`compile` is the way from text to graph (with --grad, to the graph of the gradient), `prepare` from there to the engine.

Examples:
  neuralc bench model.scm --grad
  neuralc bench -e '(* a (sin x))' --range x=-3:3 --dtype f32 --batch 10000
  neuralc bench model.scm --data in.csv --threads 4 --json")]
pub(crate) struct BenchArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// Values for the inputs: a .csv or .parquet file, `-` for CSV on standard input
    #[arg(long, value_name = "TABLE")]
    pub(crate) data: Option<String>,
    #[command(flatten)]
    pub(crate) table: TableArgs,
    /// The value of an input that is the same for all lanes
    #[arg(long = "set", value_name = "NAME=VALUE", allow_hyphen_values = true)]
    pub(crate) sets: Vec<String>,
    /// The values an input takes when there is no table: NAME=LO:HI
    #[arg(long = "range", value_name = "NAME=LO:HI", value_parser = parse_range, conflicts_with = "data")]
    pub(crate) ranges: Vec<(String, (f64, f64))>,
    /// The size of an input the program leaves open: NAME=N or NAME=ROWSxCOLUMNS
    #[arg(long = "shape", value_name = "NAME=SIZE", value_parser = parse_shape, conflicts_with = "data")]
    pub(crate) shapes: Vec<(String, Shape)>,
    /// Also the gradient (the result must be a scalar)
    #[arg(long)]
    pub(crate) grad: bool,
    /// Lanes of a batch; several with commas
    #[arg(long = "batch", value_name = "N,…", value_delimiter = ',', default_value = "1,100,10000,1000000")]
    pub(crate) batches: Vec<std::num::NonZeroUsize>,
    /// Most threads to compute with
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) threads: std::num::NonZeroUsize,
    /// Number type to compute in
    #[arg(long, value_enum, default_value = "f64")]
    pub(crate) dtype: DtypeArg,
}

/// `neuralc check`
#[derive(Args)]
#[command(after_help = "\
With ranges, every operation that can leave its domain for some input inside them is reported (division \
by zero, square root of a negative number, …); nothing is reported only where safety is proved. Inputs \
without a range may be any finite number, and inf as an end means no bound; parameters stay within their declared bounds. \
What only an overflow of inputs without bounds leads to is a note, which does not fail the check. An overflow to infinity that \
leads no operation out of its domain is no problem; where there is none, it is said whether overflow is excluded (with --json: `finite`).

Examples:
  neuralc check model.scm
  neuralc check -e '(/ 1 (- x 2))' --range x=0:10
  neuralc check -e '(log (+ x c))' --range x=0:inf --range c=1:5 --json")]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// The values an input may take, NAME=LO:HI; of a vector or matrix: every element
    #[arg(long = "range", value_name = "NAME=LO:HI", value_parser = parse_range)]
    pub(crate) ranges: Vec<(String, (f64, f64))>,
    /// The size of an input the program leaves open: NAME=N or NAME=ROWSxCOLUMNS
    #[arg(long = "shape", value_name = "NAME=SIZE", value_parser = parse_shape)]
    pub(crate) shapes: Vec<(String, Shape)>,
    /// Number type the analysis assumes
    #[arg(long, value_enum, default_value = "f64")]
    pub(crate) dtype: DtypeArg,
}

/// A stage of the compilation.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub(crate) enum Stage {
    /// Forms recognised, names resolved
    Ast,
    /// A-normal form, tail calls turned into jumps
    Anf,
    /// The dataflow graph with its regions
    Graph,
    /// What the batch engine executes
    Tape,
    /// The graph of the value and its gradient
    Grad,
    /// The machine code batches run as, for this CPU
    Asm,
    /// The machine code of the value and its gradient
    GradAsm,
}

/// How a stage is printed.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub(crate) enum Format {
    /// Lines for people
    Text,
    /// For Graphviz (graph and grad)
    Dot,
    /// A picture (graph and grad)
    Svg,
    /// For programs
    Json,
    /// The program itself, as formulas for a paper (without a stage)
    Latex,
    /// The program itself, as an expression that SymPy's `sympify` reads (without a stage)
    Sympy,
}

/// `neuralc show`
#[derive(Args)]
#[command(after_help = "\
Examples:
  neuralc show -e '(+ (square x) 1)' --stage graph
  neuralc show model.scm --stage grad --format svg > grad.svg
  neuralc show -e '(dot v v)' --shape v=3 --stage tape
  neuralc show model.scm --format latex
  neuralc show -e '(* x (sin y))' --format sympy
  neuralc show -e '(tanh (* w x))' --stage grad-asm --dtype f32")]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// What to print; not needed with --format latex and sympy, which print the program itself
    #[arg(long, value_enum, required_unless_present = "format")]
    pub(crate) stage: Option<Stage>,
    /// How to print it (default: text)
    #[arg(long, value_enum, conflicts_with = "json")]
    pub(crate) format: Option<Format>,
    /// The size of an input the program leaves open: NAME=N or NAME=ROWSxCOLUMNS
    #[arg(long = "shape", value_name = "NAME=SIZE", value_parser = parse_shape)]
    pub(crate) shapes: Vec<(String, Shape)>,
    /// Number type of machine code (default: f64)
    #[arg(long, value_enum)]
    pub(crate) dtype: Option<DtypeArg>,
}

/// `neuralc fmt`
#[derive(Args)]
#[command(after_help = "\
Only white space changes; every comment is kept. In infix, spellings of the same become one: `2x` is written 2*x. With --to, the program \
is translated, and read back it is the same program.

Examples:
  neuralc fmt model.scm
  neuralc fmt model.scm --to infix > model.eq
  neuralc fmt model.eq --to scheme
  neuralc fmt --write model.scm
  neuralc fmt --check model.scm")]
pub(crate) struct FmtArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// Replace the file instead of printing
    #[arg(long, conflicts_with_all = ["check", "expression"])]
    pub(crate) write: bool,
    /// Print nothing; exit with 1 when formatting would change the text
    #[arg(long)]
    pub(crate) check: bool,
    /// The syntax to write it in, instead of its own
    #[arg(long, value_enum, value_name = "SYNTAX", conflicts_with_all = ["write", "check"])]
    pub(crate) to: Option<SyntaxArg>,
}

/// `neuralc compose`
#[derive(Args)]
#[command(after_help = "\
The value of each program becomes the only free input of the next, or the one named with --into. The \
source of the whole is printed, in infix where all programs are; inputs of the same name become one input.

Examples:
  neuralc compose area.scm pressure.scm
  neuralc compose area.scm pressure.scm force.scm --into p --into f
  neuralc compose area.scm pressure.scm | neuralc run - r=2")]
pub(crate) struct ComposeArgs {
    /// Files with programs, the innermost first; `-` for standard input
    #[arg(value_name = "FILE", num_args = 2.., required = true)]
    pub(crate) files: Vec<String>,
    /// The input to feed: once, for the files that have it, or once for each file after the first
    #[arg(long, value_name = "NAME")]
    pub(crate) into: Vec<String>,
}

/// What a program becomes.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct TargetArg(pub(crate) Target);

impl ValueEnum for TargetArg {
    fn value_variants<'a>() -> &'a [TargetArg] {
        const ALL: [TargetArg; Target::ALL.len()] = {
            let mut all = [TargetArg(Target::C); Target::ALL.len()];
            let mut i = 0;
            while i < all.len() {
                all[i] = TargetArg(Target::ALL[i]);
                i += 1;
            }
            all
        };
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.name()).help(self.0.about()))
    }
}

/// What parameters become.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub(crate) enum ParamsAs {
    /// Inputs like the others
    Inputs,
    /// Their declared values
    Constants,
}

/// `neuralc export`
#[derive(Args)]
#[command(after_help = "\
Inputs come in the order `neuralc check --json` lists them; vectors and matrices row by row. The parameters of a model that was fitted and \
saved become constants, those of other programs are inputs, unless --params says otherwise; --set makes any input a constant. \
C gives the bits `neuralc run` gives; docs/export.md says what is exact of the others.

Examples:
  neuralc export pendulum.scm --to c --grad --out pendulum/
  gcc -O2 -ffp-contract=off pendulum/*.c -lm -o try && ./try 1 9.81 0.5
  neuralc export -e '(* a (exp (- (* k t))))' --set k=0.5 --to c --out decay --dtype f32
  neuralc export model.scm --to json")]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// What the program becomes
    #[arg(long, value_enum, value_name = "TARGET")]
    pub(crate) to: TargetArg,
    /// Where it goes: a folder for targets of several files, else a file or folder (default: standard output)
    #[arg(long, value_name = "PATH")]
    pub(crate) out: Option<String>,
    /// Also the gradient with respect to every input (the result must be a scalar)
    #[arg(long)]
    pub(crate) grad: bool,
    /// Number type to compute in
    #[arg(long, value_enum, default_value = "f64")]
    pub(crate) dtype: DtypeArg,
    /// The value of an input that becomes a constant
    #[arg(long = "set", value_name = "NAME=VALUE", allow_hyphen_values = true)]
    pub(crate) sets: Vec<String>,
    /// What parameters become (default: constants in a saved fit, else inputs)
    #[arg(long, value_enum)]
    pub(crate) params: Option<ParamsAs>,
    /// The size of an input the program leaves open: NAME=N or NAME=ROWSxCOLUMNS
    #[arg(long = "shape", value_name = "NAME=SIZE", value_parser = parse_shape)]
    pub(crate) shapes: Vec<(String, Shape)>,
    /// What the names in a C file begin with
    #[arg(long, value_name = "NAME", default_value = "nc", value_parser = parse_prefix)]
    pub(crate) prefix: String,
    /// An ONNX model of single values: without the axis `batch` in front of inputs and results
    #[arg(long)]
    pub(crate) no_batch: bool,
}

/// `neuralc repl`
#[derive(Args)]
#[command(after_help = "\
Examples:
  neuralc repl
  printf '(define x 2)\\n:grad (square x)\\n' | neuralc repl
  printf 'x = 2\\n:grad x^2\\n' | neuralc repl --syntax infix")]
pub(crate) struct ReplArgs {
    /// Number type to compute in
    #[arg(long, value_enum, default_value = "f64")]
    pub(crate) dtype: DtypeArg,
    /// Stop at the first operation that leaves its domain, and name it
    #[arg(long)]
    pub(crate) trap: bool,
}

/// `neuralc completions`
#[derive(Args)]
#[command(after_help = "\
Examples:
  neuralc completions bash > ~/.local/share/bash-completion/completions/neuralc
  neuralc completions zsh > ~/.zfunc/_neuralc")]
pub(crate) struct CompletionsArgs {
    /// The shell to complete for
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

/// Splits `NAME=REST`.
fn named(text: &str) -> Result<(&str, &str), String> {
    match text.split_once('=') {
        Some((name, rest)) if !name.trim().is_empty() => Ok((name.trim(), rest)),
        _ => Err("a name and `=` are missing".into()),
    }
}

/// A name C allows, without underscore at its end: one is added.
fn parse_prefix(text: &str) -> Result<String, String> {
    let fine = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !text.ends_with('_');
    if fine { Ok(text.into()) } else { Err("a prefix is a letter, then letters, digits and underscores".into()) }
}

/// `NAME=LO:HI`, or `NAME=X` for a single point.
pub(crate) fn parse_range(text: &str) -> Result<(String, (f64, f64)), String> {
    let (name, range) = named(text)?;
    let (lo, hi) = range.split_once(':').unwrap_or((range, range));
    let (lo, hi) = (value::given(lo.trim())?, value::given(hi.trim())?);
    if lo.is_nan() || hi.is_nan() || lo > hi {
        return Err(format!("no number lies between {lo} and {hi}"));
    }
    Ok((name.into(), (lo, hi)))
}

/// `NAME=N`, `NAME=ROWSxCOLUMNS` or `NAME=scalar`.
fn parse_shape(text: &str) -> Result<(String, Shape), String> {
    let (name, size) = named(text)?;
    let length =
        |s: &str| s.trim().parse::<u32>().ok().filter(|&n| (1..=1_000_000).contains(&n)).ok_or("a size is N, ROWSxCOLUMNS or `scalar`");
    let shape = match size.split_once('x') {
        _ if size == "scalar" => Shape::Scalar,
        Some((r, c)) => Shape::Matrix(length(r)?, length(c)?),
        None => Shape::Vector(length(size)?),
    };
    Ok((name.into(), shape))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn ranges_and_shapes() {
        assert_eq!(parse_range("x=-1:1/2"), Ok(("x".into(), (-1.0, 0.5))));
        assert_eq!(parse_range("x=3"), Ok(("x".into(), (3.0, 3.0))));
        assert!(
            parse_range("x=2:1").is_err() && parse_range("x").is_err() && parse_range("x=a:b").is_err() && parse_range("x=nan:1").is_err()
        );
        assert_eq!(parse_shape("m=2x3"), Ok(("m".into(), Shape::Matrix(2, 3))));
        assert_eq!(parse_shape("v=3"), Ok(("v".into(), Shape::Vector(3))));
        assert!(parse_shape("v=0").is_err() && parse_shape("v=x").is_err() && parse_shape("v=99999999999").is_err());
    }
}
