//! Proposers in other programs, by docs/proposers.md: one JSON object a line each way. In: a command; out: a proposer.
//!
//! Whatever the other side does is bounded: how long an answer takes, how long a line and how many proposals it has. What is not an answer
//! (no JSON, another shape, silence, an end) is an error that says so, once; texts are only ever compiled, never run as commands.
//! Invariants: the process ends with the proposer; its standard error is the user's.

use crate::problem::{Kind, Problem};
use crate::proposer::{Proposal, Proposer, State};
use neural_compiler::{Diagnostic, Diagnostics};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The version of the protocol.
pub const VERSION: u32 = 1;
/// Bytes of an answer at most.
const LINE: u64 = 1 << 20;
/// Proposals of an answer at most; the rest is left out.
const MOST: usize = 64;
/// Bytes of a text at most.
const TEXT: usize = 1 << 16;
/// Seconds an answer may take at most, where the budget leaves as much.
const PATIENCE: Duration = Duration::from_secs(120);
/// How often it is asked whether something is still waited for.
pub(crate) const LOOK: Duration = Duration::from_millis(50);

/// A proposer in another process.
pub struct External {
    command: String,
    process: Option<Process>,
    over: bool,
}

struct Process {
    child: Child,
    /// Lines to be written, by a thread: a process that does not read must not stop this one.
    input: Sender<String>,
    lines: Receiver<Result<String, String>>,
}

/// The processes of this program's proposers that have not ended; each leads a group, in which is what it has started itself.
static LEADERS: Mutex<Vec<u32>> = Mutex::new(Vec::new());

fn leaders() -> MutexGuard<'static, Vec<u32>> {
    LEADERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends a process with its group.
fn end_group(leader: u32) {
    #[cfg(unix)]
    let _ = Command::new("sh").args(["-c", &format!("kill -KILL -{leader} 2>/dev/null")]).status();
    #[cfg(not(unix))]
    let _ = leader;
}

/// Ends the processes of all proposers, for a program that is about to end without further ado.
pub fn end_proposers() {
    leaders().drain(..).for_each(end_group);
}

impl Drop for Process {
    fn drop(&mut self) {
        let leader = self.child.id();
        end_group(leader);
        let _ = self.child.kill();
        // Before its number can be another's.
        leaders().retain(|id| *id != leader);
        let _ = self.child.wait();
    }
}

fn wrong(command: &str, what: impl std::fmt::Display) -> Diagnostics {
    let message = format!("the proposer `{command}` {what}");
    Diagnostic::error("bad-proposer", Default::default(), message).help("docs/proposers.md has the protocol").into()
}

impl External {
    /// A command, words separated by blanks; quotes keep words together.
    pub fn new(command: &str) -> Result<External, Diagnostics> {
        if words(command).is_none_or(|w| w.is_empty()) {
            return Err(wrong(command, "is no command: a quote is open, or there is no word"));
        }
        Ok(External { command: command.to_string(), process: None, over: false })
    }

    fn start(&self) -> Result<Process, Diagnostics> {
        let all = words(&self.command).unwrap_or_default();
        let mut command = Command::new(&all[0]);
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        // Held, so that one that is just being started is not overlooked.
        let mut leaders = leaders();
        let mut child = command
            .args(&all[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| wrong(&self.command, format!("cannot be started: {e}")))?;
        leaders.push(child.id());
        drop(leaders);
        let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(wrong(&self.command, "has no standard streams"));
        };
        let (writer, written) = channel::<String>();
        std::thread::spawn(move || {
            for line in written {
                if input.write_all(line.as_bytes()).and_then(|()| input.flush()).is_err() {
                    return;
                }
            }
        });
        // A few lines wait; a process that goes on writing waits, too.
        let (sender, lines) = sync_channel(2);
        std::thread::spawn(move || {
            let mut reader = BufReader::new(output);
            loop {
                let mut line = Vec::new();
                let read = (&mut reader).take(LINE + 1).read_until(b'\n', &mut line);
                let told = match read {
                    Ok(0) => return,
                    Ok(_) if line.len() as u64 > LINE => Err(format!("wrote a line of more than {LINE} bytes")),
                    Ok(_) => String::from_utf8(line).map_err(|_| "wrote something else than UTF-8".to_string()),
                    Err(e) => Err(format!("cannot be read: {e}")),
                };
                let last = told.is_err();
                if sender.send(told).is_err() || last {
                    return;
                }
            }
        });
        Ok(Process { child, input: writer, lines })
    }

    /// The answer to a request; one without proposals where nobody wants to wait for it any more.
    fn ask(&mut self, request: &Value, until: Instant, stop: &dyn Fn() -> bool) -> Result<Value, Diagnostics> {
        if self.process.is_none() {
            self.process = Some(self.start()?);
        }
        let Some(process) = self.process.as_mut() else { return Ok(Value::Null) };
        if process.input.send(format!("{request}\n")).is_err() {
            return Err(wrong(&self.command, "does not read"));
        }
        let (begun, time) = (Instant::now(), until.saturating_duration_since(Instant::now()).min(PATIENCE));
        let told = loop {
            let left = time.saturating_sub(begun.elapsed());
            match process.lines.recv_timeout(left.min(LOOK)) {
                Err(RecvTimeoutError::Timeout) if stop() => return Ok(json!({"proposals": [], "done": true})),
                Err(RecvTimeoutError::Timeout) if left > LOOK => {}
                told => break told,
            }
        };
        match told {
            Ok(Ok(line)) => serde_json::from_str(&line).map_err(|e| wrong(&self.command, format!("did not answer in JSON: {e}"))),
            Ok(Err(what)) => Err(wrong(&self.command, what)),
            Err(RecvTimeoutError::Timeout) => Err(wrong(&self.command, format!("did not answer within {:.1} s", time.as_secs_f64()))),
            Err(RecvTimeoutError::Disconnected) => Err(wrong(&self.command, "ended without an answer")),
        }
    }
}

