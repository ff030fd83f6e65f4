//! Modules: definitions of other texts. In: a text with lines `(use "file.scm" (name …))` or `(use name@2)`, and what loads a text by its
//! name; out: one text without them, in which the definitions come first, and where each stretch of it comes from.
//! Invariants: a module has definitions and constants with units only, and they depend on nothing but each other; its constants are numbers
//! of the whole, not parameters, so that nobody gives them other values; its names are called `file.name` in the whole, so that nothing is
//! seen that was not asked for; every text stands in the whole once, behind those it uses; nothing here reads files.

use crate::compile::{Options, compile};
use crate::diagnostic::{Diagnostic, Diagnostics, did_you_mean};
use crate::limits::Limits;
use crate::source::Span;
use crate::syntax::reader::{Data, Datum, DatumId, read};
use crate::syntax::{forms, printed_name};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A text and what it is called: one name, one text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loaded {
    /// What it is called.
    pub name: String,
    /// The text.
    pub text: String,
}

/// What a text asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Wanted {
    /// A file, as it is written there.
    File(String),
    /// A frozen module of a library: its name and version.
    Module(String, u32),
}

impl std::fmt::Display for Wanted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Wanted::File(path) => write!(f, "{path}"),
            Wanted::Module(name, version) => write!(f, "{name}@{version}"),
        }
    }
}

/// Loads what a text (named first) asks for; else says why not.
pub type Loader<'a> = dyn FnMut(&str, &Wanted) -> Result<Loaded, String> + 'a;

/// A mistake, and the text it is in.
#[derive(Clone, PartialEq, Debug)]
pub struct Mistake {
    /// The text.
    pub file: Loaded,
    /// What is wrong with it.
    pub errors: Diagnostics,
}

/// One text made of several.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Linked {
    /// The whole, a program like any other.
    pub text: String,
    /// The texts it is made of: the program, then its modules.
    pub files: Vec<Loaded>,
    /// Stretches of the whole: where each begins and ends, whose it is, and where it stands there.
    pieces: Vec<(Span, usize, Span)>,
    /// What texts were made of that nobody wrote as they are.
    origins: BTreeMap<usize, Arc<Origin>>,
}

/// The text that definitions were made of, which people know: a module of a library, as its file has it.
#[derive(Clone, PartialEq, Debug)]
pub struct Origin {
    /// The text.
    pub file: Loaded,
    /// Stretches of the definitions, in order, and where each stands in the text.
    pub pieces: Vec<(Span, Span)>,
}

impl Origin {
    /// Where a place of the definitions stands in the text.
    fn place(&self, span: Span) -> Span {
        let within = |at: u32| self.pieces.iter().rev().find(|p| p.0.start <= at).copied().unwrap_or_default();
        let start = moved(span.start, within(span.start), false);
        let end = moved(span.end, within(span.end.saturating_sub(1).max(span.start)), true);
        Span { start, end: end.max(start) }
    }
}

/// Where a place of a stretch stands where the stretch comes from.
fn moved(at: u32, (here, there): (Span, Span), end: bool) -> u32 {
    match here.end - here.start == there.end - there.start {
        true => there.start + (at - here.start).min(here.end - here.start),
        // A name that is another in the whole, or words of its own.
        false if end => there.end,
        false => there.start,
    }
}

impl Linked {
    /// Whose a place of the whole is, and where it stands there.
    pub fn place(&self, span: Span) -> (usize, Span) {
        let within = |at: u32| self.pieces.iter().rev().find(|p| p.0.start <= at).copied().unwrap_or((Span::default(), 0, Span::default()));
        let (here, file, there) = within(span.start);
        let start = moved(span.start, (here, there), false);
        let last = within(span.end.saturating_sub(1).max(span.start));
        let end = if last.1 == file && span.end > span.start { moved(span.end, (last.0, last.2), true) } else { start };
        (file, Span { start, end: end.max(start) })
    }

    /// Remembers what texts were made of, by their names, so that mistakes are told in the texts people know.
    pub fn trace(&mut self, origin: impl Fn(&str) -> Option<Arc<Origin>>) {
        self.origins = self.files.iter().enumerate().filter_map(|(k, f)| Some((k, origin(&f.name)?))).collect();
    }

