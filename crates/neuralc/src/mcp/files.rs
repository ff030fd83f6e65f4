//! Files of a granted folder. In: paths as a client writes them; out: the files they are, or a refusal.
//! Invariants: links are followed before anything is decided; what is outside of the folder, or is no plain file, is never opened.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// What a call may not, or cannot, do: as every other diagnostic, with what to write instead.
pub(crate) fn refusal(code: &str, message: impl Into<String>, help: impl Into<String>) -> Value {
    json!({"code": code, "severity": "error", "message": message.into(), "span": Value::Null, "help": help.into(), "labels": []})
}

/// The folder.
#[derive(Clone, Debug)]
pub(crate) struct Root(PathBuf);

impl Root {
    pub(crate) fn new(folder: &Path) -> std::io::Result<Root> {
        let folder = folder.canonicalize()?;
        if folder.is_dir() { Ok(Root(folder)) } else { Err(std::io::Error::other("it is no folder")) }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.0
    }

    fn within(&self, asked: &str, found: std::io::Result<PathBuf>) -> Result<PathBuf, Value> {
        let help = "paths are as seen from the granted folder, and stay in it";
        // Whether something is there is nobody's business outside of the folder.
        match found {
            Ok(path) if path.starts_with(&self.0) => Ok(path),
            Err(e) if !asked.contains("..") && Path::new(asked).is_relative() => {
                Err(refusal("cannot-read", format!("cannot read `{asked}`: {}", crate::context::reason(&e)), help))
            }
            _ => Err(refusal("outside-root", format!("`{asked}` is not in the granted folder"), help)),
        }
    }

    /// A file to read.
    pub(crate) fn read(&self, asked: &str) -> Result<PathBuf, Value> {
        let path = self.within(asked, self.0.join(asked).canonicalize())?;
        if path.is_file() { Ok(path) } else { Err(refusal("cannot-read", format!("`{asked}` is no file"), "name a plain file")) }
    }

    /// A file to write, in a folder that is there.
    pub(crate) fn write(&self, asked: &str) -> Result<PathBuf, Value> {
        let whole = self.0.join(asked);
        if whole.exists() || whole.is_symlink() {
            return self.read(asked);
        }
        let parent = whole.parent().unwrap_or(&self.0).canonicalize();
        let folder = self.within(asked, parent)?;
        let name = whole.file_name().ok_or_else(|| refusal("cannot-write", format!("`{asked}` is no name of a file"), "name a file"))?;
        Ok(folder.join(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leaves_the_folder() {
        let outer = tempfile::tempdir().unwrap();
        let inner = outer.path().join("inner");
        std::fs::create_dir_all(inner.join("deep")).unwrap();
        std::fs::write(outer.path().join("secret.csv"), "x\n1\n").unwrap();
        std::fs::write(inner.join("t.csv"), "x\n1\n").unwrap();
        let root = Root::new(&inner).unwrap();
        let code = |r: Result<PathBuf, Value>| r.err().map_or("fine".to_string(), |e| e["code"].as_str().unwrap().to_string());
        assert_eq!(code(root.read("t.csv")), "fine");
        assert_eq!(code(root.read("deep/../t.csv")), "fine");
        assert_eq!(code(root.read(inner.join("t.csv").to_str().unwrap())), "fine");
        for outside in ["../secret.csv", "/etc/passwd", "../none", "/none/at/all", "deep/../../secret.csv", "deep/../../none"] {
            assert_eq!(code(root.read(outside)), "outside-root", "{outside}");
            assert_eq!(code(root.write(outside)), "outside-root", "{outside}");
        }
        assert_eq!(code(root.read("none.csv")), "cannot-read");
        assert_eq!(code(root.read("deep")), "cannot-read");
        assert_eq!(code(root.write("deep/new.scm")), "fine");
        assert_eq!(code(root.write("..")), "outside-root");
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(outer.path().join("secret.csv"), inner.join("link.csv")).unwrap();
            std::os::unix::fs::symlink(outer.path().join("none.csv"), inner.join("dangling.csv")).unwrap();
            std::os::unix::fs::symlink(outer.path(), inner.join("up")).unwrap();
            for outside in ["link.csv", "up/secret.csv", "up/new.csv"] {
                assert_ne!(code(root.read(outside)), "fine", "{outside}");
                assert_ne!(code(root.write(outside)), "fine", "{outside}");
            }
            assert_ne!(code(root.write("dangling.csv")), "fine");
        }
    }
}
