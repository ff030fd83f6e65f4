//! The folder of a library. In: names; out: modules and their texts, each held to the hash it was frozen with.
//! Invariants: what the lock file names is there, with its hash, or an error says which is not; files appear whole or not at all.

use crate::lock::{self, Line, Lock};
use crate::module::Module;
use crate::resolve::Resolver;
use crate::signature::Signature;
use crate::{Outcome, plain, probes, verify};
use neural_compiler::diagnostic::did_you_mean;
use std::path::{Path, PathBuf};

/// The files of a module.
pub(crate) const TEXT: &str = "module.scm";
pub(crate) const RECORD: &str = "module.json";
/// What a library is called where none is named.
const NAMES: [&str; 2] = ["library", "neuralc.library"];

/// A library.
#[derive(Clone, Debug)]
pub struct Library {
    folder: PathBuf,
}

/// What `test` found out about a module.
#[derive(Clone, PartialEq, Debug)]
pub struct Verdict {
    /// `name@version`
    pub id: String,
    /// How many examples were run.
    pub examples: usize,
    /// How many recorded values were compared.
    pub probes: usize,
    /// What is wrong; nothing where it still is what it was.
    pub wrong: Vec<String>,
}

fn io(what: &str, path: &Path, e: &std::io::Error) -> Box<neural_compiler::syntax::modules::Mistake> {
    plain("library-files", format!("cannot {what} `{}`: {e}", path.display()), None)
}

/// `name` or `name@2`
fn id(text: &str) -> Outcome<(&str, Option<u32>)> {
    match text.split_once('@') {
        None => Ok((text, None)),
        Some((name, version)) => match version.parse() {
            Ok(version) => Ok((name, Some(version))),
            Err(_) => Err(plain("unknown-module", format!("`{text}` is not NAME or NAME@VERSION"), None)),
        },
    }
}

impl Library {
    /// Makes a library of a folder, which is made where it is missing.
    pub fn init(folder: impl Into<PathBuf>) -> Outcome<Library> {
        let folder = folder.into();
        std::fs::create_dir_all(&folder).map_err(|e| io("make", &folder, &e))?;
        if folder.join(lock::NAME).exists() {
            return Err(plain("library-exists", format!("`{}` is a library already", folder.display()), None));
        }
        lock::create(&folder)?;
        Ok(Library { folder })
    }

    /// The library of a folder.
    pub fn open(folder: impl Into<PathBuf>) -> Outcome<Library> {
        let folder = folder.into();
        if !folder.join(lock::NAME).is_file() {
            let message = format!("`{}` is no library: it has no `{}`", folder.display(), lock::NAME);
            return Err(plain("no-library", message, Some("neuralc library init makes one".into())));
        }
        Ok(Library { folder })
    }

