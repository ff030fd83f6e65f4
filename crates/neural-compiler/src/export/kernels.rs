//! Elementary functions as text, once for all languages that write them out from their kernels. In: a function of the math crate and a
//! language; out: the name of the function in the text, which has its definition then, slow path included.
//! Invariant: the text does what the kernel does, operation by operation; only the reduction of large angles is a piece of the language.

use super::record::{self, Listing};
use crate::ops::real::Dtype;
use neural_compiler_math::{Binary, Unary};

/// What a language must say to have its functions written out.
pub(super) trait Kernels {
    /// Whether a text of this name is there.
    fn has(&self, name: &str) -> bool;
    /// Adds a text under a name.
    fn add(&mut self, name: &str, text: String);
    /// What a function of the library is called.
    fn name(&self, function: &str, dtype: Dtype) -> String;
    /// A function of numbers of one type; `slow` is what it returns where the kernel is not to be trusted.
    fn definition(&mut self, name: &str, dtype: Dtype, listing: &Listing, params: &[&str], slow: Option<String>) -> String;
    /// An f32 as an f64.
    fn widened(&self, text: &str) -> String;
    /// An f64 as an f32.
    fn narrowed(&self, text: &str) -> String;
    /// The text of a function `name` of x that reduces a large angle and hands quadrant, rest in two words and sign to `reduced`.
    fn large(&mut self, name: &str, reduced: &str) -> String;
}

/// The name of a function of one argument whose kernel can be written down; its text is there then.
pub(super) fn unary(f: &'static Unary, dtype: Dtype, to: &mut dyn Kernels) -> Option<String> {
    let name = to.name(f.name, dtype);
    if to.has(&name) {
        return Some(name);
    }
    let listing = record::unary(f, dtype)?;
    let slow = match (listing.rare, dtype) {
        (None, _) => None,
        (Some(_), Dtype::F32) => {
            let wide = unary(f, Dtype::F64, to)?;
            Some(to.narrowed(&format!("{wide}({})", to.widened("x"))))
        }
        (Some(_), Dtype::F64) => Some(periodic(f, to)?),
    };
    let text = to.definition(&name, dtype, &listing, &["x"], slow);
    to.add(&name, text);
    Some(name)
}

/// The slow path of a sine, cosine or tangent, as an expression of `x`.
fn periodic(f: &'static Unary, to: &mut dyn Kernels) -> Option<String> {
    let base = to.name(f.name, Dtype::F64);
    let (reduced, large) = (format!("{base}_reduced"), format!("{base}_large"));
    if !to.has(&large) {
        let text = to.definition(&reduced, Dtype::F64, &record::from_reduced(f)?, &["q", "r", "lo", "sign"], None);
        to.add(&reduced, text);
        let text = to.large(&large, &reduced);
        to.add(&large, text);
    }
    Some(format!("{large}(x)"))
}

/// The same for a function of two arguments.
pub(super) fn binary(f: &'static Binary, dtype: Dtype, to: &mut dyn Kernels) -> Option<String> {
    let name = to.name(f.name, dtype);
    if to.has(&name) {
        return Some(name);
    }
    let listing = record::binary(f, dtype)?;
    let slow = match listing.rare {
        None => None,
        Some(_) => {
            let slow = format!("{}_slow", to.name(f.name, Dtype::F64));
            if !to.has(&slow) {
                let text = to.definition(&slow, Dtype::F64, &record::slow(f)?, &["x", "y"], None);
                to.add(&slow, text);
            }
            let wide = |name: &str| if dtype == Dtype::F32 { to.widened(name) } else { name.to_string() };
            let call = format!("{slow}({}, {})", wide("x"), wide("y"));
            Some(if dtype == Dtype::F32 { to.narrowed(&call) } else { call })
        }
    };
    let text = to.definition(&name, dtype, &listing, &["x", "y"], slow);
    to.add(&name, text);
    Some(name)
}
