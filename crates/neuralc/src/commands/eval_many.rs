//! `neuralc eval` over many tables. In: a directory or a pattern, and a directory for the results; out: a file of results for every table,
//! under the name the table has, in the order of their names.
//!
//! Invariants: tables are found before the first is read, are files, and each has a result of its own name; one run at a time writes into
//! a directory; a result appears when it is complete, and is written down in the record of the directory afterwards, with hashes of the
//! table, of the result, and of program and options; a table is not computed again while all three are the same. So a run that was ended
//! goes on where it was, and nothing else is taken for done.

use crate::alone::alone;
use crate::args::EvalArgs;
use crate::context::{Context, Failure, reason};
use crate::core::Compiled;
use crate::table::{Format, cannot_read};
use neural_compiler_fit::save::sha256;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// What the directory of results remembers: a line of JSON for every table that is done.
const RECORD: &str = ".neuralc-eval.jsonl";
/// Folders inside each other after which they are taken for a ring.
const MOST_FOLDERS: usize = 32;

/// A table and the name of its result.
pub(super) struct Piece {
    pub(super) data: PathBuf,
    /// Below the directory of results.
    pub(super) name: PathBuf,
}

/// The tables that `--data` names, if it names a directory or is a pattern, each with a result of its own name.
pub(super) fn tables(data: &str) -> Result<Option<Vec<Piece>>, Failure> {
    let Some(found) = found(data)? else { return Ok(None) };
    let mut pieces: BTreeMap<PathBuf, PathBuf> = BTreeMap::new();
    for Piece { data, name } in &found {
        if let Some(other) = pieces.insert(name.clone(), data.clone()) {
            let (name, data, other) = (name.display(), data.display(), other.display());
            return Err(Failure::Usage(format!("the results of `{other}` and of `{data}` would both be called `{name}`")));
        }
    }
    Ok(Some(found))
}

/// The tables that `--data` names, if it names a directory or is a pattern (`rows/*.parquet`), in the order of their names.
pub(super) fn found(data: &str) -> Result<Option<Vec<Piece>>, Failure> {
    let path = Path::new(data);
    let mut found = Vec::new();
    if path.is_dir() {
        walk(path, Path::new(""), 0, &mut found)?;
    } else if data != "-" && data.contains(['*', '?']) && !path.exists() {
        let parts: Vec<String> = path.components().map(|c| c.as_os_str().to_string_lossy().into_owned()).collect();
        let fixed = parts.iter().take_while(|p| !p.contains(['*', '?'])).count();
        let root: PathBuf = if fixed == 0 { PathBuf::from(".") } else { path.components().take(fixed).collect() };
        matching(&root, Path::new(""), &parts[fixed..], &mut found)?;
    } else {
        return Ok(None);
    }
    if found.is_empty() {
        return Err(cannot_read(data, "it names no table"));
    }
    found.sort_by(|a, b| a.data.cmp(&b.data));
    Ok(Some(found))
}

/// The entries of a folder that are no leftovers of other programs (`.part.crc`, `_SUCCESS`).
fn entries(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let failed = |e| cannot_read(&folder.display().to_string(), reason(&e));
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        if !name.to_string_lossy().starts_with(['.', '_']) {
            names.push(PathBuf::from(name));
        }
    }
    names.sort();
    Ok(names)
}

fn piece(data: PathBuf, below: &Path) -> Result<Piece, Failure> {
    let shown = data.to_string_lossy();
    let parquet = Format::read(&shown)? == Format::Parquet;
    if !fs::metadata(&data).map_err(|e| cannot_read(&shown, reason(&e)))?.is_file() {
        // Opened, it might be waited for without end.
        let why = "it is a pipe, a socket or a device, and the tables of a directory are files; named alone, it is read";
        return Err(cannot_read(&shown, why));
    }
    let mut name = below.to_path_buf();
    if !parquet {
        // Text is written with commas and unpacked, whatever it came as.
        let stem = if name.extension().is_some_and(|e| e.eq_ignore_ascii_case("gz")) { name.with_extension("") } else { name };
        name = stem.with_extension("csv");
    }
    Ok(Piece { data, name })
}

