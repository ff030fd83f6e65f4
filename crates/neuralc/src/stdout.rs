//! Standard output that does not lose anything silently. In: bytes; out: the same bytes, or an error; on a terminal text alone, whatever
//! tables, modules and answers of others it is made of: what would act there is shown instead (`render::shown`).
//! A file that may not grow further (`ulimit -f`) is an error as well, here and wherever else files are written.
//! Rust's runtime puts /dev/null in the place of a standard stream that is closed when the process starts, so whether it was is looked up
//! before the runtime begins.

use crate::render::shown;
use std::io::{self, IsTerminal, Write};
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
pub(crate) struct Stdout {
    /// On a terminal: the bytes of a character that is not whole yet.
    begun: Option<Vec<u8>>,
}

fn check() -> io::Result<()> {
    if CLOSED.load(Ordering::Relaxed) { Err(io::Error::other("standard output is closed")) } else { Ok(()) }
}

impl Stdout {
    pub(crate) fn new() -> Stdout {
        Stdout { begun: io::stdout().is_terminal().then(Vec::new) }
    }

    /// Writes text that is our own, with its colours.
    pub(crate) fn write_styled(&mut self, text: &str) -> io::Result<()> {
        check()?;
        io::stdout().write_all(text.as_bytes())
    }
}

/// What is whole of some bytes as a terminal may have it; the rest stays.
fn whole(bytes: &mut Vec<u8>) -> String {
    let (mut out, mut rest) = (String::new(), Vec::new());
    let mut chunks = bytes.utf8_chunks().peekable();
    while let Some(chunk) = chunks.next() {
        out.push_str(&shown(chunk.valid()));
        let wrong = chunk.invalid();
        let may_go_on = chunks.peek().is_none() && std::str::from_utf8(wrong).is_err_and(|e| e.error_len().is_none());
        match wrong {
            [] => {}
            _ if may_go_on => rest = wrong.to_vec(),
            _ => out.push(char::REPLACEMENT_CHARACTER),
        }
    }
    *bytes = rest;
    out
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        check()?;
        let Some(begun) = &mut self.begun else { return io::stdout().write(bytes) };
        begun.extend_from_slice(bytes);
        io::stdout().write_all(whole(begun).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stdout().flush()
    }
}

#[cfg(test)]
mod tests {
    use super::whole;

    #[test]
    fn characters_are_put_together_before_they_are_shown() {
        let text = "é\u{1b}[1m\u{9b}\u{202e}日\n";
        for cut in 0..=text.len() {
            let mut bytes = text.as_bytes()[..cut].to_vec();
            let mut out = whole(&mut bytes);
            bytes.extend_from_slice(&text.as_bytes()[cut..]);
            out += &whole(&mut bytes);
            assert_eq!((out.as_str(), bytes.len()), ("é\\u{1b}[1m\\u{9b}\\u{202e}日\n", 0), "{cut}");
        }
        assert_eq!(whole(&mut b"a\xffb\x9bc".to_vec()), "a\u{fffd}b\u{fffd}c");
    }
}
