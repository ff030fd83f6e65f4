//! Whether an answer is a program. In: the text of an answer, the columns of a table; out: the program, or what is wrong with it.
//! Invariants: the program reads no file and has no control characters in it, so that showing it does nothing; it is compiled and its
//! examples are run within bounds; nothing else of the answer is looked at.

use crate::ask::Column;
use crate::context::{Context, Failure};
use crate::core::Compiled;
use crate::render::{self, Source};
use neural_compiler::Limits;
use neural_compiler::syntax::ast::{InputKind, ModelKind};
use neural_compiler::syntax::modules::{Wanted, used};
use neural_compiler_library::Example;

/// What an answer is worth.
pub(crate) enum Verdict {
    /// A program, and how many examples it passed.
    Good { text: String, examples: usize },
    /// Why it is none.
    Bad(String),
}

/// Bytes of a program, and loop rounds of its examples.
const MOST_SOURCE: usize = 64 << 10;
const MOST_STEPS: u64 = 20_000_000;
/// Bytes of what is said about an answer.
const MOST_SAID: usize = 4000;

/// Judges an answer.
pub(crate) fn judge(context: &Context, answer: &str, columns: &[Column]) -> Verdict {
    match judged(context, answer, columns) {
        Ok((text, examples)) => Verdict::Good { text, examples },
        Err(why) => {
            let end = why.char_indices().nth(MOST_SAID).map_or(why.len(), |(at, _)| at);
            Verdict::Bad(why[..end].to_string())
        }
    }
}

fn judged(context: &Context, answer: &str, columns: &[Column]) -> Result<(String, usize), String> {
    let text = program(answer).ok_or("there is no program in the answer: write it into one fenced block ```scheme … ```")?;
    if text.len() > MOST_SOURCE {
        return Err(format!("the program is longer than {MOST_SOURCE} bytes"));
    }
    if let Some(c) = text.chars().find(|&c| neural_compiler_render::acts(c)) {
        let c = render::shown(c.encode_utf8(&mut [0; 4])).into_owned();
        return Err(format!("the program has the control character {c} in it: write plain text"));
    }
    let files = used(&text).map_err(|d| d.message)?.into_iter().find(|(wanted, _)| matches!(wanted, Wanted::File(_)));
    if let Some((file, _)) = files {
        return Err(format!("the program uses the file `{file}`: write everything it needs into it"));
    }
    let limits = Limits { steps: MOST_STEPS.min(context.limits.steps), ..context.limits };
    let bounded = Context::new(false, limits, None, context.units, (context.library.clone(), None));
    let compiled = Compiled::new(&bounded, Source::new("answer", text.clone())).map_err(told)?;
    let program = &compiled.program;
    let known = |name: &str| columns.iter().any(|c| c.name == name);
    let is_column = |kind: &InputKind| matches!(kind, InputKind::Free | InputKind::Declared);
    let time = program.time().map_or("t", |t| t.name.as_str());
    let other = program.inputs().iter().find(|i| is_column(&i.kind) && !known(&i.name) && i.name != time);
    if let Some(input) = other.filter(|_| !columns.is_empty()) {
        let names: Vec<String> = columns.iter().map(|c| format!("{:?}", c.name)).collect();
        return Err(format!(
            "`{}` is an input, and no column of the table: the columns are {}; what is to be fitted is (param {} 1)",
            input.name,
            names.join(", "),
            input.name
        ));
    }
    let examples = Example::within(&text).map_err(|d| d.message)?;
    if examples.is_empty() && program.kind() == ModelKind::Expression {
        return Err("the program has no example: add the comments `; with x = 2` and `; ~> 4`".into());
    }
    let failed: Vec<String> = examples.iter().filter_map(|e| e.run(program).err()).map(|d| d.message).collect();
    if failed.is_empty() { Ok((text, examples.len())) } else { Err(failed.join("\n")) }
}

/// Mistakes as the model reads them: with excerpts of its own text.
fn told(failure: Failure) -> String {
    match failure {
        Failure::Wrong(source, all) => all.iter().map(|d| render::to_text(&source, d, false)).collect(),
        other => other.message().unwrap_or_default(),
    }
}

/// The last fenced block of an answer; or all of it, if it looks like a program.
fn program(answer: &str) -> Option<String> {
    let mut blocks: Vec<String> = Vec::new();
    let mut open: Option<Vec<&str>> = None;
    for line in answer.lines() {
        match (&mut open, line.trim_start().starts_with("```")) {
            (None, true) => open = Some(Vec::new()),
            (Some(_), true) => blocks.extend(open.take().map(|lines| lines.join("\n"))),
            (Some(lines), false) => lines.push(line),
            (None, false) => {}
        }
    }
    let bare = answer.trim();
    let found = blocks.pop().or_else(|| (open.is_none() && bare.starts_with(['(', ';'])).then(|| bare.to_string()));
    found.map(|text| format!("{}\n", text.trim())).filter(|text| text.len() > 1)
}

#[cfg(test)]
mod tests {
    use super::program;

    #[test]
    fn programs_are_found_in_answers() {
        assert_eq!(program("Sure!\n```scheme\n(+ 1 x)\n```\nHope it helps.").as_deref(), Some("(+ 1 x)\n"));
        assert_eq!(program("```\na\n```\nor\n```scheme\nb\n```").as_deref(), Some("b\n"));
        assert_eq!(program("(+ 1 x)").as_deref(), Some("(+ 1 x)\n"));
        assert_eq!(program("I cannot do that."), None);
        assert_eq!(program("```scheme\n(+ 1"), None, "cut off");
        assert_eq!(program("```scheme\n```"), None);
    }
}
