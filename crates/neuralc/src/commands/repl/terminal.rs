//! The line editor: history, completion, entries of several lines. In: keys; out: entries.

use crate::commands::repl::balance::Balance;
use neural_compiler::Syntax;
use neural_compiler::ops::surface_names;
use neural_compiler::syntax::forms::{Allowed, FORMS};
use rustyline::completion::{Completer, Pair};
use rustyline::config::{CompletionType, Config};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Editor, Helper};
use std::path::PathBuf;

/// What the user gave.
pub(crate) enum Line {
    Entry(String),
    Interrupted,
    End,
}

pub(crate) struct Terminal {
    editor: Editor<Assistant, DefaultHistory>,
    history: Option<PathBuf>,
}

impl Terminal {
    pub(crate) fn new(syntax: Syntax) -> rustyline::Result<Terminal> {
        let config = Config::builder().completion_type(CompletionType::List).auto_add_history(true).history_ignore_space(true).build();
        let mut editor = Editor::with_config(config)?;
        editor.set_helper(Some(Assistant { words: Vec::new(), syntax }));
        let history = dirs::data_dir().map(|d| d.join("neuralc").join("history"));
        if let Some(path) = &history {
            // The first session has no history yet.
            let _ = editor.load_history(path);
        }
        Ok(Terminal { editor, history })
    }

    /// Reads an entry; `defined` are the names of the session, to complete.
    pub(crate) fn line(&mut self, defined: &[String]) -> Line {
        if let Some(assistant) = self.editor.helper_mut() {
            assistant.words = words(defined);
        }
        match self.editor.readline("> ") {
            Ok(entry) => Line::Entry(entry),
            Err(ReadlineError::Interrupted) => Line::Interrupted,
            Err(_) => Line::End,
        }
    }

    /// Keeps the history; a session is not worth an error message when that fails.
    pub(crate) fn save(&mut self) {
        if let Some(path) = &self.history
            && path.parent().is_some_and(|p| std::fs::create_dir_all(p).is_ok())
        {
            let _ = self.editor.save_history(path);
        }
    }
}

/// Everything that can be completed.
fn words(defined: &[String]) -> Vec<String> {
    let commands = [":grad", ":hessian", ":list", ":reset", ":help", ":quit"].into_iter();
    let here = FORMS.iter().filter(|f| f.allowed != Allowed::Model);
    let forms = here.flat_map(|f| f.keywords().chain(f.words.iter().copied())).chain(["pi"]);
    let mut all: Vec<String> = defined.iter().cloned().chain(surface_names().chain(forms).chain(commands).map(String::from)).collect();
    all.sort();
    all.dedup();
    all
}

struct Assistant {
    words: Vec<String>,
    syntax: Syntax,
}

/// Where the word before the cursor begins.
fn word_start(line: &str, pos: usize) -> usize {
    line[..pos]
        .rfind(|c: char| c.is_whitespace() || "()[];".contains(c))
        .map_or(0, |i| i + line[i..].chars().next().map_or(1, char::len_utf8))
}

impl Completer for Assistant {
    type Candidate = Pair;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let start = word_start(line, pos);
        let prefix = &line[start..pos];
        let matches = self.words.iter().filter(|w| w.starts_with(prefix)).map(|w| Pair { display: w.clone(), replacement: w.clone() });
        Ok((start, matches.collect()))
    }
}

impl Validator for Assistant {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(if Balance::of(context.input(), self.syntax).open() { ValidationResult::Incomplete } else { ValidationResult::Valid(None) })
    }
}

impl Hinter for Assistant {
    type Hint = String;
}
impl Highlighter for Assistant {}
impl Helper for Assistant {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_forms_and_operations_are_completed() {
        let assistant = Assistant { words: words(&["sinus-of-mine".into()]), syntax: Syntax::Scheme };
        let history = DefaultHistory::new();
        let context = Context::new(&history);
        let (start, found) = assistant.complete("(+ θ (sin", 10, &context).unwrap();
        assert_eq!(start, 7);
        let found: Vec<String> = found.into_iter().map(|p| p.replacement).collect();
        assert_eq!(found, ["sin", "sinh", "sinus-of-mine"]);
        assert!(!assistant.complete("(letr", 5, &context).unwrap().1.is_empty());
    }
}