fn walk(folder: &Path, below: &Path, depth: usize, found: &mut Vec<Piece>) -> Result<(), Failure> {
    if depth > MOST_FOLDERS {
        return Err(cannot_read(&folder.display().to_string(), "the folders inside each other do not end"));
    }
    for name in entries(folder)? {
        let (path, below) = (folder.join(&name), below.join(&name));
        if path.is_dir() {
            walk(&path, &below, depth + 1, found)?;
        } else {
            found.push(piece(path, &below)?);
        }
    }
    Ok(())
}

fn matching(folder: &Path, below: &Path, patterns: &[String], found: &mut Vec<Piece>) -> Result<(), Failure> {
    let Some((first, rest)) = patterns.split_first() else { return Ok(()) };
    let names: Vec<PathBuf> = match first.contains(['*', '?']) {
        true => entries(folder)?.into_iter().filter(|n| fits(first.as_bytes(), n.to_string_lossy().as_bytes())).collect(),
        false => vec![PathBuf::from(first)],
    };
    for name in names {
        let (path, below) = (folder.join(&name), below.join(&name));
        match (rest.is_empty(), path.is_dir()) {
            (true, false) if path.exists() => found.push(piece(path, &below)?),
            (false, true) => matching(&path, &below, rest, found)?,
            _ => {}
        }
    }
    Ok(())
}

