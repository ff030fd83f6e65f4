//! The fuzzer, briefly: no text panics, and no promise is broken. `fuzz/` runs the same longer, with a watchdog.

use fastrand::Rng;
use neural_compiler_testing::{Reached, exercise, mutate, oracle};
use std::panic::{AssertUnwindSafe, catch_unwind};

#[test]
fn no_text_breaks_the_library() {
    let mut rng = Rng::with_seed(oracle::setting("FUZZ_SEED", 2));
    let mut reached = [0; 4];
    for _ in 0..oracle::setting("FUZZ_TEXTS", 4000) {
        let (source, text) = mutate::text(&mut rng);
        match catch_unwind(AssertUnwindSafe(|| exercise(&text))) {
            Ok(Ok(r)) => reached[r as usize] += 1,
            Ok(Err(broken)) => panic!("{source:?}: {broken}\n{text}"),
            Err(_) => panic!("{source:?} panics:\n{text}"),
        }
    }
    println!("{reached:?}");
    assert!(reached[Reached::Differentiated as usize] > 100, "too few texts get far: {reached:?}");
}
