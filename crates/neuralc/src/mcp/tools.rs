//! The tools. In: a name and arguments as JSON; out: a command line of neuralc, with text for it.
//! Invariants: every argument is one the tool has; files are those of the granted folder; what a client writes is never taken for an
//! option; the tools and their schemas together stay under 6,000 characters (tests/suite/mcp.rs).

use crate::mcp::files::{Root, refusal};
use serde_json::{Map, Value, json};
use std::path::Path;

/// A tool.
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    /// Its arguments besides those of a program: JSON of properties.
    properties: &'static str,
    /// Whether it takes a program: `text` or `file`, and `syntax`.
    program: bool,
}

/// All tools.
pub(crate) const TOOLS: &[Tool] = &[
    Tool {
        name: "check",
        description: "Compile a program: mistakes with code, place and help; inputs, units. With ranges: prove that no operation leaves \
                      its domain.",
        properties: r#""ranges":{"type":"object","description":"{x:[lo,hi]}, null for no bound"}"#,
        program: true,
    },
    Tool {
        name: "run",
        description: "Evaluate a program, with exact derivatives.",
        properties: r#""inputs":{"type":"object","description":"{x:1,v:[1,2]}"},"derivatives":{"enum":["grad","hessian"]}"#,
        program: true,
    },
    Tool {
        name: "fit",
        description: "Fit the params of a model to a table: values, standard errors, criteria. Parquet or CSV.",
        properties: r#""data":{"type":"string"},"target":{"type":"string","description":"column to explain"},
            "options":{"type":"object",
            "description":"time, group, sigma, weights, loss, holdout, starts, method, step, rtol, atol, seed, bootstrap, budget, events"},
            "save":{"type":"string","description":"file for the fitted model"}"#,
        program: true,
    },
    Tool {
        name: "simulate",
        description: "Trajectories of a model with states until a time, or, with data, predictions for the rows of a table. Gives CSV.",
        properties: r#""inputs":{"type":"object"},"until":{"type":"number"},"points":{"type":"integer"},
            "sweep":{"type":"string","description":"k=0:1:11"},"data":{"type":"string"},"bands":{"type":"boolean"}"#,
        program: true,
    },
    Tool {
        name: "show",
        description: "A program as formulas, in another syntax, or a stage of its compilation.",
        properties: r#""as":{"enum":["latex","scheme","infix","ast","anf","graph","grad","tape"]}"#,
        program: true,
    },
    Tool {
        name: "library",
        description: "Frozen modules, used by (use name@2). search: by query words, unit 'kg, m -> N', signature 'scalar, [3] -> scalar', \
                      or samples (table) and target. add: freezes a program; it must pass its examples ('x=1 => 2') and have its domain \
                      proved in ranges.",
        properties: r#""action":{"enum":["list","search","show","add","test","export"]},
            "module":{"type":"string","description":"name@version"},"query":{"type":"string"},"unit":{"type":"string"},
            "signature":{"type":"string"},"samples":{"type":"string"},"target":{"type":"string"},"name":{"type":"string"},
            "description":{"type":"string"},"examples":{"type":"array","items":{"type":"string"}},
            "ranges":{"type":"object"}"#,
        program: true,
    },
    Tool {
        name: "refine",
        description: "Find a model of a table: a formula of target, or equations of states. Gives the best, the front, and figures.",
        properties: r#""data":{"type":"string"},"target":{"type":"string"},"inputs":{"type":"string","description":"x,y"},
            "states":{"type":"string","description":"x,y"},"time":{"type":"string"},"group":{"type":"string"},
            "model":{"type":"string","description":"file to begin with"},"budget":{"type":"number"},"seed":{"type":"integer"}"#,
        program: false,
    },
    Tool {
        name: "reference",
        description: "The language: an operation, a form, an error code, or words. Without a query, everything there is.",
        properties: r#""query":{"type":"string"}"#,
        program: false,
    },
];

/// Arguments that every program has.
const PROGRAM: &str = r#""text":{"type":"string","description":"program"},"file":{"type":"string","description":"or its path"},
            "syntax":{"enum":["scheme","infix","latex"]}"#;

/// Options of a fit that name no file.
const FIT_OPTIONS: [&str; 15] = [
    "time",
    "group",
    "sigma",
    "weights",
    "loss",
    "holdout",
    "starts",
    "method",
    "step",
    "rtol",
    "atol",
    "seed",
    "bootstrap",
    "budget",
    "start-time",
];

impl Tool {
    /// The schema of its arguments.
    pub(crate) fn schema(&self) -> Map<String, Value> {
        let program = if self.program { format!("{PROGRAM},") } else { String::new() };
        let text = format!(r#"{{"type":"object","properties":{{{program}{}}}}}"#, self.properties);
        serde_json::from_str(&text).expect("the schemas above are JSON")
    }
}

/// A command line, text for its standard input, and a file of ours whose content belongs to the result.
#[derive(Debug, Default)]
pub(crate) struct Call {
    pub(crate) words: Vec<String>,
    pub(crate) input: Option<String>,
    pub(crate) table: Option<tempfile::TempPath>,
}

type Made<T> = Result<T, Value>;

/// Arguments of a call.
struct Arguments<'a> {
    given: &'a Map<String, Value>,
    root: &'a Root,
    library: &'a Path,
}

