
/// The one NaN of all results. Its bits are hidden from the optimiser, to which one NaN is as good as another.
fn quiet(x: Real) -> Real {
    if x.is_nan() { Real::from_bits(core::hint::black_box(Real::NAN.to_bits())) } else { x }
}

/// What a run keeps count of.
struct Run<'t> {
    steps: u64,
    depth: u64,
    tape: &'t mut [u64],
    used: usize,
}
