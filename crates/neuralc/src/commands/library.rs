//! `neuralc library`: frozen modules. In: a folder, programs, queries; out: what the library crate finds, as text or JSON.

use crate::commands::library_args::{AddArgs, LibraryArgs, SearchArgs, Step};
use crate::context::{Context, Failure};
use crate::render::Source;
use crate::table::{Reader, rows_for};
use neural_compiler::syntax::modules::Mistake;
use neural_compiler::syntax::translate::translate;
use neural_compiler::{Syntax, number_text};
use neural_compiler_library::{Claim, Example, Found, Library, Module, Quantity, Query, Samples};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

#[expect(clippy::boxed_local, reason = "as outcomes have it, for map_err")]
fn wrong(mistake: Box<Mistake>) -> Failure {
    Failure::program(&Source::new(mistake.file.name, mistake.file.text), mistake.errors)
}

/// The library that is meant: named, or the nearest.
fn open(context: &Context) -> Result<Library, Failure> {
    if let Some(folder) = &context.library {
        return Library::open(folder).map_err(wrong);
    }
    let here = std::env::current_dir().unwrap_or_default();
    Library::find(&here).ok_or_else(|| {
        let message = format!("there is no library in `{}` or above it", here.display());
        Failure::plain("no-library", message, Some("neuralc library init makes one here; --library DIR names one".into()))
    })
}

pub(crate) fn run(context: &mut Context, args: &LibraryArgs) -> Result<u8, Failure> {
    match &args.step {
        Step::Init => {
            let made = Library::init(context.library.clone().unwrap_or_else(|| PathBuf::from("library"))).map_err(wrong)?;
            let folder = made.folder().display().to_string();
            if context.json {
                context.print_json(&json!({"library": folder}))?;
            } else {
                context.print(&format!("{folder}: a library without modules\n"))?;
            }
        }
        Step::Add(args) => add(context, args)?,
        Step::List => {
            let all = open(context)?.list().map_err(wrong)?;
            if context.json {
                context.print_json(&all.iter().map(Module::summary).collect())?;
            } else {
                context.print(&table(&all))?;
            }
        }
        Step::Show(named) => {
            let library = open(context)?;
            let module = library.get(&named.module).map_err(wrong)?;
            let text = library.text(&module.name, module.version).map_err(wrong)?;
            if context.json {
                let mut all = serde_json::to_value(&module).unwrap_or_default();
                all["text"] = json!(text);
                context.print_json(&all)?;
            } else {
                context.print(&format!("{}\n{text}", about(&module)))?;
            }
        }
        Step::Search(args) => search(context, args)?,
        Step::Test { modules } => return test(context, modules),
        Step::Remove(named) => {
            let module = open(context)?.remove(&named.module).map_err(wrong)?;
            if context.json {
                context.print_json(&json!({"removed": module.id(), "hash": module.hash}))?;
            } else {
                context.print(&format!("{} is removed; its number stays taken\n", module.id()))?;
            }
        }
        Step::Export(named) => {
            let text = open(context)?.export(&named.module).map_err(wrong)?;
            if context.json {
                context.print_json(&json!({"text": text}))?;
            } else {
                context.print(&text)?;
            }
        }
    }
    Ok(Failure::FINE)
}

fn add(context: &mut Context, args: &AddArgs) -> Result<(), Failure> {
    let source = context.source(Some(&args.file), None)?;
    let stem = Path::new(&args.file).file_stem().map(|s| s.to_string_lossy().into_owned());
    let name = args.name.clone().or(stem.filter(|s| s != "-"));
    let text = match source.syntax {
        Syntax::Scheme => source.text.clone(),
        other => translate(&source.text, other, Syntax::Scheme, &context.limits).map_err(|e| Failure::program(&source, e))?,
    };
    let mut provenance = Map::new();
    if !args.parents.is_empty() {
        provenance.insert("parents".into(), json!(args.parents));
    }
    if let Some(author) = &args.author {
        provenance.insert("author".into(), json!(author));
    }
    let example = |e: &String| Example::parse(e).map_err(|d| Failure::plain(d.code, d.message, d.help));
    let claim = Claim {
        name: name.ok_or_else(|| Failure::Usage("a program from standard input needs a --name".into()))?,
        file: source.name.clone(),
        text,
        description: args.description.clone().unwrap_or_default(),
        examples: args.examples.iter().map(example).collect::<Result<_, _>>()?,
        ranges: args.ranges.clone(),
        provenance,
        allow_unproved: args.allow_unproved,
        allow_equal: args.allow_equal,
    };
    let done = open(context)?.add(&claim).map_err(wrong)?;
    let module = done.module;
    if context.json {
        let mut line = module.summary();
        line["known"] = json!(done.known);
        return context.print_json(&line);
    }
    let what = if done.known { "is there already" } else { "added" };
    context.print(&format!("{} {what}\n{}", module.id(), about(&module)))
}

