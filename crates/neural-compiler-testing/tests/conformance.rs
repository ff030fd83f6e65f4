//! The suite of `src/conformance` for every executor. `LANES_PROGRAMS=n`, `JIT_PROGRAMS=n`, `ENGINE_PROGRAMS=n` run more of the generated
//! programs, `CONFORMANCE_FIRST` others.

use neural_compiler_math::Level;
use neural_compiler_testing::conformance::executors::{Executor, Interpreter, Lanes, generated_at, generated_levels, lanes_at};
use neural_compiler_testing::conformance::{examples, generated, hard_cases, operations};
use neural_compiler_testing::oracle;

/// Executors that run the same batches.
type Group = Vec<Box<dyn Executor>>;

/// From keeping every round of a loop for the way back to keeping as few as possible.
const RECORD_BYTES: [usize; 3] = [usize::MAX, 4096, 0];

/// `all`: every executor of the kind. `of_seed`: those a generated program is run on. `programs`: the setting that says how many, and how
/// many there are without it. `share`: one in so many programs must be this executor's business.
macro_rules! conforms {
    ($kind:ident, all: $all:expr, of_seed: $of_seed:expr, programs: $setting:literal $count:literal, share: $share:literal) => {
        mod $kind {
            use super::*;

            fn all() -> Group {
                $all
            }

            #[test]
            fn generated_programs() {
                if all().is_empty() {
                    return;
                }
                let (first, count) = (oracle::setting("CONFORMANCE_FIRST", 0), oracle::setting($setting, $count));
                let of_seed: fn(u64) -> Group = $of_seed;
                let tally = generated(&of_seed, first..first + count);
                println!("{tally:?}");
                assert!($share * tally.compared > tally.graphs, "too few programs were compared: {tally:?}");
            }

            #[test]
            fn every_operation() {
                if !all().is_empty() {
                    assert!(operations(&all()).graphs > 60);
                }
            }

            #[test]
            fn hard_programs() {
                if !all().is_empty() {
                    assert!(hard_cases(&all()).graphs > 100);
                }
            }

            #[test]
            fn examples_of_the_reference() {
                if all().is_empty() {
                    return;
                }
                let tally = examples(&all());
                println!("{tally:?}");
                assert!(tally.graphs > 400 && 2 * $share * tally.compared > tally.graphs, "too few examples were compared: {tally:?}");
            }
        }
    };
}

fn engine() -> Group {
    vec![Box::new(Lanes { jit: true, threads: 2, ..Lanes::new(Level::best()) })]
}

fn of_seed<T: Copy>(seed: u64, from: &[T]) -> T {
    from[seed as usize % from.len()]
}

conforms!(
    interpreter,
    all: vec![Box::new(Interpreter)],
    of_seed: |_| vec![Box::new(Interpreter)],
    programs: "INTERPRETER_PROGRAMS" 100, share: 2
);

conforms!(
    lanes,
    all: Level::available().iter().flat_map(|&level| lanes_at(level, usize::MAX)).collect(),
    of_seed: |seed| lanes_at(super::of_seed(seed, Level::available()), super::of_seed(seed / 3, &RECORD_BYTES)),
    programs: "LANES_PROGRAMS" 1500, share: 2
);

conforms!(
    generated_code,
    all: generated_levels().into_iter().flat_map(generated_at).collect(),
    of_seed: |seed| generated_at(super::of_seed(seed, &generated_levels())),
    programs: "JIT_PROGRAMS" 500, share: 3
);

// As callers have it: the best instructions, code where it pays, two threads.
conforms!(engine, all: super::engine(), of_seed: |_| super::engine(), programs: "ENGINE_PROGRAMS" 100, share: 2);
