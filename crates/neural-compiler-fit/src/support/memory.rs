//! Long columns, kept from one use to the next: asking the system for fresh memory costs more than filling it. In: lengths; out: columns
//! whose numbers are whatever they were.
//! Invariant: a thread keeps a few columns of a few megabytes at most.

use std::cell::RefCell;

/// Columns a thread keeps, their length at least, and the numbers they may have together.
const COLUMNS: usize = 12;
const LONG: usize = 1 << 11;
const NUMBERS: usize = 1 << 20;

thread_local! {
    static KEPT: RefCell<Vec<Vec<f64>>> = const { RefCell::new(Vec::new()) };
}

/// A column of some length; its numbers mean nothing.
pub(crate) fn take(length: usize) -> Vec<f64> {
    let found = if length < LONG {
        None
    } else {
        let fits = |kept: &mut Vec<Vec<f64>>| {
            let place = (0..kept.len()).filter(|&k| kept[k].len() >= length).min_by_key(|&k| kept[k].len())?;
            Some(kept.swap_remove(place))
        };
        KEPT.try_with(|kept| kept.try_borrow_mut().ok().and_then(|mut k| fits(&mut k))).ok().flatten()
    };
    match found {
        Some(mut column) => {
            column.truncate(length);
            column
        }
        None => vec![0.0; length],
    }
}

/// A copy of some columns, one after the other.
pub(crate) fn joined(parts: &[&[f64]]) -> Vec<f64> {
    let mut all = take(parts.iter().map(|p| p.len()).sum());
    let mut from = 0;
    for part in parts {
        all[from..from + part.len()].copy_from_slice(part);
        from += part.len();
    }
    all
}

/// Gives a column back.
pub(crate) fn give(mut column: Vec<f64>) {
    if column.capacity() < LONG {
        return;
    }
    // While the thread ends there is nothing left to keep it in.
    let _ = KEPT.try_with(|kept| {
        if let Ok(mut kept) = kept.try_borrow_mut()
            && kept.len() < COLUMNS
            && kept.iter().map(Vec::capacity).sum::<usize>() + column.capacity() <= NUMBERS
        {
            let whole = column.capacity();
            column.resize(whole, 0.0);
            kept.push(column);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_come_back_and_stay_few() {
        give(vec![1.0; 5000]);
        let again = take(3000);
        assert!(again.len() == 3000 && again.capacity() == 5000);
        (0..100).for_each(|_| give(vec![0.0; LONG]));
        assert!(KEPT.with_borrow(|k| k.len() <= COLUMNS));
        give(vec![0.0; 2 * NUMBERS]);
        assert!(KEPT.with_borrow(|k| k.iter().map(Vec::capacity).sum::<usize>() <= NUMBERS));
        assert_eq!(joined(&[&[1.0, 2.0], &[3.0]]), [1.0, 2.0, 3.0]);
    }
}
