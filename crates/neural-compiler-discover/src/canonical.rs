//! The canonical form of a program: what makes two texts the same hypothesis. In: a program; out: a text that is the same for programs that
//! are the same by the algebra of real numbers, as far as this goes, and that differ in nothing but names and starts of constants.
//!
//! Expressions become sums of products of powers: sums and products in any order and nesting, distributed, numbers gathered, quotients as
//! negative powers. Everything else (functions, choices, loops) is opaque, its arguments canonical. It is a normal form, not an e-graph:
//! for these rules saturation would find the same classes, and a dependency would bring a second version of five others.
//! Invariants: only rules that hold for real numbers wherever both sides are defined; nothing that is computed ever comes from here.

use neural_compiler::syntax::reader::{Data, Datum, DatumId, read};
use neural_compiler::{Limits, Program, number_text};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Summands of a distributed product at most; longer ones stay products.
const MOST: usize = 48;

/// Powers of atoms, exponents in quarters.
type Powers = BTreeMap<String, i64>;
/// A sum: products with their coefficients.
#[derive(Clone, Debug, PartialEq, Default)]
struct Sum(BTreeMap<Powers, f64>);

/// The canonical form of a program.
pub fn canonical(program: &Program) -> String {
    let text = program.scheme();
    let (data, _) = read(&text, &Limits::default());
    let reader = Reader { data: &data };
    let mut constants: BTreeSet<String> = BTreeSet::new();
    let mut forms: Vec<(String, Sum)> = Vec::new();
    let mut rest: Vec<String> = Vec::new();
    for &form in &data.top {
        let parts = data.list(form).unwrap_or(&[]);
        match (reader.head(form), parts) {
            (Some("param"), [_, name, _, options @ ..]) => {
                constants.insert(reader.plain(*name));
                // A bound or a value per group makes another model; where the search starts does not.
                rest.extend((!options.is_empty()).then(|| options.iter().map(|o| reader.plain(*o)).collect::<Vec<_>>().join(" ")));
            }
            (Some("derive" | "next"), [kind, name, value]) => {
                forms.push((format!("{} {}", reader.plain(*kind), reader.plain(*name)), reader.sum(*value)));
            }
            (Some("state" | "input" | "time" | "define" | "observe" | "unit" | "net" | "event" | "loglik" | "use"), _) => {
                rest.push(reader.plain(form));
            }
            _ => forms.push((String::new(), reader.sum(form))),
        }
    }
    forms.sort_by(|a, b| a.0.cmp(&b.0));
    rest.sort();
    // First without the names of constants, so that these decide no order, then with numbers in that order.
    let blind = |name: &str| if constants.contains(name) { "?".to_string() } else { name.to_string() };
    let shown: Vec<String> = forms.iter().map(|(n, s)| format!("{n}: {}", s.text(&blind).1.join(" + "))).chain(rest.clone()).collect();
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let order: Vec<String> = forms.iter().flat_map(|(_, s)| s.text(&blind).0).collect();
    let words = order.iter().flat_map(|t| t.split(|c: char| c.is_whitespace() || "()^".contains(c)).map(str::to_string));
    for word in words.chain(rest.iter().flat_map(|r| r.split(|c: char| c.is_whitespace() || "()".contains(c)).map(str::to_string))) {
        if constants.contains(&word) {
            let next = numbers.len() + 1;
            numbers.entry(word).or_insert(next);
        }
    }
    let sequence: Vec<String> = order.iter().map(|t| renamed(t, &numbers)).collect();
    let rest: Vec<String> = rest.iter().map(|t| renamed(t, &numbers)).collect();
    format!("{} | {} | {}", shown.len(), sequence.join(" + "), rest.join(" "))
        + " | "
        + &forms.iter().map(|f| f.0.as_str()).collect::<Vec<_>>().join(",")
}

/// A text with numbers for constants.
fn renamed(text: &str, numbers: &HashMap<String, usize>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut word = String::new();
    let end = |word: &mut String, out: &mut String| {
        match numbers.get(word.as_str()) {
            Some(n) => out.push_str(&format!("?{n}")),
            None => out.push_str(word),
        }
        word.clear();
    };
    for c in text.chars() {
        if c.is_whitespace() || "()^".contains(c) {
            end(&mut word, &mut out);
            out.push(c);
        } else {
            word.push(c);
        }
    }
    end(&mut word, &mut out);
    out
}

struct Reader<'a> {
    data: &'a Data,
}

