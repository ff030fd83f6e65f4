//! A module's text as a program. In: a text, and a library for what it uses; out: the program, its graph, its hash; or every mistake.
//! Invariant: a module uses modules of its library only, so that its hash covers all it means.

use crate::lock::Lock;
use crate::resolve::Resolver;
use crate::{Outcome, canonical, within};
use neural_compiler::graph::Graph;
use neural_compiler::syntax::modules::{self, Linked, Loaded, Mistake, Wanted, link};
use neural_compiler::{Diagnostic, Diagnostics, EvalError, Limits, Options, Program, compile};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A text that is a program.
pub(crate) struct Checked {
    pub(crate) program: Program,
    pub(crate) whole: Option<Linked>,
    pub(crate) graph: Arc<Graph>,
}

/// Compiles a text named `name`; what it uses comes from the resolver.
pub(crate) fn compiled(name: &str, text: &str, resolver: &mut Resolver) -> Outcome<Checked> {
    let main = Loaded { name: name.into(), text: text.into() };
    let mut load = |of: &str, wanted: &Wanted| match wanted {
        Wanted::Module(name, version) => resolver.load(of, name, *version),
        Wanted::File(_) => Err("a module uses modules of its library only: add this file to the library first".into()),
    };
    let mut whole = link(main, &mut load, &Limits::default())?;
    whole.iter_mut().for_each(|w| w.trace(|id| resolver.origin(id)));
    let source = whole.as_ref().map_or(text, |w| &w.text);
    let made = compile(source, &Options::default()).and_then(|program| program.graph().map(|graph| (program, graph)));
    let (program, graph) = made.map_err(|e| blamed(whole.as_ref(), name, text, e))?;
    Ok(Checked { program, whole, graph })
}

fn blamed(whole: Option<&Linked>, name: &str, text: &str, errors: Diagnostics) -> Box<Mistake> {
    match whole {
        None => within(name, text, errors),
        Some(whole) => Box::new(whole.blame(&errors)),
    }
}

/// The modules a text uses, with the hashes the lock has.
pub(crate) fn uses(name: &str, text: &str, lock: &Lock) -> Outcome<BTreeMap<String, String>> {
    let wrong = |e: Diagnostic| within(name, text, e.into());
    let mut found = BTreeMap::new();
    for (wanted, span) in modules::used(text).map_err(wrong)? {
        let hash = match &wanted {
            Wanted::Module(name, version) => lock.line(name, *version).filter(|l| !l.removed).map(|l| l.hash.clone()),
            Wanted::File(_) => {
                let message = format!("a module uses modules of its library only, and `{wanted}` is a file");
                return Err(wrong(Diagnostic::error("not-a-module", span, message).help("add the file to the library first")));
            }
        };
        let missing = || wrong(Diagnostic::error("cannot-use", span, format!("the library has no `{wanted}`")));
        found.insert(wanted.to_string(), hash.ok_or_else(missing)?);
    }
    Ok(found)
}

/// The hash of a text that uses these.
pub(crate) fn hash(text: &str, uses: &BTreeMap<String, String>) -> String {
    let used: String = uses.iter().map(|(id, hash)| format!("{id} {hash}\n")).collect();
    canonical::digest(&format!("{text}\0{used}"))
}

impl Checked {
    /// What is wrong, in the text it is in.
    pub(crate) fn blame(&self, name: &str, text: &str, errors: Diagnostics) -> Box<Mistake> {
        blamed(self.whole.as_ref(), name, text, errors)
    }

    /// What the program gives at a point: all numbers of all inputs but parameters, which have their declared values.
    pub(crate) fn at(&self, point: &[f64]) -> Option<Vec<f64>> {
        self.run(point).ok()
    }

    /// The same, or why it gives nothing.
    pub(crate) fn run(&self, point: &[f64]) -> Result<Vec<f64>, EvalError> {
        crate::probes::value(&self.graph, &self.inputs(point))
    }

    /// The inputs of the graph for such a point.
    fn inputs(&self, point: &[f64]) -> Vec<neural_compiler::Tensor<f64>> {
        let mut rest = point;
        let shapes: Vec<neural_compiler::Shape> = self.graph.inputs.iter().map(|i| i.shape).collect();
        let mut numbers = Vec::new();
        for (shape, declared) in shapes.iter().zip(crate::signature::declared(&self.program)) {
            match declared {
                Some(value) => numbers.extend(value),
                None => {
                    let (own, others) = rest.split_at(shape.len().min(rest.len()));
                    numbers.extend(own);
                    rest = others;
                }
            }
        }
        crate::probes::tensors(&shapes, &numbers)
    }
}
