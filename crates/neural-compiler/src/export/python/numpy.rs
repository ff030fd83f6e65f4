//! NumPy's way of writing operations.

use super::number;
use super::operations::Writer;
use super::statements::Spelling;
use crate::export::spell::bare;
use crate::export::structured::Named;
use crate::ops::Op;
use crate::shape::Shape;

/// NumPy, in f64 or f32.
pub(super) struct Numpy<'w> {
    pub(super) writer: &'w mut Writer,
    pub(super) single: bool,
}

impl Spelling for Numpy<'_> {
    fn constant(&mut self, x: f64) -> String {
        // Beside an f32 a constant of Python is one of f64 in older versions of NumPy.
        if self.single { format!("real({})", bare(&number(x))) } else { number(x) }
    }

    fn scalar(&mut self, op: Op, args: &[String]) -> String {
        let mut args = args.to_vec();
        // Python's own numbers raise where NumPy's give an infinity or NaN.
        if args.iter().all(|a| a.trim_matches(['(', ')', '-']).parse::<f64>().is_ok()) {
            args[0] = format!("real({})", bare(&args[0]));
        }
        self.writer.elementwise(op, &args).expect("operations without a text are refused before")
    }

    fn whole(&mut self, to: &Named, op: Op, attribute: u32, args: &[Named]) -> String {
        self.writer.tensor(op, attribute, to, args).unwrap_or_else(|| {
            let texts: Vec<String> = args.iter().map(|a| a.text.clone()).collect();
            self.scalar(op, &texts)
        })
    }

    fn input(&self, name: &str, shape: Shape) -> String {
        if shape == Shape::Scalar { format!("{name} = real({name})") } else { format!("{name} = np.asarray({name}, real)") }
    }

    fn result(&self, text: &str, shape: Shape) -> String {
        if shape == Shape::Scalar { format!("real({})", bare(text)) } else { format!("np.asarray({text}, real)") }
    }

    fn around(&self) -> Option<&'static str> {
        Some("with np.errstate(all=\"ignore\"):")
    }
}
