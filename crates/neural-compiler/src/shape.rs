//! Shapes: scalar, vector(n), matrix(r, c). Static, known before anything runs.

/// The shape of a value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Shape {
    /// One number.
    Scalar,
    /// So many numbers.
    Vector(u32),
    /// Rows and columns, stored row by row.
    Matrix(u32, u32),
}

impl Shape {
    /// How many numbers it holds.
    pub fn len(self) -> usize {
        match self {
            Shape::Scalar => 1,
            Shape::Vector(n) => n as usize,
            Shape::Matrix(r, c) => r as usize * c as usize,
        }
    }

    /// Whether it holds no number at all.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The lengths of its axes, as NumPy would give them.
    pub fn dims(self) -> Vec<usize> {
        match self {
            Shape::Scalar => vec![],
            Shape::Vector(n) => vec![n as usize],
            Shape::Matrix(r, c) => vec![r as usize, c as usize],
        }
    }
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Shape::Scalar => write!(f, "scalar"),
            Shape::Vector(n) => write!(f, "vector({n})"),
            Shape::Matrix(r, c) => write!(f, "matrix({r},{c})"),
        }
    }
}