/// Whether a name fits a pattern: `*` stands for any characters, `?` for one.
fn fits(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n, mut star) = (0, 0, None);
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(&c) if c == b'?' || c == name[n] => (p, n) = (p + 1, n + 1),
            _ => match star {
                // The last star takes one more.
                Some((at, from)) => {
                    star = Some((at, from + 1));
                    (p, n) = (at + 1, from + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&c| c == b'*')
}

/// What became of a table: its line of the record.
#[derive(Clone)]
pub(super) struct Finished {
    pub(super) rows: u64,
    pub(super) failed: u64,
    pub(super) columns: Vec<String>,
}

/// The directory of results, which is this run's alone.
pub(super) struct Results {
    folder: PathBuf,
    /// Hash of program and options.
    same: String,
    known: HashMap<String, Value>,
    /// The record, which other processes are kept away from; a thread writes a line at a time.
    record: Mutex<File>,
}

impl Results {
    pub(super) fn open(context: &Context, args: &EvalArgs, program: &Compiled) -> Result<Results, Failure> {
        let folder = PathBuf::from(&args.out);
        if args.out == "-" || (folder.exists() && !folder.is_dir()) {
            return Err(Failure::Usage(format!("`{}` names many tables, so --out is a directory, not `{}`", args.data, args.out)));
        }
        fs::create_dir_all(&folder).map_err(|e| cannot_write(&folder, &e))?;
        let data = Path::new(&args.data);
        if let (true, Ok(inside), Ok(data)) = (data.is_dir(), folder.canonicalize(), data.canonicalize())
            && inside.starts_with(&data)
        {
            return Err(Failure::Usage("--out is inside the directory of --data: its results would be tables of the next run".into()));
        }
        let EvalArgs { sets, grad, dtype, keep_going, table, dates, .. } = args;
        let said = format!("{sets:?} {grad} {:?} {keep_going} {table:?} {dates:?} {:?} {:?}", dtype.0, context.limits, context.units);
        let text = format!("{} {}\n{said}\n{}", env!("CARGO_PKG_VERSION"), program.program.syntax().name(), program.program.source());
        let same = sha256(text.as_bytes())?;
        let path = folder.join(RECORD);
        if fs::metadata(&path).is_ok_and(|m| !m.is_file()) {
            return Err(cannot_write(&path, &io::Error::other("it is no file")));
        }
        let opened = OpenOptions::new().create(true).read(true).append(true).open(&path);
        let mut record = opened.map_err(|e| cannot_write(&path, &e))?;
        alone(&record, &format!("the directory `{}`", args.out))?;
        let text = read_record(&mut record).map_err(|e| cannot_write(&path, &e))?;
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let known = lines.filter_map(|v| Some((v["name"].as_str()?.to_string(), v))).collect();
        Ok(Results { folder, same, known, record: Mutex::new(record) })
    }

    /// Where the result of a table goes, its folder made.
    pub(super) fn place(&self, piece: &Piece) -> Result<String, Failure> {
        let path = self.folder.join(&piece.name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|e| cannot_write(folder, &e))?;
        }
        if fs::metadata(&path).is_ok_and(|m| !m.is_file()) {
            return Err(cannot_write(&path, &io::Error::other("it is no file, and results of many tables are files")));
        }
        Ok(path.display().to_string())
    }

    /// What there is already of a table.
    pub(super) fn finished(&self, piece: &Piece) -> Result<Option<Finished>, Failure> {
        let Some(line) = self.known.get(&name(piece)).filter(|line| line["same"] == json!(self.same)) else { return Ok(None) };
        let Some(data) = verified(&piece.data, &line["data"]) else { return Ok(None) };
        let Some(result) = verified(&self.folder.join(&piece.name), &line["result"]) else { return Ok(None) };
        let columns = line["columns"].as_array().into_iter().flatten().filter_map(|c| c.as_str().map(String::from)).collect();
        let (Some(rows), Some(failed)) = (line["rows"].as_u64(), line["failed"].as_u64()) else { return Ok(None) };
        let done = Finished { rows, failed, columns };
        if (&data, &result) != (&line["data"], &line["result"]) {
            // So that the next run need not read them.
            self.write(piece, data, result, &done)?;
        }
        Ok(Some(done))
    }

    /// Writes down that a table is done, which was this one before it was read; if it changed meanwhile it is not.
    pub(super) fn note(&self, piece: &Piece, data: Identity, done: &Finished) -> Result<(), Failure> {
        let (shown, place) = (piece.data.display().to_string(), self.folder.join(&piece.name));
        let now = fs::metadata(&piece.data).map_err(|e| cannot_read(&shown, reason(&e)))?;
        if stamp(&now) != data.stamp {
            return Ok(());
        }
        let result = Identity::of(&place).map_err(|e| cannot_read(&place.display().to_string(), reason(&e)))?;
        self.write(piece, data.json(), result.json(), done)
    }

    fn write(&self, piece: &Piece, data: Value, result: Value, done: &Finished) -> Result<(), Failure> {
        let Finished { rows, failed, columns } = done;
        let line = json!({
            "name": name(piece), "same": self.same, "data": data, "result": result, "rows": rows, "failed": failed, "columns": columns,
        });
        let mut record = self.record.lock().unwrap_or_else(PoisonError::into_inner);
        let written = record.write_all(format!("{line}\n").as_bytes()).and_then(|()| record.sync_data());
        written.map_err(|e| cannot_write(&self.folder.join(RECORD), &e))
    }
}

