//! `neuralc ops`: the language at a glance. In: the table of operations, and the forms, which are syntax and have no row there;
//! out: a table as text or JSON.

use crate::context::{Context, Failure};
use neural_compiler::ops::{Arity, Op};
use neural_compiler::syntax::constants::SI;
use serde_json::{Value, json};

/// One line of the table.
struct Entry {
    name: &'static str,
    aliases: &'static [&'static str],
    kind: &'static str,
    group: &'static str,
    arity: String,
    usage: &'static str,
    domain: &'static str,
    derivative: &'static str,
    doc: &'static str,
    paper: bool,
}

/// A form: name, group, arguments, usage, what it does, derivative, whether one of the paper's 51.
type Form = (&'static str, &'static str, &'static str, &'static str, &'static str, &'static str, bool);

/// What is built into the syntax. `repl` completes these names too.
pub(crate) const FORMS: &[Form] = &[
    (
        "if",
        "conditional",
        "3",
        "(if test consequent alternative)",
        "the consequent when the test is not 0, else the alternative",
        "that of the branch taken",
        true,
    ),
    (
        "cond",
        "conditional",
        "1 or more",
        "(cond (test value) … (else value))",
        "the value of the first clause whose test is not 0",
        "that of the clause taken",
        false,
    ),
    (
        "and",
        "comparison, logic",
        "0 or more",
        "(and x …)",
        "the first argument that is 0, else the last; later ones are not computed",
        "that of the deciding argument",
        true,
    ),
    (
        "or",
        "comparison, logic",
        "0 or more",
        "(or x …)",
        "the first argument that is not 0, else the last; later ones are not computed",
        "that of the deciding argument",
        true,
    ),
    (
        "let",
        "control",
        "2 or more",
        "(let ((name value) …) body)",
        "names for values, none visible in the others",
        "that of the body",
        true,
    ),
    (
        "let*",
        "control",
        "2 or more",
        "(let* ((name value) …) body)",
        "names for values, each visible in those after it",
        "that of the body",
        true,
    ),
    (
        "let (named)",
        "control",
        "3 or more",
        "(let name ((variable start) …) body)",
        "a local recursive function and its first call",
        "that of the body",
        false,
    ),
    (
        "letrec",
        "control",
        "2 or more",
        "(letrec ((name (lambda …)) …) body)",
        "functions that may call each other (also letrec*)",
        "that of the body",
        true,
    ),
    (
        "define",
        "control",
        "2 or more",
        "(define name value) or (define (name parameter …) body)",
        "a definition at the top or at the start of a body",
        "that of the value",
        true,
    ),
    (
        "lambda",
        "control",
        "2 or more",
        "(lambda (parameter …) body)",
        "a function, bound to a name or applied at once",
        "that of the body",
        false,
    ),
    (
        "call",
        "control",
        "any",
        "(name argument …)",
        "a call of a defined function; tail calls run in constant space",
        "that of the body",
        true,
    ),
    ("loop", "control", "2 or more", "(loop ((variable start) …) body)", "a loop, repeated by recur", "through every round", true),
    (
        "recur",
        "control",
        "as its loop",
        "(recur value …)",
        "the next round of the innermost loop, in tail position only",
        "through every round",
        true,
    ),
];

/// Declarations of model files: name, usage, what it does.
const DECLARATIONS: &[(&str, &str, &str)] = &[
    ("param", "(param name value :min a :max b :fixed)", "a trainable constant with its initial value and bounds"),
    ("input", "(input name :size n)", "an input whose size the program does not show"),
    ("state", "(state name value)", "a state and its initial value"),
    ("derive", "(derive state expression)", "the time derivative of a state"),
    ("next", "(next state expression)", "the next value of a state in a discrete-time map"),
    ("time", "(time name :start t :step h)", "the time, when starts hold, and how far a map's rows are apart"),
    ("net", "(net name (input …) width … outputs)", "a learned function: a multilayer perceptron"),
    ("constants", "(constants si), (constants si name …)", "physical constants by name, all of a set or these"),
];

