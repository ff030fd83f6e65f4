//! `library.lock`: which module has which hashes. In: the lines of the file; out: what they say, and lines to add.
//! Invariants: lines are added at the end and never changed, so that a name with a version has one hash for ever; the record of a module
//! has one hash while it is there; a module that was removed keeps its number.

use crate::{Outcome, plain};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;

/// What the file is called. A folder that has it is a library.
pub(crate) const NAME: &str = "library.lock";
const HEADER: &str = "# Modules, with the hashes of their text and of their record. neuralc adds lines at the end and changes none.\n";

/// A line.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) version: u32,
    pub(crate) hash: String,
    /// The hash of its record.
    pub(crate) record: String,
    pub(crate) removed: bool,
}

/// The file, open and held against other writers.
pub(crate) struct Lock {
    file: File,
    pub(crate) lines: Vec<Line>,
}

fn io(what: &str, path: &Path, e: &std::io::Error) -> Box<neural_compiler::syntax::modules::Mistake> {
    plain("library-files", format!("cannot {what} `{}`: {e}", path.display()), None)
}

/// Makes the file, where it is not there.
pub(crate) fn create(folder: &Path) -> Outcome<()> {
    let path = folder.join(NAME);
    let made = OpenOptions::new().write(true).create_new(true).open(&path).and_then(|mut f| f.write_all(HEADER.as_bytes()));
    made.map_err(|e| io("make", &path, &e))
}

impl Lock {
    /// Reads the file; `hold`: nobody else writes until it is dropped.
    pub(crate) fn open(folder: &Path, hold: bool) -> Outcome<Lock> {
        let path = folder.join(NAME);
        let opened = OpenOptions::new().read(true).append(hold).open(&path);
        let mut file = opened.map_err(|e| io("read", &path, &e))?;
        let mut text = String::new();
        let held = if hold { file.lock() } else { Ok(()) };
        held.and_then(|()| file.read_to_string(&mut text)).map_err(|e| io("read", &path, &e))?;
        let bad = |number: usize| plain("library-damaged", format!("line {} of `{}` cannot be read", number + 1, path.display()), None);
        let mut lines: Vec<Line> = Vec::new();
        for (number, line) in text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty() && !l.starts_with('#')) {
            let found = parse(line).ok_or_else(|| bad(number))?;
            match lines.iter_mut().find(|l| l.name == found.name && l.version == found.version) {
                Some(known) if known.hash == found.hash && (known.removed || known.record == found.record) => *known = found,
                Some(_) => return Err(bad(number)),
                None => lines.push(found),
            }
        }
        Ok(Lock { file, lines })
    }

    /// Adds a line.
    pub(crate) fn add(&mut self, line: Line) -> Outcome<()> {
        let removed = if line.removed { " removed" } else { "" };
        let text = format!("{}@{} {} {}{removed}\n", line.name, line.version, line.hash, line.record);
        self.file.write_all(text.as_bytes()).map_err(|e| io("write", Path::new(NAME), &e))?;
        match self.lines.iter_mut().find(|l| l.name == line.name && l.version == line.version) {
            Some(known) => *known = line,
            None => self.lines.push(line),
        }
        Ok(())
    }

    /// The line of a module, removed or not.
    pub(crate) fn line(&self, name: &str, version: u32) -> Option<&Line> {
        self.lines.iter().find(|l| l.name == name && l.version == version)
    }

    /// What is there.
    pub(crate) fn present(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(|l| !l.removed)
    }
}

fn parse(line: &str) -> Option<Line> {
    let mut words = line.split_whitespace();
    let (name, version) = words.next()?.split_once('@')?;
    let (hash, record) = (words.next()?, words.next()?);
    let removed = match words.next() {
        None => false,
        Some("removed") => true,
        Some(_) => return None,
    };
    let digits = |hash: &str| hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit());
    (digits(hash) && digits(record)).then_some(())?;
    let version = version.parse().ok().filter(|v| *v > 0)?;
    Some(Line { name: name.into(), version, hash: hash.into(), record: record.into(), removed })
}
