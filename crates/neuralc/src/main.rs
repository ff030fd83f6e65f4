//! The program `neuralc`; what it does is in the library beside it, where tests and the fuzzer reach it too.

use std::process::ExitCode;

fn main() -> ExitCode {
    neuralc::main()
}
