//! The classes Python sees. In: Python values; out: `Core` (a compiled program) and `Function` (something to call).

use crate::arrays::{call, quick};
use crate::convert::errors::{compile_error, findings};
use crate::program::core::{Core, Named};
use crate::program::function::{Function, How, Variant};
use crate::program::places::{Places, PyPlaces};
use crate::program::steps::Step;
use crate::torch::autograd::{on_tuple, packed, remembered};
use crate::torch::gate::Gate;
use crate::torch::tensors::Reading;
use neural_compiler::diff::{self, Link};
use neural_compiler::exec::lanes::LaneError;
use neural_compiler::export::{File, OnnxWanted, Request, Target, export, onnx, with_constants};
use neural_compiler::graph::{json, print, svg};
use neural_compiler::ops::real::Dtype;
use neural_compiler::syntax::ast::{InputKind, ModelKind, StateStart};
use neural_compiler::syntax::modules::{self, Loaded, Wanted};
use neural_compiler::units::Mode;
use neural_compiler::{InputShape, Limits, Shape, Syntax, compose, domain};
use neural_compiler_library::Resolver;
use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString, PyTuple};
use std::path::PathBuf;
use std::sync::Arc;

/// A name and the sizes of its axes, where known.
type Sized = (String, Option<Vec<i64>>);

fn named(list: Vec<Sized>) -> PyResult<Vec<Named>> {
    list.into_iter()
        .map(|(name, sizes)| match sizes {
            None => Ok((name, None)),
            Some(sizes) => match crate::buffers::views::shape_of(&sizes).filter(|s| !s.is_empty()) {
                Some(shape) => Ok((name, Some(shape))),
                None => Err(PyValueError::new_err(format!(
                    "`{name}` cannot have the shape {sizes:?}: a scalar, a vector or a matrix is expected"
                ))),
            },
        })
        .collect()
}

/// The syntax of this name.
fn named_syntax(name: &str) -> PyResult<Syntax> {
    Syntax::named(name).ok_or_else(|| {
        let known: Vec<&str> = Syntax::ALL.iter().map(|s| s.name()).collect();
        PyValueError::new_err(format!("there is no syntax `{name}`: {}", known.join(", ")))
    })
}

/// A text with the definitions of the texts it uses in place. `load(of, path)`: the name and the text of the file a text asks for;
/// `library`: the folder of modules, else the nearest above the text.
#[pyfunction]
#[pyo3(signature = (name, text, load, library=None))]
pub(crate) fn link(py: Python<'_>, name: &str, text: &str, load: &Bound<'_, PyAny>, library: Option<PathBuf>) -> PyResult<String> {
    let mut modules = Resolver::new(library);
    let mut loaded = |of: &str, wanted: &Wanted| match wanted {
        Wanted::Module(name, version) => modules.load(of, name, *version),
        Wanted::File(path) => {
            let found = load.call1((of, path)).and_then(|f| f.extract::<(String, String)>()).map_err(|e| e.value(py).to_string())?;
            Ok(Loaded { name: found.0, text: found.1 })
        }
    };
    let main = Loaded { name: name.into(), text: text.into() };
    match modules::link(main, &mut loaded, &Limits::default()) {
        Ok(whole) => Ok(whole.map_or_else(|| text.to_string(), |w| w.text)),
        Err(mistake) => Err(compile_error(py, &mistake.file.text, &mistake.errors)),
    }
}

/// A text in another syntax, comments included.
#[pyfunction]
pub(crate) fn translate(py: Python<'_>, source: &str, syntax: &str, to: &str) -> PyResult<String> {
    let translated = neural_compiler::syntax::translate::translate(source, named_syntax(syntax)?, named_syntax(to)?, &Limits::default());
    translated.map_err(|e| compile_error(py, source, &e))
}

/// A compiled program.
#[pyclass(name = "Core", module = "neural_compiler._native", frozen)]
pub(crate) struct PyCore(pub(crate) Arc<Core>);

