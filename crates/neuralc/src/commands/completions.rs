//! `neuralc completions`: a completion script. In: a shell; out: its script.

use crate::args::{Cli, CompletionsArgs};
use crate::context::{Context, Failure};
use clap::CommandFactory;
use serde_json::json;

pub(crate) fn run(context: &mut Context, args: &CompletionsArgs) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "neuralc", &mut script);
    let script = String::from_utf8_lossy(&script);
    if context.json {
        context.print_json(&json!({"shell": args.shell.to_string(), "script": script}))?;
    } else {
        context.print(&script)?;
    }
    Ok(Failure::FINE)
}