impl Reader<'_> {
    fn head(&self, id: DatumId) -> Option<&str> {
        let first = *self.data.list(id)?.first()?;
        self.data.symbol(first).map(|s| self.data.names.text(s))
    }

    fn number(&self, id: DatumId) -> Option<f64> {
        if let Datum::Number(x) = self.data.get(id) { Some(x) } else { None }
    }

    /// A datum as it is, blanks apart.
    fn plain(&self, id: DatumId) -> String {
        match self.data.list(id) {
            Some(parts) => format!("({})", parts.iter().map(|&p| self.plain(p)).collect::<Vec<_>>().join(" ")),
            None => match (self.data.symbol(id), self.number(id)) {
                (Some(s), _) => self.data.names.text(s).to_string(),
                (None, Some(x)) => number_text(x),
                (None, None) => {
                    let inside: Vec<String> = self.data.children(id).iter().map(|&p| self.plain(p)).collect();
                    format!("[{}]", inside.join(" "))
                }
            },
        }
    }

    fn sum(&self, id: DatumId) -> Sum {
        if let Some(x) = self.number(id) {
            return Sum::number(x);
        }
        let Some(parts) = self.data.list(id) else { return Sum::atom(self.plain(id)) };
        let arguments = || parts[1..].iter().map(|&p| self.sum(p));
        match (self.head(id), parts.len()) {
            (Some("+"), _) => arguments().fold(Sum::default(), |a, b| a.plus(&b, 1.0)),
            (Some("-"), 2) => Sum::default().plus(&self.sum(parts[1]), -1.0),
            (Some("-"), n) if n > 2 => arguments().skip(1).fold(self.sum(parts[1]), |a, b| a.plus(&b, -1.0)),
            (Some("*"), _) => arguments().fold(Sum::number(1.0), |a, b| a.times(&b)),
            (Some("/"), 2) => self.sum(parts[1]).power(-4),
            (Some("/"), n) if n > 2 => arguments().skip(1).fold(self.sum(parts[1]), |a, b| a.times(&b.power(-4))),
            (Some("square"), 2) => self.sum(parts[1]).power(8),
            (Some("sqrt"), 2) => self.sum(parts[1]).power(2),
            (Some("pow" | "expt"), 3) => match self.number(parts[2]).filter(|x| (4.0 * x).fract() == 0.0 && x.abs() <= 16.0) {
                Some(x) => self.sum(parts[1]).power((4.0 * x) as i64),
                None => self.opaque(parts),
            },
            (Some("if" | "let" | "let*" | "lambda" | "loop" | "letrec" | "do" | "root" | "cond"), _) => Sum::atom(self.plain(id)),
            _ => self.opaque(parts),
        }
    }

    /// A function of canonical arguments.
    fn opaque(&self, parts: &[DatumId]) -> Sum {
        let named = |s: Sum| s.text(&str::to_string).0.join(" + ");
        let inside: Vec<String> = parts[1..].iter().map(|&p| format!("({})", named(self.sum(p)))).collect();
        Sum::atom(format!("({} {})", self.plain(parts[0]), inside.join(" ")))
    }
}

impl Sum {
    fn number(x: f64) -> Sum {
        let mut sum = Sum::default();
        if x != 0.0 {
            sum.0.insert(Powers::new(), x);
        }
        sum
    }

    fn atom(name: String) -> Sum {
        Sum(BTreeMap::from([(Powers::from([(name, 4)]), 1.0)]))
    }

    fn plus(mut self, other: &Sum, sign: f64) -> Sum {
        for (powers, x) in &other.0 {
            let sum = self.0.get(powers).copied().unwrap_or(0.0) + sign * x;
            if sum == 0.0 {
                self.0.remove(powers);
            } else {
                self.0.insert(powers.clone(), sum);
            }
        }
        self
    }

    fn times(self, other: &Sum) -> Sum {
        if self.0.len() * other.0.len() > MOST {
            return self.single().times(&other.clone().single());
        }
        let mut out = Sum::default();
        for (a, x) in &self.0 {
            for (b, y) in &other.0 {
                let mut both = a.clone();
                for (name, e) in b {
                    let sum = both.get(name).copied().unwrap_or(0) + e;
                    if sum == 0 {
                        both.remove(name);
                    } else {
                        both.insert(name.clone(), sum);
                    }
                }
                out = out.plus(&Sum(BTreeMap::from([(both, x * y)])), 1.0);
            }
        }
        out
    }

