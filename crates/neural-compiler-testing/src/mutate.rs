//! Texts that are wrong, or nearly so: random bytes, token soup, spoilt programs. Deterministic by the generator handed in.

use crate::generate;
use fastrand::Rng;
use neural_compiler::Limits;
use neural_compiler::ops::surface_names;
use neural_compiler::syntax::Syntax;
use neural_compiler::syntax::forms::FORMS;
use neural_compiler::syntax::translate::translate;

/// Where a fuzzed text comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// Bytes, made UTF-8.
    Bytes,
    /// Tokens of the language in any order, balanced or not.
    Soup,
    /// A generated program with tokens deleted, doubled, swapped or put in.
    Mutant,
    /// The same in infix or LaTeX.
    Surface,
}

/// Names, numbers and odd tokens; the words of the forms come from their table.
const WORDS: &[&str] = &[
    "x",
    "y",
    "f",
    "g",
    "n",
    "θ",
    "pi",
    "#t",
    "#f",
    "0",
    "1",
    "-1",
    "2.5",
    "1/3",
    "1e308",
    "1e-320",
    "+nan.0",
    "-inf.0",
    "3",
    "#;",
    "; c\n",
    "#| c |#",
    "|a b|",
    "()",
    "[]",
    "[1 2]",
    "9007199254740993",
    "1e",
    "..",
    "+",
    "-",
];

/// A text for the fuzzer.
pub fn text(rng: &mut Rng) -> (Source, String) {
    match rng.u32(..10) {
        0 => (Source::Bytes, bytes(rng)),
        1..=3 => (Source::Soup, soup(rng)),
        4..=5 => (Source::Surface, surface(rng)),
        _ => (Source::Mutant, mutant(rng)),
    }
}

/// Words and signs of infix and LaTeX.
const SIGNS: &[&str] = &[
    "+",
    "-",
    "*",
    "/",
    "^",
    "**",
    "%",
    "=",
    "==",
    "!=",
    "<",
    "<=",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ";",
    ":",
    "\n",
    "'",
    "`a b`",
    "`",
    "#",
    "#| c |#",
    "if ",
    " then ",
    " else ",
    " elseif ",
    " where ",
    "let ",
    "let* ",
    " in ",
    "loop ",
    "cases { ",
    "function(x) ",
    " and ",
    " or ",
    " not ",
    "param k = ",
    "state x = ",
    "dx/dt = ",
    "next x = ",
    "time t",
    "net f(x) (layers 2, 1)",
    "2x",
    "1e5",
    "1/2x",
    "ratio(1, 3)",
    "true",
    "inf",
    "x",
    "f(",
    "\\frac{",
    "\\sqrt[",
    "\\sin ",
    "\\sum_{i=1}^{3} ",
    "x_i",
    "_",
    "\\left(",
    "\\right)",
    "|",
    "\\\\",
    "&",
    "\\begin{cases}",
    "\\end{cases}",
    "\\begin{pmatrix}",
    "\\end{pmatrix}",
    "\\text{if }",
    "\\dot ",
    "\\alpha ",
    "\\mathrm{",
    "e^{",
    "\\log_",
    "\\cdot ",
    "!",
    "$",
    "~",
    "10^",
    "\\times ",
];

/// A generated program in infix or LaTeX, spoilt.
fn surface(rng: &mut Rng) -> String {
    let seed = rng.u64(..);
    let case = if rng.bool() { generate::differentiable(seed) } else { generate::everything(seed) };
    let to = if rng.u32(..3) == 0 { Syntax::Latex } else { Syntax::Infix };
    let text = translate(&case.source, Syntax::Scheme, to, &Limits::default()).unwrap_or(case.source);
    let mut t: Vec<String> = Vec::new();
    for c in text.chars() {
        match t.last_mut() {
            Some(word) if c.is_alphanumeric() && word.ends_with(char::is_alphanumeric) => word.push(c),
            _ => t.push(c.to_string()),
        }
    }
    for _ in 0..rng.usize(0..5) {
        if t.is_empty() {
            break;
        }
        let (at, other) = (rng.usize(..t.len()), rng.usize(..t.len()));
        match rng.u32(..8) {
            0 => {
                t.remove(at);
            }
            1 => t.insert(at, t[other].clone()),
            2 => t.swap(at, other),
            3 => t[at] = SIGNS[rng.usize(..SIGNS.len())].to_string(),
            4 => {
                let most = if rng.u32(..50) == 0 { 5_000 } else { 40 };
                t.insert(
                    at,
                    ["(", "-", "[", "{", "not ", "if ", "2^", "\\frac{", "\\sqrt{", "f(", "|"][rng.usize(..11)].repeat(rng.usize(1..most)),
                );
            }
            5 => {
                let end = (at + rng.usize(1..20)).min(t.len());
                let piece: String = t[at..end].concat();
                t.insert(at, piece.repeat(rng.usize(1..10)));
            }
            _ => t.insert(at, SIGNS[rng.usize(..SIGNS.len())].to_string()),
        }
    }
    t.concat()
}

fn bytes(rng: &mut Rng) -> String {
    let length = rng.usize(..200);
    let ascii = rng.bool();
    const COMMON: &[u8] = b"()[];#|+-*/.0123456789exy \n'\"\\t";
    let raw: Vec<u8> = (0..length).map(|_| if ascii { COMMON[rng.usize(..COMMON.len())] } else { rng.u8(..) }).collect();
    String::from_utf8_lossy(&raw).into_owned()
}

