//! References outside of Rust: where they are and how they are called. Missing ones are a failure that says how to get them.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The project's root folder.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the crate lies two folders below the root").to_path_buf()
}

/// A folder for what a test writes; made when it is missing.
pub fn scratch(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("neural-compiler-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for scratch files");
    folder
}

/// Runs a command and gives what it printed; `Err` says what to do about its absence or failure.
pub fn run(command: &mut Command, missing: &str) -> Result<String, String> {
    let output = command.output().map_err(|e| format!("{:?} cannot be started ({e}): {missing}", command.get_program()))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        return Err(format!(
            "{:?} failed ({}):\n{text}\n{}\n{missing}",
            command.get_program(),
            output.status,
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    Ok(text)
}

/// The Python of the project's environment, or else the machine's.
pub fn python() -> Command {
    let own = root().join(".venv/bin/python");
    Command::new(if own.exists() { own } else { "python3".into() })
}

/// A whole number from the environment, for runs larger than usual.
pub fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}