/// What is told of the problem: the first request.
pub fn hello(problem: &Problem) -> Value {
    let (kind, more) = match &problem.kind {
        Kind::Formula { target, inputs } => ("formula", json!({"target": target, "inputs": inputs})),
        Kind::Ode { states, time, group } => ("ode", json!({"states": states, "time": time, "group": group})),
    };
    let rows = problem.fitted_rows();
    let columns: serde_json::Map<String, Value> = problem
        .table
        .names()
        .iter()
        .map(|n| (n.clone(), rows.iter().map(|&r| Some(problem.column(n)[r]).filter(|x| x.is_finite())).collect()))
        .collect();
    json!({"type": "problem", "protocol": VERSION, "kind": kind, "of": more, "seed": problem.seed, "columns": columns})
}

impl Proposer for External {
    fn name(&self) -> &str {
        &self.command
    }

    fn propose(&mut self, state: &State<'_>) -> Result<Vec<Proposal>, Diagnostics> {
        if self.over {
            return Ok(vec![]);
        }
        let mut request = json!({
            "type": "propose", "round": state.round, "seconds": state.deadline.saturating_duration_since(Instant::now()).as_secs_f64(),
            "judged": state.judged.iter().take(10).map(|j| {
                let mut figures = j.to_json();
                figures["score"] = if j.score.is_finite() { json!(j.score) } else { Value::Null };
                figures["residual"] = json!(j.residual);
                figures
            }).collect::<Vec<_>>(),
            "failed": state.failed.iter().map(|(text, why)| json!({"text": text, "reason": why})).collect::<Vec<_>>(),
        });
        if self.process.is_none() {
            request["problem"] = hello(state.problem);
        }
        // One mistake ends it: the search goes on without.
        let answer = self.ask(&request, state.deadline, state.stop);
        let read = answer.and_then(|a| proposals(&a).map_err(|what| wrong(&self.command, what)));
        match read {
            Ok((found, done)) => {
                self.over = done || found.is_empty();
                Ok(found)
            }
            Err(e) => {
                self.over = true;
                self.process = None;
                Err(e)
            }
        }
    }
}

/// The proposals of an answer, and whether there will be no more.
fn proposals(answer: &Value) -> Result<(Vec<Proposal>, bool), String> {
    let Some(all) = answer["proposals"].as_array() else {
        return Err("answered without a list of `proposals`".into());
    };
    let one = |p: &Value| {
        let text = p["text"].as_str().ok_or("proposed something without a `text`")?;
        if text.len() > TEXT {
            return Err(format!("proposed a text of more than {TEXT} bytes"));
        }
        let why: String = p["why"].as_str().unwrap_or("").chars().filter(|c| !c.is_control()).take(300).collect();
        Ok(Proposal { text: text.to_string(), why })
    };
    let found = all.iter().take(MOST).map(one).collect::<Result<Vec<_>, String>>()?;
    Ok((found, answer["done"].as_bool().unwrap_or(false)))
}

/// The words of a command; nothing where a quote is not closed.
fn words(command: &str) -> Option<Vec<String>> {
    let (mut all, mut word, mut any, mut quote) = (Vec::new(), String::new(), false, None);
    for c in command.chars() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (Some(_), c) => word.push(c),
            (None, '\'' | '"') => (quote, any) = (Some(c), true),
            (None, c) if c.is_whitespace() => {
                if any || !word.is_empty() {
                    all.push(std::mem::take(&mut word));
                }
                any = false;
            }
            (None, c) => word.push(c),
        }
    }
    if any || !word.is_empty() {
        all.push(word);
    }
    quote.is_none().then_some(all)
}

/// Models of a person: texts in a file, separated by lines of `---`.
pub struct Person {
    texts: Vec<String>,
}

impl Person {
    /// Of the text of a file.
    pub fn new(text: &str) -> Person {
        let mut texts = vec![String::new()];
        for line in text.lines() {
            match line.trim() {
                "---" => texts.push(String::new()),
                _ => texts.last_mut().into_iter().for_each(|t| t.push_str(&format!("{line}\n"))),
            }
        }
        texts.retain(|t| !t.trim().is_empty());
        Person { texts }
    }
}

impl Proposer for Person {
    fn name(&self) -> &str {
        "person"
    }

    fn propose(&mut self, _: &State<'_>) -> Result<Vec<Proposal>, Diagnostics> {
        let all = std::mem::take(&mut self.texts);
        Ok(all.into_iter().map(|text| Proposal { text, why: "somebody thinks so".into() }).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_taken_apart() {
        assert_eq!(words("a 'b c' \"d\"  e''").as_deref(), Some(&["a", "b c", "d", "e"].map(String::from)[..]));
        assert_eq!(words("a 'b"), None);
        assert_eq!(words("''").map(|w| w.len()), Some(1));
    }

    #[test]
    fn answers_of_another_shape_are_told() {
        assert!(proposals(&json!({"proposals": [{"text": "x", "why": "y"}]})).is_ok_and(|(p, done)| p.len() == 1 && !done));
        assert!(proposals(&json!([1])).is_err());
        assert!(proposals(&json!({"proposals": [{"why": "y"}]})).is_err());
        let many: Vec<Value> = (0..1000).map(|i| json!({"text": format!("{i}")})).collect();
        assert!(proposals(&json!({"proposals": many})).is_ok_and(|(p, _)| p.len() == MOST));
    }

    #[test]
    fn a_person_gives_texts_once() {
        let person = Person::new("(* a x)\n---\n\n---\n(+ x 1)\n");
        assert_eq!(person.texts.len(), 2);
    }
}
