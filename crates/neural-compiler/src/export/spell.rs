//! A recorded function as lines. In: a listing and how a language writes a step; out: definitions in order and the text of the result.
//! Invariant: a step used once is written where it is used, as long as lines stay readable; any other has a name.

use super::record::{Class, Line, Listing, Step};

/// What a language must say to write a function down.
pub(super) trait Spelling {
    /// A step on arguments, as an expression that needs no parentheses around it.
    fn step(&mut self, line: &Line, class: Class, args: &[String]) -> String;
    /// A line that names a value.
    fn define(&mut self, class: Class, name: &str, value: &str) -> String;
}

/// The lines that decide whether the slow path is taken, the flag, the other lines, and the result.
pub(super) struct Spelled {
    pub(super) before: Vec<String>,
    pub(super) rare: Option<String>,
    pub(super) lines: Vec<String>,
    pub(super) result: String,
}

/// Characters of an expression written where it is used.
const LONGEST: usize = 72;

/// Writes a listing; arguments are called `names`.
pub(super) fn spell(listing: &Listing, names: &[&str], spelling: &mut dyn Spelling) -> Spelled {
    let count = listing.lines.len();
    let mut uses = vec![0usize; count];
    listing.lines.iter().flat_map(|l| &l.args).chain(&listing.rare).chain([&listing.result]).for_each(|&a| uses[a as usize] += 1);
    let mut for_rare = vec![false; count];
    if let Some(r) = listing.rare {
        for_rare[r as usize] = true;
        for id in (0..count).rev().filter(|&id| id <= r as usize) {
            if for_rare[id] {
                listing.lines[id].args.iter().for_each(|&a| for_rare[a as usize] = true);
            }
        }
    }
    let mut texts = vec![String::new(); count];
    let mut parts = [Vec::new(), Vec::new()];
    for (part, lines) in parts.iter_mut().enumerate() {
        for (id, line) in listing.lines.iter().enumerate().filter(|(id, _)| for_rare[*id] == (part == 0)) {
            let args: Vec<String> = line.args.iter().map(|&a| texts[a as usize].clone()).collect();
            // A comparison works in the type of what it compares.
            let class = line.args.last().map_or(line.class, |&a| listing.lines[a as usize].class);
            texts[id] = match line.step {
                Step::Argument(k) => names[k as usize].to_string(),
                _ => spelling.step(line, class, &args),
            };
            let plain = matches!(line.step, Step::Argument(_) | Step::Constant(_));
            if !plain && (uses[id] > 1 || texts[id].len() > LONGEST) {
                let name = format!("t{id}");
                lines.push(spelling.define(line.class, &name, &texts[id]));
                texts[id] = name;
            }
        }
    }
    let [before, lines] = parts;
    Spelled { before, rare: listing.rare.map(|r| texts[r as usize].clone()), lines, result: texts[listing.result as usize].clone() }
}

/// An expression without the parentheses around all of it.
pub(super) fn bare(text: &str) -> &str {
    let Some(inner) = text.strip_prefix('(').and_then(|t| t.strip_suffix(')')) else { return text };
    let mut depth = 0i32;
    for c in inner.chars() {
        depth += match c {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        if depth < 0 {
            return text;
        }
    }
    inner
}
