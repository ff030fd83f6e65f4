//! User mistakes as data: a stable code, where, what, and how to mend it. Rendering belongs to the faces (CLI, Python).
//! Invariant: codes are kebab-case and never change meaning; they are all listed in `spec/errors.md`.

use crate::source::Span;

/// How bad it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Severity {
    /// The program has no meaning.
    Error,
    /// The program has a meaning, but perhaps not the one wanted.
    Warning,
    /// Nothing is wrong; something is good to know.
    Note,
}

impl Severity {
    /// `error`, `warning` or `note`.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        }
    }
}

/// A second place that matters to a diagnostic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    /// Where.
    pub span: Span,
    /// What is there.
    pub text: String,
}

/// One finding about a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// Stable kebab-case code.
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// The main place.
    pub span: Span,
    /// One sentence, no trailing stop.
    pub message: String,
    /// Further places.
    pub labels: Vec<Label>,
    /// What to do about it.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error at a place.
    pub fn error(code: &'static str, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic { code, severity: Severity::Error, span, message: message.into(), labels: Vec::new(), help: None }
    }

    /// A warning at a place.
    pub fn warning(code: &'static str, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(code, span, message) }
    }

    /// A note at a place.
    pub fn note(code: &'static str, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Note, ..Diagnostic::error(code, span, message) }
    }

    /// With a further place.
    pub fn label(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        self.labels.push(Label { span, text: text.into() });
        self
    }

    /// With advice.
    pub fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }

    /// With advice if there is any.
    pub fn maybe_help(mut self, help: Option<String>) -> Diagnostic {
        self.help = help.or(self.help);
        self
    }
}

/// Everything wrong with a program, in source order. Never empty.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostics(pub Vec<Diagnostic>);

impl Diagnostics {
    /// In source order, whatever order they were found in.
    pub(crate) fn sorted(mut list: Vec<Diagnostic>) -> Diagnostics {
        list.sort_by_key(|d| d.span);
        Diagnostics(list)
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(d: Diagnostic) -> Diagnostics {
        Diagnostics(vec![d])
    }
}

impl std::fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, d) in self.0.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            write!(f, "{}[{}] at {}..{}: {}", d.severity.name(), d.code, d.span.start, d.span.end, d.message)?;
            if let Some(help) = &d.help {
                write!(f, " (help: {help})")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}

/// The nearest of `known` to a misspelt `name`, as advice, if any is near enough to be meant.
pub fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    // Comparing very long names costs time quadratic in their length and helps nobody.
    if name.len() > 64 {
        return None;
    }
    let (distance, best) = known
        .into_iter()
        .filter(|k| *k != name && k.len() <= 64)
        .map(|k| (strsim::damerau_levenshtein(name, k), k))
        .min_by(|a, b| a.0.cmp(&b.0).then(a.1.cmp(b.1)))?;
    let allowed = match name.chars().count() {
        0..=4 => 1,
        5..=7 => 2,
        _ => 3,
    };
    (distance <= allowed && distance < name.chars().count()).then(|| format!("did you mean `{best}`?"))
}