    /// Whose a place of the whole is, and where it stands in the text people know.
    fn known_place(&self, span: Span) -> (usize, Span) {
        let (file, span) = self.place(span);
        (file, self.origins.get(&file).map_or(span, |o| o.place(span)))
    }

    /// What is wrong with the whole, as mistakes in the text the first of them is in.
    pub fn blame(&self, errors: &Diagnostics) -> Mistake {
        let file = errors.0.first().map_or(0, |d| if d.span == Span::default() { 0 } else { self.place(d.span).0 });
        let own = |d: &Diagnostic| {
            let (whose, span) = if d.span == Span::default() { (file, d.span) } else { self.known_place(d.span) };
            let labels = d.labels.iter().map(|l| (self.known_place(l.span), &l.text)).filter(|((of, _), _)| *of == file);
            let labels = labels.map(|((_, span), text)| crate::diagnostic::Label { span, text: text.clone() }).collect();
            (whose == file).then(|| Diagnostic { span, labels, ..d.clone() })
        };
        let known = self.origins.get(&file).map_or(&self.files[file], |o| &o.file);
        Mistake { file: known.clone(), errors: Diagnostics(errors.0.iter().filter_map(own).collect()) }
    }
}

/// `(use "file.scm" (name …))`, or `(use name@2)`, which wants what is called as the module itself.
struct Use {
    span: Span,
    path: (Wanted, Span),
    names: Vec<(String, Span)>,
}

/// A text that is read.
struct File {
    loaded: Loaded,
    uses: Vec<Use>,
    /// The texts these lead to.
    targets: Vec<usize>,
    data: Data,
    /// What its definitions are called in front of their own name.
    prefix: String,
}

/// Puts a program and its modules together; nothing where it uses none.
pub fn link(main: Loaded, load: &mut Loader<'_>, limits: &Limits) -> Result<Option<Linked>, Box<Mistake>> {
    let mut linker = Linker { limits, files: Vec::new(), open: Vec::new(), order: Vec::new() };
    linker.visit(main, load)?;
    if linker.files.len() == 1 {
        return Ok(None);
    }
    let mut whole = Linked { text: String::new(), files: linker.files.iter().map(|f| f.loaded.clone()).collect(), ..Linked::default() };
    for &file in linker.order.iter().filter(|&&f| f != 0) {
        linker.write(file, &mut whole)?;
    }
    // Definitions alone: a name that is nothing there would be an input that nobody sees.
    let closed = Options { inputs: Some(vec![]), limits: *limits, ..Options::default() };
    if let Err(errors) = compile(&format!("{}0", whole.text), &closed) {
        return Err(Box::new(whole.blame(&errors)));
    }
    linker.write(0, &mut whole)?;
    Ok(Some(whole))
}

struct Linker<'a> {
    limits: &'a Limits,
    files: Vec<File>,
    /// The texts that are being read, each used by the one before.
    open: Vec<usize>,
    /// All of them, each behind those it uses.
    order: Vec<usize>,
}

