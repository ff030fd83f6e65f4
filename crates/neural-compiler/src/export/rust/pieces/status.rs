/// How a run ended that has no result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// A computed index is no whole number inside its value.
    IndexOutOfRange,
    /// More loop rounds and calls than `MAX_STEPS`.
    LimitSteps,
    /// More calls within calls than `MAX_DEPTH`.
    LimitDepth,
    /// More values stored for the gradient than there are cells.
    LimitMemory,
}
