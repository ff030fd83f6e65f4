//! Python, plain, for NumPy and for JAX. In: a program; out: `model.py` with the function `value` and, on request, `gradient`.
//!
//! Plain text and NumPy's run statement by statement; JAX's is made of `cond` and `while_loop`, so that it can be compiled, and leaves
//! derivatives to JAX. Functions are those of the libraries: values agree to a few ULP, not to the bit (docs/export.md).

mod jax;
mod numpy;
mod operations;
mod plain;
mod statements;

use super::code::{self, Code};
use super::{Export, File, Request};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::graph::{GraphInput, Type};
use crate::ops::row::Kernel;
use crate::ops::{Op, real::Dtype};
use crate::shape::Shape;
use crate::source::Span;
use operations::{Writer, helpers};
use rustc_hash::FxHashSet;

/// Which library the text is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Flavour {
    /// None: Python's own floats and lists.
    Plain,
    Numpy,
    Jax,
}

impl Flavour {
    fn name(self) -> &'static str {
        match self {
            Flavour::Plain => "plain Python",
            Flavour::Numpy => "NumPy",
            Flavour::Jax => "JAX",
        }
    }
}

/// Whether an operation can be written.
pub(super) fn spelled(op: Op, flavour: Flavour) -> bool {
    if flavour == Flavour::Plain {
        return plain::spelled(op);
    }
    let mut writer = Writer::new(flavour);
    let named = |shape| super::structured::Named { text: "x".into(), ty: Type::Value(shape) };
    match &op.row().kernel {
        Kernel::Unary(_) | Kernel::Binary(_) | Kernel::Ternary(_) | Kernel::Select => {
            writer.elementwise(op, &vec![String::from("x"); 3]).is_some()
        }
        Kernel::Tensor(_) => {
            writer.tensor(op, 0, &named(Shape::Matrix(2, 2)), &[named(Shape::Matrix(2, 2)), named(Shape::Matrix(2, 2))]).is_some()
        }
        Kernel::Composite(_) => true,
    }
}

/// What of a program the target cannot say.
fn refused(code: &Code, flavour: Flavour) -> Vec<Diagnostic> {
    let mut seen = FxHashSet::default();
    let mut found: Vec<Diagnostic> = Vec::new();
    for (op, _, span) in &code.applied {
        if seen.insert(*op) && !spelled(*op, flavour) {
            let message = format!("`{}` has no text for {}", op.row().name, flavour.name());
            found.push(Diagnostic::error("export-unsupported", *span, message));
        }
    }
    if flavour == Flavour::Jax && code.recurses() {
        let message = "JAX has no recursion that depends on values";
        found
            .push(Diagnostic::error("export-unsupported", Span::default(), message).help("write it as a loop, or export it to C or NumPy"));
    }
    found
}

/// The file of a program.
pub(super) fn files(request: &Request<'_>, export: &Export<'_>, flavour: Flavour) -> Result<Vec<File>, Diagnostics> {
    let value = code::code(export.graph);
    // JAX differentiates what it runs.
    let gradient = export.gradient.filter(|_| flavour != Flavour::Jax).map(code::code);
    let mut errors = refused(&value, flavour);
    if let (true, Some(gradient)) = (errors.is_empty(), &gradient) {
        errors = refused(gradient, flavour);
    }
    if !errors.is_empty() {
        return Err(Diagnostics(errors));
    }
    let names = input_names(&export.graph.inputs);
    let mut writer = Writer::new(flavour);
    let results = export.graph.main().results.len();
    let mut written = |code: &Code, name: &str| match flavour {
        Flavour::Plain => statements::function(code, name, &names, results, &mut plain::Plain),
        Flavour::Numpy => {
            let mut numpy = numpy::Numpy { writer: &mut writer, single: request.dtype == Dtype::F32 };
            statements::function(code, name, &names, results, &mut numpy)
        }
        Flavour::Jax => jax::function(code, &names, &mut writer),
    };
    let mut body = written(&value, "value");
    if let Some(gradient) = &gradient {
        body += &written(gradient, "gradient");
    } else if export.gradient.is_some() {
        body += &jax::gradient(&value, &names);
    }
    let real = if request.dtype == Dtype::F32 { "np.float32" } else { "np.float64" };
    let wide = "\njax.config.update(\"jax_enable_x64\", True)\n";
    let imports = match (flavour, writer.special) {
        (Flavour::Plain, _) => "import math\n".to_string(),
        (Flavour::Numpy, false) => "import numpy as np\n".to_string(),
        (Flavour::Numpy, true) => "import numpy as np\nfrom scipy import special\n".to_string(),
        (Flavour::Jax, false) => format!("import jax\nimport jax.numpy as np\nfrom jax import lax\n{wide}"),
        (Flavour::Jax, true) => format!("import jax\nimport jax.numpy as np\nfrom jax import lax\nfrom jax.scipy import special\n{wide}"),
    };
    let inputs: Vec<String> = export.graph.inputs.iter().map(|i| format!("{:?}", request.with_unit(&i.name))).collect();
    let comma = if inputs.len() == 1 { "," } else { "" };
    let (real, helpers) = match flavour {
        Flavour::Plain => (String::new(), format!("{}\n\n", plain::HELPERS)),
        Flavour::Numpy | Flavour::Jax => (format!("\nreal = {real}\n"), helpers(&writer.needed, flavour)),
    };
    let text = format!(
        "{}{imports}{real}\n# The arguments, in order, with their units where there are any.\nINPUTS = ({}{comma})\n\n\n{helpers}{body}",
        super::comment(request, "A model", "# "),
        inputs.join(", "),
    );
    Ok(vec![File::text("model.py", text.trim_end().to_string() + "\n")])
}

/// Words that are no names in Python, and names the text uses itself.
#[rustfmt::skip]
pub(super) const TAKEN: &[&str] = &[
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else",
    "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise",
    "return", "try", "while", "with", "yield", "np", "jax", "lax", "real", "special", "value", "gradient", "INPUTS", "choose",
    "sign", "sigmoid", "softplus", "gauss", "modulo", "joined", "placed", "at", "placed_at", "inverse", "solution", "cofactor",
    "len", "int", "range", "float", "tuple", "reversed", "state", "yes", "no", "round", "sp", "math", "quiet", "sin", "cos", "tan",
    "sqrt", "exp", "expm1", "cosh", "asin", "acos", "atan", "tanh", "atan2", "erf", "erfc", "fmod", "at_zero", "log", "log2",
    "log10", "gamma", "lgamma", "log1p", "sinh", "exp2", "cbrt", "divide", "power", "whole", "floor", "ceiling", "truncate",
    "nearest", "smaller", "larger", "flat", "rows", "index", "dot", "norm", "cross", "product", "transpose", "factored", "det",
    "solve", "eye", "abs", "sum", "zip", "min", "max",
];

fn input_names(inputs: &[GraphInput]) -> Vec<String> {
    super::names(inputs, TAKEN, &["f_", "round_", "yes_", "no_"])
}

/// A constant.
fn number(x: f64) -> String {
    if x.is_nan() {
        "np.nan".into()
    } else if x.is_infinite() {
        if x > 0.0 { "np.inf".into() } else { "(-np.inf)".into() }
    } else if x.is_sign_negative() {
        format!("({x:?})")
    } else {
        format!("{x:?}")
    }
}
