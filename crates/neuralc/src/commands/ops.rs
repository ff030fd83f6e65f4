//! `neuralc ops`: the language at a glance. In: the tables of operations, forms and constants; out: a table as text or JSON.

use crate::context::{Context, Failure};
use neural_compiler::ops::{Arity, Op};
use neural_compiler::syntax::constants::SI;
use neural_compiler::syntax::forms::{FORMS, Form};
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
    let form = |f: &'static Form| Entry {
        name: f.name,
        aliases: f.aliases,
        kind: if f.is_declaration() { "declaration" } else { "form" },
        group: f.group,
        arity: f.arguments.into(),
        usage: f.usage,
        domain: "everything",
        derivative: f.derivative_doc,
        doc: f.doc,
        paper: f.paper,
    };
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
    let forms = FORMS.iter().filter(|f| !f.is_declaration()).map(form);
    let declarations = FORMS.iter().filter(|f| f.is_declaration()).map(form);
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
