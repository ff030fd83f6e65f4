//! Neural Compiler.