    /// The same as one atom.
    fn single(self) -> Sum {
        if self.0.len() <= 1 { self } else { Sum::atom(format!("({})", self.text(&str::to_string).0.join(" + "))) }
    }

    /// A power, the exponent in quarters.
    fn power(self, quarters: i64) -> Sum {
        let whole = quarters % 4 == 0;
        if whole && quarters > 0 && quarters <= 16 {
            return (1..quarters / 4).fold(self.clone(), |product, _| product.times(&self));
        }
        let entry = self.0.iter().next().map(|(p, x)| (p.clone(), *x));
        match (self.0.len(), entry) {
            (1, Some((powers, x))) if whole => {
                let powers = powers.into_iter().map(|(n, e)| (n, e * quarters / 4)).collect();
                Sum(BTreeMap::from([(powers, x.powi((quarters / 4) as i32))]))
            }
            // A root of a square is no first power: it is a size. Of an odd power it is a power.
            (1, Some((powers, 1.0))) if powers.len() == 1 && powers.values().all(|e| e % 8 == 4) => {
                Sum(BTreeMap::from([(powers.into_iter().map(|(n, e)| (n, e * quarters / 4)).collect(), 1.0)]))
            }
            _ => {
                let inside = format!("({})", self.text(&str::to_string).0.join(" + "));
                Sum(BTreeMap::from([(Powers::from([(inside, quarters)]), 1.0)]))
            }
        }
    }

    /// The summands in the order their texts have under other names, as they are and under these.
    fn text(&self, named: &dyn Fn(&str) -> String) -> (Vec<String>, Vec<String>) {
        let one = |powers: &Powers, x: f64, named: &dyn Fn(&str) -> String| {
            let mut factors: Vec<String> = powers.iter().map(|(n, e)| format!("{}^{e}", words(n, named))).collect();
            factors.sort();
            format!("{} {}", number_text(x), factors.join(" "))
        };
        let mut all: Vec<(String, String)> = self.0.iter().map(|(p, x)| (one(p, *x, named), one(p, *x, &str::to_string))).collect();
        all.sort();
        all.into_iter().map(|(blind, plain)| (plain, blind)).unzip()
    }
}

/// A text with other names for its words.
fn words(text: &str, named: &dyn Fn(&str) -> String) -> String {
    let mut out = String::new();
    let mut word = String::new();
    for c in text.chars().chain([' ']) {
        if c.is_whitespace() || "()^".contains(c) {
            out.push_str(&named(&word));
            word.clear();
            out.push(c);
        } else {
            word.push(c);
        }
    }
    out.pop();
    out
}

#[cfg(test)]
mod tests {
    use super::canonical;

    fn of(text: &str) -> String {
        canonical(&neural_compiler::compile(text, &Default::default()).expect("a program"))
    }

    #[test]
    fn what_algebra_makes_equal_is_one() {
        for (a, b) in [
            ("(+ x y)", "(+ y x)"),
            ("(* x (+ y z))", "(+ (* x z) (* x y))"),
            ("(/ x y z)", "(/ x (* z y))"),
            ("(- x (- y z))", "(+ x z (- y))"),
            ("(square (+ x y))", "(+ (* x x) (* 2 x y) (* y y))"),
            ("(sin (+ x (* 2 y)))", "(sin (+ y x y))"),
            ("(* (sqrt x) (sqrt x))", "x"),
            ("(pow x 3)", "(* x (square x))"),
            ("(param a 1) (param b 2) (+ (* a x) (* b y))", "(param b 7) (param q 1) (+ (* q y) (* b x))"),
        ] {
            assert_eq!(of(a), of(b), "{a} and {b}");
        }
    }

    #[test]
    fn what_differs_stays_apart() {
        for (a, b) in [
            ("(+ x y)", "(- x y)"),
            ("(sqrt (square x))", "x"),
            ("(sin x)", "(cos x)"),
            ("(/ x y)", "(/ y x)"),
            ("(param a 1) (param b 1) (- (* a x) (* b x))", "(+ 0 (* 0 x))"),
            ("(param a 1) (+ (* a x) (* a y))", "(param a 1) (param b 1) (+ (* a x) (* b y))"),
            ("(sqrt (* x y))", "(* (sqrt x) (sqrt y))"),
            ("(state x 1) (derive x (- x))", "(state x 1) (derive x x)"),
            ("(param k 1 :min 0) (* k x)", "(param k 1) (* k x)"),
        ] {
            assert_ne!(of(a), of(b), "{a} and {b}");
        }
    }
}
