//! Adding a module. In: a text and what is claimed of it; out: a frozen module, or why it is none.
//! Invariants: nothing is added that does not compile, whose examples fail, whose domain is not proved (unless that is said), or that is
//! equal to what is there (unless that is wanted); the same text under the same name is the module that is there.

use crate::examples::Example;
use crate::folder::{Library, RECORD, TEXT};
use crate::lock::{Line, Lock};
use crate::module::{Module, Probe, Quantity};
use crate::resolve::Resolver;
use crate::signature::{Signature, kind};
use crate::verify;
use crate::{Outcome, canonical, plain, probes, within};
use neural_compiler::diagnostic::Severity;
use neural_compiler::ops::Op;
use neural_compiler::syntax::forms;
use neural_compiler::{Diagnostic, Diagnostics, EvalError, number_text};
use neural_compiler_fit::remember::is_changed;
use neural_compiler_fit::save;
use serde_json::{Map, Value, json};
use std::path::Path;

/// So near are values of equal programs whose operations stand in another order.
const FEW_ULPS: u64 = 8;

/// What is to be added.
#[derive(Clone, Debug, Default)]
pub struct Claim {
    /// The name it gets.
    pub name: String,
    /// What its text is called in messages.
    pub file: String,
    /// The text, in Scheme.
    pub text: String,
    /// What it is, in words.
    pub description: String,
    /// Examples besides those in the text.
    pub examples: Vec<Example>,
    /// The values of inputs for which the domain is stated; infinite ends are none.
    pub ranges: Vec<(String, (f64, f64))>,
    /// Where it comes from, besides what the record of a fit says.
    pub provenance: Map<String, Value>,
    /// Add it though the check cannot prove its domain.
    pub allow_unproved: bool,
    /// Add it though the library has its equal.
    pub allow_equal: bool,
}

/// What was added.
#[derive(Clone, PartialEq, Debug)]
pub struct Claimed {
    /// The module.
    pub module: Module,
    /// It was there already.
    pub known: bool,
}

impl Library {
    /// Adds a module as the next version of its name.
    pub fn add(&self, claim: &Claim) -> Outcome<Claimed> {
        named_well(&claim.name)?;
        let text = format!("{}\n", claim.text.trim_end());
        let wrong = |e: Diagnostics| within(&claim.file, &text, e);
        let mut lock = self.lock(true)?;
        let uses = verify::uses(&claim.file, &text, &lock)?;
        let hash = verify::hash(&text, &uses);
        if let Some(line) = lock.present().find(|l| l.name == claim.name && l.hash == hash) {
            return Ok(Claimed { module: self.get(&format!("{}@{}", line.name, line.version))?, known: true });
        }
        let checked = verify::compiled(&claim.file, &text, &mut Resolver::of(self))?;
        let found = Signature::of(&checked.program, &checked.graph, &claim.ranges).map_err(wrong)?;
        if !found.open.is_empty() && !claim.allow_unproved {
            let help = "say for which inputs it holds: --range NAME=LO:HI; --allow-unproved adds it without a proof";
            let open = found.open.into_iter().map(|d| Diagnostic { severity: Severity::Error, ..d.help(help) }).collect();
            return Err(checked.blame(&claim.file, &text, Diagnostics(open)));
        }
        let examples: Vec<Example> =
            Example::within(&text).map_err(|d| wrong(d.into()))?.into_iter().chain(claim.examples.iter().cloned()).collect();
        let failed: Vec<Diagnostic> = examples.iter().filter_map(|e| e.run(&checked.program).err()).collect();
        if !failed.is_empty() {
            return Err(wrong(Diagnostics(failed)));
        }
        let earlier = lock.lines.iter().filter(|l| l.name == claim.name).map(|l| l.version).max().unwrap_or(0);
        // A text that was removed comes back under its own number.
        let again = lock.lines.iter().find(|l| l.name == claim.name && l.hash == hash).map(|l| l.version);
        let points: Vec<Vec<f64>> = (0..probes::COMPARED).map(|k| probes::point(&found.inputs, k)).collect();
        let ended = |point: &Vec<f64>| match checked.run(point) {
            Ok(value) => Ok(Some(value)),
            Err(e) if e.code.starts_with("limit-") => Err(endless(&found.inputs, point, e)),
            Err(_) => Ok(None),
        };
        let values: Vec<Option<Vec<f64>>> =
            points.iter().map(ended).collect::<Result<_, _>>().map_err(|d| checked.blame(&claim.file, &text, d.into()))?;
        let probe = |(p, v): (&Vec<f64>, &Option<Vec<f64>>)| Some(Probe { inputs: p.clone(), output: probes::recorded(v.as_ref()?) });
        let module = Module {
            name: claim.name.clone(),
            version: again.unwrap_or(earlier + 1),
            hash,
            description: Some(claim.description.clone()).filter(|d| !d.is_empty()).unwrap_or_else(|| described(&text)),
            kind: kind(&checked.program).into(),
            inputs: found.inputs,
            output: found.output,
            params: found.params,
            domain: found.domain,
            uses,
            canonical: canonical::hash(&checked.graph),
            examples,
            probes: points.iter().zip(&values).filter_map(probe).take(probes::RECORDED).collect(),
            provenance: provenance(claim, &text),
        };
        if !claim.allow_equal {
            self.refuse_equal(&lock, &module, &points, &values)?;
        }
        self.write(&mut lock, &module, &text)?;
        Ok(Claimed { module, known: false })
    }

