//! The command line of `neuralc library`. In: what clap parses; out: one struct per step.

use crate::args::parse_range;
use crate::table::dialect::TableArgs;
use clap::{Args, Subcommand};

/// `neuralc library`
#[derive(Args)]
#[command(after_help = "\
A library is a folder of plain files, to be kept under version control. A module is a program with an expression as its value: a program \
that says (use gravity@2) has it as the function `gravity` of its inputs, compiled into one program; (use gravity@2 (name)) takes a \
definition of it. A module never changes: `library.lock` has the hash of each, and a text that is another is an error wherever it is used.

Examples:
  neuralc library init
  neuralc library add gravity.scm --range r=0.1:inf --example 'm1=1, m2=2, r=1 ~> 1.334860e-10'
  neuralc library list --json
  neuralc library search --unit 'kg, kg, m -> N'
  neuralc library search --samples measured.csv --target F
  neuralc library test")]
pub(crate) struct LibraryArgs {
    #[command(subcommand)]
    pub(crate) step: Step,
}

/// What to do.
#[derive(Subcommand)]
pub(crate) enum Step {
    /// Make a library: the folder `library`, or that of --library
    Init,
    /// Freeze a program as the next version of a module
    Add(AddArgs),
    /// Name every module
    List,
    /// Print a module with what is known of it
    Show(NameArgs),
    /// Find modules by words, signature, units or behaviour
    Search(SearchArgs),
    /// Hold modules to their hashes, signatures, domains, examples and recorded values
    Test {
        /// NAME or NAME@VERSION (default: all)
        #[arg(value_name = "MODULE")]
        modules: Vec<String>,
    },
    /// Take a module out; its number stays taken, and modules that others use stay
    Remove(NameArgs),
    /// Print a module as one program, with everything it uses in place
    Export(NameArgs),
}

/// A module.
#[derive(Args)]
pub(crate) struct NameArgs {
    /// NAME@VERSION, or NAME for the newest
    #[arg(value_name = "MODULE")]
    pub(crate) module: String,
}

/// `neuralc library add`
#[derive(Args)]
#[command(after_help = "\
The program must compile, its examples must hold, and `check` must prove that no operation leaves its domain for inputs in the ranges. \
A module that computes what one of the library does is refused. Examples may stand in the text as comments, as in the language \
reference: `; with x = 2`, then `; => 4` (to the bit) or `; ~> 4` (to 1e-12). A saved fit brings its data, options and seed along.")]
pub(crate) struct AddArgs {
    /// A file with a program, `-` for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: String,
    /// The name of the module (default: that of the file)
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// What it is, in words (default: the first line of comment)
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
    /// What it gives: `x=1, y=2 => 3` to the bit, `~>` to 1e-12
    #[arg(long = "example", value_name = "EXAMPLE", allow_hyphen_values = true)]
    pub(crate) examples: Vec<String>,
    /// The values of an input for which the domain is stated, NAME=LO:HI (default: any number)
    #[arg(long = "range", value_name = "NAME=LO:HI", value_parser = parse_range)]
    pub(crate) ranges: Vec<(String, (f64, f64))>,
    /// A module this one was made from; several times for several
    #[arg(long = "parent", value_name = "MODULE")]
    pub(crate) parents: Vec<String>,
    /// Who wrote it
    #[arg(long, value_name = "TEXT")]
    pub(crate) author: Option<String>,
    /// Add it though its domain is not proved, and say so in its record
    #[arg(long)]
    pub(crate) allow_unproved: bool,
    /// Add it though the library has its equal
    #[arg(long)]
    pub(crate) allow_equal: bool,
}

/// `neuralc library search`
#[derive(Args)]
pub(crate) struct SearchArgs {
    /// Words that stand in the name, the description, the inputs or the text
    #[arg(value_name = "WORD")]
    pub(crate) words: Vec<String>,
    /// Shapes of the inputs in any order, and of the value: `scalar, [3] -> scalar`; `_` is any
    #[arg(long, value_name = "SHAPES")]
    pub(crate) signature: Option<String>,
    /// Units of the inputs in any order, and of the value: `kg, kg, m -> N`; those of the same dimension count
    #[arg(long, value_name = "UNITS")]
    pub(crate) unit: Option<String>,
    /// A table: modules that compute its column --target from the others
    #[arg(long, value_name = "TABLE")]
    pub(crate) samples: Option<String>,
    /// The column to be computed (default: the last)
    #[arg(long, value_name = "COLUMN", requires = "samples")]
    pub(crate) target: Option<String>,
    /// How far off a value may be, in units of the spread of the column
    #[arg(long, value_name = "X", default_value = "1e-6", requires = "samples")]
    pub(crate) tolerance: f64,
    #[command(flatten)]
    pub(crate) table: TableArgs,
}
