//! Standard output that does not lose anything silently. In: bytes; out: the same bytes, or an error.
//! A file that may not grow further (`ulimit -f`) is an error as well, here and wherever else files are written.
//! Rust's runtime puts /dev/null in the place of a standard stream that is closed when the process starts, so whether it was is looked up
//! before the runtime begins.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

static CLOSED: AtomicBool = AtomicBool::new(false);

#[cfg(target_os = "linux")]
mod before_main {
    use super::{CLOSED, Ordering};

    extern "C" fn look() {
        // SAFETY: asking for the flags of a descriptor that may not be open reads and writes no memory.
        let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
        CLOSED.store(flags == -1, Ordering::Relaxed);
    }

    // SAFETY: functions of this section are called one after the other, without arguments of interest, before `main`; this one needs
    // nothing of Rust's runtime.
    #[used]
    #[unsafe(link_section = ".init_array")]
    static LOOK: extern "C" fn() = look;
}

/// From now on a write beyond the size a file may have fails, where the signal that comes with it would end the process without a word and
/// leave part files.
#[cfg(unix)]
pub(crate) fn outlive_size_limit() {
    // Whether it came is of no interest: the write says so. Without the handler the process ends as it did.
    let came = std::sync::Arc::new(AtomicBool::new(false));
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, came);
}

#[cfg(not(unix))]
pub(crate) fn outlive_size_limit() {}

/// Standard output.
pub(crate) struct Stdout;

fn check() -> io::Result<()> {
    if CLOSED.load(Ordering::Relaxed) { Err(io::Error::other("standard output is closed")) } else { Ok(()) }
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        check()?;
        io::stdout().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stdout().flush()
    }
}
