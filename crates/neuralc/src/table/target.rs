//! Where output goes. In: a path or `-`; out: a sink, and at the end the file in its place in one step.
//!
//! What the path names decides: a pipe or a device is written into as it comes; a link is followed; a file nobody may write is refused; a
//! file with another owner or several names is written over at the end, since a new file in its place would be another file; anything else
//! is replaced by a complete file.
//! Invariant: until `finish` a file holds what it held before, and whatever ends the run early (an error, a panic, a signal that can be
//! caught) leaves nothing else behind; what a run that was killed left is removed by the next one that writes into that folder. What went
//! into a stream cannot be taken back.

use crate::alone::taken;
use crate::context::{Failure, reason};
use crate::stdout::Stdout;
use std::collections::BTreeSet;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, Once};
use tempfile::NamedTempFile;

/// The files a signal has to remove.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
/// What part files are called.
const PREFIX: &str = ".neuralc-";
const SUFFIX: &str = ".part";
/// Links after which a path is taken for a ring.
const MOST_LINKS: usize = 40;

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(|e| e.into_inner())
}

/// Where output goes.
pub(crate) struct Target {
    /// As the user says it.
    shown: String,
    kind: Kind,
}

enum Kind {
    Standard,
    /// A pipe or a device.
    Stream(File),
    /// A new file, or one that is replaced.
    File {
        path: PathBuf,
        temporary: NamedTempFile,
    },
    /// A file that stays the same file.
    Over {
        file: File,
        temporary: NamedTempFile,
    },
}

impl Target {
    /// Prepares to write to a path, `-` for standard output.
    pub(crate) fn open(out: &str) -> Result<Target, Failure> {
        let kind = if out == "-" { Kind::Standard } else { kind(Path::new(out)).map_err(|e| cannot_write(out, &e))? };
        Ok(Target { shown: out.into(), kind })
    }

    /// Whether someone may be waiting for every row.
    pub(crate) fn streams(&self) -> bool {
        matches!(self.kind, Kind::Standard | Kind::Stream(_))
    }

    /// Takes the bytes.
    pub(crate) fn sink(&self) -> Result<Box<dyn Write + Send>, Failure> {
        let file = |file: &File| -> Result<Box<dyn Write + Send>, Failure> {
            let file = file.try_clone().map_err(|e| self.failed(e))?;
            Ok(Box::new(BufWriter::with_capacity(1 << 18, file)))
        };
        match &self.kind {
            Kind::Standard => Ok(Box::new(BufWriter::new(Stdout::new()))),
            Kind::Stream(stream) => file(stream),
            Kind::File { temporary, .. } | Kind::Over { temporary, .. } => file(temporary.as_file()),
        }
    }

    /// A failed write in words; those to standard output speak for themselves.
    pub(crate) fn failed(&self, e: io::Error) -> Failure {
        match self.kind {
            Kind::Standard => Failure::Output(e),
            // Whoever read the pipe has had enough.
            Kind::Stream(_) if e.kind() == io::ErrorKind::BrokenPipe => Failure::Output(e),
            _ => cannot_write(&self.shown, &e),
        }
    }

    /// The same for what went wrong on the way.
    pub(crate) fn blame(&self, failure: Failure) -> Failure {
        match failure {
            Failure::Output(e) => self.failed(e),
            other => other,
        }
    }

    /// Waits until what was written so far is on the disk: one that is full may say so only then.
    fn settle(&self) -> io::Result<()> {
        match &self.kind {
            Kind::Standard | Kind::Stream(_) => Ok(()),
            Kind::File { temporary, .. } | Kind::Over { temporary, .. } => temporary.as_file().sync_all(),
        }
    }

    /// Puts the file, now complete, in its place.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        let Target { shown, kind } = self;
        let done = match kind {
            Kind::Standard | Kind::Stream(_) => Ok(()),
            Kind::File { path, temporary } => replace(&path, temporary),
            Kind::Over { mut file, mut temporary } => over(&mut file, &mut temporary).and_then(|()| {
                let mut names = unfinished();
                let name = temporary.path().to_path_buf();
                temporary.close()?;
                names.retain(|n| *n != name);
                Ok(())
            }),
        };
        done.map_err(|e| cannot_write(&shown, &e))
    }
}

