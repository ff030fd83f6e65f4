//! The grammar of terms. In: the states with what is known of their values; out: terms as text, each with the place of its inner constant.
//! Invariants: a term can be computed at every value seen; two terms differ; the order does not depend on the data's order.

/// A term of an equation: a product of functions of states, with at most one constant inside.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Term {
    /// Its text; `?` stands for the inner constant.
    pub(crate) text: String,
    /// Where the inner constant starts.
    pub(crate) inner: Option<f64>,
    /// Operations, names and numbers.
    pub(crate) size: usize,
}

impl Term {
    fn new(text: String, inner: Option<f64>) -> Term {
        let size = crate::text::complexity(&text);
        Term { text, inner, size }
    }

    /// The text with a name or number for the inner constant.
    pub(crate) fn with(&self, constant: &str) -> String {
        self.text.replace('?', constant)
    }
}

/// A state and what is known of it.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) name: String,
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// The value in the middle of all.
    pub(crate) typical: f64,
}

impl Seen {
    fn positive(&self) -> bool {
        self.low > 0.0
    }

    /// Well away from zero.
    fn divides(&self) -> bool {
        let size = self.low.abs().max(self.high.abs());
        self.low * self.high > 0.0 && self.low.abs().min(self.high.abs()) > 1e-3 * size
    }

    /// Large enough for a sine to differ from a line, small enough to be an angle.
    fn angle(&self) -> bool {
        let size = self.low.abs().max(self.high.abs());
        size > 0.2 && self.high - self.low > 0.2 && size < 40.0
    }

    fn moderate(&self) -> bool {
        self.low.abs().max(self.high.abs()) < 15.0 && self.high - self.low > 0.1
    }
}

/// Inner constants that are tried, as shares of the typical value.
const SHARES: [f64; 4] = [0.1, 0.4, 1.2, 4.0];

/// The product of states, each as often as it is named.
fn monomial(names: &[&str]) -> String {
    match names {
        [] => "1".into(),
        [one] => (*one).into(),
        many => format!("(* {})", many.join(" ")),
    }
}

/// All terms.
pub(crate) fn terms(states: &[Seen]) -> Vec<Term> {
    let names: Vec<&str> = states.iter().map(|s| s.name.as_str()).collect();
    let d = names.len();
    let mut all: Vec<Term> = Vec::new();
    let mut add = |text: String, inner: Option<f64>| {
        let term = Term::new(text, inner);
        if !all.contains(&term) {
            all.push(term);
        }
    };
    add("1".into(), None);
    for name in &names {
        add((*name).into(), None);
    }
    for i in 0..d {
        for j in i..d {
            add(monomial(&[names[i], names[j]]), None);
        }
    }
    if d <= 3 {
        for i in 0..d {
            for j in i..d {
                for k in j..d {
                    add(monomial(&[names[i], names[j], names[k]]), None);
                }
            }
        }
    }
    for (i, s) in states.iter().enumerate() {
        let x = names[i];
        if s.angle() {
            for function in ["sin", "cos"] {
                add(format!("({function} {x})"), None);
            }
            add(format!("(* (sin {x}) (cos {x}))"), None);
        }
        if s.moderate() {
            add(format!("(exp (- {x}))"), None);
        }
        if s.divides() {
            add(format!("(/ 1 {x})"), None);
        }
        if s.positive() {
            add(format!("(* {x} (log {x}))"), None);
            add(format!("(log {x})"), None);
            add(format!("(sqrt {x})"), None);
        }
        if s.low >= 0.0 || s.positive() {
            for share in SHARES {
                let inner = Some(share * s.typical.abs().max(1e-3 * s.high.abs()));
                add(format!("(/ {x} (+ ? {x}))"), inner);
                add(format!("(/ (square {x}) (+ (square ?) (square {x})))"), inner);
                add(format!("(/ 1 (+ 1 (square (/ {x} ?))))"), inner);
            }
        }
        if s.moderate() {
            for share in [0.5, 1.5, 4.0] {
                let inner = Some(share / (0.5 * (s.high - s.low)).max(1e-3));
                add(format!("(/ 1 (+ 1 (exp (* ? (- {x} {})))))", short(s.typical)), inner);
            }
        }
        if s.low < 0.0 && s.high > 0.0 {
            add(format!("(* {x} (abs {x}))"), None);
        }
    }
    if d > 3 {
        return all;
    }
    for (i, s) in states.iter().enumerate() {
        for (j, other) in states.iter().enumerate().filter(|&(j, _)| j != i) {
            let (x, y) = (names[i], names[j]);
            if s.angle() {
                add(format!("(* {y} (sin {x}))"), None);
                add(format!("(* {y} (cos {x}))"), None);
                if other.divides() {
                    add(format!("(/ (cos {x}) {y})"), None);
                    add(format!("(/ (sin {x}) {y})"), None);
                }
                if other.angle() {
                    add(format!("(* (sin {x}) (cos {y}))"), None);
                    if i < j {
                        add(format!("(* (sin {x}) (sin {y}))"), None);
                        add(format!("(* (cos {x}) (cos {y}))"), None);
                        add(format!("(sin (- {x} {y}))"), None);
                    }
                }
            }
            if s.divides() {
                add(format!("(/ {y} {x})"), None);
            }
            if s.moderate() {
                add(format!("(* {y} (exp (- {x})))"), None);
            }
            if s.low >= 0.0 {
                for share in SHARES {
                    let inner = Some(share * s.typical.abs().max(1e-3 * s.high.abs()));
                    add(format!("(/ (* {x} {y}) (+ ? {x}))"), inner);
                }
            }
        }
    }
    all
}

/// A number with three digits, as the language reads it.
fn short(x: f64) -> String {
    let rounded: f64 = format!("{x:.2e}").parse().unwrap_or(x);
    neural_compiler::number_text(rounded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_can_be_computed_and_differ() {
        let positive = Seen { name: "x".into(), low: 0.5, high: 4.0, typical: 1.0 };
        let signed = Seen { name: "y".into(), low: -1.0, high: 1.0, typical: 0.1 };
        let all = terms(&[positive, signed]);
        let has = |text: &str| all.iter().any(|t| t.text == text);
        assert!(has("(* x y)") && has("(log x)") && has("(/ y x)") && has("(/ (* x y) (+ ? x))") && has("(sin y)"));
        assert!(!has("(log y)") && !has("(/ x y)") && !has("(sqrt y)"));
        for (i, t) in all.iter().enumerate() {
            assert!(!all[..i].contains(t), "{}", t.text);
        }
        assert_eq!(all.iter().find(|t| t.text == "(* x y)").map(|t| t.size), Some(3));
    }
}
