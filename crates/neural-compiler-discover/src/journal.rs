//! The journal. In: hypotheses as they are judged; out: a line of JSON each, and in the end a report for people with pictures.
//! Invariants: a line is whole JSON and has the exact text of its hypothesis; a journal is gone on with only for the same data and seed.

use crate::judge::{Judge, Judged};
use crate::problem::{Kind, Problem};
use crate::refine::{Entry, Outcome};
use crate::text::formulas;
use neural_compiler::{Diagnostic, Diagnostics};
use neural_compiler_fit::plot::{Drawing, Look};
use neural_compiler_fit::{save, significant};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fmt::Write;

/// The name of the file with a line for each hypothesis.
pub const FILE: &str = "journal.jsonl";

/// The first line: what the hypotheses are of.
pub fn head(problem: &Problem) -> Value {
    let (kind, more) = match &problem.kind {
        Kind::Formula { target, inputs } => ("formula", json!({"target": target, "inputs": inputs})),
        Kind::Ode { states, time, group } => ("ode", json!({"states": states, "time": time, "group": group})),
    };
    json!({
        "kind": kind, "of": more, "rows": problem.table.rows(), "data": save::sha256_of_columns(&problem.table),
        "holdout": problem.holdout, "seed": problem.seed,
    })
}

/// The texts that a journal has dropped, with the reasons.
pub fn dropped(problem: &Problem, text: &str) -> Result<HashMap<String, String>, Diagnostics> {
    let wrong = |message: String| -> Diagnostics { Diagnostic::error("bad-journal", Default::default(), message).into() };
    let mut lines = text.lines();
    let first: Value = serde_json::from_str(lines.next().unwrap_or("")).map_err(|e| wrong(format!("line 1 of the journal: {e}")))?;
    if first != head(problem) {
        return Err(wrong("the journal is of other data, columns, seed or share held out: begin a new one without --resume".into()));
    }
    // A run that was killed may leave half a line at the end: what it says was not judged.
    let entries = lines.filter_map(|l| serde_json::from_str::<Value>(l).ok());
    let gone = |e: &Value| e["kept"] == json!(false);
    let pair = |e: Value| Some((e["text"].as_str()?.to_string(), e["reason"].as_str()?.to_string()));
    Ok(entries.filter(gone).filter_map(pair).collect())
}

/// A journal being written.
pub struct Journal {
    title: String,
    rows: Vec<String>,
}

impl Journal {
    /// Of a problem, for a folder of this name.
    pub fn new(problem: &Problem, folder: &str) -> Journal {
        let what = problem.targets().join("`, `");
        let last = folder.trim_end_matches('/').rsplit('/').next().unwrap_or(folder);
        Journal { title: format!("{last}: what explains `{what}`"), rows: Vec::new() }
    }

    /// The line of a hypothesis.
    pub fn line(&mut self, entry: &Entry) -> Value {
        let mut line = json!({
            "number": entry.number, "round": entry.round, "proposer": entry.proposer, "why": entry.why, "text": entry.text,
            "kept": entry.kept, "reason": entry.reason,
        });
        // Cells are told apart by a bar between blanks.
        let mut figures = "|  |  |".to_string();
        match &entry.outcome {
            Ok(j) => {
                line["figures"] = j.to_json();
                let number = |x: f64| if x.is_finite() { json!(x) } else { Value::Null };
                for (name, value) in [("score", j.score), ("aicc", j.aicc), ("bic", j.bic)] {
                    line["figures"][name] = number(value);
                }
                line["figures"]["residual"] = json!(j.residual);
                line["figures"]["domain"] = json!(j.domain);
                figures = format!("| {:.2} | {:.2} |", j.loglik, j.score);
            }
            Err(e) => line["error"] = json!(e),
        }
        let text = formulas(&entry.text);
        self.rows.push(format!("| {} | {} | `{}` {figures} {} |", entry.number, entry.proposer, text, entry.reason));
        line
    }

    /// The files of the report: names and texts.
    pub fn report(&self, problem: &Problem, outcome: &Outcome) -> Vec<(String, String)> {
        let judge = Judge::new(problem);
        let mut files = Vec::new();
        let mut out = format!("# {}\n\n", self.title);
        let _ = writeln!(out, "{} hypotheses, {} on the front. The best:\n", outcome.tried, outcome.front.len());
        let _ = writeln!(out, "```scheme\n{}\n```\n", outcome.best.text);
        out.push_str(&constants(&outcome.best));
        for (k, judged) in outcome.front.iter().enumerate() {
            let best = judged.text == outcome.best.text;
            let _ = writeln!(out, "\n## Front {}, complexity {}{}\n", k + 1, judged.complexity, if best { ", the best" } else { "" });
            let _ = writeln!(out, "```scheme\n{}\n```\n", judged.text);
            out.push_str(&figures(judged));
            if !best {
                continue;
            }
            if let Ok(program) = judge.compile(&judged.text) {
                let name = "best.svg".to_string();
                let options = neural_compiler_fit::Options { holdout: None, ..judge.options(judged.relative) };
                let picture = Drawing::new(&program, judge.table(), &options, &judged.fit, Look::default()).svg();
                let _ = writeln!(out, "\n![Data, model and residuals of the best]({name})");
                files.push((name, picture));
            }
        }
        out.push_str("\n## Every hypothesis\n\n| | proposer | formulas | log-likelihood | score | |\n|---|---|---|---|---|---|\n");
        self.rows.iter().for_each(|row| out.push_str(&format!("{row}\n")));
        files.push(("report.html".into(), html(&self.title, &out)));
        files.push(("report.md".into(), out));
        files
    }
}