/// Whether two paths lead to one file, be it there or still to be written: by another spelling, over a link, or under a second name.
/// Pipes and devices are no files.
pub(crate) fn same_file(a: &str, b: &str) -> bool {
    let [Some(a), Some(b)] = [a, b].map(|path| if path == "-" { None } else { place(Path::new(path)) }) else { return false };
    a.0 == b.0 || a.1.zip(b.1).is_some_and(|(a, b)| one_file(&a, &b))
}

/// Whether a path leads to the file that standard input is read from, as by `< table.csv`.
pub(crate) fn is_standard_input(path: &str) -> bool {
    let there = if path == "-" { None } else { place(Path::new(path)).and_then(|p| p.1) };
    there.zip(standard_input()).is_some_and(|(a, b)| one_file(&a, &b))
}

#[cfg(unix)]
fn standard_input() -> Option<Metadata> {
    use std::os::fd::AsFd;
    std::fs::File::from(io::stdin().as_fd().try_clone_to_owned().ok()?).metadata().ok().filter(Metadata::is_file)
}

#[cfg(not(unix))]
fn standard_input() -> Option<Metadata> {
    None
}

/// Where a file is, or would be, and what is there already.
fn place(path: &Path) -> Option<(PathBuf, Option<Metadata>)> {
    let path = followed(path).ok()?;
    match std::fs::metadata(&path) {
        Ok(m) => m.is_file().then(|| Some((path.canonicalize().ok()?, Some(m))))?,
        Err(_) => {
            let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
            Some((folder.canonicalize().ok()?.join(path.file_name()?), None))
        }
    }
}

