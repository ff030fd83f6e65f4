//! Computed indices, number by number. In: elements and an index; out: the element of each lane, or the elements with one placed.
//! A lane whose index is no whole number in range makes the code give up: the lane engine then says which lane it is.

use super::ir::{Prim, Test, Value};
use super::tensor::number;
use super::translate::{Number, Translator};
use crate::ops::Op;

/// The most numbers to choose from; beyond that a tile's look at the index itself is faster.
pub(super) const MOST: usize = 64;

/// Where the index is each of its values, and where it is none although the lane counts.
fn places(t: &mut Translator<'_>, index: Number, length: usize, counts: Option<Value>) -> (Vec<Value>, Value) {
    let mut at = Vec::with_capacity(length);
    let mut somewhere: Option<Value> = None;
    for k in 0..length {
        let here = number(t, k as f64);
        let mask = t.op(Prim::Compare(Test::Equal), &[index.value, here.value]);
        somewhere = Some(somewhere.map_or(mask, |before| t.op(Prim::Either, &[before, mask])));
        at.push(mask);
    }
    let nowhere = match somewhere {
        Some(somewhere) => t.op(Prim::Not, &[somewhere]),
        None => t.op(Prim::Always, &[]),
    };
    (at, counts.map_or(nowhere, |counts| t.op(Prim::Both, &[nowhere, counts])))
}

/// The `size` numbers at an index.
pub(super) fn cut_at(t: &mut Translator<'_>, from: &[Number], index: Number, size: usize, counts: Option<Value>) -> Vec<Number> {
    let (at, nowhere) = places(t, index, from.len() / size, counts);
    let one = |t: &mut Translator<'_>, k: usize| {
        at.iter().enumerate().skip(1).fold(from[k].value, |x, (row, &mask)| t.op(Prim::Blend, &[mask, from[row * size + k].value, x]))
    };
    let chosen: Vec<Value> = (0..size).map(|k| one(t, k)).collect();
    refused(t, Op::CutAt, nowhere, &chosen)
}

/// `total` zeros, with numbers at an index.
pub(super) fn place_at(t: &mut Translator<'_>, numbers: &[Number], index: Number, total: usize, counts: Option<Value>) -> Vec<Number> {
    let (at, nowhere) = places(t, index, total / numbers.len(), counts);
    let mut placed = Vec::with_capacity(total);
    for mask in at {
        placed.extend(numbers.iter().map(|x| t.op(Prim::Keep, &[mask, x.value])));
    }
    refused(t, Op::PlaceAt, nowhere, &placed)
}

/// The numbers, which the code gives only if no lane is nowhere.
fn refused(t: &mut Translator<'_>, op: Op, nowhere: Value, numbers: &[Value]) -> Vec<Number> {
    let values: Vec<Value> = numbers.iter().map(|&x| t.op(Prim::Refuse, &[nowhere, x])).collect();
    t.refusals.push((op, values.clone()));
    values.into_iter().map(Number::loose).collect()
}
