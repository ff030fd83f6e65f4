//! Where a table goes. In: a path or `-`; out: a sink, and at the end the file in its place in one step.
//! Invariant: until `finish` the path holds what it held before, and whatever ends the run early (an error, a panic, an
//! interrupt) leaves nothing else behind. What went to standard output cannot be taken back.

use crate::context::{Failure, reason};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use tempfile::NamedTempFile;

/// The file an interrupt has to remove.
static UNFINISHED: Mutex<Option<PathBuf>> = Mutex::new(None);

fn unfinished() -> MutexGuard<'static, Option<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(|e| e.into_inner())
}

/// Where a table goes.
pub(crate) enum Target {
    Standard,
    File { path: PathBuf, temporary: NamedTempFile },
}

impl Target {
    /// Prepares to write to a path, `-` for standard output.
    pub(crate) fn open(out: &str) -> Result<Target, Failure> {
        if out == "-" {
            return Ok(Target::Standard);
        }
        Target::file(Path::new(out)).map_err(|e| cannot_write(out, &e))
    }

    fn file(out: &Path) -> io::Result<Target> {
        // Links are followed, permissions kept; a new file gets those of any new file.
        let path = if out.exists() { out.canonicalize()? } else { out.to_path_buf() };
        if path.is_dir() {
            return Err(io::Error::other("it is a directory"));
        }
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut builder = tempfile::Builder::new();
        builder.prefix(".neuralc-").suffix(".part");
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        watch_interrupts()?;
        // Held from before the file exists until its name is known: an interrupt waits for it.
        let mut name = unfinished();
        let temporary = builder.tempfile_in(folder)?;
        *name = Some(temporary.path().to_path_buf());
        drop(name);
        if let Ok(old) = std::fs::metadata(&path) {
            temporary.as_file().set_permissions(old.permissions())?;
        }
        Ok(Target::File { path, temporary })
    }

    /// Takes the bytes of the table.
    pub(crate) fn sink(&self) -> Result<Box<dyn Write + Send>, Failure> {
        Ok(match self {
            Target::Standard => Box::new(BufWriter::new(io::stdout())),
            Target::File { temporary, .. } => Box::new(BufWriter::with_capacity(1 << 18, temporary.as_file().try_clone()?)),
        })
    }

    /// Puts the file, now complete, in its place.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        if let Target::File { path, temporary } = self {
            let persist = || -> io::Result<()> {
                temporary.as_file().sync_all()?;
                let mut name = unfinished();
                temporary.persist(&path).map_err(|e| e.error)?;
                *name = None;
                Ok(())
            };
            persist().map_err(|e| cannot_write(&path.display().to_string(), &e))?;
        }
        Ok(())
    }
}

fn cannot_write(path: &str, e: &io::Error) -> Failure {
    Failure::plain("cannot-write", format!("cannot write `{path}`: {}", reason(e)), None)
}

/// From now on SIGINT and SIGTERM remove the unfinished file before they end the process as they always do.
#[cfg(unix)]
fn watch_interrupts() -> io::Result<()> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            // Never unlocked again: nothing may be created or renamed any more.
            let mut name = unfinished();
            if let Some(path) = name.take() {
                let _ = std::fs::remove_file(path);
            }
            let _ = signal_hook::low_level::emulate_default_handler(signal);
            std::process::exit(128 + signal);
        }
    });
    Ok(())
}

#[cfg(not(unix))]
fn watch_interrupts() -> io::Result<()> {
    Ok(())
}