#[cfg(unix)]
fn one_file(a: &Metadata, b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

#[cfg(not(unix))]
fn one_file(_: &Metadata, _: &Metadata) -> bool {
    false
}

/// The whole of a file or stream in one go.
pub(crate) fn write_whole(path: &str, bytes: &[u8]) -> Result<(), Failure> {
    write_together(&[(path, bytes)])
}

/// Files that belong together: each may be written and is complete before the first takes its place, in the order given. What fails before
/// leaves all of them as they were.
pub(crate) fn write_together(files: &[(&str, &[u8])]) -> Result<(), Failure> {
    let targets = files.iter().map(|(path, _)| Target::open(path)).collect::<Result<Vec<_>, _>>()?;
    for (target, (_, bytes)) in targets.iter().zip(files) {
        let mut sink = target.sink()?;
        sink.write_all(bytes).and_then(|()| sink.flush()).and_then(|()| target.settle()).map_err(|e| target.failed(e))?;
    }
    targets.into_iter().try_for_each(Target::finish)
}

fn replace(path: &Path, temporary: NamedTempFile) -> io::Result<()> {
    temporary.as_file().sync_all()?;
    let mut names = unfinished();
    let name = temporary.path().to_path_buf();
    temporary.persist(path).map_err(|e| e.error)?;
    names.retain(|n| *n != name);
    Ok(())
}

fn over(file: &mut File, temporary: &mut NamedTempFile) -> io::Result<()> {
    temporary.as_file_mut().rewind()?;
    file.rewind()?;
    let length = io::copy(temporary.as_file_mut(), file)?;
    file.set_len(length)?;
    file.sync_all()
}

/// Where a path leads, over links; the last need not exist.
fn followed(out: &Path) -> io::Result<PathBuf> {
    let mut path = out.to_path_buf();
    for _ in 0..MOST_LINKS {
        match path.symlink_metadata() {
            Ok(m) if m.is_symlink() => {
                let to = std::fs::read_link(&path)?;
                path = path.parent().unwrap_or(Path::new("")).join(to);
            }
            _ => return Ok(path),
        }
    }
    Err(io::Error::other("its links lead in a ring"))
}

fn kind(out: &Path) -> io::Result<Kind> {
    let path = match followed(out) {
        // What the system shows as links without a path behind them, such as /dev/fd/3.
        Ok(path) if !path.exists() && out.exists() => out.to_path_buf(),
        other => other?,
    };
    let old = match std::fs::metadata(&path) {
        Ok(m) => Some(m),
        Err(e) if e.kind() == io::ErrorKind::NotFound => None,
        Err(e) => return Err(e),
    };
    if let Some(m) = &old {
        if m.is_dir() {
            return Err(io::Error::other("it is a directory"));
        }
        if !m.is_file() {
            return Ok(Kind::Stream(OpenOptions::new().write(true).open(&path)?));
        }
        if m.permissions().readonly() {
            return Err(io::Error::other("it is read-only"));
        }
    }
    // Asks the system whether the file may be written, which its folder alone does not say.
    let file = old.as_ref().map(|_| OpenOptions::new().write(true).open(&path)).transpose()?;
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let temporary = temporary(folder)
        .map_err(|e| io::Error::new(e.kind(), format!("no file can be made in `{}`: {}", folder.display(), reason(&e))))?;
    match (file, old) {
        (Some(file), Some(m)) if stays_itself(&m, &temporary) => Ok(Kind::Over { file, temporary }),
        (_, Some(m)) => {
            temporary.as_file().set_permissions(m.permissions())?;
            Ok(Kind::File { path, temporary })
        }
        (_, None) => Ok(Kind::File { path, temporary }),
    }
}

/// Whether a new file in the place of this one would be another: it has other names, or another owner.
#[cfg(unix)]
fn stays_itself(old: &Metadata, temporary: &NamedTempFile) -> bool {
    use std::os::unix::fs::MetadataExt;
    old.nlink() > 1 || temporary.as_file().metadata().is_ok_and(|m| (m.uid(), m.gid()) != (old.uid(), old.gid()))
}

#[cfg(not(unix))]
fn stays_itself(_: &Metadata, _: &NamedTempFile) -> bool {
    false
}

/// Removes the part files of runs that were killed: one that is being written is locked by whoever writes it.
fn sweep(folder: &Path) {
    static SWEPT: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    if !SWEPT.lock().unwrap_or_else(|e| e.into_inner()).insert(folder.to_path_buf()) {
        return;
    }
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let ours = name.starts_with(PREFIX) && name.ends_with(SUFFIX) && entry.file_type().is_ok_and(|t| t.is_file());
        // Held while it is removed, so that whoever has just made it sees that it is gone.
        if ours
            && let Ok(file) = File::open(entry.path())
            && file.try_lock().is_ok()
        {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// A file beside the one to come, with the permissions of any new file.
fn temporary(folder: &Path) -> io::Result<NamedTempFile> {
    sweep(folder);
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    watch_signals();
    // Held from before the file exists until its name is known: a signal waits for it.
    let mut names = unfinished();
    loop {
        let temporary = builder.tempfile_in(folder)?;
        // Another process may have taken it for a leftover before it was locked.
        if !taken(temporary.as_file()) && temporary.path().exists() {
            names.push(temporary.path().to_path_buf());
            return Ok(temporary);
        }
    }
}

fn cannot_write(path: &str, e: &io::Error) -> Failure {
    Failure::plain("cannot-write", format!("cannot write `{path}`: {}", reason(e)), None)
}

/// From now on the signals that end a process and can be caught remove the unfinished files first. Where no thread can be had to wait for
/// them they end the process as ever, and may leave the part files.
#[cfg(unix)]
fn watch_signals() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| {
        // A hang-up that is ignored (nohup) stays ignored.
        let watched = [SIGINT, SIGTERM, SIGQUIT, SIGHUP].into_iter().filter(|&s| !is_ignored(s));
        let (begin, begun) = std::sync::mpsc::channel::<signal_hook::iterator::Signals>();
        let waiting = std::thread::Builder::new().spawn(move || {
            let Ok(mut signals) = begun.recv() else { return };
            if let Some(signal) = signals.forever().next() {
                // Never unlocked again: nothing may be created or renamed any more.
                let names = unfinished();
                for path in names.iter() {
                    let _ = std::fs::remove_file(path);
                }
                let _ = signal_hook::low_level::emulate_default_handler(signal);
                std::process::exit(128 + signal);
            }
        });
        // Registered only once somebody waits: a signal nobody acts upon would be lost.
        if let (Ok(_), Ok(signals)) = (waiting, signal_hook::iterator::Signals::new(watched)) {
            let _ = begin.send(signals);
        }
    });
}

/// Whether a signal was ignored before this process could say anything about it (Linux tells).
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|l| l.strip_prefix("SigIgn:")).and_then(|m| u64::from_str_radix(m.trim(), 16).ok());
    mask.is_some_and(|m| m >> (signal - 1) & 1 == 1)
}

#[cfg(not(unix))]
fn watch_signals() {}