#[pymethods]
impl PyCore {
    #[new]
    #[pyo3(signature = (source, inputs, params, syntax="scheme", units="error"))]
    fn new(py: Python<'_>, source: &str, inputs: Option<Vec<Sized>>, params: Vec<Sized>, syntax: &str, units: &str) -> PyResult<PyCore> {
        let syntax = named_syntax(syntax)?;
        let units = Mode::named(units).ok_or_else(|| PyValueError::new_err(format!("units are error, warn or off, not `{units}`")))?;
        let inputs = inputs.map(named).transpose()?;
        let params = named(params)?;
        match py.detach(|| Core::new(source, inputs, params, Limits::default(), syntax, units)) {
            Ok(core) => Ok(PyCore(Arc::new(core))),
            Err(e) => Err(compile_error(py, source, &e)),
        }
    }

    #[getter]
    fn source(&self) -> &str {
        self.0.program.source()
    }

    /// Columns by whose values constants differ.
    #[getter]
    fn groups(&self) -> Vec<String> {
        let per = |kind: &InputKind| if let InputKind::Param(info) = kind { info.per.clone() } else { None };
        self.0.program.inputs().iter().filter_map(|i| per(&i.kind)).collect()
    }

    /// Whether the numbers of a column of this name go into the model.
    fn reads(&self, name: &str) -> bool {
        self.0.program.reads_column(name)
    }

    /// What the text is written in.
    #[getter]
    fn syntax(&self) -> &'static str {
        self.0.program.syntax().name()
    }

    /// The text in Scheme, comments included.
    #[getter]
    fn scheme(&self) -> String {
        self.0.program.scheme().into_owned()
    }

    /// The units of its names, declared and inferred.
    #[getter]
    fn units(&self) -> Vec<(String, String)> {
        self.0.program.units().names.clone()
    }

    /// Units that do not fit, as texts, where that is not an error.
    #[getter]
    fn unit_warnings(&self) -> Vec<String> {
        let said = |d: &neural_compiler::Diagnostic| d.help.iter().fold(d.message.clone(), |text, help| format!("{text}; {help}"));
        self.0.program.units().findings.iter().map(said).collect()
    }

    /// The constants of which the fit that saved the program found a value for each group, as far as its record can be read.
    #[getter]
    fn by_group(&self) -> Vec<String> {
        neural_compiler_fit::by_group::constants(&self.0.program).unwrap_or_default()
    }

    /// The program as LaTeX.
    #[getter]
    fn latex(&self) -> String {
        self.0.program.latex().trim_end().to_string()
    }

    #[getter]
    fn anf(&self) -> String {
        self.0.program.anf_text()
    }

    /// What the results mean: `expression`, `derivatives` or `map`.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.0.program.kind() {
            ModelKind::Expression => "expression",
            ModelKind::Derivatives => "derivatives",
            ModelKind::Map => "map",
        }
    }

    /// What the time of a model is called, where it declares that.
    #[getter]
    fn time(&self) -> Option<&str> {
        self.0.program.time().map(|t| t.name.as_str())
    }

    /// When the starts of a model's states hold, where it declares that.
    #[getter]
    fn start_time(&self) -> Option<f64> {
        self.0.program.time().and_then(|t| t.start)
    }

    /// How many events a model declares.
    #[getter]
    fn events(&self) -> usize {
        self.0.program.events().map_or(0, |e| e.all.len())
    }

    /// A dict per input: name, kind, rank, sizes where known, and what a declaration says.
    #[getter]
    fn inputs<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let program = &self.0.program;
        let inputs = program.inputs().iter().zip(program.input_shapes()).zip(&self.0.ranks);
        inputs
            .map(|((input, shape), rank)| {
                let dict = PyDict::new(py);
                dict.set_item("name", &input.name)?;
                dict.set_item("rank", rank)?;
                let sizes = match shape {
                    InputShape::Known(s) => Some(s.dims()),
                    InputShape::Vector | InputShape::Matrix => None,
                };
                dict.set_item("shape", sizes)?;
                let kind = match &input.kind {
                    InputKind::Free => "free",
                    InputKind::Declared => "declared",
                    InputKind::Param(p) => {
                        dict.set_item("initial", &p.initial)?;
                        dict.set_item("min", p.min)?;
                        dict.set_item("max", p.max)?;
                        dict.set_item("fixed", p.fixed)?;
                        "param"
                    }
                    InputKind::State(start) => {
                        match start {
                            StateStart::Value(v) => dict.set_item("initial", v)?,
                            StateStart::Name(n) => dict.set_item("initial", n)?,
                            StateStart::Expression | StateStart::Steady(_) => dict.set_item("initial", py.None())?,
                        }
                        "state"
                    }
                    InputKind::Weight { net, layer, bias } => {
                        dict.set_item("net", net)?;
                        dict.set_item("layer", layer)?;
                        dict.set_item("bias", bias)?;
                        "weight"
                    }
                };
                dict.set_item("kind", kind)?;
                Ok(dict)
            })
            .collect()
    }

    /// Something to call: the program after `steps` (what the user asked for) and `chain` (what a framework asks for).
    fn function(
        &self,
        py: Python<'_>,
        steps: Vec<(String, Vec<usize>)>,
        chain: Vec<(String, Vec<usize>, Vec<usize>)>,
    ) -> PyResult<PyFunction> {
        let steps = steps
            .into_iter()
            .map(|(what, wrt)| match what.as_str() {
                "grad" => Ok(Step::Derive(diff::Step::Grad(wrt))),
                "value_and_grad" => Ok(Step::Derive(diff::Step::ValueAndGrad(wrt))),
                "jacobian" => Ok(Step::Derive(diff::Step::Jacobian(wrt))),
                "hessian" => Ok(Step::Derive(diff::Step::Hessian(wrt))),
                "values" => Ok(Step::Values),
                // A scheme. The place of the time comes first, counted from 1; 0: there is none.
                name => {
                    let scheme = name.parse().map_err(|_| PyValueError::new_err(format!("`{what}` is no derivation")))?;
                    let (time, states) = wrt.split_first().ok_or_else(|| PyValueError::new_err("a step has states"))?;
                    Ok(Step::Advance { scheme, states: states.to_vec(), time: time.checked_sub(1) })
                }
            })
            .collect::<PyResult<_>>()?;
        let chain = chain
            .into_iter()
            .map(|(what, wrt, seeds)| match what.as_str() {
                "jvp" => Ok(Link::Jvp(wrt)),
                "vjp" => Ok(Link::Vjp { wrt, seeds }),
                _ => Err(PyValueError::new_err(format!("`{what}` is no link"))),
            })
            .collect::<PyResult<_>>()?;
        let names = self.0.program.inputs().iter().map(|i| PyString::intern(py, &i.name).unbind()).collect();
        Ok(PyFunction(Arc::new(Function::new(self.0.clone(), steps, chain)), names))
    }

    /// The text of the program that feeds this one's result into `outer`, into its input `name` or its only one.
    fn feed(&self, py: Python<'_>, outer: &PyCore, name: Option<&str>) -> PyResult<String> {
        let (inner, outer) = (&self.0.program, &outer.0.program);
        let made = match name {
            Some(name) => compose::feed(outer, name, inner),
            None => compose::chain(&[inner, outer]),
        };
        made.map(|p| p.source().to_string()).map_err(|e| compile_error(py, outer.source(), &e))
    }
}

