//! What a row of the table says about an operation. In: nothing; out: the types `table` fills in and everyone else reads.

use crate::graph::{Builder, NodeId};
use crate::ops::block::Block;
use crate::ops::bound::Bound;
use crate::ops::domain::Domain;
use crate::ops::interval::Interval;
use crate::ops::real::Real;
use crate::ops::units::UnitRule;
use crate::shape::Shape;
use neural_compiler_math as math;

/// Where an operation stands in the documentation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Group {
    /// Sums, products and their kin.
    Arithmetic,
    /// Functions of analysis.
    Functions,
    /// Gamma, the normal distribution and their kin.
    Special,
    /// Comparison and logic.
    Comparison,
    /// Choice.
    Conditional,
    /// Vectors.
    Vector,
    /// Matrices.
    Matrix,
}

impl Group {
    /// Its title.
    pub fn name(self) -> &'static str {
        match self {
            Group::Arithmetic => "arithmetic",
            Group::Functions => "functions",
            Group::Special => "special functions",
            Group::Comparison => "comparison, logic",
            Group::Conditional => "conditional",
            Group::Vector => "vector",
            Group::Matrix => "matrix",
        }
    }
}

/// How many arguments the surface form takes, and what becomes of many.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Arity {
    /// Just so many.
    Exactly(usize),
    /// From so many to so many.
    Between(usize, usize),
    /// So many or more, all handed on.
    AtLeast(usize),
    /// So many or more, combined from the left two at a time; without any, the identity.
    Fold(usize, f64),
    /// Two or more: every neighbouring pair must hold (one argument: true).
    Chain,
}

impl Arity {
    /// Whether it takes `n` arguments.
    pub fn admits(self, n: usize) -> bool {
        match self {
            Arity::Exactly(k) => n == k,
            Arity::Between(a, b) => (a..=b).contains(&n),
            Arity::AtLeast(k) | Arity::Fold(k, _) => n >= k,
            Arity::Chain => n >= 1,
        }
    }
}

/// A pattern for one shape; equal numbers must be equal lengths.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pat {
    /// A scalar.
    S,
    /// A vector of a named length.
    V(Len),
    /// A matrix of named lengths.
    M(Len, Len),
    /// Anything; equal numbers, equal shapes.
    Any(u8),
}

/// A length in a pattern.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Len {
    /// The same wherever the number is the same.
    N(u8),
    /// Exactly this.
    Is(u32),
}

/// How the shape of the result follows from the shapes of the arguments.
#[derive(Clone, Copy, Debug)]
pub enum ShapeRule {
    /// Elementwise: scalars combine with anything, other shapes only with their like.
    Elementwise,
    /// By pattern.
    Pattern(&'static [Pat], Pat),
    /// What no pattern can say.
    Special(Special),
    /// Chosen by the compiler when it makes the node.
    Given,
}

impl ShapeRule {
    /// Whether the shapes of the arguments decide; else constants or the number of arguments do, and the lowering knows.
    pub fn is_by_shapes(self) -> bool {
        match self {
            ShapeRule::Elementwise | ShapeRule::Pattern(..) | ShapeRule::Special(Special::Solve | Special::Product) => true,
            ShapeRule::Special(
                Special::Stack
                | Special::Rows
                | Special::Ref
                | Special::Slice
                | Special::Concat
                | Special::Square
                | Special::Sized
                | Special::Fill
                | Special::Grid
                | Special::Place,
            )
            | ShapeRule::Given => false,
        }
    }
}

/// Shapes no pattern can say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Special {
    /// `vec`: scalars to a vector, vectors to the rows of a matrix.
    Stack,
    /// `mat`: vectors to the rows of a matrix.
    Rows,
    /// `ref`.
    Ref,
    /// `slice`.
    Slice,
    /// `concat`.
    Concat,
    /// `solve`: the shape of the right-hand side.
    Solve,
    /// A matrix times a matrix or a vector.
    Product,
    /// `eye n`.
    Square,
    /// `zeros n`, `zeros r c`, `ones …`.
    Sized,
    /// `fill x n`, `fill x r c`.
    Fill,
    /// `linspace a b n`.
    Grid,
    /// `interpolate u a b x`.
    Place,
}

/// An argument of a tensor kernel.
#[derive(Clone, Copy)]
pub struct Operand<'a, T> {
    /// Its numbers, row by row.
    pub data: &'a [T],
    /// Its shape.
    pub shape: Shape,
}

/// Why a kernel has no result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KernelError {
    /// A computed index is no whole number inside the value.
    IndexOutOfRange,
}