impl Arguments<'_> {
    fn text(&self, name: &str) -> Made<Option<&str>> {
        match self.given.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(refusal("bad-argument", format!("`{name}` is a text"), format!("write \"{name}\": \"…\""))),
        }
    }

    fn object(&self, name: &str) -> Made<Map<String, Value>> {
        match self.given.get(name) {
            None | Some(Value::Null) => Ok(Map::new()),
            Some(Value::Object(fields)) => Ok(fields.clone()),
            Some(_) => Err(refusal("bad-argument", format!("`{name}` is an object"), format!("write \"{name}\": {{…}}"))),
        }
    }

    fn needed(&self, name: &str) -> Made<&str> {
        self.text(name)?.ok_or_else(|| refusal("bad-argument", format!("`{name}` is missing"), format!("write \"{name}\": \"…\"")))
    }

    /// The program as the word that names it and text for it, and its syntax as an option.
    fn program(&self, call: &mut Call) -> Made<String> {
        if let Some(syntax) = self.text("syntax")? {
            call.words.push(format!("--syntax={syntax}"));
        }
        match (self.text("text")?, self.text("file")?) {
            (Some(text), None) => {
                call.input = Some(text.to_string());
                Ok("-".into())
            }
            (None, Some(file)) => Ok(self.root.read(file)?.to_string_lossy().into_owned()),
            _ => Err(refusal("bad-argument", "give the program, as `text` or as `file`", "write \"text\": \"(sin x)\"")),
        }
    }

    /// `{x: [lo, hi]}` as options.
    fn ranges(&self, call: &mut Call) -> Made<()> {
        for (name, ends) in self.object("ranges")? {
            let end = |k: usize, none: &str| if ends[k].is_null() { none.to_string() } else { plain(&ends[k]) };
            if ends.as_array().map(Vec::len) != Some(2) {
                let help = "write \"ranges\": {\"x\": [0, 1]}, with null for no bound";
                return Err(refusal("bad-argument", format!("the range of `{name}` has two ends"), help));
            }
            call.words.push(format!("--range={name}={}:{}", end(0, "-inf"), end(1, "inf")));
        }
        Ok(())
    }

    fn inputs(&self) -> Made<Vec<String>> {
        Ok(self.object("inputs")?.iter().map(|(name, value)| format!("{name}={}", plain(value))).collect())
    }

    fn table(&self, call: &mut Call) -> Made<()> {
        let file = tempfile::Builder::new().suffix(".csv").tempfile();
        let path = file.map_err(|e| refusal("internal", e.to_string(), "try again"))?.into_temp_path();
        call.words.push(format!("--out={}", path.display()));
        call.table = Some(path);
        Ok(())
    }
}

/// A value as the command line takes it.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), String::from)
}

/// The command line of a call. `library`: the folder of modules.
pub(crate) fn call(tool: &Tool, given: &Map<String, Value>, root: &Root, library: &Path, seconds: f64) -> Made<Call> {
    let known = tool.schema();
    let known: Vec<&String> = known["properties"].as_object().map(|p| p.keys().collect()).unwrap_or_default();
    if let Some(other) = given.keys().find(|k| !known.contains(k)) {
        let names: Vec<&str> = known.iter().map(|k| k.as_str()).collect();
        return Err(refusal("bad-argument", format!("`{}` has no argument `{other}`", tool.name), format!("it has {}", names.join(", "))));
    }
    let arguments = Arguments { given, root, library };
    let folders = [format!("--files-under={}", root.folder().display()), format!("--library={}", library.display())];
    let mut call = Call { words: std::iter::once("--json".into()).chain(folders).collect(), ..Call::default() };
    let a = &arguments;
    match tool.name {
        "check" => {
            call.words.push("check".into());
            a.ranges(&mut call)?;
            let program = a.program(&mut call)?;
            call.words.extend(["--".into(), program]);
        }
        "run" => {
            call.words.push("run".into());
            if let Some(order) = a.text("derivatives")? {
                call.words.push(format!("--{}", one_of(order, "derivatives", &["grad", "hessian"])?));
            }
            let program = a.program(&mut call)?;
            call.words.extend(["--".into(), program]);
            call.words.extend(a.inputs()?);
        }
        "fit" => fit(a, &mut call, seconds)?,
        "simulate" => simulate(a, &mut call)?,
        "show" => show(a, &mut call)?,
        "library" => of_library(a, &mut call)?,
        "refine" => refine(a, &mut call, seconds)?,
        _ => return Err(refusal("unknown-tool", format!("there is no tool `{}`", tool.name), "tools/list names them")),
    }
    Ok(call)
}

fn one_of<'a>(word: &'a str, name: &str, known: &[&str]) -> Made<&'a str> {
    if known.contains(&word) {
        return Ok(word);
    }
    Err(refusal("bad-argument", format!("`{name}` is not `{word}`"), format!("it is one of {}", known.join(", "))))
}

