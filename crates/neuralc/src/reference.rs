//! The language reference, inside the binary. In: words; out: what the reference says about them, for authors that are programs.
//! Invariant: operations and forms come from the tables the compiler itself reads, everything else from spec/.

use neural_compiler::ops::Op;
use neural_compiler::syntax::forms::FORMS;
use serde_json::{Value, json};

/// The pages, by name.
pub(crate) const PAGES: &[(&str, &str)] = &[
    ("README", include_str!("../../../spec/README.md")),
    ("lexical", include_str!("../../../spec/lexical.md")),
    ("infix", include_str!("../../../spec/infix.md")),
    ("latex", include_str!("../../../spec/latex.md")),
    ("values-and-shapes", include_str!("../../../spec/values-and-shapes.md")),
    ("modules", include_str!("../../../spec/modules.md")),
    ("forms", include_str!("../../../spec/forms.md")),
    ("operations", include_str!("../../../spec/operations.md")),
    ("derivatives", include_str!("../../../spec/derivatives.md")),
    ("safe-domain", include_str!("../../../spec/safe-domain.md")),
    ("models", include_str!("../../../spec/models.md")),
    ("units", include_str!("../../../spec/units.md")),
    ("limits", include_str!("../../../spec/limits.md")),
    ("errors", include_str!("../../../spec/errors.md")),
    ("differences", include_str!("../../../spec/differences.md")),
];

/// Sections a query is answered with, and characters of each.
const MOST_SECTIONS: usize = 3;
const MOST_CHARACTERS: usize = 1500;

/// What the reference says: operations, forms and error codes by name; else the sections in which the words stand. Without words, all
/// names.
pub(crate) fn lookup(query: &str) -> Value {
    let query = query.trim();
    if query.is_empty() {
        return json!({"names": language()});
    }
    let words: Vec<String> = query.to_lowercase().split_whitespace().map(String::from).collect();
    let named: Vec<Value> = query.split_whitespace().filter_map(entry).collect();
    let mut found: Vec<(usize, &str, &str)> = Vec::new();
    for (page, text) in PAGES {
        for section in sections(text) {
            let heading = section.lines().next().unwrap_or("").to_lowercase();
            let body = section.to_lowercase();
            let score: usize = words.iter().map(|w| 4 * usize::from(heading.contains(w)) + usize::from(body.contains(w))).sum();
            if words.iter().any(|w| body.contains(w)) {
                found.push((score, page, section));
            }
        }
    }
    found.sort_by_key(|f| std::cmp::Reverse(f.0));
    // What a name means is said by its row.
    let most = if named.len() == words.len() { 1 } else { MOST_SECTIONS };
    let shown: Vec<Value> = found.into_iter().take(most).map(|(_, page, text)| json!({"page": page, "text": cut(text)})).collect();
    json!({"entries": named, "sections": shown})
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MOST_CHARACTERS) {
        None => text.trim_end().to_string(),
        Some((at, _)) => format!("{}…", &text[..at]),
    }
}

/// The parts of a page, each from its heading on.
fn sections(text: &str) -> Vec<&str> {
    let mut starts: Vec<usize> = text.match_indices("\n#").map(|(at, _)| at + 1).collect();
    starts.insert(0, 0);
    let ends: Vec<usize> = starts.iter().skip(1).copied().chain([text.len()]).collect();
    starts.into_iter().zip(ends).map(|(from, to)| &text[from..to]).collect()
}

/// An operation or a form.
fn entry(name: &str) -> Option<Value> {
    let named = |n: &str, aliases: &[&str]| n == name || aliases.contains(&name);
    let op = Op::ALL.iter().map(|op| op.row()).find(|r| r.has_surface() && named(r.name, r.aliases));
    let of_op = op.map(|r| {
        let (domain, derivative) = (r.domain.text(), r.derivative_doc);
        json!({"name": r.name, "usage": r.usage, "meaning": r.doc, "domain": domain, "derivative": derivative})
    });
    of_op.or_else(|| FORMS.iter().find(|f| named(f.name, f.aliases)).map(|f| json!({"name": f.name, "usage": f.usage, "meaning": f.doc})))
}

/// The language in some lines: every form and every operation as it is written.
pub(crate) fn language() -> String {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    let rows = Op::ALL.iter().map(|op| op.row()).filter(|r| r.has_surface()).map(|r| (r.group.name(), r.usage));
    let forms = FORMS.iter().map(|f| (if f.is_declaration() { "declarations" } else { "forms" }, f.usage));
    for (group, usage) in forms.chain(rows) {
        match groups.iter_mut().find(|g| g.0 == group) {
            Some(known) => known.1.push(usage),
            None => groups.push((group, vec![usage])),
        }
    }
    groups.iter().map(|(group, usages)| format!("{group}: {}\n", usages.join(" "))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_codes_and_words_are_found() {
        assert_eq!(lookup("logistic")["entries"].as_array().map(Vec::len), Some(0));
        assert_eq!(lookup("sin")["entries"][0]["usage"], "(sin x)");
        assert_eq!(lookup("param")["entries"][0]["name"], "param");
        let code = lookup("unit-mismatch");
        assert!(code["sections"].to_string().contains("unit-mismatch"), "{code}");
        let all = lookup("");
        assert!(all["names"].as_str().is_some_and(|t| t.contains("(if ") && t.contains("(sin x)")), "{all}");
        assert!(lookup("what is between rows of a table")["sections"][0]["text"].as_str().is_some_and(|t| t.len() < 7000));
    }
}