impl Linker<'_> {
    fn wrong(&self, file: usize, error: Diagnostic) -> Box<Mistake> {
        Box::new(Mistake { file: self.files[file].loaded.clone(), errors: error.into() })
    }

    fn visit(&mut self, loaded: Loaded, load: &mut Loader<'_>) -> Result<usize, Box<Mistake>> {
        let own = self.files.len();
        let found = uses(&loaded.text);
        let stem = loaded.name.rsplit(['/', '\\']).next().and_then(|n| n.split('.').next()).unwrap_or("module");
        let stem: String = stem.chars().map(|c| if c.is_alphanumeric() || c == '-' || c == '_' { c } else { '-' }).collect();
        let same = self.files.iter().filter(|f| f.prefix == stem || f.prefix.starts_with(&format!("{stem}."))).count();
        let prefix = if same == 0 { stem } else { format!("{stem}.{}", same + 1) };
        self.files.push(File { loaded: loaded.clone(), uses: vec![], targets: vec![], data: Data::default(), prefix });
        let found = found.map_err(|e| self.wrong(own, e))?;
        let mut bare = loaded.text.clone().into_bytes();
        found
            .iter()
            .for_each(|u| bare[u.span.start as usize..u.span.end as usize].iter_mut().filter(|b| **b != b'\n').for_each(|b| *b = b' '));
        let bare = String::from_utf8(bare).expect("a form is made of whole characters");
        let mut targets = Vec::new();
        if !(own == 0 && found.is_empty()) {
            let (data, errors) = read(&bare, self.limits);
            if !errors.is_empty() {
                return Err(Box::new(Mistake { file: loaded, errors: Diagnostics(errors) }));
            }
            self.files[own].data = data;
        }
        if own != 0 {
            self.only_definitions(own)?;
        }
        self.open.push(own);
        for u in &found {
            let (path, at) = (&u.path.0, u.path.1);
            if self.files.len() > MOST_FILES {
                return Err(self.wrong(own, Diagnostic::error("limit-nesting", at, format!("more than {MOST_FILES} texts are used"))));
            }
            let next = load(&loaded.name, path)
                .map_err(|why| self.wrong(own, Diagnostic::error("cannot-use", at, format!("`{path}` cannot be used: {why}"))))?;
            let known = self.files.iter().position(|f| f.loaded.name == next.name);
            if let Some(k) = known.filter(|k| self.open.contains(k)) {
                let round: Vec<&str> = self.open.iter().skip_while(|f| **f != k).map(|&f| self.files[f].loaded.name.as_str()).collect();
                let message = format!("`{path}` uses this text in turn: {}", round.join(", "));
                return Err(self.wrong(own, Diagnostic::error("use-cycle", at, message).help("put what both need into a third text")));
            }
            targets.push(match known {
                Some(k) => k,
                None => crate::deep(|| self.visit(next, load))?,
            });
        }
        self.open.pop();
        self.order.push(own);
        (self.files[own].uses, self.files[own].targets) = (found, targets);
        Ok(own)
    }

    fn only_definitions(&self, file: usize) -> Result<(), Box<Mistake>> {
        let data = &self.files[file].data;
        let other = |d: &&DatumId| defined(data, **d, false).is_none() && constant(data, **d).is_none();
        match data.top.iter().find(other) {
            None => Ok(()),
            Some(&d) => {
                let message = "a text that is used has definitions only";
                let help = "inputs, parameters and states belong to the program: give them to a function as arguments";
                Err(self.wrong(file, Diagnostic::error("not-a-definition", data.span(d), message).help(help)))
            }
        }
    }

    /// What names of a text are called in the whole.
    fn renamed(&self, file: usize) -> Result<BTreeMap<String, String>, Box<Mistake>> {
        let f = &self.files[file];
        let own: Vec<(String, Span)> = f.data.top.iter().filter_map(|&d| defined(&f.data, d, true)).collect();
        let mut names = BTreeMap::new();
        if file != 0 {
            names.extend(own.iter().map(|(n, _)| (n.clone(), format!("{}.{n}", f.prefix))));
        }
        for (u, &target) in f.uses.iter().zip(&f.targets) {
            let t = &self.files[target];
            let there: Vec<String> = t.data.top.iter().filter_map(|&d| defined(&t.data, d, false)).map(|d| d.0).collect();
            for (name, at) in &u.names {
                if !there.contains(name) {
                    let message = format!("`{}` does not define `{name}`", u.path.0);
                    let help = did_you_mean(name, there.iter().map(String::as_str));
                    return Err(self.wrong(file, Diagnostic::error("unknown-name", *at, message).maybe_help(help)));
                }
                let before = own.iter().find(|o| o.0 == *name).map(|o| o.1);
                let called = format!("{}.{name}", t.prefix);
                if before.is_some() || names.get(name).is_some_and(|other| *other != called) {
                    let first = f.uses.iter().find(|other| other.path.0 != u.path.0 && other.names.iter().any(|n| n.0 == *name));
                    let meant = match (before, first) {
                        (None, Some(first)) => format!("is that of `{}` already", first.path.0),
                        _ => "means something else here".to_string(),
                    };
                    let mut error = Diagnostic::error("duplicate-name", *at, format!("`{name}` is used from `{}` and {meant}", u.path.0));
                    if let Some(before) = before.or(first.map(|first| first.path.1)) {
                        error = error.label(before, "here");
                    }
                    return Err(self.wrong(
                        file,
                        error.help(format!("a text of its own, as in (use …) (define (other-{name} x) ({name} x)), gives it another name")),
                    ));
                }
                names.insert(name.clone(), called);
            }
        }
        Ok(names)
    }

    /// Adds a text to the whole, names as they are called there, and forms that use others left out.
    fn write(&self, file: usize, whole: &mut Linked) -> Result<(), Box<Mistake>> {
        let names = self.renamed(file)?;
        let f = &self.files[file];
        let (constants, others): (Vec<_>, Vec<_>) =
            f.data.top.iter().map(|&d| (d, constant(&f.data, d).filter(|_| file != 0))).partition(|(_, c)| c.is_some());
        let mut changes: Vec<(Span, String)> = f.uses.iter().map(|u| (u.span, String::new())).collect();
        changes.extend(constants.iter().map(|(d, _)| (f.data.span(*d), String::new())));
        let mut work: Vec<DatumId> = others.into_iter().map(|(d, _)| d).collect();
        while let Some(d) = work.pop() {
            match f.data.get(d) {
                Datum::Symbol(s) => changes.extend(names.get(f.data.names.text(s)).map(|n| (f.data.span(d), printed_name(n)))),
                Datum::List(..) | Datum::Bracket(..) => {
                    let children = f.data.children(d);
                    work.extend(children.iter().enumerate().filter(|(i, _)| !is_unit(&f.data, d, *i)).map(|(_, c)| c));
                }
                Datum::Number(_) => {}
            }
        }
        changes.sort_by_key(|c| c.0);
        let text = &f.loaded.text;
        let mut at = 0;
        let piece = |whole: &mut Linked, new: &str, there: Span| {
            let from = whole.text.len();
            whole.text.push_str(new);
            if !new.is_empty() {
                whole.pieces.push((Span::new(from, whole.text.len()), file, there));
            }
        };
        // Constants come first: parameters are seen from everywhere, values by what stands behind them.
        for (d, constant) in constants.iter().filter_map(|(d, c)| Some((*d, c.as_ref()?))) {
            let form = f.data.span(d);
            let own = |d: DatumId| (f.data.span(d), f.data.span(d).text(text).to_string());
            let name = (f.data.span(constant.name), printed_name(&names[&constant.called]));
            for (head, what) in constant.unit.map(|u| ("(unit ", u)).into_iter().chain([("(define ", constant.value)]) {
                let (span, written) = own(what);
                piece(whole, head, form);
                piece(whole, &name.1, name.0);
                piece(whole, " ", form);
                piece(whole, &written, span);
                piece(whole, ")\n", form);
            }
        }
        for (span, new) in changes {
            piece(whole, &text[at..span.start as usize], Span::new(at, span.start as usize));
            piece(whole, &new, span);
            at = span.end as usize;
        }
        piece(whole, &text[at..], Span::new(at, text.len()));
        if file != 0 {
            whole.text.push('\n');
        }
        Ok(())
    }
}