fn fit(a: &Arguments<'_>, call: &mut Call, seconds: f64) -> Made<()> {
    call.words.push("fit".into());
    call.words.push(format!("--data={}", a.root.read(a.needed("data")?)?.display()));
    call.words.extend(a.text("target")?.map(|t| format!("--target={t}")));
    // A fit that is at its end says what it has.
    let mut budget = 0.8 * seconds;
    for (name, value) in a.object("options")? {
        match name.as_str() {
            "budget" => budget = budget.min(value.as_f64().unwrap_or(budget)),
            "events" => call.words.push(format!("--events={}", a.root.read(&plain(&value))?.display())),
            other => call.words.push(format!("--{}={}", one_of(other, "options", &FIT_OPTIONS)?, plain(&value))),
        }
    }
    call.words.push(format!("--budget={budget}"));
    if let Some(path) = a.text("save")? {
        let place = a.root.write(path)?;
        // What is frozen there is written by the tool of that name alone.
        if a.library.canonicalize().is_ok_and(|library| place.starts_with(library)) {
            return Err(refusal("outside-root", format!("`{path}` is in the library"), "save it elsewhere, then add it with `library`"));
        }
        call.words.push(format!("--save={}", place.display()));
    }
    let program = a.program(call)?;
    call.words.extend(["--".into(), program]);
    Ok(())
}

fn simulate(a: &Arguments<'_>, call: &mut Call) -> Made<()> {
    let number = |name: &str| a.given.get(name).filter(|v| v.is_number()).map(|v| format!("--{name}={v}"));
    if let Some(data) = a.text("data")? {
        call.words.extend(["predict".into(), format!("--data={}", a.root.read(data)?.display())]);
        call.words.extend(a.given.get("bands").filter(|b| **b == json!(true)).map(|_| "--bands".to_string()));
    } else {
        call.words.push("simulate".into());
        call.words.extend(number("until").into_iter().chain(number("points")));
        call.words.extend(a.text("sweep")?.map(|s| format!("--sweep={s}")));
    }
    a.table(call)?;
    let program = a.program(call)?;
    call.words.extend(["--".into(), program]);
    call.words.extend(a.inputs()?);
    Ok(())
}

fn show(a: &Arguments<'_>, call: &mut Call) -> Made<()> {
    let known = ["latex", "scheme", "infix", "ast", "anf", "graph", "grad", "tape"];
    match one_of(a.text("as")?.unwrap_or("latex"), "as", &known)? {
        syntax @ ("latex" | "scheme" | "infix") => call.words.extend(["fmt".into(), format!("--to={syntax}")]),
        stage => call.words.extend(["show".into(), format!("--stage={stage}")]),
    }
    let program = a.program(call)?;
    call.words.extend(["--".into(), program]);
    Ok(())
}

/// The proposers are those of the program: a command would be somebody else's.
fn refine(a: &Arguments<'_>, call: &mut Call, seconds: f64) -> Made<()> {
    call.words.extend(["refine".into(), format!("--data={}", a.root.read(a.needed("data")?)?.display())]);
    for name in ["target", "inputs", "states", "time", "group"] {
        call.words.extend(a.text(name)?.map(|t| format!("--{name}={t}")));
    }
    call.words.extend(a.given.get("seed").filter(|v| v.is_u64()).map(|v| format!("--seed={v}")));
    let asked = a.given.get("budget").and_then(Value::as_f64).unwrap_or(seconds);
    call.words.push(format!("--budget={}", asked.min(0.7 * seconds)));
    if let Some(model) = a.text("model")? {
        call.words.extend(["--".into(), a.root.read(model)?.to_string_lossy().into_owned()]);
    }
    Ok(())
}

fn of_library(a: &Arguments<'_>, call: &mut Call) -> Made<()> {
    let known = ["list", "search", "show", "add", "test", "export"];
    let action = one_of(a.text("action")?.unwrap_or("list"), "action", &known)?;
    call.words.extend(["library".into(), action.into()]);
    match action {
        "search" => {
            for name in ["unit", "signature", "target"] {
                call.words.extend(a.text(name)?.map(|t| format!("--{name}={t}")));
            }
            if let Some(samples) = a.text("samples")? {
                call.words.push(format!("--samples={}", a.root.read(samples)?.display()));
            }
            call.words.push("--".into());
            call.words.extend(a.text("query")?.unwrap_or("").split_whitespace().map(String::from));
        }
        "show" | "export" => call.words.extend(["--".into(), a.needed("module")?.into()]),
        "test" => call.words.extend(["--".into()].into_iter().chain(a.text("module")?.map(String::from))),
        "add" => {
            for name in ["name", "description"] {
                call.words.extend(a.text(name)?.map(|t| format!("--{name}={t}")));
            }
            let examples = a.given.get("examples").and_then(Value::as_array).cloned().unwrap_or_default();
            call.words.extend(examples.iter().map(|e| format!("--example={}", plain(e))));
            a.ranges(call)?;
            let program = a.program(call)?;
            call.words.extend(["--".into(), program]);
        }
        _ => {}
    }
    Ok(())
}
