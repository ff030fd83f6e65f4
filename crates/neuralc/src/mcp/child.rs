//! A call as a process of its own. In: a command line of neuralc and text for it; out: what it printed as JSON, or why there is nothing.
//! Invariants: a call takes so much time, memory and output at most, and ends with the server; it sees no variables of the environment but
//! our own.

use crate::mcp::files::refusal;
use serde_json::Value;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

/// What a call may cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) time: Duration,
    pub(crate) memory: u64,
}

/// Bytes of a result.
pub(crate) const MOST_OUTPUT: u64 = 4 << 20;

/// A result, or diagnostics.
pub(crate) type Answer = Result<Value, Vec<Value>>;

/// Runs neuralc in a folder.
pub(crate) async fn run(folder: &Path, words: &[String], input: Option<&str>, bounds: Bounds) -> Answer {
    let one = |d: Value| vec![d];
    let exe = std::env::current_exe().map_err(|e| one(refusal("internal", e.to_string(), "restart the server")))?;
    let mut command = Command::new(exe);
    command.args(words).current_dir(folder).env_clear().kill_on_drop(true);
    command.envs(std::env::vars().filter(|(name, _)| name.starts_with("NEURAL_COMPILER_")));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    limit(&mut command, bounds);
    let mut child = command.spawn().map_err(|e| one(refusal("internal", format!("cannot start a call: {e}"), "try again")))?;
    let (mut stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let work = async {
        let feed = async {
            if let (Some(pipe), Some(text)) = (&mut stdin, input) {
                // A call that does not read its input says why itself.
                let _ = pipe.write_all(text.as_bytes()).await;
            }
            drop(stdin.take());
        };
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let read = async {
            if let Some(pipe) = stdout {
                let _ = pipe.take(MOST_OUTPUT + 1).read_to_end(&mut out).await;
            }
        };
        let complain = async {
            if let Some(pipe) = stderr {
                let _ = pipe.take(64 << 10).read_to_end(&mut err).await;
            }
        };
        tokio::join!(feed, read, complain);
        if out.len() as u64 > MOST_OUTPUT {
            return Err(one(refusal("limit-output", "the result is longer than 4 MiB", "ask for fewer rows, points or names")));
        }
        let ended = child.wait().await.map_err(|e| one(refusal("internal", e.to_string(), "try again")))?;
        answer(ended.code(), &out, &err)
    };
    match tokio::time::timeout(bounds.time, work).await {
        Ok(answer) => answer,
        Err(_) => {
            let message = format!("the call took longer than {} seconds", bounds.time.as_secs_f64());
            Err(one(refusal("limit-time", message, "ask for less: fewer rows, a smaller program, a `budget` for a fit")))
        }
    }
}

fn answer(code: Option<i32>, out: &[u8], err: &[u8]) -> Answer {
    let printed = String::from_utf8_lossy(out);
    let found: Option<Value> = printed.lines().last().and_then(|line| serde_json::from_str(line).ok());
    match (code, found) {
        (Some(0), Some(value)) => Ok(value),
        (Some(1), Some(value)) if value["diagnostics"].is_array() => Err(value["diagnostics"].as_array().cloned().unwrap_or_default()),
        (Some(1), Some(value)) => Ok(value),
        (Some(2), _) => {
            let said = String::from_utf8_lossy(err);
            let said = said.trim_start_matches("error: ").split("\n\n").next().unwrap_or("").trim().to_string();
            Err(vec![refusal("bad-argument", said, "the tool's schema says which arguments there are")])
        }
        (Some(70), _) => {
            Err(vec![refusal("internal", String::from_utf8_lossy(err).trim(), "this is a bug: please report it with the program")])
        }
        _ => Err(vec![refusal("limit-memory", "the call ended early: it needed more memory than it may have", "ask for less at once")]),
    }
}

#[cfg(unix)]
fn limit(command: &mut Command, bounds: Bounds) {
    let seconds = bounds.time.as_secs() + 2;
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    let set = move |what, most: u64| {
        let most = libc::rlimit { rlim_cur: most, rlim_max: most };
        // SAFETY: the structure is whole and lives through the call, which writes no memory of ours.
        match unsafe { libc::setrlimit(what, &most) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    };
    let all = move || {
        // SAFETY: it takes numbers only. A call does not outlive the server, however that ends.
        #[cfg(target_os = "linux")]
        unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        }
        set(libc::RLIMIT_AS, bounds.memory)?;
        // Processor time: a call that outlives the server ends by itself.
        set(libc::RLIMIT_CPU, seconds * cores)?;
        set(libc::RLIMIT_CORE, 0)
    };
    // SAFETY: between fork and exec only prctl and setrlimit are called, which are safe there.
    unsafe { command.pre_exec(all) };
}

#[cfg(not(unix))]
fn limit(_: &mut Command, _: Bounds) {}
