//! Operations of the table, each giving a value of the shape asked for; in safe programs every argument is kept in the domain its row
//! states. There is no list of names here: a new row is written as soon as it is in the table.

use super::rows::{self, Bound, Manner};
use super::typed::{SCALAR, Sort, Writer};
use neural_compiler::Shape;
use neural_compiler::ops::domain::Domain;
use neural_compiler::ops::row::{Kernel, Pat, ShapeRule, Special};
use neural_compiler::ops::units::UnitRule;
use neural_compiler::ops::{Arity, Group, Row};

/// Numbers of arguments of operations that take any number end here.
const MOST_ARGUMENTS: usize = 3;

impl Writer {
    /// A row that nothing shadows, out of several.
    fn row(&mut self, from: Vec<&'static Row>) -> Option<&'static Row> {
        let usable: Vec<&Row> = from.into_iter().filter(|row| !self.scope.is_bound(row.name)).collect();
        (!usable.is_empty()).then(|| usable[self.rng.usize(..usable.len())])
    }

    /// One of the names of a row.
    fn name(&mut self, row: &'static Row) -> &'static str {
        let other = row.aliases.iter().find(|alias| !self.scope.is_bound(alias));
        match other {
            Some(alias) if self.rng.bool() => alias,
            _ => row.name,
        }
    }

    pub(crate) fn operation(&mut self, shape: Shape, d: u32) -> String {
        let whole = if shape == SCALAR { 3 } else { 6 };
        let row = if self.rng.u32(..10) < whole { self.row(rows::whole(shape)) } else { None };
        match row {
            Some(row) => self.whole(row, shape, d),
            None => self.elementwise(shape, d),
        }
    }

    fn elementwise(&mut self, shape: Shape, d: u32) -> String {
        let group = match self.rng.u32(..20) {
            0..=8 => Group::Arithmetic,
            9..=15 => Group::Functions,
            16..=17 => Group::Special,
            18 => Group::Comparison,
            _ => Group::Conditional,
        };
        let mut rows = rows::elementwise(group);
        // What programs are mostly made of is what has a neutral element: sums, products and their opposites.
        if group == Group::Arithmetic && self.chance(2) {
            rows.retain(|row| !row.neutral.is_empty());
        }
        match self.row(rows) {
            Some(row) => self.apply(row, shape, d),
            None => format!("(+ {} 1)", self.expr(shape, d)),
        }
    }

    /// An elementwise application: one argument has the shape, the others have it too or are scalars.
    fn apply(&mut self, row: &'static Row, shape: Shape, d: u32) -> String {
        let count = match row.arity {
            Arity::Exactly(k) => k,
            Arity::Between(a, b) => self.rng.usize(a..=b),
            Arity::AtLeast(k) | Arity::Fold(k, _) => self.rng.usize(k.max(1)..=MOST_ARGUMENTS),
            Arity::Chain => self.rng.usize(2..=MOST_ARGUMENTS),
        };
        // Bounds and exponents may be numbers, so the first argument has the shape.
        let first = row.domain == Domain::Power || row.group == Group::Conditional && !matches!(row.kernel, Kernel::Select);
        let lead = if first { 0 } else { self.rng.usize(..count) };
        let name = self.name(row);
        let mut text = format!("({name}");
        for i in 0..count {
            let shape = if i == lead || !self.chance(3) { shape } else { SCALAR };
            let argument = self.argument(row, i, count, shape, d);
            text += &format!(" {argument}");
        }
        text + ")"
    }

    /// An argument; in safe programs one at which the row is defined, smooth enough and of ordinary size.
    fn argument(&mut self, row: &'static Row, i: usize, count: usize, shape: Shape, d: u32) -> String {
        if i == 0 && matches!(row.kernel, Kernel::Select) {
            return match self.row(rows::elementwise(Group::Comparison)) {
                Some(test) => self.apply(test, shape, d),
                None => self.expr(shape, d),
            };
        }
        if row.domain == Domain::Power && i == 1 && self.chance(2) {
            return self.rng.i32(-2..4).to_string();
        }
        if !self.safe {
            return self.expr(shape, d);
        }
        match row.domain {
            // Bounds in order, which no domain says.
            Domain::All if row.group == Group::Conditional && !matches!(row.kernel, Kernel::Select) && i > 0 => {
                format!("{}", self.moderate() + if i == 1 { -1.5 } else { 1.5 })
            }
            Domain::All if matches!(row.group, Group::Arithmetic | Group::Comparison | Group::Conditional) => self.expr(shape, d),
            Domain::All if count == 1 => match rows::manner(row) {
                Manner::Plain => self.expr(shape, d),
                Manner::Tame => self.tame(shape, d),
                Manner::Positive => self.positive(shape, d),
            },
            Domain::All if i + 1 == count => self.positive(shape, d),
            Domain::All => self.tame(shape, d),
            Domain::NonNegative | Domain::Positive | Domain::AboveMinusOne | Domain::GammaPoles | Domain::NonZero => {
                self.positive(shape, d)
            }
            Domain::BothPositive | Domain::Incomplete => self.positive(shape, d),
            Domain::IncompleteBeta if i < 2 => self.positive(shape, d),
            Domain::IncompleteBeta => format!("(+ 0.5 (* 0.4 {}))", self.tame(shape, d)),
            Domain::Unit => format!("(* 0.8 {})", self.tame(shape, d)),
            Domain::OpenUnit => format!("(+ 0.5 (* 0.4 {}))", self.tame(shape, d)),
            Domain::Divisor if i == 0 => self.expr(shape, d),
            Domain::Divisor => self.positive(shape, d),
            Domain::Power if i == 0 => self.positive(shape, d),
            Domain::Power => self.tame(shape, d),
            Domain::LogBase if i == 0 => self.positive(shape, d),
            Domain::LogBase => format!("(+ 1.3 {})", self.positive(shape, d)),
            Domain::Widths if i == 0 => self.tame(shape, d),
            Domain::Widths => self.positive(shape, d),
            // Of operations on whole values.
            Domain::Invertible | Domain::Index | Domain::Grid => self.expr(shape, d),
        }
    }

    /// An index below a length: constant, or computed from a loop index.
    fn index(&mut self, length: u32, d: u32) -> String {
        let indices = self.scope.values(&Sort::Index);
        if !indices.is_empty() && self.chance(2) {
            let i = indices[self.rng.usize(..indices.len())].clone();
            return format!("(modulo {i} {length})");
        }
        if !self.safe && self.chance(8) {
            return self.expr(SCALAR, d);
        }
        self.rng.u32(..length).to_string()
    }

    /// An application of an operation on whole values that gives one of the shape.
    fn whole(&mut self, row: &'static Row, shape: Shape, d: u32) -> String {
        match row.shape {
            ShapeRule::Pattern(patterns, out) => self.by_pattern(row, patterns, out, shape, d),
            ShapeRule::Special(special) => self.special(row, special, shape, d),
            ShapeRule::Elementwise | ShapeRule::Given => unreachable!("`{}` is not offered here", row.name),
        }
    }

    fn by_pattern(&mut self, row: &'static Row, patterns: &[Pat], out: Pat, shape: Shape, d: u32) -> String {
        let mut bound = Bound::default();
        bound.learn(out, shape);
        let name = self.name(row);
        let mut text = format!("({name}");
        for (k, &pattern) in patterns.iter().enumerate() {
            let some = self.shape();
            let (first, second) = (self.rng.u32(1..4), self.rng.u32(1..4));
            let mut lengths = [first, second].into_iter();
            let shape = bound.shape(pattern, || lengths.next().unwrap_or(2), || some);
            let argument = match (row.domain, shape) {
                (Domain::Invertible, Shape::Matrix(n, _)) => self.invertible(n, d),
                (Domain::NonZero, Shape::Vector(n)) if self.safe => {
                    let away: Vec<&str> = (0..n).map(|i| ["1.5", "-1.7", "2.1"][i as usize % 3]).collect();
                    format!("(+ [{}] (sin {}))", away.join(" "), self.expr(shape, d))
                }
                // The step of a grid, which differences are divided by.
                (_, Shape::Scalar) if self.safe && k == 3 && matches!(row.units, UnitRule::Differences(_)) => self.positive(shape, d),
                _ => self.expr(shape, d),
            };
            text += &format!(" {argument}");
        }
        text + ")"
    }

    /// A square matrix; in safe programs far from singular.
    fn invertible(&mut self, n: u32, d: u32) -> String {
        let square = Shape::Matrix(n, n);
        if self.safe { format!("(+ (* 3 (eye {n})) (sin {}))", self.expr(square, d)) } else { self.expr(square, d) }
    }

    fn special(&mut self, row: &'static Row, special: Special, shape: Shape, d: u32) -> String {
        let name = self.name(row);
        let sizes = match shape {
            Shape::Scalar => String::new(),
            Shape::Vector(n) => format!("{n}"),
            Shape::Matrix(r, c) => format!("{r} {c}"),
        };
        match (special, shape) {
            (Special::Stack | Special::Rows, _) => {
                let (count, part) = match shape {
                    Shape::Matrix(r, c) => (r, Shape::Vector(c)),
                    Shape::Vector(n) => (n, SCALAR),
                    Shape::Scalar => (1, SCALAR),
                };
                let items: Vec<String> = (0..count).map(|_| self.expr(part, d)).collect();
                if self.chance(2) { format!("({name} {})", items.join(" ")) } else { format!("[{}]", items.join(" ")) }
            }
            (Special::Ref, Shape::Vector(n)) => {
                let r = self.rng.u32(1..4);
                format!("({name} {} {})", self.expr(Shape::Matrix(r, n), d), self.index(r, d))
            }
            (Special::Ref, _) => {
                let n = self.rng.u32(2..4);
                if self.chance(2) {
                    format!("({name} {} {})", self.expr(Shape::Vector(n), d), self.index(n, d))
                } else {
                    format!("({name} {} {} {})", self.expr(Shape::Matrix(n, n), d), self.index(n, d), self.index(n, d))
                }
            }
            (Special::Slice, _) => {
                let (n, from) = (shape.len() as u32, self.rng.u32(..3));
                format!("({name} {} {from} {})", self.expr(Shape::Vector(n + 2), d), from + n)
            }
            (Special::Concat, _) => {
                let n = shape.len() as u32;
                let first = self.rng.u32(1..n.max(2));
                let (a, b) = (
                    self.expr(Shape::Vector(first), d),
                    if n - first == 1 { self.expr(SCALAR, d) } else { self.expr(Shape::Vector(n - first), d) },
                );
                format!("({name} {a} {b})")
            }
            (Special::Solve, _) => {
                let n = match shape {
                    Shape::Vector(n) | Shape::Matrix(n, _) => n,
                    Shape::Scalar => 1,
                };
                format!("({name} {} {})", self.invertible(n, d), self.expr(shape, d))
            }
            (Special::Product, _) => unreachable!("users cannot write `{name}`"),
            (Special::Square, _) => format!("({name} {})", sizes.split(' ').next().unwrap_or_default()),
            // Constants alone would make dull programs.
            (Special::Sized, _) => format!("(+ ({name} {sizes}) {})", self.expr(SCALAR, d)),
            (Special::Fill, _) => format!("({name} {} {sizes})", self.expr(SCALAR, d)),
            (Special::Grid, _) => format!("({name} {} {} {sizes})", self.expr(SCALAR, d), self.expr(SCALAR, d)),
            // A place on the grid wherever the number drawn is one: at none, every executor fails.
            (Special::Place, _) => {
                let n = self.rng.u32(2..5);
                let (values, at) = (self.expr(Shape::Vector(n), d), self.expr(SCALAR, d));
                format!("({name} {values} 0 1 (sigmoid {at}))")
            }
        }
    }
}
