//! Memory for generated code. In: bytes; out: functions to call. The one place where bytes become code.
//! Invariant: the memory is writable or executable, never both.

use super::Declined;
use memmap2::{Mmap, MmapMut};

/// A fused loop: pool, columns, from, to (bytes), rounds before the first look, slots less `from`; 0 when the
/// looks gave too few.
#[cfg(target_arch = "x86_64")]
type FusedLoop = unsafe extern "sysv64" fn(*mut u8, *const *mut u8, usize, usize, u64, *mut u8) -> u32;

/// Finished code.
pub(super) struct Executable {
    map: Mmap,
}

impl Executable {
    pub(super) fn new(bytes: &[u8]) -> Result<Executable, Declined> {
        let mut map = MmapMut::map_anon(bytes.len().max(1)).map_err(|_| Declined::Memory)?;
        map[..bytes.len()].copy_from_slice(bytes);
        let map = map.make_exec().map_err(|_| Declined::Memory)?;
        Ok(Executable { map })
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// Runs the fused loop that starts at `entry`; `false` when the looks gave too few rounds.
    ///
    /// # Safety
    /// `entry` must be one the code generator gave out for this code, the CPU must have the instructions it was generated for, and the
    /// pointers must be valid for what the loop reads and writes: vectors of the pool and behind it, every column from byte `from` to
    /// byte `to`, and every slot for `to - from` bytes.
    #[cfg(target_arch = "x86_64")]
    pub(super) unsafe fn call(
        &self,
        entry: usize,
        pool: *mut u8,
        columns: *const *mut u8,
        range: std::ops::Range<usize>,
        rounds: u64,
        slots: *mut u8,
    ) -> bool {
        // SAFETY: the bytes at `entry` are a function of this type; the caller vouches for the rest.
        unsafe {
            let function: FusedLoop = std::mem::transmute(self.map.as_ptr().add(entry));
            function(pool, columns, range.start, range.end, rounds, slots) != 0
        }
    }

    /// No code is generated for other machines, so nothing can be called there.
    ///
    /// # Safety
    /// None is needed.
    #[cfg(not(target_arch = "x86_64"))]
    pub(super) unsafe fn call(&self, _: usize, _: *mut u8, _: *const *mut u8, _: std::ops::Range<usize>, _: u64, _: *mut u8) -> bool {
        false
    }
}