/// What is known of a module, in lines.
fn about(module: &Module) -> String {
    let range = |q: &Quantity| match q.range {
        (None, None) => None,
        (lo, hi) => {
            let end = |x: Option<f64>, none: &str| x.map_or_else(|| none.to_string(), number_text);
            Some(format!("{} in {}:{}", q.name, end(lo, "-inf"), end(hi, "inf")))
        }
    };
    let ranges: Vec<String> = module.inputs.iter().filter_map(range).collect();
    let holds = if ranges.is_empty() { "for all inputs".to_string() } else { format!("for {}", ranges.join(", ")) };
    let proved = match module.domain.proved {
        true => "no operation leaves its domain (divides by 0, takes a logarithm of 0, …), proved",
        false => "not proved",
    };
    let overflow = if module.domain.finite { "excluded, proved" } else { "not excluded: numbers may become infinite" };
    let mut lines = vec![format!("{}  {}", module.id(), module.signature())];
    lines.extend(Some(module.description.clone()).filter(|d| !d.is_empty()));
    lines.push(format!("domain: {proved} {holds}"));
    lines.push(format!("overflow: {overflow}{}", if module.domain.finite { format!(" {holds}") } else { String::new() }));
    lines.extend(module.params.iter().map(|p| {
        let numbers: Vec<String> = p.value.iter().map(|x| number_text(*x)).collect();
        format!("constant: {} = {}{}", p.name, numbers.join(" "), p.unit.as_ref().map(|u| format!(" {u}")).unwrap_or_default())
    }));
    lines.extend(module.examples.iter().map(|e| format!("example: {e}")));
    lines.extend(module.uses.keys().map(|id| format!("uses: {id}")));
    lines.push(format!("hash: {}", module.hash));
    lines.join("\n") + "\n"
}

fn table(all: &[Module]) -> String {
    let width = all.iter().map(|m| m.id().chars().count()).max().unwrap_or(0);
    all.iter().map(|m| format!("{:width$}  {}  {}", m.id(), m.signature(), m.description).trim_end().to_string() + "\n").collect()
}

fn search(context: &mut Context, args: &SearchArgs) -> Result<(), Failure> {
    let samples = match &args.samples {
        None => None,
        Some(path) => {
            let columns = columns(path, &args.table)?;
            let last = columns.last().map(|c| c.0.clone()).unwrap_or_default();
            Some(Samples { columns, target: args.target.clone().unwrap_or(last), tolerance: args.tolerance })
        }
    };
    let text = Some(args.words.join(" ")).filter(|t| !t.is_empty());
    let query = Query { text, signature: args.signature.clone(), units: args.unit.clone(), samples };
    let found = open(context)?.search(&query).map_err(wrong)?;
    if context.json {
        let one = |f: &Found| {
            let mut line = f.module.summary();
            if let Some(error) = f.error {
                line["columns"] = json!(f.columns);
                line["error"] = json!(error);
            }
            line
        };
        return context.print_json(&found.iter().map(one).collect());
    }
    for f in &found {
        context.print(&table(std::slice::from_ref(&f.module)))?;
        if let Some(error) = f.error {
            let columns: Vec<String> = f.columns.iter().map(|(input, column)| format!("{input} = `{column}`")).collect();
            context.print(&format!("  {}; largest error {error:.1e} of the spread\n", columns.join(", ")))?;
        }
    }
    Ok(())
}

/// The columns of numbers of a table; others are left out.
fn columns(path: &str, args: &crate::table::dialect::TableArgs) -> Result<Vec<(String, Vec<f64>)>, Failure> {
    let mut reader = Reader::open(path, args)?;
    let names = reader.columns().to_vec();
    let mut found: Vec<Option<Vec<f64>>> = names.iter().map(|_| Some(Vec::new())).collect();
    let most = rows_for(names.len());
    while let Some(chunk) = reader.next(most)? {
        for (i, column) in found.iter_mut().enumerate() {
            let mut numbers = vec![f64::NAN; chunk.rows()];
            match chunk.numbers_or_missing(i, &mut numbers) {
                Ok(_) => column.iter_mut().for_each(|c| c.extend(&numbers)),
                Err(_) => *column = None,
            }
        }
    }
    Ok(names.into_iter().zip(found).filter_map(|(name, column)| Some((name, column?))).collect())
}

fn test(context: &mut Context, modules: &[String]) -> Result<u8, Failure> {
    let verdicts = open(context)?.test(modules).map_err(wrong)?;
    if context.json {
        let one = |v: &neural_compiler_library::Verdict| -> Value {
            json!({"module": v.id, "ok": v.wrong.is_empty(), "examples": v.examples, "probes": v.probes, "wrong": v.wrong})
        };
        context.print_json(&verdicts.iter().map(one).collect())?;
    } else {
        for v in &verdicts {
            let what = if v.wrong.is_empty() { "holds".to_string() } else { v.wrong.join("; ") };
            context.print(&format!("{}: {what} ({} examples, {} recorded values)\n", v.id, v.examples, v.probes))?;
        }
    }
    Ok(if verdicts.iter().all(|v| v.wrong.is_empty()) { Failure::FINE } else { Failure::WRONG })
}
