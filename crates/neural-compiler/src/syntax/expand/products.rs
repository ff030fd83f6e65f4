//! Products without a sign. In: an expanded infix program; out: an error for each free name that is other names put together, as in
//! `exp(-kt)`: an input nobody meant. A name that is declared is a name.

use super::Expander;
use crate::diagnostic::Diagnostic;
use crate::syntax::ast::InputKind;
use crate::syntax::infix::lexer::spelled;
use rustc_hash::FxHashSet;

/// Longer names are words.
const LONGEST: usize = 8;

/// The names a name is made of, as a product: at least two, each admitted by `known`.
pub(crate) fn factors(name: &str, known: impl Fn(&str) -> bool) -> Option<String> {
    let letters: Vec<usize> = name.char_indices().map(|(i, _)| i).chain([name.len()]).collect();
    let count = letters.len() - 1;
    if !(2..=LONGEST).contains(&count) || !name.chars().all(char::is_alphabetic) {
        return None;
    }
    // The fewest factors that make up the name from each letter on.
    let mut best: Vec<Option<(usize, usize)>> = vec![None; count + 1];
    best[count] = Some((0, count));
    for from in (0..count).rev() {
        let ways = (from + 1..=count).filter(|&to| to - from < count && known(&name[letters[from]..letters[to]]));
        best[from] = ways.filter_map(|to| Some((best[to]?.0 + 1, to))).min();
    }
    best[0]?;
    let (mut at, mut parts) = (0, Vec::new());
    while at < count {
        let to = best[at]?.1;
        parts.push(spelled(&name[letters[at]..letters[to]]));
        at = to;
    }
    Some(parts.join("*"))
}

impl Expander<'_> {
    /// Free names that are products of other names.
    pub(super) fn check_products(&mut self) {
        let free: FxHashSet<&str> = self.ast.inputs.iter().filter(|i| i.kind == InputKind::Free).map(|i| i.name.as_str()).collect();
        let names: FxHashSet<&str> = self.ast.vars.iter().map(|v| v.name.as_str()).chain(["pi"]).collect();
        let bound = |name: &str| names.contains(name) && !free.contains(name);
        let found = self.ast.inputs.iter().filter(|i| i.kind == InputKind::Free).filter_map(|input| {
            let name = input.name.as_str();
            let product = factors(name, |part| part != name && names.contains(part)).or_else(|| {
                // Two letters, one of them a quantity of this program: the other may be one of the data.
                let letter = |part: &str| part.chars().count() == 1;
                let known = name.chars().any(|c| bound(c.encode_utf8(&mut [0; 4])));
                (name.chars().count() == 2 && known).then(|| factors(name, letter)).flatten()
            })?;
            let message = format!("`{name}` is not declared, and looks like a product");
            let help = format!("did you mean {product}? An input of that name is declared: input {name}");
            Some(Diagnostic::error("implicit-product", input.span, message).help(help))
        });
        let found: Vec<Diagnostic> = found.collect();
        found.into_iter().for_each(|d| {
            self.error(d);
        });
    }
}

#[cfg(test)]
mod tests {
    use crate::{Options, Syntax, compile};

    fn advice(text: &str) -> Option<String> {
        let found = compile(text, &Options { syntax: Syntax::Infix, ..Options::default() });
        found.err().map(|e| e.0.iter().filter(|d| d.code == "implicit-product").filter_map(|d| d.help.clone()).collect())
    }

    #[test]
    fn names_put_together_are_refused() {
        for (text, product) in [
            ("param k = 1\nexp(-kt)", "k*t"),
            ("param k = 1\nparam t = 2\nA*exp(-kt)", "k*t"),
            ("m*a + ma", "m*a"),
            ("2*pir", ""),
            ("r + 2*pir", "pi*r"),
            ("f(x, y) = xy\nf(a, 2)", "x*y"),
            ("omega*t + omegat", "omega*t"),
        ] {
            match advice(text) {
                Some(help) => assert!(!product.is_empty() && help.contains(product), "{text}: {help}"),
                None => assert!(product.is_empty(), "{text}"),
            }
        }
    }

    #[test]
    fn names_are_names() {
        for text in [
            "kt + 1",
            "param kt = 1\nparam k = 2\nexp(-kt*k)",
            "input kt\nparam k = 1\nk*kt",
            "mom*B",
            "x1 + x",
            "omega_0 + omega",
            "theta + t + h",
        ] {
            assert_eq!(advice(text), None, "{text}");
        }
    }
}
