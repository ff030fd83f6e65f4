//! Rows that are not in memory. In: something that can be read from its first row to its last as often as needed; out: its rows, a part
//! at a time, read by a thread of its own while the part before is worked on.
//! Invariant: two parts wait at most, so memory depends on the size of a part and not on how many there are.

use crate::data::table::Table;
use neural_compiler::Diagnostics;
use std::sync::mpsc::sync_channel;
use std::thread;

/// Parts that wait to be worked on.
const WAITING: usize = 2;

/// Where the rows of a fit come from when they are not in memory.
pub trait Rows: Sync {
    /// Goes over all rows once, in one order: hands on the columns of these names, a part at a time, until there is no more or a part is
    /// refused. How rows are cut into parts means nothing.
    fn pass(&self, columns: &[String], take: &mut dyn FnMut(Table) -> bool) -> Result<(), Diagnostics>;
}

/// Goes over all rows once.
pub(crate) fn each_part(rows: &dyn Rows, columns: &[String], take: &mut dyn FnMut(Table) -> bool) -> Result<(), Diagnostics> {
    thread::scope(|scope| {
        let (send, receive) = sync_channel::<Table>(WAITING);
        let reading = thread::Builder::new().spawn_scoped(scope, move || rows.pass(columns, &mut |part| send.send(part).is_ok()));
        let Ok(reading) = reading else { return rows.pass(columns, take) };
        while let Ok(part) = receive.recv() {
            if !take(part) {
                break;
            }
        }
        drop(receive);
        reading.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