    /// Complains about a module that is equal to one that is there: the same graph, or the same values all over its domain.
    fn refuse_equal(&self, lock: &Lock, new: &Module, points: &[Vec<f64>], values: &[Option<Vec<f64>>]) -> Outcome<()> {
        let shapes = |m: &Module| m.inputs.iter().map(|q| q.shape.clone()).collect::<Vec<_>>();
        for line in lock.present() {
            let old = self.get(&format!("{}@{}", line.name, line.version))?;
            let id = old.id();
            let refuse = |why: &str| {
                let help = format!("use `{id}`; --allow-equal adds it all the same");
                Err(plain("equal-module", format!("this is `{id}`: {why}"), Some(help)))
            };
            if old.kind != new.kind || old.output.shape != new.output.shape || shapes(&old) != shapes(new) {
                continue;
            }
            if old.canonical == new.canonical && numbers(&old) == numbers(new) {
                return refuse("the two have one graph");
            }
            let there = self.program(&old)?;
            let mut met = 0;
            let same = points.iter().zip(values).filter(|(p, _)| inside(&old, p)).all(|(point, value)| {
                let (Some(value), Some(other)) = (value, there.at(point)) else { return true };
                met += usize::from(value.iter().all(|x| x.is_finite()));
                value.iter().zip(&other).all(|(a, b)| a.is_nan() && b.is_nan() || probes::distance(*a, *b) <= FEW_ULPS)
            });
            if same && met >= probes::COMPARED / 4 {
                return refuse(&format!("at {met} points of its domain the two have the same values, to {FEW_ULPS} ULP"));
            }
        }
        Ok(())
    }

    fn write(&self, lock: &mut Lock, module: &Module, text: &str) -> Outcome<()> {
        let place = self.place(&module.name, module.version);
        let record = serde_json::to_string_pretty(module).expect("a record has texts for keys");
        if place.parent().is_some_and(Path::is_symlink) || place.is_symlink() {
            let message = format!("the folder of `{}` is a link: a library is one folder of plain files", module.name);
            return Err(plain("library-files", message, None));
        }
        let written = || -> std::io::Result<()> {
            let aside = tempfile::Builder::new().prefix(".new-").tempdir_in(self.folder())?;
            let whole = aside.path().join("module");
            std::fs::create_dir(&whole)?;
            std::fs::write(whole.join(TEXT), text)?;
            std::fs::write(whole.join(RECORD), record + "\n")?;
            std::fs::create_dir_all(place.parent().expect("a version is in the folder of its name"))?;
            // What was left by an add that did not come as far as the lock file.
            if place.exists() {
                std::fs::remove_dir_all(&place)?;
            }
            std::fs::rename(whole, &place)
        };
        written().map_err(|e| plain("library-files", format!("cannot write `{}`: {e}", place.display()), None))?;
        let (hash, record) = (module.hash.clone(), module.digest());
        lock.add(Line { name: module.name.clone(), version: module.version, hash, record, removed: false })
    }
}