fn arity_text(arity: Arity) -> String {
    match arity {
        Arity::Exactly(n) => n.to_string(),
        Arity::Between(a, b) => format!("{a} to {b}"),
        Arity::AtLeast(n) | Arity::Fold(n, _) => format!("{n} or more"),
        Arity::Chain => "1 or more".into(),
    }
}

fn entries() -> Vec<Entry> {
    let operations = Op::ALL.iter().map(|op| op.row()).filter(|row| row.has_surface()).map(|row| Entry {
        name: row.name,
        aliases: row.aliases,
        kind: "operation",
        group: row.group.name(),
        arity: arity_text(row.arity),
        usage: row.usage,
        domain: row.domain.text(),
        derivative: row.derivative_doc,
        doc: row.doc,
        paper: row.paper,
    });
    let forms = FORMS.iter().map(|&(name, group, arity, usage, doc, derivative, paper)| Entry {
        name,
        aliases: &[],
        kind: "form",
        group,
        arity: arity.into(),
        usage,
        domain: "everything",
        derivative,
        doc,
        paper,
    });
    let pi = Entry {
        name: "pi",
        aliases: &[],
        kind: "constant",
        group: "constants",
        arity: "none".into(),
        usage: "pi",
        domain: "everything",
        derivative: "0",
        doc: "3.141592653589793, unless the program binds the name otherwise",
        paper: false,
    };
    let declarations = DECLARATIONS.iter().map(|&(name, usage, doc)| Entry {
        name,
        aliases: &[],
        kind: "declaration",
        group: "model files",
        arity: "1 or more".into(),
        usage,
        domain: "everything",
        derivative: "none",
        doc,
        paper: false,
    });
    let constants = SI.iter().map(|c| Entry {
        name: c.name,
        aliases: &[],
        kind: "constant",
        group: "constants si",
        arity: "none".into(),
        usage: c.name,
        domain: "everything",
        derivative: "0",
        doc: c.doc,
        paper: false,
    });
    operations.chain(forms).chain([pi]).chain(declarations).chain(constants).collect()
}

pub(crate) fn run(context: &mut Context) -> Result<u8, Failure> {
    let entries = entries();
    if context.json {
        let all: Vec<Value> = entries
            .iter()
            .map(|e| {
                json!({
                    "name": e.name, "aliases": e.aliases, "kind": e.kind, "group": e.group, "arity": e.arity, "usage": e.usage,
                    "domain": e.domain, "derivative": e.derivative, "description": e.doc, "paper": e.paper,
                })
            })
            .collect();
        context.print_json(&json!({"ops": all}))?;
        return Ok(Failure::FINE);
    }
    let mut groups: Vec<&str> = Vec::new();
    for e in &entries {
        if !groups.contains(&e.group) {
            groups.push(e.group);
        }
    }
    for (i, group) in groups.iter().enumerate() {
        if i > 0 {
            context.print("\n")?;
        }
        context.print(&format!("{group}\n"))?;
        let members: Vec<&Entry> = entries.iter().filter(|e| e.group == *group).collect();
        let width = members.iter().map(|e| e.usage.chars().count()).max().unwrap_or(0).min(36);
        for e in members {
            let paper = if e.paper { '*' } else { ' ' };
            context.print(&format!(" {paper} {:width$}  {}\n", e.usage, e.doc))?;
            let mut notes = Vec::new();
            if !e.aliases.is_empty() {
                notes.push(format!("also written {}", e.aliases.join(", ")));
            }
            if e.domain != "everything" {
                notes.push(format!("domain: {}", e.domain));
            }
            if e.kind == "operation" {
                notes.push(format!("derivative: {}", e.derivative));
            }
            if !notes.is_empty() {
                context.print(&format!("   {:width$}  {}\n", "", notes.join("; ")))?;
            }
        }
    }
    context.print("\n* one of the 51 operations of the paper; names, arguments, domains and derivatives as data: neuralc ops --json\n")?;
    Ok(Failure::FINE)
}
