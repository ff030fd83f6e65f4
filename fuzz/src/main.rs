//! The fuzzer: `neural-compiler-fuzz --seconds N | --count N [--seed S] [--jobs J] [--kind text|csv|parquet|safetensors]`, or
//! `neural-compiler-fuzz [--kind …] FILE…` to try single texts. Looks for panics, broken promises, hangs (one text for more than five
//! seconds of processor time) and runaway memory; each kind is minimised where that is possible and kept in `fuzz/crashes/`. Exits with 1
//! when it found any.

mod clock;
mod files;
mod memory;
mod options;
mod seeds;

use clock::Moment;
use fastrand::Rng;
use neural_compiler_testing::{exercise, mutate};
use options::{Kind, Options};
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: memory::Counting = memory::Counting;

/// A single text may take this long …
const PATIENCE: Duration = Duration::from_secs(5);
/// … and all texts at work together may hold this much.
const MOST_MEMORY: usize = 1 << 30;

/// Where the last panic of this thread was.
static PANICS: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());

fn here() -> String {
    format!("{:?}", std::thread::current().id())
}

/// What is wrong with a text: a short description, the same for the same cause.
fn verdict(text: &str) -> Result<exercise::Reached, String> {
    match catch_unwind(AssertUnwindSafe(|| exercise::exercise(text))) {
        Ok(Ok(reached)) => Ok(reached),
        Ok(Err(broken)) => Err(format!(
            "broken: {}",
            broken.lines().next().unwrap_or("").split(|c: char| c.is_ascii_digit() || c == '`').next().unwrap_or("")
        )),
        Err(_) => Err(format!("panic at {}", panics(&here()))),
    }
}

/// Where a thread panicked last.
fn panics(thread: &str) -> String {
    PANICS.lock().expect("no panic holds it").get(thread).cloned().unwrap_or_default()
}

/// What a worker is doing.
struct Work {
    text: String,
    since: Moment,
}

fn keep(kind: &str, text: &str) {
    keep_bytes(kind, "scm", text.as_bytes());
}

fn keep_bytes(kind: &str, ending: &str, bytes: &[u8]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("crashes");
    let name: String = kind.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(100).collect();
    let file = folder.join(format!("{name}.{ending}"));
    if let Err(e) = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&file, bytes)) {
        eprintln!("cannot write {}: {e}", file.display());
    }
    println!("{kind}\n  kept as {}", file.display());
}

fn try_files(files: &[String]) -> bool {
    files.iter().fold(true, |fine, file| match std::fs::read(file) {
        Ok(bytes) => {
            let found = verdict(&String::from_utf8_lossy(&bytes));
            println!("{file}: {found:?}");
            fine && found.is_ok()
        }
        Err(e) => {
            println!("{file}: {e}");
            false
        }
    })
}

fn main() {
    let options = Options::parse(std::env::args().skip(1)).unwrap_or_else(|message| {
        eprintln!("{message}");
        std::process::exit(2);
    });
    std::panic::set_hook(Box::new(|info| {
        let place =
            info.location().map(|l| format!("{}:{}", l.file().rsplit("crates/").next().unwrap_or(l.file()), l.line())).unwrap_or_default();
        PANICS.lock().expect("no panic holds it").insert(here(), place);
    }));
    let fine = match (options.kind, options.files.is_empty()) {
        (Kind::Text, true) => fuzz(&options),
        (Kind::Text, false) => try_files(&options.files),
        (kind, true) => files::fuzz(kind, &options),
        (kind, false) => options.files.iter().filter(|file| !files::try_one(kind, file)).count() == 0,
    };
    std::process::exit(i32::from(!fine));
}

fn fuzz(options: &Options) -> bool {
    let start = Instant::now();
    let (taken, done) = (AtomicU64::new(0), AtomicU64::new(0));
    let reached = [const { AtomicU64::new(0) }; 4];
    let failures: Mutex<BTreeMap<String, u64>> = Mutex::new(BTreeMap::new());
    let work: Vec<Mutex<Option<Work>>> = (0..options.jobs).map(|_| Mutex::new(None)).collect();
    let over = || start.elapsed() >= options.time;
    std::thread::scope(|scope| {
        for slot in &work {
            scope.spawn(|| {
                while !over() {
                    let i = taken.fetch_add(1, Relaxed);
                    if i >= options.count {
                        break;
                    }
                    let (_, text) = mutate::text(&mut Rng::with_seed(options.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(i)));
                    *slot.lock().expect("no panic holds it") = Some(Work { text: text.clone(), since: Moment::now() });
                    match verdict(&text) {
                        Ok(r) => drop(reached[r as usize].fetch_add(1, Relaxed)),
                        Err(kind) => {
                            let first = {
                                let mut failures = failures.lock().expect("no panic holds it");
                                let times = failures.entry(kind.clone()).or_insert(0);
                                *times += 1;
                                *times == 1
                            };
                            if first {
                                *slot.lock().expect("no panic holds it") = None;
                                keep(&kind, &mutate::minimise(&text, |t| verdict(t).as_ref() == Err(&kind)));
                            }
                        }
                    }
                    *slot.lock().expect("no panic holds it") = None;
                    done.fetch_add(1, Relaxed);
                }
            });
        }
        let mut said = Instant::now();
        while done.load(Relaxed) < options.count && !(over() && work.iter().all(|w| w.lock().expect("no panic holds it").is_none())) {
            std::thread::sleep(Duration::from_millis(20));
            for slot in &work {
                if let Some(w) = &*slot.lock().expect("no panic holds it") {
                    let kind = if w.since.exceeds(PATIENCE * options.jobs as u32) { "hang" } else { "memory" };
                    if kind == "hang" || memory::live() > MOST_MEMORY {
                        keep(kind, &w.text);
                        std::process::exit(1);
                    }
                }
            }
            if said.elapsed() > Duration::from_secs(if std::io::stderr().is_terminal() { 1 } else { 20 }) {
                said = Instant::now();
                let (n, t) = (done.load(Relaxed), start.elapsed().as_secs_f64());
                let end = if std::io::stderr().is_terminal() { "\r" } else { "\n" };
                eprint!(
                    "{n} texts in {t:.0} s, {:.0} per second, {} kinds of failure{end}",
                    n as f64 / t,
                    failures.lock().expect("no panic holds it").len()
                );
            }
        }
    });
    let failures = failures.into_inner().expect("no panic holds it");
    let [rejected, compiled, ran, differentiated] = reached.map(|r| r.into_inner());
    println!(
        "{} texts in {:.0} s: {rejected} rejected, {compiled} compiled, {ran} ran, {differentiated} differentiated; peak memory {} MB",
        done.load(Relaxed),
        start.elapsed().as_secs_f64(),
        memory::peak() >> 20
    );
    failures.iter().for_each(|(kind, times)| println!("{times} times {kind}"));
    println!("{} kinds of failure", failures.len());
    failures.is_empty()
}
