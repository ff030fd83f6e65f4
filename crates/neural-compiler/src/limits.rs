//! Bounds on what a text or a run may cost. Each is a typed error when it is met, and each can be raised.

/// Bounds on compiling and running. `Limits::default()` suits interactive use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Bytes of source text (`limit-source-size`).
    pub source_bytes: usize,
    /// Depth of nested parentheses (`limit-nesting`).
    pub nesting: usize,
    /// Nodes of all regions of the graph together (`limit-nodes`).
    pub nodes: usize,
    /// Rounds of any one loop (`limit-iterations`).
    pub iterations: u64,
    /// Calls within calls (`limit-depth`).
    pub depth: usize,
    /// Loop rounds and calls of a whole run together, and the work of large operations: 1024 numbers looked at count as one
    /// (`limit-steps`).
    pub steps: u64,
    /// Bytes a run may hold for frames and stored values; no value of a program is larger (`limit-memory`).
    pub memory_bytes: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            source_bytes: 8 << 20,
            nesting: 10_000,
            nodes: 4_000_000,
            iterations: 50_000_000,
            depth: 10_000,
            steps: 50_000_000,
            memory_bytes: 2 << 30,
        }
    }
}

impl Limits {
    /// The most numbers a value can have: all in memory as f32, and counted in 32 bits.
    pub(crate) fn most_numbers(&self) -> usize {
        (self.memory_bytes / size_of::<f32>()).min(u32::MAX as usize)
    }
}