/// A program or a derivative of one, to be called.
#[pyclass(name = "Function", module = "neural_compiler._native", frozen)]
pub(crate) struct PyFunction(pub(crate) Arc<Function>, Vec<Py<PyString>>);

impl PyFunction {
    /// Calls on NumPy arrays of one type; gives the results and the lanes that have none.
    fn on_arrays(
        &self,
        py: Python<'_>,
        inputs: &[Bound<'_, PyUntypedArray>],
        out: Option<Vec<Bound<'_, PyUntypedArray>>>,
        double: bool,
        how: How,
    ) -> PyResult<(Vec<Py<PyAny>>, Vec<LaneError>)> {
        for array in inputs {
            if array.dtype().kind() != b'f' {
                return Err(PyTypeError::new_err(format!("arrays of a floating-point type are expected, not of {}", array.dtype())));
            }
        }
        if double { call::call::<f64>(py, &self.0, inputs, out, how) } else { call::call::<f32>(py, &self.0, inputs, out, how) }
    }

    fn at(&self, py: Python<'_>, shapes: Option<Vec<Vec<i64>>>) -> PyResult<Arc<Variant>> {
        let core = &self.0.core;
        let shapes: Vec<Shape> = match shapes {
            Some(list) => list
                .iter()
                .map(|s| {
                    crate::buffers::views::shape_of(s)
                        .ok_or_else(|| PyValueError::new_err(format!("{s:?} is not the shape of a scalar, vector or matrix")))
                })
                .collect::<PyResult<_>>()?,
            None => {
                let graph = core.program.graph().map_err(|e| compile_error(py, core.program.source(), &e))?;
                graph.inputs.iter().map(|i| i.shape).collect()
            }
        };
        self.0.variant(py, &shapes)
    }
}

#[pymethods]
impl PyFunction {
    /// Calls on the arguments of a user's call: NumPy arrays of one type, and numbers; `out` takes the results. None for anything else.
    #[pyo3(signature = (args, kwargs, params, threads, out=None))]
    fn quick<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: &Bound<'py, PyDict>,
        params: &Bound<'py, PyDict>,
        threads: usize,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Option<Py<PyAny>>> {
        let found = quick::call(&self.0, &self.1, args, kwargs, params, out, How { threads, trap: false })?;
        found.map(|results| packed(py, results)).transpose()
    }

