
/// The one NaN of all results.
fn quiet(x: Real) -> Real {
    if x.is_nan() { Real::NAN } else { x }
}

/// What a run keeps count of.
struct Run<'t> {
    steps: u64,
    depth: u64,
    tape: &'t mut [u64],
    used: usize,
}