fn token(rng: &mut Rng) -> String {
    let names: Vec<&str> = surface_names().collect();
    match rng.u32(..40) {
        0..=17 => {
            let forms = FORMS.iter().flat_map(|f| f.keywords().chain(f.words.iter().copied()));
            let words: Vec<&str> = forms.chain(WORDS.iter().copied()).collect();
            words[rng.usize(..words.len())].to_string()
        }
        18..=35 => names[rng.usize(..names.len())].to_string(),
        36 => "9".repeat(rng.usize(1..400)),
        37 => "long-name".repeat(rng.usize(1..60)),
        38 => format!("{}e{}", rng.f64(), rng.i32(-400..400)),
        _ => char::from_u32(rng.u32(..0x3000)).unwrap_or('λ').to_string(),
    }
}

fn soup(rng: &mut Rng) -> String {
    let balanced = rng.u32(..4) > 0;
    let length = rng.usize(1..60);
    let (mut out, mut open) = (String::new(), Vec::new());
    for _ in 0..length {
        match rng.u32(..10) {
            0..=3 => {
                let (a, b) = if rng.u32(..6) == 0 { ("[", "]") } else { ("(", ")") };
                out += a;
                open.push(b);
                // Most lists of a program start with a word.
                if rng.u32(..8) > 0 {
                    out += &token(rng);
                    out += " ";
                }
            }
            4..=5 => {
                let close = open.pop().filter(|_| balanced).unwrap_or(if balanced { "" } else { ")" });
                out += close;
                out += " ";
            }
            _ => {
                out += &token(rng);
                out += " ";
            }
        }
    }
    if balanced {
        open.iter().rev().for_each(|b| out += b);
    }
    out
}

/// The text cut at parentheses, brackets and blanks; joining the pieces gives it back.
pub fn tokens(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut word = String::new();
    for c in text.chars() {
        if matches!(c, '(' | ')' | '[' | ']') || c.is_whitespace() {
            if !word.is_empty() {
                out.push(std::mem::take(&mut word));
            }
            out.push(c.to_string());
        } else {
            word.push(c);
        }
    }
    if !word.is_empty() {
        out.push(word);
    }
    out
}

/// The end of the list that starts at a token, one past its closing token; the next token when it starts none.
fn list_end(tokens: &[String], from: usize) -> usize {
    let mut depth = 0usize;
    for (i, t) in tokens.iter().enumerate().skip(from) {
        match t.as_str() {
            "(" | "[" => depth += 1,
            ")" | "]" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return i + 1;
        }
    }
    tokens.len()
}

fn mutant(rng: &mut Rng) -> String {
    let seed = rng.u64(..);
    let case = match rng.u32(..4) {
        0 => generate::scheme(seed, generate::Family::Exact),
        1 => generate::differentiable(seed),
        _ => generate::everything(seed),
    };
    let mut t = tokens(&case.source);
    let changes = rng.usize(0..4);
    for _ in 0..changes {
        if t.is_empty() {
            break;
        }
        let at = rng.usize(..t.len());
        let other = rng.usize(..t.len());
        match rng.u32(..20) {
            0 => {
                t.remove(at);
            }
            1 => t.insert(at, t[other].clone()),
            2 => t.swap(at, other),
            3..=4 => t.insert(at, format!(" {} ", token(rng))),
            5..=6 => t[at] = token(rng),
            7 => {
                // A whole expression in the place of another.
                let piece: Vec<String> = t[other..list_end(&t, other)].to_vec();
                let end = list_end(&t, at);
                t.splice(at..end, piece);
            }
            8 => {
                let end = list_end(&t, at);
                t.drain(at..end);
            }
            9 => {
                let most = if rng.u32(..50) == 0 { 5_000 } else { 40 };
                let depth = rng.usize(1..most);
                let word = ["(- ", "(", "[", "(let ((x 1)) ", "(if 1 2 "][rng.usize(..5)];
                let close = if word == "[" { "]" } else { ")" };
                let end = list_end(&t, at);
                t.insert(end, close.repeat(depth));
                t.insert(at, word.repeat(depth));
            }
            10..=13 => {
                // Another number in the place of one: the program keeps its form.
                if let Some(at) = (0..t.len()).cycle().skip(at).take(t.len()).find(|&i| t[i].parse::<f64>().is_ok()) {
                    t[at] = format!("{}", (rng.f64() - 0.5) * 10f64.powi(rng.i32(-300..300)));
                }
            }
            14..=17 => {
                // Another operation in the place of one.
                let names: Vec<&str> = surface_names().collect();
                if let Some(at) = (0..t.len()).cycle().skip(at).take(t.len()).find(|&i| names.contains(&t[i].as_str())) {
                    t[at] = names[rng.usize(..names.len())].to_string();
                }
            }
            _ => {
                // Long runs of one expression.
                let piece: String = t[at..list_end(&t, at)].concat();
                if piece.len() < 200 {
                    t.insert(at, format!("{piece} ").repeat(rng.usize(1..30)));
                }
            }
        }
    }
    t.concat()
}

/// The smallest text found, by removing pieces, for which `fails` still holds.
pub fn minimise(text: &str, fails: impl Fn(&str) -> bool) -> String {
    let mut best = tokens(text);
    let mut size = best.len().div_ceil(2);
    while size >= 1 {
        let mut at = 0;
        while at < best.len() {
            let mut shorter = best.clone();
            shorter.drain(at..(at + size).min(best.len()));
            let whole = list_end(&best, at);
            let mut without = best.clone();
            without.drain(at..whole);
            let hoisted = (whole > at + 2).then(|| [&best[..at], &best[at + 1..whole - 1], &best[whole..]].concat());
            let better =
                [Some(without), Some(shorter), hoisted].into_iter().flatten().filter(|t| t.len() < best.len()).find(|t| fails(&t.concat()));
            match better {
                Some(t) => best = t,
                None => at += size.max(1),
            }
        }
        if size == 1 {
            break;
        }
        size /= 2;
    }
    best.concat()
}
