//! Values that go into and come out of a program.

use crate::ops::real::Real;
use crate::shape::Shape;

/// Numbers with a shape, row by row.
#[derive(Clone, PartialEq, Debug)]
pub struct Tensor<T> {
    shape: Shape,
    data: Vec<T>,
}

impl<T: Real> Tensor<T> {
    /// Numbers with a shape; `None` when their number does not fit.
    pub fn new(shape: Shape, data: Vec<T>) -> Option<Tensor<T>> {
        (shape.len() == data.len()).then_some(Tensor { shape, data })
    }

    /// One number.
    pub fn scalar(x: T) -> Tensor<T> {
        Tensor { shape: Shape::Scalar, data: vec![x] }
    }

    /// A vector.
    pub fn vector(data: Vec<T>) -> Tensor<T> {
        Tensor { shape: Shape::Vector(data.len() as u32), data }
    }

    /// Rounds f64 numbers once.
    pub fn from_f64(shape: Shape, data: &[f64]) -> Option<Tensor<T>> {
        Tensor::new(shape, data.iter().map(|&x| T::from_f64(x)).collect())
    }

    /// Its shape.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Its numbers, row by row.
    pub fn data(&self) -> &[T] {
        &self.data
    }

    /// Its only number, when it is a scalar.
    pub fn as_scalar(&self) -> Option<T> {
        (self.shape == Shape::Scalar).then(|| self.data[0])
    }
}
