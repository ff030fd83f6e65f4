//! Spoilt files: text tables, Parquet, safetensors. In: good ones and a random stream; out: whether any spoilt one panics, takes too long
//! or breaks out of the readers. What ends the whole process (an allocation that fails, a signal) leaves the file it happened with in
//! place.

use crate::clock::Moment;
use crate::options::{Kind, Options};
use crate::{PATIENCE, here, panics, seeds};
use fastrand::Rng;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// What formats are made of.
const WORDS: [&[u8]; 20] = [
    b",",
    b";",
    b"\t",
    b"\n",
    b"\r\n",
    b"\"",
    b"#",
    b".",
    b"1,234",
    b"NA",
    b"1e999",
    b"2024-02-30",
    b"PAR1",
    b"\xff\xff\xff\xff\x07",
    b"\x80\x80\x80\x80\x08",
    b"\xef\xbb\xbf",
    b"\x00\x00\x00\x80",
    b"\xff\xff\xff\x7f",
    b"-",
    b"{\"\":",
];

/// A good file with something wrong.
fn spoil(rng: &mut Rng, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = seeds[rng.usize(..seeds.len())].clone();
    for _ in 0..1 + rng.usize(..4) {
        let at = rng.usize(..=bytes.len());
        match rng.u32(..9) {
            0..=2 if at < bytes.len() => bytes[at] ^= 1 << rng.u32(..8),
            3 if at < bytes.len() => bytes[at] = rng.u8(..),
            4 if at < bytes.len() => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][rng.usize(..5)],
            5 => drop(bytes.splice(at..at, WORDS[rng.usize(..WORDS.len())].iter().copied())),
            6 => drop(bytes.drain(at..(at + rng.usize(..8)).min(bytes.len()))),
            7 if rng.u32(..4) == 0 => bytes.truncate(at),
            8 => {
                let other = &seeds[rng.usize(..seeds.len())];
                let from = rng.usize(..=other.len());
                let to = (from + rng.usize(..32)).min(other.len());
                let end = (at + to - from).min(bytes.len());
                drop(bytes.splice(at..end, other[from..to].iter().copied()));
            }
            _ => {}
        }
    }
    bytes
}

/// Whether a file was read; `Err`: it should not have ended so.
fn verdict(kind: Kind, path: &Path, bytes: &[u8]) -> Result<bool, String> {
    let work = || match kind {
        Kind::Safetensors => {
            let program = neural_compiler::compile(seeds::NET, &Default::default()).expect("a program");
            neural_compiler_fit::weights::from_bytes(&program, bytes).is_ok()
        }
        Kind::Csv | Kind::Parquet | Kind::Text => {
            std::fs::write(path, bytes).expect("a file can be written");
            neuralc::try_table(path).is_ok()
        }
    };
    let since = Moment::now();
    let outcome = catch_unwind(AssertUnwindSafe(work)).map_err(|_| format!("panic at {}", panics(&here())));
    if since.exceeds(PATIENCE * 8) { Err("slow".into()) } else { outcome }
}

/// Tries a file as it is.
pub(crate) fn try_one(kind: Kind, file: &str) -> bool {
    let found = std::fs::read(file).map_err(|e| e.to_string()).and_then(|bytes| {
        let copy = std::env::temp_dir().join(format!("fuzz-one-{}.{}", std::process::id(), kind.ending()));
        let found = verdict(kind, &copy, &bytes);
        let _ = std::fs::remove_file(copy);
        found
    });
    println!("{file}: {found:?}");
    found.is_ok()
}

pub(crate) fn fuzz(kind: Kind, options: &Options) -> bool {
    let seeds = match kind {
        Kind::Csv | Kind::Text => seeds::csv(),
        Kind::Parquet => seeds::parquet(),
        Kind::Safetensors => seeds::safetensors(),
    };
    let memory = Path::new("/dev/shm");
    let folder: PathBuf = if memory.is_dir() { memory.into() } else { std::env::temp_dir() };
    let start = Instant::now();
    let (taken, done, read) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let failures: Mutex<BTreeMap<String, u64>> = Mutex::new(BTreeMap::new());
    let path = |job: usize| folder.join(format!("neural-compiler-fuzz-{}-{job}.{}", std::process::id(), kind.ending()));
    println!("{} good files; the one at work is in {}", seeds.len(), path(0).display());
    std::thread::scope(|scope| {
        for job in 0..options.jobs {
            let (taken, done, read, failures, seeds, path) = (&taken, &done, &read, &failures, &seeds, path(job));
            scope.spawn(move || {
                while start.elapsed() < options.time {
                    let i = taken.fetch_add(1, Relaxed);
                    if i >= options.count {
                        break;
                    }
                    let bytes = spoil(&mut Rng::with_seed(options.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(i)), seeds);
                    match verdict(kind, &path, &bytes) {
                        Ok(fine) => drop(read.fetch_add(u64::from(fine), Relaxed)),
                        Err(why) => {
                            let times =
                                *failures.lock().expect("no panic holds it").entry(why.clone()).and_modify(|n| *n += 1).or_insert(1);
                            if times == 1 {
                                crate::keep_bytes(&why, kind.ending(), &bytes);
                            }
                        }
                    }
                    let n = done.fetch_add(1, Relaxed) + 1;
                    if n % 100_000 == 0 {
                        eprintln!("{n} files in {:.0} s", start.elapsed().as_secs_f64());
                    }
                }
                let _ = std::fs::remove_file(path);
            });
        }
    });
    let failures = failures.into_inner().expect("no panic holds it");
    println!("{} spoilt files in {:.0} s, {} of them could be read", done.load(Relaxed), start.elapsed().as_secs_f64(), read.load(Relaxed));
    failures.iter().for_each(|(kind, times)| println!("{times} times {kind}"));
    println!("{} kinds of failure", failures.len());
    failures.is_empty()
}
