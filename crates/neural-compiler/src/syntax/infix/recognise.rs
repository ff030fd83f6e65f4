//! Arithmetic as other languages write it, recognised in a word. In: a word that would be a name; out: what it would be here.
//!
//! `x**2`, `a*b` and `2x` are names to a Scheme reader, and a program of one such name would be an input that nobody meant. Names that
//! are not arithmetic stay names: `x*`, `let*`, `half-life`, `x->y`, `net.w0`, `Na+`. A hyphen between words joins them; `x-1` with a
//! single letter is arithmetic. Whoever means such a name declares or binds it, or writes |x**2|.

/// A piece of a word.
#[derive(Clone, PartialEq, Debug)]
enum Piece {
    /// A number or a name.
    Operand(String),
    Operator(&'static str),
}

/// Operators, longer ones first, with the operation that says the same and how strongly they bind.
const OPERATORS: &[(&str, &str, u8)] = &[
    ("**", "pow", 4),
    ("^", "pow", 4),
    ("*", "*", 3),
    ("/", "/", 3),
    ("%", "modulo", 3),
    ("+", "+", 2),
    ("-", "-", 2),
    ("<=", "<=", 1),
    (">=", ">=", 1),
    ("==", "=", 1),
    ("<", "<", 1),
    (">", ">", 1),
];

/// Longer words are no slips of the pen.
const LONGEST: usize = 80;

fn is_name_start(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

fn is_name_part(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | '\'' | ':' | '?' | '!' | '~' | '@' | '$' | '&') || (!c.is_ascii() && !c.is_whitespace())
}

/// The length of the decimal number a text starts with.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let mut end = digits(0);
    if bytes.get(end) == Some(&b'.') && end + 1 + digits(end + 1) > 1 {
        end += 1 + digits(end + 1);
    }
    if end > 0 && matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let power = if end + 1 + sign <= bytes.len() { digits(end + 1 + sign) } else { 0 };
        // `2e` is twice e, `2e3` a number.
        if power > 0 {
            end += 1 + sign + power;
        }
    }
    end
}

fn pieces(word: &str) -> Option<Vec<Piece>> {
    let mut out: Vec<Piece> = Vec::new();
    let mut rest = word;
    while let Some(c) = rest.chars().next() {
        let length = if c.is_ascii_digit() || c == '.' {
            number_length(rest)
        } else if is_name_start(c) {
            rest.find(|c| !is_name_part(c)).unwrap_or(rest.len())
        } else {
            let &(sign, ..) = OPERATORS.iter().find(|(sign, ..)| rest.starts_with(sign))?;
            out.push(Piece::Operator(sign));
            rest = &rest[sign.len()..];
            continue;
        };
        if length == 0 {
            return None;
        }
        if matches!(out.last(), Some(Piece::Operand(_))) {
            // A number before a name multiplies it.
            out.push(Piece::Operator("*"));
        }
        out.push(Piece::Operand(rest[..length].to_string()));
        rest = &rest[length..];
    }
    Some(out)
}

struct Parser {
    pieces: Vec<Piece>,
    at: usize,
}

impl Parser {
    fn operand(&mut self) -> Option<String> {
        match self.pieces.get(self.at)?.clone() {
            Piece::Operand(text) => {
                self.at += 1;
                Some(text)
            }
            Piece::Operator("-") => {
                self.at += 1;
                // Powers bind more strongly than the sign before them.
                Some(format!("(- {})", self.expression(4)?))
            }
            Piece::Operator(_) => None,
        }
    }

    fn expression(&mut self, least: u8) -> Option<String> {
        let mut left = self.operand()?;
        while let Some(Piece::Operator(sign)) = self.pieces.get(self.at) {
            let &(_, operation, strength) = OPERATORS.iter().find(|(s, ..)| s == sign)?;
            if strength < least {
                break;
            }
            self.at += 1;
            // Powers are grouped from the right, all others from the left.
            let right = self.expression(if operation == "pow" { strength } else { strength + 1 })?;
            left = format!("({operation} {left} {right})");
        }
        Some(left)
    }
}

/// What a word would be if it were arithmetic; `None` when it cannot be.
pub(crate) fn translation(word: &str) -> Option<String> {
    if word.len() > LONGEST || ["->", "<-", "=>", "<=>", "<>"].iter().any(|arrow| word.contains(arrow)) {
        return None;
    }
    let pieces = pieces(word)?;
    if pieces.len() < 2 {
        return None;
    }
    let mut parser = Parser { pieces, at: 0 };
    let text = parser.expression(1)?;
    (parser.at == parser.pieces.len()).then_some(text)
}

/// What to write instead of a name that looks like arithmetic; `None` for names that do not.
pub(crate) fn instead_of_name(name: &str) -> Option<String> {
    let text = translation(name)?;
    let pieces = pieces(name)?;
    let only_hyphens = pieces.iter().all(|p| matches!(p, Piece::Operand(_) | Piece::Operator("-")));
    let is_number = |s: &str| s.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let is_letter = |s: &str| s.chars().next().is_some_and(char::is_alphabetic) && s.chars().skip(1).all(|c| c.is_ascii_digit());
    let arithmetic = match &pieces[..] {
        [Piece::Operator("-"), Piece::Operand(_)] => true,
        [Piece::Operand(x), Piece::Operator("-"), Piece::Operand(y)] => is_letter(x) && is_number(y),
        _ => !only_hyphens,
    };
    arithmetic.then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_is_translated() {
        for (word, text) in [
            ("x**2", "(pow x 2)"),
            ("x^2", "(pow x 2)"),
            ("a*b", "(* a b)"),
            ("x+1", "(+ x 1)"),
            ("x-1", "(- x 1)"),
            ("-x", "(- x)"),
            ("a*b+c", "(+ (* a b) c)"),
            ("a+b*c^2", "(+ a (* b (pow c 2)))"),
            ("a/b/c", "(/ (/ a b) c)"),
            ("2**3**x", "(pow 2 (pow 3 x))"),
            ("-x**2", "(- (pow x 2))"),
            ("x>=0", "(>= x 0)"),
            ("x*1e-3", "(* x 1e-3)"),
            ("θ*Δt", "(* θ Δt)"),
        ] {
            assert_eq!(translation(word).as_deref(), Some(text), "{word}");
            if !word.starts_with('2') {
                assert_eq!(instead_of_name(word).as_deref(), Some(text), "{word}");
            }
        }
        for (word, text) in [("2x", "(* 2 x)"), ("2*x", "(* 2 x)"), ("1-x", "(- 1 x)"), ("3e", "(* 3 e)"), ("2.5kx", "(* 2.5 kx)")] {
            assert_eq!(translation(word).as_deref(), Some(text), "{word}");
        }
    }

    #[test]
    fn names_stay_names() {
        for name in [
            "x",
            "x*",
            "*x*",
            "let*",
            "g-L",
            "half-life",
            "a-b",
            "x->y",
            "list->vector",
            "net.w0",
            "Na+",
            "Ca2+",
            "x0",
            "speed-1",
            "k_on",
            "x'",
            "+",
            "-",
            "**",
            "a-b-c",
            "GC%",
            "<=>",
            "θ",
        ] {
            assert_eq!(instead_of_name(name), None, "{name}");
        }
    }
}
