//! Weights of nets as a safetensors file. In: fitted values; out: the bytes of a file, and back, to the bit.
//! Invariants: every weight is a tensor of f64 called as in the program (`drag.w0`: outputs by inputs, `drag.b0`: outputs); what a model
//! needs and a file lacks, or holds in another shape or type, is an error that names it.

use crate::model::layout::Values;
use neural_compiler::syntax::ast::InputKind;
use neural_compiler::{Diagnostic, Program, Shape};
use safetensors::{Dtype, SafeTensors, tensor::TensorView};

fn error(message: String) -> Diagnostic {
    Diagnostic::error("bad-weights", Default::default(), message)
}

/// The weights a program needs: their names and shapes.
pub fn needed(program: &Program) -> Vec<(String, Shape)> {
    let weights = program.inputs().iter().filter(|i| matches!(i.kind, InputKind::Weight { .. }));
    weights.map(|i| (i.name.clone(), i.shape.unwrap_or(Shape::Scalar))).collect()
}

fn sizes(shape: Shape) -> Vec<usize> {
    match shape {
        Shape::Scalar => vec![],
        Shape::Vector(n) => vec![n as usize],
        Shape::Matrix(r, c) => vec![r as usize, c as usize],
    }
}

/// The file with a program's weights; `None` for a program without nets.
pub fn to_bytes(program: &Program, values: &Values) -> Result<Option<Vec<u8>>, Diagnostic> {
    let mut bytes: Vec<(String, Shape, Vec<u8>)> = Vec::new();
    for (name, shape) in needed(program) {
        let found = values
            .iter()
            .find(|v| v.0 == name && v.1 == shape)
            .ok_or_else(|| error(format!("there is no value for the weight `{name}`")))?;
        bytes.push((name, shape, found.2.iter().flat_map(|x| x.to_le_bytes()).collect()));
    }
    if bytes.is_empty() {
        return Ok(None);
    }
    let views = bytes.iter().map(|(name, shape, data)| Ok((name.as_str(), TensorView::new(Dtype::F64, sizes(*shape), data)?)));
    let views = views.collect::<Result<Vec<_>, safetensors::SafeTensorError>>().map_err(|e| error(e.to_string()))?;
    safetensors::serialize(views, None).map(Some).map_err(|e| error(e.to_string()))
}

/// A program's weights from a file.
pub fn from_bytes(program: &Program, bytes: &[u8]) -> Result<Values, Diagnostic> {
    let file = SafeTensors::deserialize(bytes).map_err(|e| error(format!("this is no safetensors file: {e}")))?;
    let one = |(name, shape): (String, Shape)| {
        let tensor = file.tensor(&name).map_err(|_| error(format!("the file has no weight `{name}`")))?;
        if tensor.dtype() != Dtype::F64 || tensor.shape() != sizes(shape) {
            let message = format!(
                "the weight `{name}` is a {shape} of f64 in the model, in the file it is {:?} of {:?}",
                tensor.shape(),
                tensor.dtype()
            );
            return Err(error(message));
        }
        let numbers: Vec<f64> = tensor.data().as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect();
        match numbers.iter().all(|x| x.is_finite()) {
            true => Ok((name, shape, numbers)),
            false => Err(error(format!("the weight `{name}` has a number that is not finite"))),
        }
    };
    needed(program).into_iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back_to_the_bit() {
        let program = neural_compiler::compile("(net f (x y) 2 1) (f a b)", &Default::default()).unwrap();
        let mut k = 0.1f64;
        let mut next = || {
            k = -1.7 * k + 1e-17;
            k
        };
        let values: Values = needed(&program).into_iter().map(|(n, s)| (n, s, (0..s.len()).map(|_| next()).collect())).collect();
        let bytes = to_bytes(&program, &values).unwrap().unwrap();
        assert_eq!(from_bytes(&program, &bytes).unwrap(), values);
        assert_eq!(from_bytes(&program, &bytes[..20]).unwrap_err().code, "bad-weights");
        let other = neural_compiler::compile("(net f (x y) 3 1) (f a b)", &Default::default()).unwrap();
        assert!(from_bytes(&other, &bytes).unwrap_err().message.contains("`f.w0`"));
        let plain = neural_compiler::compile("(* 2 x)", &Default::default()).unwrap();
        assert_eq!(to_bytes(&plain, &vec![]).unwrap(), None);
    }
}
