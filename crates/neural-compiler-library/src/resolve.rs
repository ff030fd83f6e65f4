//! `(use name@2)`: which text that is. In: the text that asks, the name and the version; out: definitions to put in its place.
//! Invariants: one text has one library: the one that is given, else the nearest above its file; what is handed out has the hashes of the
//! lock file; a module is read once.

use crate::folder::{Library, TEXT};
use crate::verify;
use neural_compiler::compose::as_definitions;
use neural_compiler::syntax::modules::{Loaded, Origin};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Finds modules for texts that use them.
#[derive(Default)]
pub struct Resolver {
    given: Option<PathBuf>,
    library: Option<Library>,
    known: BTreeMap<String, Loaded>,
    origins: BTreeMap<String, Arc<Origin>>,
}

impl Resolver {
    /// `given`: the library, where the caller names one.
    pub fn new(given: Option<PathBuf>) -> Resolver {
        Resolver { given, ..Resolver::default() }
    }

    pub(crate) fn of(library: &Library) -> Resolver {
        Resolver { library: Some(library.clone()), ..Resolver::default() }
    }

    fn library(&mut self, of: &str) -> Result<Library, String> {
        if let Some(known) = &self.library {
            return Ok(known.clone());
        }
        let found = match &self.given {
            Some(folder) => Library::open(folder).map_err(|e| e.errors.0[0].message.clone())?,
            None => {
                // What is no file, an expression, stands where we are.
                let from = Path::new(of).parent().filter(|p| p.is_dir()).unwrap_or(Path::new("."));
                let above = from.canonicalize().unwrap_or_else(|_| from.into());
                Library::find(&above).ok_or_else(|| {
                    format!(
                        "there is no library in `{}` or above it (a folder `library` or `neuralc.library` with a `library.lock`): \
                         make one with `neuralc library init`, or name one with --library DIR",
                        above.display()
                    )
                })?
            }
        };
        Ok(self.library.insert(found).clone())
    }

    /// The definitions of a module, for a text called `of`; or why there are none, with the library that was asked.
    pub fn load(&mut self, of: &str, name: &str, version: u32) -> Result<Loaded, String> {
        let id = format!("{name}@{version}");
        if let Some(known) = self.known.get(&id) {
            return Ok(known.clone());
        }
        let library = self.library(of)?;
        // Once, however deep the module lies that is meant.
        let told = format!(" (library `{}`)", library.folder().display());
        let asked = |why: String| if why.ends_with(&told) { why } else { why + &told };
        let said = |e: Box<neural_compiler::syntax::modules::Mistake>| asked(e.errors.0[0].message.clone());
        library.get(&id).map_err(said)?;
        let text = library.text(name, version).map_err(said)?;
        let checked = verify::compiled(&id, &text, self).map_err(said)?;
        let file = library.place(name, version).join(TEXT).display().to_string();
        let made = as_definitions(&checked.program, checked.whole.as_ref(), name, &file);
        let (text, origin) = made.map_err(|e| asked(e.0[0].message.clone()))?;
        let found = Loaded { name: id.clone(), text };
        self.origins.insert(id.clone(), Arc::new(origin));
        self.known.insert(id, found.clone());
        Ok(found)
    }

    /// The file of a module that was loaded, with where its definitions stand in it.
    pub fn origin(&self, id: &str) -> Option<Arc<Origin>> {
        self.origins.get(id).cloned()
    }

    /// The library that was asked, where one was.
    pub fn asked(&self) -> Option<&Library> {
        self.library.as_ref()
    }
}
