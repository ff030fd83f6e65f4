//! What exported programs carry along, once for many of them. In: texts of exported C or Rust; out: the items they have in common, each
//! once. A compiler spends its time in the special functions, which every text has for itself.

use std::collections::HashSet;

/// Items of several texts, each once, in an order in which everything comes before its use. Two that differ under one name are both there:
/// a compiler refuses them.
#[derive(Default)]
pub(crate) struct Carried {
    known: HashSet<String>,
    /// All of them.
    pub(crate) text: String,
}

impl Carried {
    /// Adds the code of an item, unless it is there: what stands before it may be about something else.
    pub(crate) fn add(&mut self, item: &str) {
        let code = code(item);
        if self.known.insert(code.to_string()) {
            self.text += code;
        }
    }
}

/// The items of a text, each with the comments and attributes in front of it: what stands outside of all brackets up to the end of a line
/// that closes it. Lines of the C preprocessor are items.
pub(crate) fn items(text: &str) -> Vec<&str> {
    let (mut found, mut start, mut at, mut depth) = (Vec::new(), 0, 0, 0_i32);
    let mut comment = false;
    for line in text.split_inclusive('\n') {
        at += line.len();
        let code = code_of(line, &mut comment);
        depth += code.chars().map(|c| i32::from("([{".contains(c)) - i32::from(")]}".contains(c))).sum::<i32>();
        let preprocessor = code.starts_with('#') && !code.starts_with("#[") && !code.starts_with("#!");
        if depth == 0 && (preprocessor || code.ends_with(['}', ';']) || code.starts_with("#!")) {
            found.push(&text[start..at]);
            start = at;
        }
    }
    assert_eq!(depth, 0, "brackets that do not close in\n{text}");
    found
}

/// The code of an item, without the lines of comment in front of it.
pub(crate) fn code(item: &str) -> &str {
    let mut comment = false;
    let skipped: usize = item.split_inclusive('\n').take_while(|l| code_of(l, &mut comment).is_empty()).map(str::len).sum();
    &item[skipped..]
}

/// A line without its comments and the white space around it.
fn code_of<'a>(line: &'a str, comment: &mut bool) -> &'a str {
    let mut rest = line.trim();
    if *comment {
        let Some(end) = rest.find("*/") else { return "" };
        *comment = false;
        rest = rest[end + 2..].trim();
    }
    if let Some(start) = rest.find("/*") {
        *comment = !rest[start..].contains("*/");
        rest = rest[..start].trim();
    }
    rest.split("//").next().unwrap_or_default().trim()
}
