//! Names in scope while a program is written. Invariant: a name found here means, in the program, exactly what is said here;
//! what a later definition hides is never offered.

use fastrand::Rng;

/// What a name stands for; `S` is the sort of values (shapes), `()` where there is only one.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Entry<S> {
    /// A value.
    Value(S),
    /// A function: sorts of parameters, sort of the result, cost of a call.
    Function(Vec<S>, S, f64),
    /// Bound, but not usable here (not yet defined).
    Hidden,
}

/// Bindings, innermost last.
#[derive(Default)]
pub(crate) struct Scope<S> {
    entries: Vec<(String, Entry<S>)>,
    made: usize,
}

/// Names that shadow each other and, now and then, operations.
const POOL: &[&str] = &["x", "y", "a", "b", "k", "acc", "θ", "Δt", "x-1", "list", "max", "abs", "u", "v", "floor"];

impl<S: Clone + PartialEq> Scope<S> {
    pub(crate) fn new() -> Scope<S> {
        Scope { entries: Vec::new(), made: 0 }
    }

    pub(crate) fn mark(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn release(&mut self, mark: usize) {
        self.entries.truncate(mark);
    }

    pub(crate) fn bind(&mut self, name: &str, entry: Entry<S>) {
        self.entries.push((name.to_string(), entry));
    }

    /// Whether any binding hides the operation of this name.
    pub(crate) fn is_bound(&self, name: &str) -> bool {
        self.entries.iter().any(|(n, _)| n == name)
    }

    fn visible(&self) -> impl Iterator<Item = &(String, Entry<S>)> {
        let shadowed = |i: usize, name: &str| self.entries[i + 1..].iter().any(|(n, _)| n == name);
        self.entries.iter().enumerate().filter(move |(i, (n, _))| !shadowed(*i, n)).map(|(_, e)| e)
    }

    /// Values of a sort, innermost last.
    pub(crate) fn values(&self, sort: &S) -> Vec<String> {
        self.visible().filter(|(_, e)| matches!(e, Entry::Value(s) if s == sort)).map(|(n, _)| n.clone()).collect()
    }

    /// Functions with a result of a sort that cost at most so much: names and sorts of parameters, and the cost.
    pub(crate) fn functions(&self, sort: &S, most: f64) -> Vec<(String, Vec<S>, f64)> {
        self.visible()
            .filter_map(|(n, e)| match e {
                Entry::Function(params, result, cost) if result == sort && *cost <= most => Some((n.clone(), params.clone(), *cost)),
                _ => None,
            })
            .collect()
    }

    /// So many names, different from each other: some shadow, most are new.
    pub(crate) fn names(&mut self, rng: &mut Rng, count: usize) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        while names.len() < count {
            let name = if rng.u8(..3) == 0 {
                POOL[rng.usize(..POOL.len())].to_string()
            } else {
                self.made += 1;
                format!("{}{}", ["t", "p", "q", "w", "r"][rng.usize(..5)], self.made)
            };
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// A name nothing shadows by accident.
    pub(crate) fn fresh(&mut self, stem: &str) -> String {
        self.made += 1;
        format!("{stem}{}", self.made)
    }
}