    /// The nearest library: in a folder or above it, called `library` or `neuralc.library`.
    pub fn find(from: &Path) -> Option<Library> {
        let is = |folder: &Path| folder.join(lock::NAME).is_file();
        let near = |above: &Path| NAMES.iter().map(|n| above.join(n)).chain([above.to_path_buf()]).find(|f| is(f));
        from.ancestors().find_map(near).map(|folder| Library { folder })
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn lock(&self, hold: bool) -> Outcome<Lock> {
        Lock::open(&self.folder, hold)
    }

    pub(crate) fn place(&self, name: &str, version: u32) -> PathBuf {
        self.folder.join(name).join(version.to_string())
    }

    fn read(&self, name: &str, version: u32, file: &str) -> Outcome<String> {
        let path = self.place(name, version).join(file);
        std::fs::read_to_string(&path).map_err(|e| io("read", &path, &e))
    }

    /// The line of a module that is there.
    fn line(&self, lock: &Lock, name: &str, version: Option<u32>) -> Outcome<Line> {
        let named = || lock.lines.iter().filter(|l| l.name == name);
        let asked = named().filter(|l| version.is_none_or(|v| l.version == v)).max_by_key(|l| (!l.removed, l.version));
        match asked {
            Some(line) if !line.removed => Ok(line.clone()),
            Some(line) => {
                let message = format!("`{name}@{}` was removed from the library `{}`", line.version, self.folder.display());
                Err(plain("unknown-module", message, None))
            }
            None => {
                let id = version.map_or_else(|| name.to_string(), |v| format!("{name}@{v}"));
                let versions: Vec<String> = named().filter(|l| !l.removed).map(|l| format!("`{name}@{}`", l.version)).collect();
                let help = if versions.is_empty() {
                    did_you_mean(name, lock.present().map(|l| l.name.as_str()))
                } else {
                    Some(format!("there is {}", versions.join(", ")))
                };
                Err(plain("unknown-module", format!("the library `{}` has no `{id}`", self.folder.display()), help))
            }
        }
    }

    /// The text of a module, if it is the one that was frozen.
    pub fn text(&self, name: &str, version: u32) -> Outcome<String> {
        let lock = self.lock(false)?;
        let line = self.line(&lock, name, Some(version))?;
        let text = self.read(name, version, TEXT)?;
        let id = format!("{name}@{version}");
        let uses = verify::uses(&id, &text, &lock)?;
        if verify::hash(&text, &uses) != line.hash {
            let message = format!("`{id}` is not what was frozen: the hash of `{TEXT}` is not that of `{}`", lock::NAME);
            let help = "take the change back; what is new becomes a new version: neuralc library add";
            return Err(plain("library-changed", message, Some(help.into())));
        }
        Ok(text)
    }

    fn module(&self, line: &Line) -> Outcome<Module> {
        let record = self.read(&line.name, line.version, RECORD)?;
        let bad = |why: String| {
            let message = format!("`{RECORD}` of `{}@{}` cannot be used: {why}", line.name, line.version);
            plain("library-damaged", message, None)
        };
        let module: Module = serde_json::from_str(&record).map_err(|e| bad(e.to_string()))?;
        if module.name != line.name || module.version != line.version || module.hash != line.hash {
            return Err(bad(format!("it is not the record `{}` names", lock::NAME)));
        }
        if module.digest() != line.record {
            let message =
                format!("`{}@{}` is not what was frozen: the hash of `{RECORD}` is not that of `{}`", line.name, line.version, lock::NAME);
            let help = "take the change back; what is new becomes a new version: neuralc library add";
            return Err(plain("library-changed", message, Some(help.into())));
        }
        Ok(module)
    }

    /// A module by `name@version`, or the newest by `name`.
    pub fn get(&self, named: &str) -> Outcome<Module> {
        let (name, version) = id(named)?;
        let lock = self.lock(false)?;
        self.module(&self.line(&lock, name, version)?)
    }

    /// All modules, by name and version.
    pub fn list(&self) -> Outcome<Vec<Module>> {
        let lock = self.lock(false)?;
        let mut lines: Vec<&Line> = lock.present().collect();
        lines.sort_by(|a, b| (&a.name, a.version).cmp(&(&b.name, b.version)));
        lines.into_iter().map(|line| self.module(line)).collect()
    }

    /// The text of a module with everything it uses in place: a program like any other.
    pub fn export(&self, named: &str) -> Outcome<String> {
        let module = self.get(named)?;
        let text = self.text(&module.name, module.version)?;
        let checked = verify::compiled(&module.id(), &text, &mut Resolver::of(self))?;
        Ok(checked.whole.map_or(text, |w| w.text))
    }

    /// A module's program, and its inputs in the order of its graph.
    pub(crate) fn program(&self, module: &Module) -> Outcome<verify::Checked> {
        let text = self.text(&module.name, module.version)?;
        verify::compiled(&module.id(), &text, &mut Resolver::of(self))
    }

    /// Holds modules (all, where none are named) to what was recorded of them: hash, signature, domain, examples, values to the bit.
    pub fn test(&self, named: &[String]) -> Outcome<Vec<Verdict>> {
        let lock = self.lock(false)?;
        let mut lines: Vec<Line> = if named.is_empty() {
            lock.present().cloned().collect()
        } else {
            let one = |n: &String| id(n).and_then(|(name, version)| self.line(&lock, name, version));
            named.iter().map(one).collect::<Outcome<_>>()?
        };
        if named.is_empty() {
            lines.sort_by(|a, b| (&a.name, a.version).cmp(&(&b.name, b.version)));
        }
        let verdict = |line: &Line| match self.module(line) {
            Ok(module) => self.verdict(&module),
            Err(e) => {
                let wrong = e.errors.0.iter().map(|d| d.message.clone()).collect();
                Verdict { id: format!("{}@{}", line.name, line.version), examples: 0, probes: 0, wrong }
            }
        };
        Ok(lines.iter().map(verdict).collect())
    }

    fn verdict(&self, module: &Module) -> Verdict {
        let mut wrong = Vec::new();
        match self.program(module) {
            Err(e) => wrong.extend(e.errors.0.iter().map(|d| d.message.clone())),
            Ok(checked) => {
                let end = |x: Option<f64>, none: f64| x.unwrap_or(none);
                let range = |q: &crate::Quantity| (q.name.clone(), (end(q.range.0, f64::NEG_INFINITY), end(q.range.1, f64::INFINITY)));
                let ranges: Vec<_> = module.inputs.iter().map(range).collect();
                match Signature::of(&checked.program, &checked.graph, &ranges) {
                    Err(e) => wrong.extend(e.0.iter().map(|d| d.message.clone())),
                    Ok(s) if s.inputs != module.inputs || s.output != module.output || s.params != module.params => {
                        wrong.push("its signature is not the one that was recorded".into());
                    }
                    Ok(s) if module.domain.proved && !s.domain.proved => wrong.push("its domain is no longer proved".into()),
                    Ok(s) if module.domain.finite && !s.domain.finite => wrong.push("that it does not overflow is no longer proved".into()),
                    Ok(_) => {}
                }
                wrong.extend(module.examples.iter().filter_map(|e| e.run(&checked.program).err()).map(|d| d.message));
                if wrong.is_empty() {
                    wrong.extend(self.changed_values(module, &checked));
                }
            }
        }
        Verdict { id: module.id(), examples: module.examples.len(), probes: module.probes.len(), wrong }
    }

    fn changed_values(&self, module: &Module, checked: &verify::Checked) -> Option<String> {
        let differs = |p: &crate::Probe| {
            let found = checked.at(&p.inputs);
            found.is_none_or(|found| probes::recorded(&found) != p.output)
        };
        module.probes.iter().any(differs).then(|| "a value is not the one that was recorded, to the bit".into())
    }

    /// Takes a module out; its number stays taken. Refused while another module uses it.
    pub fn remove(&self, named: &str) -> Outcome<Module> {
        let (name, version) = id(named)?;
        let mut lock = self.lock(true)?;
        let line = self.line(&lock, name, version)?;
        let all: Vec<Module> = lock.present().map(|l| self.module(l)).collect::<Outcome<_>>()?;
        let id = format!("{}@{}", line.name, line.version);
        let users: Vec<String> = all.iter().filter(|m| m.uses.contains_key(&id)).map(|m| format!("`{}`", m.id())).collect();
        if !users.is_empty() {
            let message = format!("`{id}` is used by {}", users.join(", "));
            return Err(plain("module-in-use", message, Some("remove these first".into())));
        }
        let module = self.module(&line)?;
        let place = self.place(&line.name, line.version);
        // First the line: files that are left over are in nobody's way.
        lock.add(Line { removed: true, ..line })?;
        std::fs::remove_dir_all(&place).map_err(|e| io("remove", &place, &e))?;
        // The last version takes the folder of the name with it.
        let _ = place.parent().map(std::fs::remove_dir);
        Ok(module)
    }
}
