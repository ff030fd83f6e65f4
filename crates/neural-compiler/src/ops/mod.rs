//! Operations: `table` (the rows), `row` (what a row says), `kernels`, `lu`, `band`, `recent` and the math crate (computation), `rules`,
//! `special` and `grid` (derivatives and lowering), `domain`, `bound` and `interval` (where they are defined and what they can give),
//! `real` (the number types), `recorder` (kernels as lists of what they do), `units` (what they make of units), `work` (what they cost).

mod band;
pub mod block;
pub mod bound;
pub mod domain;
pub(crate) mod grid;
pub mod interval;
mod kernels;
pub(crate) mod lu;
pub mod real;
mod recent;
pub(crate) mod recorder;
pub mod row;
mod rules;
mod special;
mod table;
pub mod units;
pub mod work;

pub(crate) use kernels::MINORS;
pub(crate) use lu::{LARGE as LARGE_FACTORS, OWN as OWN_FACTORS};
pub use row::{Arity, Derivative, Group, Kernel, Row};
pub use table::Op;

use rustc_hash::FxHashMap;
use std::sync::OnceLock;

/// A name users can apply: one or more operations, told apart by the number of arguments.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Surface(u16);

struct SurfaceEntry {
    name: &'static str,
    ops: Vec<Op>,
}

struct SurfaceTable {
    entries: Vec<SurfaceEntry>,
    by_name: FxHashMap<&'static str, Surface>,
}

fn surfaces() -> &'static SurfaceTable {
    static TABLE: OnceLock<SurfaceTable> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut table = SurfaceTable { entries: Vec::new(), by_name: FxHashMap::default() };
        for &op in Op::ALL {
            let row = op.row();
            if !row.has_surface() {
                continue;
            }
            for &name in std::iter::once(&row.name).chain(row.aliases) {
                let next = Surface(table.entries.len() as u16);
                let surface = *table.by_name.entry(name).or_insert(next);
                if surface == next {
                    table.entries.push(SurfaceEntry { name, ops: Vec::new() });
                }
                table.entries[surface.0 as usize].ops.push(op);
            }
        }
        table
    })
}

/// The operations behind a name.
pub fn surface(name: &str) -> Option<Surface> {
    surfaces().by_name.get(name).copied()
}

/// Every name users can apply.
pub fn surface_names() -> impl Iterator<Item = &'static str> {
    surfaces().entries.iter().map(|e| e.name)
}

impl Surface {
    fn entry(self) -> &'static SurfaceEntry {
        &surfaces().entries[self.0 as usize]
    }

    /// The name.
    pub fn name(self) -> &'static str {
        self.entry().name
    }

    /// The operation for so many arguments.
    pub fn op(self, arguments: usize) -> Option<Op> {
        self.entry().ops.iter().copied().find(|op| op.row().arity.admits(arguments))
    }

    /// `Err` says in words how many arguments would be right.
    pub(crate) fn check_arity(self, arguments: usize) -> Result<(), String> {
        if self.op(arguments).is_some() {
            return Ok(());
        }
        let (mut least, mut most) = (usize::MAX, 0);
        for op in &self.entry().ops {
            let (a, b) = match op.row().arity {
                Arity::Exactly(k) => (k, k),
                Arity::Between(a, b) => (a, b),
                Arity::AtLeast(k) | Arity::Fold(k, _) => (k, usize::MAX),
                Arity::Chain => (1, usize::MAX),
            };
            least = least.min(a);
            most = most.max(b);
        }
        Err(match (least, most) {
            (a, b) if a == b => count(a, "argument"),
            (a, usize::MAX) => format!("at least {}", count(a, "argument")),
            (a, b) => format!("{a} to {}", count(b, "argument")),
        })
    }

    /// How it is written.
    pub(crate) fn usage(self) -> String {
        self.entry().ops.iter().map(|op| op.row().usage).collect::<Vec<_>>().join(" or ")
    }
}

/// `1 argument`, `2 arguments`.
pub(crate) fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}
