//! `neuralc eval` over many tables. In: a directory or a pattern, and a directory for the results; out: a file of results for every table,
//! under the name the table has, in the order of their names.
//!
//! Invariants: tables are found before the first is read, and each has a result of its own name; a result appears when it is complete, and
//! is written down in the record of the directory afterwards; a table whose result is there, made from the same table by the same program
//! and options, is not computed again. So a run that was ended goes on where it was.

use crate::args::EvalArgs;
use crate::context::{Context, Failure, reason};
use crate::core::Compiled;
use crate::table::{Format, cannot_read};
use neural_compiler_fit::save::sha256;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::fs::{self, Metadata, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

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

/// The tables that `--data` names, if it names a directory or is a pattern (`rows/*.parquet`).
pub(super) fn tables(data: &str) -> Result<Option<Vec<Piece>>, Failure> {
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
    let mut pieces: BTreeMap<PathBuf, PathBuf> = BTreeMap::new();
    for Piece { data, name } in &found {
        if let Some(other) = pieces.insert(name.clone(), data.clone()) {
            let (name, data, other) = (name.display(), data.display(), other.display());
            return Err(Failure::Usage(format!("the results of `{other}` and of `{data}` would both be called `{name}`")));
        }
    }
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
    let parquet = Format::read(&data.to_string_lossy())? == Format::Parquet;
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

/// The directory of results.
pub(super) struct Results {
    folder: PathBuf,
    /// Hash of program and options.
    same: String,
    known: HashMap<String, Value>,
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
        // A line that was cut off is one table done again.
        let record = fs::read_to_string(folder.join(RECORD)).unwrap_or_default();
        let lines = record.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let known = lines.filter_map(|v| Some((v["name"].as_str()?.to_string(), v))).collect();
        Ok(Results { folder, same, known })
    }

    /// Where the result of a table goes, its folder made.
    pub(super) fn place(&self, piece: &Piece) -> Result<String, Failure> {
        let path = self.folder.join(&piece.name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|e| cannot_write(folder, &e))?;
        }
        Ok(path.display().to_string())
    }

    /// What there is already of a table.
    pub(super) fn finished(&self, piece: &Piece) -> Option<Finished> {
        let line = self.known.get(&name(piece))?;
        let there = fs::metadata(self.folder.join(&piece.name)).ok()?;
        let same = line["same"] == json!(self.same) && line["data"] == stamp(&fs::metadata(&piece.data).ok()?);
        let columns = line["columns"].as_array()?.iter().filter_map(|c| c.as_str().map(String::from)).collect();
        let finished = Finished { rows: line["rows"].as_u64()?, failed: line["failed"].as_u64()?, columns };
        (same && line["bytes"] == json!(there.len())).then_some(finished)
    }

    /// Writes down that a table is done.
    pub(super) fn note(&self, piece: &Piece, data: &Metadata, done: &Finished) -> Result<(), Failure> {
        let path = self.folder.join(RECORD);
        let write = || -> std::io::Result<()> {
            let bytes = fs::metadata(self.folder.join(&piece.name))?.len();
            let Finished { rows, failed, columns } = done;
            let line = json!({
                "name": name(piece), "same": self.same, "data": stamp(data), "bytes": bytes, "rows": rows, "failed": failed,
                "columns": columns,
            });
            let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
            file.write_all(format!("{line}\n").as_bytes())?;
            file.sync_data()
        };
        write().map_err(|e| cannot_write(&path, &e))
    }
}

fn name(piece: &Piece) -> String {
    piece.name.to_string_lossy().into_owned()
}

/// By what a table that was changed is told from what it was.
fn stamp(data: &Metadata) -> Value {
    let changed = data.modified().ok().and_then(|t| t.duration_since(UNIX_EPOCH).ok());
    json!([data.len(), changed.map(|t| t.as_nanos().to_string())])
}

fn cannot_write(path: &Path, e: &std::io::Error) -> Failure {
    Failure::plain("cannot-write", format!("cannot write `{}`: {}", path.display(), reason(e)), None)
}

#[cfg(test)]
mod tests {
    use super::fits;

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