/// Texts of a program at most.
const MOST_FILES: usize = 1000;

/// The name a form at the top gives a meaning to; `declared`: declarations count too.
fn defined(data: &Data, d: DatumId, declared: bool) -> Option<(String, Span)> {
    let [head, target, ..] = data.list(d)? else { return None };
    let form = data.names.text(data.symbol(*head)?);
    if !(form == "define" || declared && forms::form(form).is_some_and(|f| f.is_declaration())) {
        return None;
    }
    let name = data.symbol(*target).map(|s| (s, *target)).or_else(|| {
        let first = *data.list(*target).filter(|_| form == "define")?.first()?;
        Some((data.symbol(first)?, first))
    });
    name.map(|(s, at)| (data.names.text(s).to_string(), data.span(at)))
}

/// A constant of a text that is used.
struct Constant {
    name: DatumId,
    called: String,
    value: DatumId,
    unit: Option<DatumId>,
}

/// A form that is a constant with a unit: `(param c 3e8 :fixed :unit m/s)`, and nothing else besides.
fn constant(data: &Data, d: DatumId) -> Option<Constant> {
    let symbol = |d: DatumId| data.symbol(d).map(|s| data.names.text(s));
    let [head, name, value, options @ ..] = data.list(d)? else { return None };
    let (mut fixed, mut unit, mut rest) = (false, None, options.iter());
    while let Some(option) = rest.next() {
        match symbol(*option)? {
            ":fixed" if !fixed => fixed = true,
            ":unit" if unit.is_none() => unit = Some(*rest.next()?),
            _ => return None,
        }
    }
    let called = symbol(*name)?.to_string();
    (symbol(*head)? == "param" && fixed && is_literal(data, *value, 2)).then_some(Constant { name: *name, called, value: *value, unit })
}