    /// Calls on NumPy arrays of one type, in the order of the inputs; gives the results.
    fn numpy(
        &self,
        py: Python<'_>,
        inputs: Vec<Bound<'_, PyUntypedArray>>,
        out: Option<Vec<Bound<'_, PyUntypedArray>>>,
        double: bool,
        threads: usize,
        trap: bool,
    ) -> PyResult<Vec<Py<PyAny>>> {
        let (results, failed) = self.on_arrays(py, &inputs, out, double, How { threads, trap })?;
        self.0.raise(py, &failed)?;
        Ok(results)
    }

    /// As `numpy`, but lanes without a result do not end the call: gives the results and the places of these lanes.
    fn kept(
        &self,
        py: Python<'_>,
        inputs: Vec<Bound<'_, PyUntypedArray>>,
        double: bool,
        threads: usize,
        trap: bool,
    ) -> PyResult<(Vec<Py<PyAny>>, Vec<usize>)> {
        let (results, failed) = self.on_arrays(py, &inputs, None, double, How { threads, trap })?;
        Ok((results, failed.iter().map(|f| f.lane).collect()))
    }

    /// Calls on PyTorch tensors of one type on the CPU, in the order of the inputs. None for anything else.
    fn torch<'py>(&self, py: Python<'py>, inputs: &Bound<'py, PyTuple>, threads: usize, trap: bool) -> PyResult<Option<Py<PyAny>>> {
        let found = on_tuple(py, &self.0, inputs, Reading { follow: &Places::default(), fitting: false }, How { threads, trap })?;
        found.map(|results| packed(py, results)).transpose()
    }

