//! The command line.

use std::time::Duration;

/// What to do and for how long.
pub(crate) struct Options {
    pub(crate) time: Duration,
    pub(crate) count: u64,
    pub(crate) seed: u64,
    pub(crate) jobs: usize,
    pub(crate) kind: Kind,
    pub(crate) files: Vec<String>,
}

/// What is spoilt.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    /// Programs.
    Text,
    Csv,
    Parquet,
    Safetensors,
}

impl Kind {
    /// How the names of its files end.
    pub(crate) fn ending(self) -> &'static str {
        match self {
            Kind::Text => "scm",
            Kind::Csv => "csv",
            Kind::Parquet => "parquet",
            Kind::Safetensors => "safetensors",
        }
    }
}

const USAGE: &str = "usage: neural-compiler-fuzz --seconds N | --count N [--seed S] [--jobs J] [--kind text|csv|parquet|safetensors]
       neural-compiler-fuzz [--kind …] FILE…";

impl Options {
    pub(crate) fn parse(mut args: impl Iterator<Item = String>) -> Result<Options, String> {
        let mut options = Options { time: Duration::MAX, count: u64::MAX, seed: 1, jobs: 1, kind: Kind::Text, files: Vec::new() };
        while let Some(arg) = args.next() {
            if arg == "--kind" {
                let all = [("text", Kind::Text), ("csv", Kind::Csv), ("parquet", Kind::Parquet), ("safetensors", Kind::Safetensors)];
                let word = args.next().unwrap_or_default();
                options.kind = all.into_iter().find(|k| k.0 == word).ok_or(USAGE)?.1;
                continue;
            }
            let mut number =
                || args.next().and_then(|v| v.parse::<u64>().ok()).ok_or_else(|| format!("{arg} needs a whole number\n{USAGE}"));
            match arg.as_str() {
                "--seconds" => options.time = Duration::from_secs(number()?),
                "--count" => options.count = number()?,
                "--seed" => options.seed = number()?,
                "--jobs" => options.jobs = number()?.max(1) as usize,
                _ if arg.starts_with('-') => return Err(USAGE.into()),
                _ => options.files.push(arg),
            }
        }
        if options.files.is_empty() && options.time == Duration::MAX && options.count == u64::MAX {
            return Err(USAGE.into());
        }
        Ok(options)
    }
}
