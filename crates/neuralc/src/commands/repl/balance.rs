//! Where an entry ends. In: lines; out: whether parentheses, brackets and block comments are all closed. Incremental, so that long
//! entries cost time linear in their length; what is wrong inside an entry is for the reader to say.

use neural_compiler::Syntax;

/// What is open so far.
#[derive(Default)]
pub(crate) struct Balance {
    syntax: Syntax,
    parentheses: usize,
    comments: usize,
    broken: bool,
}

impl Balance {
    pub(crate) fn new(syntax: Syntax) -> Balance {
        Balance { syntax, ..Balance::default() }
    }

    /// Takes the next line in.
    pub(crate) fn line(&mut self, line: &str) {
        let bytes = line.as_bytes();
        let infix = self.syntax != Syntax::Scheme;
        let mut i = 0;
        while i < bytes.len() {
            let next = bytes.get(i + 1);
            let pair = match (bytes[i], next) {
                (b'#', Some(b'|')) => {
                    self.comments += 1;
                    true
                }
                (b'|', Some(b'#')) if self.comments > 0 => {
                    self.comments -= 1;
                    true
                }
                _ => false,
            };
            if pair {
                i += 2;
                continue;
            }
            match bytes[i] {
                _ if self.comments > 0 => {}
                b';' if !infix && (i == 0 || bytes[i - 1] != b'#') => break,
                b'#' if infix => break,
                b'{' if infix => self.parentheses += 1,
                b'}' if infix => self.parentheses = self.parentheses.saturating_sub(1),
                b'`' if infix => i += 1 + bytes[i + 1..].iter().position(|&b| b == b'`').unwrap_or(bytes.len() - i - 1),
                b'|' if !infix => i += 1 + bytes[i + 1..].iter().position(|&b| b == b'|').unwrap_or(bytes.len() - i - 1),
                b'(' | b'[' => self.parentheses += 1,
                b')' | b']' => match self.parentheses.checked_sub(1) {
                    Some(n) => self.parentheses = n,
                    None => self.broken = true,
                },
                _ => {}
            }
            i += 1;
        }
    }

    /// Whether something still has to be closed.
    pub(crate) fn open(&self) -> bool {
        !self.broken && (self.parentheses > 0 || self.comments > 0)
    }

    /// The same for a whole text.
    pub(crate) fn of(text: &str, syntax: Syntax) -> Balance {
        let mut balance = Balance::new(syntax);
        text.lines().for_each(|l| balance.line(l));
        balance
    }
}

#[cfg(test)]
mod tests {
    use super::{Balance, Syntax};

    #[test]
    fn entries_end_when_parentheses_balance() {
        for text in [
            "(",
            "(+ 1\n",
            "[1 2",
            "#| note",
            "(define (f x)\n",
            ":grad (+ x",
            "(+ 1 ; )\n",
            "(+ #;(a) 1",
            "(#| ) |#",
            "(+ |)|",
            "#| #| |#",
        ] {
            assert!(Balance::of(text, Syntax::Scheme).open(), "{text}");
        }
        for text in ["f(", "f(x) = {", "[1, 2", "#| note", "(1 + # )\n", "(`)`"] {
            assert!(Balance::of(text, Syntax::Infix).open(), "{text}");
        }
        for text in ["", "f(x)", "f(x) = { a = 1; a }", "# (", "`(`", "1; 2", "|(|)"] {
            assert!(!Balance::of(text, Syntax::Infix).open(), "{text}");
        }
        for text in ["", "1", "(+ 1 2)", ")", "(]", "(+ 1 2))", "\"", "; (", ") (", "#| ( |#", "|(|", "|(", "#| #| |# |#", "(θ)"] {
            assert!(!Balance::of(text, Syntax::Scheme).open(), "{text}");
        }
    }
}
