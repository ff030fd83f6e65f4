//! A compiled program and what the caller said about its inputs. In: a text, names, shapes; out: the program with the rank of
//! every input decided.

use crate::buffers::views::rank;
use neural_compiler::diagnostic::did_you_mean;
use neural_compiler::source::Span;
use neural_compiler::syntax::ast::{Input, InputKind};
use neural_compiler::units::Mode;
use neural_compiler::{Diagnostic, Diagnostics, InputShape, Limits, Options, Program, Shape, Syntax, compile};
use rustc_hash::{FxHashMap, FxHashSet};

/// A program of the user.
pub(crate) struct Core {
    pub(crate) program: Program,
    /// Axes of each input's value.
    pub(crate) ranks: Vec<usize>,
}

/// A name and its shape, where the caller says it.
pub(crate) type Named = (String, Option<Shape>);

impl Core {
    /// Compiles. `inputs`: the names allowed, in order (`None`: every free name); `params`: names that are parameters.
    pub(crate) fn new(
        source: &str,
        inputs: Option<Vec<Named>>,
        params: Vec<Named>,
        limits: Limits,
        syntax: Syntax,
        units: Mode,
    ) -> Result<Core, Diagnostics> {
        let open = match (compile(source, &Options { inputs: None, limits, syntax, units }), &inputs) {
            (Ok(open), _) => open,
            // A text whose shapes only the caller's fit: `(ref a 0)` of what is not known to be a matrix counts as a number.
            (Err(_), Some(listed)) => {
                let known: FxHashSet<&str> = listed.iter().map(|l| l.0.as_str()).collect();
                let extra = params.iter().filter(|p| !known.contains(p.0.as_str()));
                compile(source, &Options { inputs: Some(listed.iter().chain(extra).cloned().collect()), limits, syntax, units })?
            }
            (Err(e), None) => return Err(e),
        };
        let told = inputs.is_some() || params.iter().any(|p| !matches!(p.1, None | Some(Shape::Scalar)));
        let names: FxHashSet<&str> = open.inputs().iter().map(|i| i.name.as_str()).collect();
        for (name, _) in &params {
            if !names.contains(name.as_str()) {
                let message = format!("the program has no name `{name}` to make a parameter of");
                return Err(Diagnostic::error("unknown-input", Span::default(), message).maybe_help(did_you_mean(name, names)).into());
            }
        }
        let program = if told { Core::closed(source, &open, inputs, params, (limits, units))? } else { open };
        let ranks = program.input_shapes().iter().map(|s| match s {
            InputShape::Known(s) => rank(*s),
            InputShape::Vector => 1,
            InputShape::Matrix => 2,
        });
        let ranks = ranks.collect();
        Ok(Core { program, ranks })
    }

    /// Compiles with the inputs the caller names, their shapes, and nothing else free.
    fn closed(
        source: &str,
        open: &Program,
        inputs: Option<Vec<Named>>,
        params: Vec<Named>,
        (limits, units): (Limits, Mode),
    ) -> Result<Program, Diagnostics> {
        let named: FxHashSet<&str> = params.iter().map(|p| p.0.as_str()).collect();
        let is_param = |name: &str| named.contains(name);
        // What only the caller names has no place in the text.
        let declared = |i: &&Input| i.kind != InputKind::Free && i.span != Span::default();
        let declared: FxHashMap<&str, &Input> = open.inputs().iter().filter(declared).map(|i| (i.name.as_str(), i)).collect();
        let free =
            || open.inputs().iter().filter(|i| i.kind == InputKind::Free && !is_param(&i.name)).map(|i| (i.name.clone(), None)).collect();
        let mut list: Vec<Named> = inputs.unwrap_or_else(free);
        list.retain(|l| !is_param(&l.0));
        list.extend(params.iter().cloned());
        let mut allowed: Vec<Named> = Vec::new();
        let mut repeated: Vec<(String, Shape)> = Vec::new();
        for (name, shape) in list {
            // In the place the caller gives it; a size that the text declares stays.
            let known = declared.get(name.as_str());
            let pinned = known.is_some_and(|i| i.shape.is_some());
            // The weights of a net stand behind it, wherever they are listed.
            if !known.is_some_and(|i| matches!(i.kind, InputKind::Weight { .. })) {
                allowed.push((name.clone(), shape.filter(|_| !pinned)));
            }
            repeated.extend(shape.filter(|_| pinned).map(|s| (name, s)));
        }
        let program = compile(source, &Options { inputs: Some(allowed), limits, syntax: open.syntax(), units })?;
        let places: FxHashMap<&str, usize> = program.inputs().iter().enumerate().map(|(k, i)| (i.name.as_str(), k)).collect();
        for (name, told) in repeated {
            // The text declares it: the caller may repeat that, not contradict it.
            let found = places.get(name.as_str()).map(|&k| (&program.inputs()[k], &program.input_shapes()[k]));
            if let Some((declared, InputShape::Known(said))) = found
                && *said != told
            {
                let message = format!("the text declares `{name}` as a {said}, the caller as a {told}");
                return Err(Diagnostic::error("input-shape", declared.span, message).into());
            }
        }
        Ok(program)
    }

    /// Whether input `k` may have this shape.
    pub(crate) fn admits(&self, k: usize, shape: Shape) -> bool {
        match self.program.input_shapes()[k] {
            InputShape::Known(s) => s == shape,
            InputShape::Vector => matches!(shape, Shape::Vector(n) if n > 0),
            InputShape::Matrix => matches!(shape, Shape::Matrix(r, c) if r > 0 && c > 0),
        }
    }

    /// What input `k` is, in words.
    pub(crate) fn expected(&self, k: usize) -> String {
        match self.program.input_shapes()[k] {
            InputShape::Known(s) => s.to_string(),
            InputShape::Vector => "vector".into(),
            InputShape::Matrix => "matrix".into(),
        }
    }
}
