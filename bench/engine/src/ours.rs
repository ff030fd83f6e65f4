//! Our engine, called from Rust: what is left when Python costs nothing. In: source text; out: a handle that runs batches.

use neural_compiler::exec::lanes::{BatchOptions, Column, Engine, Workspace};
use neural_compiler::ops::real::Real;
use neural_compiler::{Options, compile, diff};

/// A program with the memory it runs in.
pub(crate) struct Ours {
    engine: Engine,
    pub(crate) inputs: Vec<String>,
    pub(crate) outputs: usize,
}

impl Ours {
    pub(crate) fn new(source: &str, gradient: bool) -> Result<Ours, String> {
        let graph = compile(source, &Options::default()).and_then(|p| p.graph()).map_err(|e| format!("{e:?}"))?;
        let inputs: Vec<String> = graph.inputs.iter().map(|i| i.name.to_string()).collect();
        let all: Vec<usize> = (0..inputs.len()).collect();
        let whole = if gradient { diff::jacobian(&graph, &all).map_err(|e| format!("{e:?}"))? } else { (*graph).clone() };
        let engine = Engine::new(&whole, &vec![false; inputs.len()]);
        Ok(Ours { engine, inputs, outputs: whole.outputs().len() })
    }

    /// Runs a batch `repeats` times; gives the number of lanes that failed.
    pub(crate) fn run<T: Real>(
        &self,
        workspace: &mut Workspace<T>,
        inputs: &[&[T]],
        outputs: &mut [&mut [T]],
        lanes: usize,
        threads: usize,
        repeats: usize,
    ) -> Result<usize, String> {
        let columns: Vec<Column<'_, T>> = inputs.iter().map(|c| Column::rows(c, 1)).collect();
        let options = BatchOptions { threads, ..BatchOptions::default() };
        let mut failed = 0;
        for _ in 0..repeats {
            failed = self.engine.run(workspace, &columns, lanes, outputs, &options).map_err(|e| e.to_string())?.len();
        }
        Ok(failed)
    }
}