/// A kernel on whole values: arguments, the node's attribute, shape and place of the result.
pub type TensorFn<T> = fn(&[Operand<'_, T>], u32, Shape, &mut [T]) -> Result<(), KernelError>;

/// The same kernel for every number type.
#[derive(Clone, Copy)]
pub struct TensorKernel {
    /// For f32.
    pub f32: TensorFn<f32>,
    /// For f64.
    pub f64: TensorFn<f64>,
    /// On blocks of f32 lanes; `None` for kernels that need more than sums and products.
    pub lanes32: Option<TensorFn<Block<f32>>>,
    /// On blocks of f64 lanes.
    pub lanes64: Option<TensorFn<Block<f64>>>,
    /// On intervals of f32.
    pub i32: TensorFn<Interval<f32>>,
    /// On intervals of f64.
    pub i64: TensorFn<Interval<f64>>,
}

/// How an operation is computed.
#[derive(Clone, Copy)]
pub enum Kernel {
    /// Elementwise, one argument.
    Unary(&'static math::Unary),
    /// Elementwise, two arguments.
    Binary(&'static math::Binary),
    /// Elementwise, three arguments.
    Ternary(&'static math::Ternary),
    /// Elementwise `test ? a : b`, all three already computed.
    Select,
    /// On whole values.
    Tensor(TensorKernel),
    /// Made of other operations while the graph is built; never a node itself.
    Composite(Lower),
}

/// Lowers a surface operation into nodes. `Err` is a message; the caller knows the place.
pub type Lower = fn(&mut Builder, &[NodeId]) -> Result<NodeId, LowerError>;

/// What is wrong with an application, without its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LowerError {
    /// Stable code.
    pub code: &'static str,
    /// One sentence.
    pub message: String,
}

impl LowerError {
    /// An error.
    pub fn new(code: &'static str, message: impl Into<String>) -> LowerError {
        LowerError { code, message: message.into() }
    }
}

/// An application whose derivative is wanted.
pub struct Applied<'a> {
    /// Arguments.
    pub args: &'a [NodeId],
    /// Result.
    pub out: NodeId,
    /// The node's attribute.
    pub attr: u32,
}

/// Tangent of the result from the tangents of the arguments. `None`: zero by structure.
pub type Jvp = fn(&mut Builder, &Applied<'_>, &[Option<NodeId>]) -> Option<NodeId>;

/// Cotangents of the arguments from the cotangent of the result. `None`: zero by structure.
pub type Vjp = fn(&mut Builder, &Applied<'_>, NodeId) -> Vec<Option<NodeId>>;

/// How an operation is differentiated.
#[derive(Clone, Copy)]
pub enum Derivative {
    /// Zero wherever it exists.
    Zero,
    /// Elementwise: the partial derivative with respect to each argument, as nodes.
    Partials(fn(&mut Builder, &[NodeId], NodeId) -> Vec<NodeId>),
    /// By explicit rules.
    Rules(Jvp, Vjp),
    /// That of the operations it is made of.
    OfParts,
}

/// One operation: everything anybody needs to know about it.
pub struct Row {
    /// Surface name; operations without surface have a name that starts with @.
    pub name: &'static str,
    /// Further names.
    pub aliases: &'static [&'static str],
    /// Group in the documentation.
    pub group: Group,
    /// Number of arguments.
    pub arity: Arity,
    /// Shape of the result.
    pub shape: ShapeRule,
    /// Computation.
    pub kernel: Kernel,
    /// Derivative.
    pub derivative: Derivative,
    /// What it makes of units.
    pub units: UnitRule,
    /// Where it is defined.
    pub domain: Domain,
    /// How it maps intervals.
    pub bound: Bound,
    /// Usage, as in `(atan y x)`.
    pub usage: &'static str,
    /// What it does, in a phrase.
    pub doc: &'static str,
    /// Its derivative, in words for people.
    pub derivative_doc: &'static str,
    /// Scalar arguments that probe it, hard cases included; tensor operations are probed by shapes instead.
    pub probes: &'static [&'static [f64]],
    /// `(i, x)`: when argument `i` is the constant `x`, the result is the other argument, bit for bit, for every number.
    pub neutral: &'static [(usize, f64)],
    /// One of the paper's 51.
    pub paper: bool,
}

impl Row {
    /// Whether it applies element by element.
    pub fn is_elementwise(&self) -> bool {
        matches!(self.kernel, Kernel::Unary(_) | Kernel::Binary(_) | Kernel::Ternary(_) | Kernel::Select)
    }

    /// Whether users can write it.
    pub fn has_surface(&self) -> bool {
        !self.name.starts_with('@')
    }
}

/// Computes an elementwise scalar application.
pub(crate) fn apply_scalar<T: Real>(kernel: &Kernel, args: &[T]) -> T {
    match kernel {
        Kernel::Unary(f) => T::unary(f, args[0]),
        Kernel::Binary(f) => T::binary(f, args[0], args[1]),
        Kernel::Ternary(f) => T::ternary(f, args[0], args[1], args[2]),
        Kernel::Select => {
            if args[0] != T::ZERO {
                args[1]
            } else {
                args[2]
            }
        }
        Kernel::Tensor(_) | Kernel::Composite(_) => unreachable!("not an elementwise operation"),
    }
}
