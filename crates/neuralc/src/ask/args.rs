//! The command line of `neuralc ask`.

use crate::ask::endpoint::Style;
use crate::table::dialect::TableArgs;
use clap::Args;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// `neuralc ask`
#[derive(Args)]
#[command(after_help = "\
Any endpoint in the style of OpenAI (URL/chat/completions) or of Anthropic (URL/v1/messages) will do, also one on this machine. URL, model \
and key come from the options, from NEURALC_ASK_URL, NEURALC_ASK_MODEL and NEURALC_ASK_KEY, or from a file ask.json with url, model, key \
and style in the folder `neuralc` of your configuration. Sent are the question, the language reference in short, the names and ranges of \
the table's columns (no rows), and diagnostics of the answers. An answer counts when it compiles and passes its own examples.

Examples:
  neuralc ask 'a damped pendulum, angle in rad' --out pendulum.scm
  neuralc ask 'growth that saturates' --data growth.csv --transcript growth.jsonl
  neuralc ask 'the drag of a sphere' --url http://127.0.0.1:8080/v1 --model local --dry-run")]
pub(crate) struct AskArgs {
    /// What the program should compute, in words
    pub(crate) question: String,
    /// A table the program is for: its inputs are columns
    #[arg(long, value_name = "TABLE")]
    pub(crate) data: Option<String>,
    /// Where to write the program (default: standard output)
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<String>,
    /// Where to add the dialogue, a line of JSON each
    #[arg(long, value_name = "FILE")]
    pub(crate) transcript: Option<String>,
    /// Most answers to wait for
    #[arg(long, value_name = "N", default_value = "4")]
    pub(crate) rounds: NonZeroUsize,
    /// Print what would be sent, and send nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// The endpoint
    #[arg(long)]
    pub(crate) url: Option<String>,
    /// The model
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// What the endpoint understands (default: anthropic where the URL says so, else openai)
    #[arg(long, value_enum)]
    pub(crate) style: Option<Style>,
    /// The file with url, model, key and style
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Seconds to wait for an answer
    #[arg(long, value_name = "S", default_value = "120")]
    pub(crate) timeout: f64,
    #[command(flatten)]
    pub(crate) table: TableArgs,
}
