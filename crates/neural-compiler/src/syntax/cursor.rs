//! A walk over tokens, shared by the parsers of infix and LaTeX. In: tokens, the last of which ends the text; out: one after another, with
//! looks ahead and behind. Invariants: no step leaves the list; a walk nests at most as deep as it is allowed, on a stack that grows.

use crate::diagnostic::Diagnostic;
use crate::limits::Limits;
use crate::source::Span;

/// What a step of a parser gives.
pub(crate) type Read<T> = Result<T, Box<Diagnostic>>;

/// A place in a list of tokens.
pub(crate) struct Cursor<'a, T> {
    pub(crate) tokens: Vec<T>,
    pub(crate) at: usize,
    pub(crate) limits: &'a Limits,
    depth: usize,
    /// Steps that may be nested.
    deepest: usize,
}

impl<'a, T> Cursor<'a, T> {
    /// At the first token, of a walk that takes at most so many steps for each level of the data.
    pub(crate) fn new(tokens: Vec<T>, limits: &'a Limits, steps: usize) -> Self {
        Cursor { tokens, at: 0, limits, depth: 0, deepest: limits.nesting.saturating_mul(steps) }
    }
}

/// Makes a parser with a field `cursor` over tokens with a field `span` one that walks.
macro_rules! walks {
    ($parser:ident over $token:ident) => {
        impl<'a> Walk<'a> for $parser<'a> {
            type Token = $token;

            fn cursor(&self) -> &Cursor<'a, $token> {
                &self.cursor
            }

            fn cursor_mut(&mut self) -> &mut Cursor<'a, $token> {
                &mut self.cursor
            }

            fn here(&self) -> Span {
                self.peek().span
            }
        }
    };
}
pub(crate) use walks;

/// A parser that walks over tokens.
pub(crate) trait Walk<'a> {
    type Token: Copy;

    fn cursor(&self) -> &Cursor<'a, Self::Token>;
    fn cursor_mut(&mut self) -> &mut Cursor<'a, Self::Token>;
    /// Where the token here stands.
    fn here(&self) -> Span;

    fn peek(&self) -> Self::Token {
        self.ahead(0)
    }

    /// A token further on; the last one beyond the end.
    fn ahead(&self, n: usize) -> Self::Token {
        let cursor = self.cursor();
        cursor.tokens[(cursor.at + n).min(cursor.tokens.len() - 1)]
    }

    fn next(&mut self) -> Self::Token {
        let token = self.peek();
        let cursor = self.cursor_mut();
        cursor.at = (cursor.at + 1).min(cursor.tokens.len() - 1);
        token
    }

    fn before(&self) -> Self::Token {
        let cursor = self.cursor();
        cursor.tokens[cursor.at.saturating_sub(1)]
    }

    fn too_deep(&self, span: Span) -> Box<Diagnostic> {
        let message = format!("expressions are nested more than {} deep", self.cursor().limits.nesting);
        Box::new(Diagnostic::error("limit-nesting", span, message).help("name parts of the expression, or raise the limit `nesting`"))
    }

    /// A step one level deeper.
    fn nested<T>(&mut self, step: impl FnOnce(&mut Self) -> Read<T>) -> Read<T>
    where
        Self: Sized,
    {
        if self.cursor().depth > self.cursor().deepest {
            return Err(self.too_deep(self.here()));
        }
        self.cursor_mut().depth += 1;
        let result = crate::deep(|| step(self));
        self.cursor_mut().depth -= 1;
        result
    }
}