    /// As `torch`, but inputs in `follow` may be of another type than the others; remembered by autograd where gradients are asked for.
    /// None when a tracer, a mode or a transform looks on, too.
    fn plain<'py>(
        &self,
        py: Python<'py>,
        compiled: &Bound<'py, PyAny>,
        inputs: &Bound<'py, PyTuple>,
        follow: &PyPlaces,
    ) -> PyResult<Option<Py<PyAny>>> {
        match Gate::for_function(py)? {
            Some(gate) => remembered(py, gate, &self.0, compiled, inputs, &follow.0),
            None => Ok(None),
        }
    }

    /// The graph as JSON text (`neural_compiler::graph::json` has the schema), for the shapes given or pinned by the program; besides,
    /// the axes of the results and the text of the program.
    #[pyo3(signature = (shapes=None))]
    fn graph_json(&self, py: Python<'_>, shapes: Option<Vec<Vec<i64>>>) -> PyResult<String> {
        let variant = self.at(py, shapes)?;
        let mut found = json::to_json(&variant.derived.graph);
        found["result_axes"] = variant.derived.axes.iter().cloned().collect();
        found["source"] = self.0.core.program.source().into();
        Ok(found.to_string())
    }

    /// The graph as text.
    #[pyo3(signature = (shapes=None))]
    fn graph_text(&self, py: Python<'_>, shapes: Option<Vec<Vec<i64>>>) -> PyResult<String> {
        Ok(print::to_text(&self.at(py, shapes)?.derived.graph))
    }

    /// The graph as a drawing.
    #[pyo3(signature = (shapes=None))]
    fn svg(&self, py: Python<'_>, shapes: Option<Vec<Vec<i64>>>) -> PyResult<String> {
        Ok(svg::to_svg(&self.at(py, shapes)?.derived.graph))
    }

    /// The program as source for others: names and texts of files. `constants`: the value of each input that is to be one.
    #[pyo3(signature = (target, gradient, double, prefix, constants, shapes=None))]
    #[allow(clippy::too_many_arguments, reason = "Python's arguments")]
    fn export(
        &self,
        py: Python<'_>,
        target: &str,
        gradient: bool,
        double: bool,
        prefix: &str,
        constants: Vec<Option<Vec<f64>>>,
        shapes: Option<Vec<Vec<i64>>>,
    ) -> PyResult<Vec<(&'static str, Py<PyAny>)>> {
        let Some(target) = Target::named(target) else {
            let names: Vec<&str> = Target::ALL.iter().map(|t| t.name()).collect();
            return Err(PyValueError::new_err(format!("`{target}` is no target: one of {} is expected", names.join(", "))));
        };
        let variant = self.at(py, shapes)?;
        let source = self.0.core.program.source();
        let notes: Vec<String> = source.lines().map(str::to_string).collect();
        let dtype = if double { Dtype::F64 } else { Dtype::F32 };
        let program = &self.0.core.program;
        let (units, formula) = (&program.units().names, &program.latex());
        let limits = Limits::default();
        let request = Request { target, dtype, gradient, limits, notes: &notes, units, results: &[], formula, prefix, batch: true };
        let graph = with_constants(&variant.derived.graph, &constants);
        let files = export(&graph, &request).map_err(|e| compile_error(py, source, &e))?;
        let held = |f: &File| match f.as_text() {
            Some(text) => PyString::new(py, text).into_any().unbind(),
            None => PyBytes::new(py, &f.bytes).into_any().unbind(),
        };
        Ok(files.iter().map(|f| (f.name, held(f))).collect())
    }

    /// The bytes of the program as an ONNX model, with the axis of lanes in front or without. `constants` as for `export`.
    #[pyo3(signature = (double, batch, constants, shapes=None))]
    fn onnx<'py>(
        &self,
        py: Python<'py>,
        double: bool,
        batch: bool,
        constants: Vec<Option<Vec<f64>>>,
        shapes: Option<Vec<Vec<i64>>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let variant = self.at(py, shapes)?;
        let source = self.0.core.program.source();
        let axes = &variant.derived.axes;
        let name = |k: usize| if axes.len() == 1 { "result".to_string() } else { format!("result_{k}") };
        let results: Vec<(String, Vec<usize>)> = axes.iter().enumerate().map(|(k, axes)| (name(k), axes.clone())).collect();
        let dtype = if double { Dtype::F64 } else { Dtype::F32 };
        let graph = with_constants(&variant.derived.graph, &constants);
        let bytes =
            onnx(&graph, &OnnxWanted { dtype, batch, results: &results, doc: source }).map_err(|e| compile_error(py, source, &e))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The axes of each result.
    #[pyo3(signature = (shapes=None))]
    fn result_axes(&self, py: Python<'_>, shapes: Option<Vec<Vec<i64>>>) -> PyResult<Vec<Vec<usize>>> {
        Ok(self.at(py, shapes)?.derived.axes.clone())
    }

    /// The axes of each input: the program's, then tangents and cotangents.
    #[pyo3(signature = (shapes=None))]
    fn input_axes(&self, py: Python<'_>, shapes: Option<Vec<Vec<i64>>>) -> PyResult<Vec<Vec<i64>>> {
        Ok(self.at(py, shapes)?.inputs.clone())
    }

    /// For each result the input whose cotangent it is, if it is one; empty when none is.
    #[getter]
    fn likes(&self) -> Vec<Option<usize>> {
        self.0.likes()
    }

    /// What may leave the safe domain for inputs in these ranges.
    #[pyo3(signature = (ranges, double, shapes=None))]
    fn domain<'py>(
        &self,
        py: Python<'py>,
        ranges: Vec<Option<(f64, f64)>>,
        double: bool,
        shapes: Option<Vec<Vec<i64>>>,
    ) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let variant = self.at(py, shapes)?;
        let dtype = if double { Dtype::F64 } else { Dtype::F32 };
        let found = py.detach(|| domain::check(&variant.derived.graph, &ranges, dtype));
        findings(py, self.0.core.program.source(), &found)
    }
}