/// What a record says.
fn read_record(record: &mut File) -> io::Result<String> {
    let mut bytes = Vec::new();
    record.read_to_end(&mut bytes)?;
    // A line that was cut off is one table done again; the next line is one of its own.
    if bytes.last().is_some_and(|b| *b != b'\n') {
        record.write_all(b"\n")?;
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// What a file is: its content, and by what it is known again without being read.
pub(super) struct Identity {
    sha256: String,
    stamp: Value,
    settled: bool,
}

impl Identity {
    /// Of a file that is read for it.
    pub(super) fn of(path: &Path) -> io::Result<Identity> {
        let file = File::open(path)?;
        let data = file.metadata()?;
        Ok(Identity { sha256: sha256(file)?, stamp: stamp(&data), settled: settled(&data) })
    }

    /// Without a stamp where a later change could have the same.
    fn json(&self) -> Value {
        json!({"sha256": self.sha256, "stamp": if self.settled { self.stamp.clone() } else { Value::Null }})
    }
}

/// What a file is now, if that is what it was.
fn verified(path: &Path, known: &Value) -> Option<Value> {
    let data = fs::metadata(path).ok().filter(Metadata::is_file)?;
    if !known["stamp"].is_null() && known["stamp"] == stamp(&data) {
        return Some(known.clone());
    }
    let now = Identity::of(path).ok()?;
    (known["sha256"] == json!(now.sha256)).then(|| now.json())
}

/// What changes with every change of a file: its size, and the times of its content and of all the system knows of it, which nobody sets.
#[cfg(unix)]
pub(super) fn stamp(data: &Metadata) -> Value {
    use std::os::unix::fs::MetadataExt;
    let time = |seconds: i64, nanoseconds: i64| format!("{seconds}.{nanoseconds:09}");
    json!([data.len(), data.ino(), time(data.mtime(), data.mtime_nsec()), time(data.ctime(), data.ctime_nsec())])
}

/// Whether the last change is so long ago that the next one has another time, however coarse the clock of the file system.
#[cfg(unix)]
fn settled(data: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |t| t.as_secs() as i64);
    data.ctime().max(data.mtime()) + 2 < now
}

/// Elsewhere files are told apart by their content alone.
#[cfg(not(unix))]
pub(super) fn stamp(data: &Metadata) -> Value {
    json!([data.len(), format!("{:?}", data.modified().ok())])
}

#[cfg(not(unix))]
fn settled(_: &Metadata) -> bool {
    false
}

fn name(piece: &Piece) -> String {
    piece.name.to_string_lossy().into_owned()
}

fn cannot_write(path: &Path, e: &std::io::Error) -> Failure {
    Failure::plain("cannot-write", format!("cannot write `{}`: {}", path.display(), reason(e)), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_again_by_its_content_or_by_what_nobody_can_set() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("t.csv");
        fs::write(&path, "x\n1\n").expect("a file");
        let one = Identity::of(&path).expect("a file");
        let of = |sha256: &str, stamp: Value| verified(&path, &json!({"sha256": sha256, "stamp": stamp}));
        // It was made just now: the next change might have the same time.
        assert_eq!(one.json()["stamp"], Value::Null);
        assert_eq!(of(&one.sha256, Value::Null), Some(one.json()));
        assert_eq!(of("0", Value::Null), None);
        if cfg!(unix) {
            assert!(of("0", one.stamp.clone()).is_some(), "it is not read");
        }
        let time = fs::metadata(&path).and_then(|m| m.modified()).expect("a time");
        let longer = std::time::Duration::from_secs(9);
        fs::File::options().write(true).open(&path).and_then(|f| f.set_modified(time - longer)).expect("a file");
        assert_eq!(of("0", one.stamp.clone()), None);
        assert!(of(&one.sha256, one.stamp.clone()).is_some());
        assert_eq!(verified(folder.path(), &one.json()), None, "no file");
    }

    #[test]
    fn patterns() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("*", "a", true),
            ("*.csv", "a.csv", true),
            ("*.csv", "a.csv.gz", false),
            ("part-?.parquet", "part-7.parquet", true),
            ("part-?.parquet", "part-17.parquet", false),
            ("a*b*c", "axxbyybzc", true),
            ("a*b*c", "axxbyybz", false),
            ("", "", true),
            ("", "a", false),
            ("?", "", false),
            ("*a*a*", "aa", true),
            ("*aab", "aaab", true),
        ] {
            assert_eq!(fits(pattern.as_bytes(), name.as_bytes()), expected, "{pattern} {name}");
        }
    }
}