/// Whether a datum is a number, or so many axes of numbers.
pub(crate) fn is_literal(data: &Data, d: DatumId, axes: usize) -> bool {
    match data.get(d) {
        Datum::Number(_) => true,
        Datum::Bracket(..) => axes > 0 && data.children(d).iter().all(|&c| is_literal(data, c, axes - 1)),
        Datum::Symbol(_) | Datum::List(..) => false,
    }
}

/// Whether a child of a form is a unit, behind `:unit` or in `(unit name …)`: no name of anything.
fn is_unit(data: &Data, form: DatumId, i: usize) -> bool {
    let children = data.children(form);
    let is = |d: DatumId, name: &str| data.symbol(d).is_some_and(|s| data.names.text(s) == name);
    i > 0 && is(children[i - 1], ":unit") || i == 2 && is(children[0], "unit") && data.top.contains(&form)
}

/// What a text uses, and the span of each such form.
pub fn used(text: &str) -> Result<Vec<(Wanted, Span)>, Diagnostic> {
    Ok(uses(text)?.into_iter().map(|u| (u.path.0, u.span)).collect())
}

/// The forms of a text that use others. They stand at its top.
fn uses(text: &str) -> Result<Vec<Use>, Diagnostic> {
    let bytes = text.as_bytes();
    let (mut found, mut depth, mut at) = (Vec::new(), 0usize, 0);
    while at < bytes.len() {
        match bytes[at] {
            b';' => at += bytes[at..].iter().position(|b| *b == b'\n').unwrap_or(bytes.len() - at),
            b'#' if bytes[at..].starts_with(b"#|") => {
                let mut level = 0;
                while at < bytes.len() {
                    if bytes[at..].starts_with(b"#|") {
                        (level, at) = (level + 1, at + 2);
                    } else if bytes[at..].starts_with(b"|#") {
                        (level, at) = (level - 1, at + 2);
                        if level == 0 {
                            break;
                        }
                    } else {
                        at += 1;
                    }
                }
            }
            b'|' => at += 1 + bytes[at + 1..].iter().position(|b| *b == b'|').map_or(bytes.len() - at, |n| n + 1),
            b'(' if depth == 0 && is_use(&text[at..]) => {
                let (one, end) = one_use(text, at)?;
                found.push(one);
                at = end;
            }
            b'(' | b'[' => (depth, at) = (depth + 1, at + 1),
            b')' | b']' => (depth, at) = (depth.saturating_sub(1), at + 1),
            _ => at += 1,
        }
    }
    Ok(found)
}

/// Where a text uses another first.
pub(super) fn first_use(text: &str) -> Option<Span> {
    uses(text).ok()?.first().map(|u| u.span)
}

