//! What was made for the last few shapes of a program. In: keys and values; out: the value of a key, if it is still there.
//! Invariant: it holds no more than `MOST` values, and gives back memory beyond `BUDGET`; so a program called with ever new shapes stays
//! bounded, and everything goes with the program.

use std::sync::Arc;

/// Values kept.
const MOST: usize = 64;

/// Bytes of all values together that are kept without a second thought.
const BUDGET: usize = 32 << 20;

/// Something that takes memory.
pub(crate) trait Weighed {
    /// Bytes it holds.
    fn bytes(&self) -> usize;
    /// Gives back what can be had again at little cost.
    fn shrink(&self);
}

/// Values by key, the one asked for last at the end.
pub(crate) struct Recent<K, V> {
    entries: Vec<(K, V)>,
}

impl<K, V> Default for Recent<K, V> {
    fn default() -> Recent<K, V> {
        Recent { entries: Vec::new() }
    }
}

impl<K, V: Clone> Recent<K, V> {
    pub(crate) fn get(&mut self, is: impl Fn(&K) -> bool) -> Option<V> {
        let at = self.entries.iter().rposition(|e| is(&e.0))?;
        // The usual call asks for what was asked for last.
        if at + 1 < self.entries.len() {
            let entry = self.entries.remove(at);
            self.entries.push(entry);
        }
        self.entries.last().map(|e| e.1.clone())
    }

    /// Adds a value; the oldest goes where there are too many.
    pub(crate) fn insert(&mut self, key: K, value: V) {
        if self.entries.len() >= MOST {
            self.entries.remove(0);
        }
        self.entries.push((key, value));
    }
}

impl<K, V: Weighed> Recent<K, Arc<V>> {
    /// Gives memory back, that of the oldest values first, until the rest is within the budget. The two latest stay as they are.
    pub(crate) fn trim(&mut self) {
        let mut bytes: usize = self.entries.iter().map(|e| e.1.bytes()).sum();
        for at in 0..self.entries.len().saturating_sub(2) {
            if bytes <= BUDGET {
                return;
            }
            let value = &self.entries[at].1;
            let before = value.bytes();
            value.shrink();
            bytes -= before.saturating_sub(value.bytes());
        }
        while bytes > BUDGET && self.entries.len() > 2 {
            bytes = bytes.saturating_sub(self.entries.remove(0).1.bytes());
        }
    }
}