fn constants(judged: &Judged) -> String {
    let mut out = "| constant | value | std. error | 95 % interval |\n|---|---|---|---|\n".to_string();
    for p in &judged.params {
        let error = p.stderr.map_or(p.note.clone().unwrap_or_default(), |e| significant(e, 3));
        let interval = p.ci95.map_or(String::new(), |(a, b)| format!("[{}, {}]", significant(a, 5), significant(b, 5)));
        let _ = writeln!(out, "| {} | {} | {error} | {interval} |", p.name, significant(p.value, 6));
    }
    out
}

fn figures(j: &Judged) -> String {
    let (k, n) = j.counts;
    let mut out = format!("log-likelihood {:.3} (k = {k}, n = {n}), AICc {:.2}, BIC {:.2}, score {:.2}", j.loglik, j.aicc, j.bic, j.score);
    if let Some(h) = &j.holdout {
        let r2 = if h.r2.is_finite() { format!(", R2 {:.4}", h.r2) } else { String::new() };
        let _ = write!(out, "; {} numbers held out: log-likelihood {:.3} ± {:.3}{r2}", h.n, h.loglik, h.stderr);
    }
    let domain = if j.domain.is_empty() { "; no operation leaves its domain within the ranges of the data" } else { "" };
    let left = if j.residual.is_empty() { "; the residuals look like noise".to_string() } else { format!("; {}", j.residual.join("; ")) };
    out + domain + &left + "\n"
}

/// The outcome for people.
pub fn summary(outcome: &Outcome) -> String {
    let mut out = String::from("complexity  log-likelihood  score       model\n");
    for j in &outcome.front {
        let mark = if j.text == outcome.best.text { "*" } else { " " };
        let shown = formulas(&j.source);
        let _ = writeln!(out, "{mark}{:<11}{:<16}{:<12}{shown}", j.complexity, significant(j.loglik, 7), significant(j.score, 7));
    }
    let _ = writeln!(out, "\nthe best (*) of {} hypotheses in {:.1} s:\n{}\n", outcome.tried, outcome.seconds, outcome.best.text);
    for p in &outcome.best.params {
        let error = p.stderr.map_or(p.note.clone().unwrap_or_default(), |e| format!("± {}", significant(e, 3)));
        let _ = writeln!(out, "{} = {} {error}", p.name, significant(p.value, 6));
    }
    out + "\n" + &figures(&outcome.best)
}

/// Markdown as this file writes it, as a page.
fn html(title: &str, markdown: &str) -> String {
    let escape = |t: &str| t.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let mut out = format!("<!doctype html>\n<meta charset=\"utf-8\">\n<title>{}</title>\n", escape(title));
    out.push_str("<style>body{font-family:sans-serif;max-width:70em;margin:2em auto}td,th{padding:.2em .6em;text-align:left}</style>\n");
    let (mut code, mut table) = (false, false);
    for line in markdown.lines() {
        if let Some(fence) = line.strip_prefix("```") {
            out.push_str(if code { "</pre>\n" } else { "<pre>" });
            code = !code;
            let _ = fence;
            continue;
        }
        if code {
            let _ = writeln!(out, "{}", escape(line));
            continue;
        }
        if line.starts_with('|') != table {
            table = !table;
            out.push_str(if table { "<table>\n" } else { "</table>\n" });
        }
        let picture = line.strip_prefix("![").and_then(|l| l.strip_suffix(')')).and_then(|l| l.split_once("]("));
        let _ = match (line, picture) {
            (_, Some((words, file))) => writeln!(out, "<img src=\"{}\" alt=\"{}\">", escape(file), escape(words)),
            (l, _) if l.starts_with("|---") => Ok(()),
            (l, _) if table => {
                let cells = l.trim_matches('|').split(" | ").map(|c| format!("<td>{}</td>", escape(c.trim().trim_matches('`'))));
                writeln!(out, "<tr>{}</tr>", cells.collect::<String>())
            }
            (l, _) if l.starts_with("## ") => writeln!(out, "<h2>{}</h2>", escape(&l[3..])),
            (l, _) if l.starts_with("# ") => writeln!(out, "<h1>{}</h1>", escape(&l[2..])),
            ("", _) => Ok(()),
            (l, _) => writeln!(out, "<p>{}</p>", escape(l)),
        };
    }
    if table {
        out.push_str("</table>\n");
    }
    out
}