/// The text with a name in the place of every quoted path of a `use`, as long as it, and where the paths are: the language has no strings,
/// so that what reads data cannot read them.
pub(super) fn without_paths(text: &str) -> Result<(String, Vec<Span>), Diagnostic> {
    let (mut bare, mut paths) = (text.to_string(), Vec::new());
    for one in uses(text)?.iter().filter(|u| matches!(u.path.0, Wanted::File(_))) {
        let span = one.path.1;
        let (from, to) = (span.start as usize, span.end as usize);
        bare.replace_range(from..to, &"p".repeat(to - from));
        paths.push(span);
    }
    Ok((bare, paths))
}

/// A text laid out anew with its paths back: `paths` are those of `source`, in order.
pub(super) fn with_paths(laid_out: &str, source: &str, paths: &[Span]) -> String {
    let (mut out, mut rest) = (String::with_capacity(laid_out.len()), laid_out);
    for path in paths {
        let name = "p".repeat((path.end - path.start) as usize);
        // The name right behind `(use`: it stands nowhere else.
        let mut at = rest.match_indices(&name).map(|(at, _)| at);
        let Some(at) = at.find(|&at| rest[..at].trim_end().ends_with("(use")) else { continue };
        out += &rest[..at];
        out += &source[path.start as usize..path.end as usize];
        rest = &rest[at + name.len()..];
    }
    out + rest
}

/// Whether a text begins with `(use "` or `(use name@`.
fn is_use(text: &str) -> bool {
    let rest = text[1..].trim_start();
    rest.strip_prefix("use").is_some_and(|rest| {
        let what = rest.trim_start();
        what.starts_with('"') || what.len() < rest.len() && module(what).is_some()
    })
}

/// `name@2` at the beginning of a text, and how long it is. A version that is none is 0, which no library has.
fn module(text: &str) -> Option<(Wanted, usize)> {
    let end = text.find(|c: char| c.is_whitespace() || "()[]\";|".contains(c)).unwrap_or(text.len());
    let (name, version) = text[..end].split_once('@')?;
    (!name.is_empty()).then(|| (Wanted::Module(name.to_string(), version.parse().unwrap_or(0)), end))
}

/// Where what is not white space begins, from a place on.
fn next(text: &str, at: usize) -> usize {
    at + text[at..].find(|c: char| !c.is_whitespace()).unwrap_or(text.len() - at)
}

fn one_use(text: &str, from: usize) -> Result<(Use, usize), Diagnostic> {
    let wrong = |at: usize| {
        let end = text[at..].find('\n').map_or(text.len(), |n| at + n);
        Diagnostic::error("bad-form", Span::new(at, end), "a text is used by (use \"file.scm\" (name …)), a module by (use name@2)")
    };
    let open = next(text, next(text, from + 1) + "use".len());
    let (path, close) = match module(&text[open..]) {
        Some((Wanted::Module(_, 0), _)) => return Err(wrong(from)),
        Some((module, length)) => (module, open + length),
        None => {
            let file = text[open + 1..].find(['"', '\n']).filter(|n| text[open + 1 + n..].starts_with('"')).ok_or_else(|| wrong(from))?;
            (Wanted::File(text[open + 1..open + 1 + file].to_string()), open + file + 2)
        }
    };
    let span = Span::new(open, close);
    let mut after = next(text, close);
    let mut names = Vec::new();
    match &path {
        Wanted::Module(name, _) if text[after..].starts_with(')') => names.push((name.clone(), span)),
        _ => {
            let list = Some(after).filter(|at| text[*at..].starts_with('(')).ok_or_else(|| wrong(from))?;
            let end = list + text[list..].find(')').ok_or_else(|| wrong(from))?;
            let mut at = list + 1;
            for word in text[list + 1..end].split_inclusive(char::is_whitespace) {
                let name = word.trim();
                if !name.is_empty() {
                    if name.contains(['(', '[', '"', ';', '|']) {
                        return Err(wrong(at));
                    }
                    names.push((name.to_string(), Span::new(at, at + name.len())));
                }
                at += word.len();
            }
            after = next(text, end + 1);
        }
    }
    if !text[after..].starts_with(')') || names.is_empty() || path == Wanted::File(String::new()) {
        return Err(wrong(from));
    }
    Ok((Use { span: Span::new(from, after + 1), path: (path, span), names }, after + 1))
}