/// What to say of a module that does not come to an end at a point of its domain.
fn endless(inputs: &[Quantity], point: &[f64], e: EvalError) -> Diagnostic {
    let mut rest = point;
    let given = inputs.iter().map(|q| {
        let (own, others) = rest.split_at(q.shape.iter().product());
        rest = others;
        let numbers: Vec<String> = own.iter().map(|x| number_text(*x)).collect();
        format!("{} = {}", q.name, if q.shape.is_empty() { numbers.concat() } else { format!("[{}]", numbers.join(" ")) })
    });
    let given: Vec<String> = given.collect();
    let place = if given.is_empty() { String::new() } else { format!(" for {}", given.join(", ")) };
    let message = format!("the module does not come to an end{place}: {}", e.message);
    Diagnostic::error(e.code, e.span, message).help(format!(
        "a module ends within {} steps wherever it is defined; --range NAME=LO:HI says where that is",
        probes::limits().steps
    ))
}

/// Constants are inputs of a graph: their numbers count besides it.
fn numbers(module: &Module) -> Vec<&[f64]> {
    module.params.iter().map(|p| &p.value[..]).collect()
}

/// Whether a point is in the ranges of a module.
fn inside(module: &Module, point: &[f64]) -> bool {
    let mut at = 0;
    module.inputs.iter().all(|q| {
        let size: usize = q.shape.iter().product();
        at += size;
        point[at - size..at].iter().all(|x| q.range.0.is_none_or(|lo| *x >= lo) && q.range.1.is_none_or(|hi| *x <= hi))
    })
}

/// A name that is one of a folder and of a function, everywhere, and means nothing yet.
fn named_well(name: &str) -> Outcome<()> {
    let letters = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if !letters || !name.starts_with(|c: char| c.is_ascii_alphabetic()) || name.len() > 64 {
        let help = "a name has letters, digits, - and _, begins with a letter and is at most 64 long";
        return Err(plain("bad-name", format!("a module cannot be called `{name}`"), Some(help.into())));
    }
    let known = |op: &Op| op.row().has_surface() && (op.row().name == name || op.row().aliases.contains(&name));
    if Op::ALL.iter().any(known) || forms::form(name).is_some() {
        return Err(plain("bad-name", format!("`{name}` is a word of the language"), None));
    }
    Ok(())
}

/// What the first line of comment says, unless it is an example or a record.
fn described(text: &str) -> String {
    let said = text.lines().find_map(|line| line.trim_start().strip_prefix(';')).unwrap_or("").trim_start_matches(';').trim();
    let other = ["with ", "=>", "~>", "fit: ", "Fitted by "].iter().any(|start| said.starts_with(start));
    if other { String::new() } else { said.to_string() }
}

/// Where a module comes from: what is said, and what the record of a fit in its text says.
fn provenance(claim: &Claim, text: &str) -> Map<String, Value> {
    let mut all = claim.provenance.clone();
    if let Some((_, Ok(record))) = save::record(text) {
        for (name, value) in [("data", &record["data"]), ("options", &record["options"])] {
            all.entry(name).or_insert_with(|| value.clone());
        }
        let fit = &record["fit"];
        let kept = ["params", "rmse", "r2", "loglik", "aic", "bic"].into_iter().filter(|n| !fit[*n].is_null());
        all.entry("fit").or_insert_with(|| kept.map(|n| (n.to_string(), fit[n].clone())).collect::<Map<_, _>>().into());
        all.entry("compiler").or_insert_with(|| json!(record["version"]));
        if is_changed(text) {
            all.insert("changed_since_fit".into(), json!(true));
        }
    }
    all
}
