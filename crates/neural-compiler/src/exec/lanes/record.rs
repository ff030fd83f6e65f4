//! What a forward run over a tile stores for the backward run.

use super::memory::{Base, Memory};
use crate::ops::real::Real;
use crate::tape::{Place, Rate};
use std::rc::Rc;

/// A stored value: one number each when uniform, the lanes of each when varying; or a record.
#[derive(Clone)]
pub(super) enum Stored<T> {
    Numbers(Box<[T]>, Rate),
    Record(Rc<Record<T>>),
}

/// What one round of a loop stored, and which lanes were in it (`None`: those of the loop itself).
pub(super) struct Round<T> {
    pub(super) values: Vec<Stored<T>>,
    pub(super) mask: Option<Rc<[bool]>>,
}

/// Values stored by a forward run.
pub(super) enum Record<T> {
    Packed(Vec<Stored<T>>),
    Rounds(Vec<Round<T>>),
    /// The records of the two branches of a choice; a branch no lane took has none.
    Choice(Option<Rc<Record<T>>>, Option<Rc<Record<T>>>),
}

impl<T> Drop for Record<T> {
    /// Frees a chain of records (one per recursive call) without recursion.
    fn drop(&mut self) {
        fn take<T>(r: &mut Record<T>, work: &mut Vec<Rc<Record<T>>>) {
            let records = |values: &mut Vec<Stored<T>>, work: &mut Vec<Rc<Record<T>>>| {
                work.extend(values.drain(..).filter_map(|v| if let Stored::Record(r) = v { Some(r) } else { None }));
            };
            match r {
                Record::Packed(values) => records(values, work),
                Record::Rounds(rounds) => rounds.iter_mut().for_each(|round| records(&mut round.values, work)),
                Record::Choice(a, b) => work.extend(a.take().into_iter().chain(b.take())),
            }
        }
        let mut work = Vec::new();
        take(self, &mut work);
        while let Some(rc) = work.pop() {
            if let Ok(mut record) = Rc::try_unwrap(rc) {
                take(&mut record, &mut work);
            }
        }
    }
}

impl<T: Real> Memory<T> {
    /// A copy of a value, to keep.
    pub(super) fn keep(&self, place: Place, base: Base) -> Stored<T> {
        if place.is_record() {
            return Stored::Record(self.records[base.records + place.at as usize].clone().expect("a record has been stored"));
        }
        let n = place.len as usize;
        Stored::Numbers(
            match place.rate {
                Rate::Uniform => self.uniform[base.uniform + place.at as usize..][..n].into(),
                Rate::Varying => (0..n).flat_map(|k| self.lanes(base.varying + place.at as usize + k)).copied().collect(),
            },
            place.rate,
        )
    }

    /// Brings a kept value back.
    pub(super) fn recall(&mut self, stored: &Stored<T>, place: Place, base: Base) {
        match stored {
            Stored::Record(r) => self.records[base.records + place.at as usize] = Some(r.clone()),
            Stored::Numbers(numbers, kept) => {
                let n = place.len as usize;
                let lanes = numbers.len() / n;
                for k in 0..n {
                    match (kept, place.rate) {
                        (Rate::Uniform, Rate::Uniform) => self.uniform[base.uniform + place.at as usize + k] = numbers[k],
                        (Rate::Uniform, Rate::Varying) => self.lanes_mut(base.varying + place.at as usize + k).fill(numbers[k]),
                        (Rate::Varying, Rate::Varying) => {
                            self.lanes_mut(base.varying + place.at as usize + k).copy_from_slice(&numbers[k * lanes..(k + 1) * lanes]);
                        }
                        (Rate::Varying, Rate::Uniform) => unreachable!("a varying value has varying readers"),
                    }
                }
            }
        }
    }
}
