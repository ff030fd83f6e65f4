//! A library holds modules to what is claimed of them: what is added, what is refused, what is found, and that nothing changes unseen.

use neural_compiler::exec::interp;
use neural_compiler::syntax::modules::{Loaded, Wanted, link};
use neural_compiler::{Limits, Options, Tensor, compile};
use neural_compiler_library::{Claim, Example, Library, Outcome, Query, Resolver, Samples};

const GRAVITY: &str = "; Newton's law\n(param G 6.6743e-11 :unit m^3/kg/s^2)\n(input m1 :unit kg)\n(input m2 :unit kg)\n(input r :unit m)\n\
                       (define (half x) (* 0.5 x))\n(define (gravity a b r) (/ (* G a b) (square r)))\n(gravity m1 m2 r)\n\
                       ; with m1 = 1, m2 = 2, r = 1\n; ~> 1.33486e-10\n";

fn library() -> (tempfile::TempDir, Library) {
    let folder = tempfile::tempdir().expect("a folder");
    let library = Library::init(folder.path().join("library")).expect("a library");
    (folder, library)
}

fn claim(name: &str, text: &str) -> Claim {
    Claim { name: name.into(), file: format!("{name}.scm"), text: text.into(), ..Claim::default() }
}

fn gravity(library: &Library) {
    let ranges = vec![("r".to_string(), (0.1, f64::INFINITY))];
    library.add(&Claim { ranges, ..claim("gravity", GRAVITY) }).expect("it holds");
}

fn code<T>(outcome: Outcome<T>) -> &'static str {
    outcome.err().map_or("none", |e| e.errors.0[0].code)
}

/// A program that uses modules of a library, at a point.
fn value(library: &Library, text: &str, inputs: &[f64]) -> Result<f64, String> {
    let mut modules = Resolver::new(Some(library.folder().to_path_buf()));
    let mut load = |of: &str, wanted: &Wanted| match wanted {
        Wanted::Module(name, version) => modules.load(of, name, *version),
        Wanted::File(_) => Err("no files here".into()),
    };
    let whole = link(Loaded { name: "m.scm".into(), text: text.into() }, &mut load, &Limits::default());
    let whole = whole.map_err(|e| e.errors.0[0].message.clone())?.expect("it uses others");
    let program = compile(&whole.text, &Options::default()).map_err(|e| e.0[0].message.clone())?;
    let graph = program.graph().map_err(|e| e.0[0].message.clone())?;
    let mut given = inputs.iter();
    let values: Vec<Tensor<f64>> = program
        .inputs()
        .iter()
        .map(|i| match &i.kind {
            neural_compiler::syntax::ast::InputKind::Param(p) => Tensor::scalar(p.initial[0]),
            _ => Tensor::scalar(*given.next().expect("a value for each input")),
        })
        .collect();
    Ok(interp::run(&graph, &values, &Default::default()).map_err(|e| e.message)?[0].data()[0])
}

#[test]
fn a_module_is_recorded_as_it_is() {
    let (_folder, library) = library();
    gravity(&library);
    let module = library.get("gravity").unwrap();
    assert_eq!((module.id(), module.description.as_str(), module.domain.proved), ("gravity@1".into(), "Newton's law", true));
    assert_eq!(module.output.unit.as_deref(), Some("N"));
    assert_eq!(module.inputs[2].range, (Some(0.1), None));
    assert_eq!(module.params[0].value, [6.6743e-11]);
    assert_eq!((module.examples.len(), module.probes.len()), (1, 8));
    let summary = module.summary();
    let keys: Vec<&String> = summary.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["description", "hash", "inputs", "name", "output", "version"]);
    // The same again is the same module; a text that means the same with other words is another version, if that is wanted.
    let again = library.add(&claim("gravity", GRAVITY)).unwrap();
    assert!(again.known && again.module == module);
    let other = GRAVITY.replace("Newton's", "His");
    let ranges = vec![("r".to_string(), (0.1, f64::INFINITY))];
    assert_eq!(code(library.add(&Claim { ranges: ranges.clone(), ..claim("gravity", &other) })), "equal-module");
    let second = library.add(&Claim { ranges, allow_equal: true, ..claim("gravity", &other) }).unwrap();
    assert_eq!(second.module.version, 2);
    assert_ne!(second.module.hash, module.hash);
    assert_eq!(second.module.canonical, module.canonical);
}

#[test]
fn what_does_not_hold_is_refused() {
    let (_folder, library) = library();
    let add = |name: &str, text: &str| code(library.add(&claim(name, text)));
    assert_eq!(add("f", "(sinn x)"), "unknown-function");
    assert_eq!(add("f", "(/ 1 x)"), "domain-may-be-left");
    assert_eq!(add("f", "(* 2 x)\n; with x = 1\n; => 3"), "example-fails");
    assert_eq!(add("f", "(dot v w)"), "shape-unknown");
    assert_eq!(add("f", "(input a :unit m)(input b :unit s)(+ a b)"), "unit-mismatch");
    assert_eq!(add("f", "(use \"other.scm\" (g)) (g x)"), "not-a-module");
    assert_eq!(add("f", "(use g@1) (g x)"), "cannot-use");
    assert_eq!(add("f", "(net n (x) 2 1) (n x)"), "not-a-module");
    assert_eq!(add("sin", "(* 2 x)"), "bad-name");
    assert_eq!(add("../f", "(* 2 x)"), "bad-name");
    let ranges = vec![("y".to_string(), (0.0, 1.0))];
    assert_eq!(code(library.add(&Claim { ranges, ..claim("f", "(* 2 x)") })), "unknown-input");
    assert!(library.list().unwrap().is_empty());
    let unproved = library.add(&Claim { allow_unproved: true, ..claim("f", "(/ 1 x)") }).unwrap().module;
    assert!(!unproved.domain.proved && unproved.domain.findings.len() == 1);
}

#[test]
fn equal_programs_are_noticed_however_they_are_written() {
    let (_folder, library) = library();
    library.add(&claim("energy", "(* 0.5 m (square v))")).unwrap();
    for same in ["(* 0.5 mass (square speed))", "(/ (* a b b) 2)", "(input a) (input b) (define k 0.5) (* (* b (* b k)) a)"] {
        assert_eq!(code(library.add(&claim("other", same))), "equal-module", "{same}");
    }
    for other in ["(* 0.5 m v v v)", "(input m) (input v) (* 0.5 v (square m))", "(* 0.50001 m (square v))", "(* 0.5 (square v))"] {
        assert_eq!(code(library.add(&claim("other", other))), "none", "{other}");
        library.remove("other").unwrap();
    }
}

#[test]
fn modules_compose_into_one_program() {
    let (_folder, library) = library();
    gravity(&library);
    let weight = "(use gravity@1)\n(input m :unit kg)\n(param M 5.972e24 :unit kg)\n(param R 6.371e6 :unit m)\n(gravity m M R)";
    library.add(&claim("weight", weight)).unwrap();
    let wanted = 6.6743e-11 * 3.0 * 5.972e24 / (6.371e6f64 * 6.371e6);
    assert_eq!(value(&library, "(use weight@1) (weight k)", &[3.0]), Ok(wanted));
    assert_eq!(value(&library, "(use gravity@1 (half)) (half x)", &[3.0]), Ok(1.5));
    assert_eq!(value(&library, "(use gravity@1 (half gravity)) (half (gravity 1 x 1))", &[2.0]), Ok(6.6743e-11));
    // Units of the module's constants are known to the program: force plus mass is none.
    let units = "(use weight@1) (input k :unit kg) (+ k (weight k))";
    assert!(value(&library, units, &[1.0]).unwrap_err().contains('N'));
    assert!(value(&library, "(use weight@2) 1", &[]).unwrap_err().contains("has no `weight@2`"));
    assert!(value(&library, "(use gravity@1 (G)) G", &[]).unwrap_err().contains("does not define `G`"));
    // What is printed is a program of its own, with the same value.
    let alone = compile(&library.export("weight@1").unwrap(), &Options::default()).unwrap();
    assert_eq!(alone.graph().unwrap().outputs().len(), 1);
    assert_eq!(code(library.remove("gravity@1")), "module-in-use");
}

#[test]
fn nothing_changes_unseen() {
    let (_folder, library) = library();
    gravity(&library);
    assert!(library.test(&[]).unwrap()[0].wrong.is_empty());
    let text = library.folder().join("gravity/1/module.scm");
    let record = library.folder().join("gravity/1/module.json");
    let original = (std::fs::read_to_string(&text).unwrap(), std::fs::read_to_string(&record).unwrap());
    // The text: an error wherever it is used.
    std::fs::write(&text, original.0.replace("6.6743", "6.6744")).unwrap();
    assert!(value(&library, "(use gravity@1) (gravity 1 1 1)", &[]).unwrap_err().contains("not what was frozen"));
    assert_eq!(code(library.text("gravity", 1)), "library-changed");
    std::fs::write(&text, &original.0).unwrap();
    // The record: an error wherever it is read.
    let mut changed: serde_json::Value = serde_json::from_str(&original.1).unwrap();
    let number = changed["probes"][3]["output"][0].as_f64().unwrap();
    changed["probes"][3]["output"][0] = (number * (1.0 + f64::EPSILON)).into();
    let edits = [
        ("1.33486e-10", "1.4e-10"),
        ("\"unit\": \"m\"", "\"unit\": \"s\""),
        ("0.1,", "0.0,"),
        ("\"proved\": true", "\"proved\": false"),
        ("\"finite\": false", "\"finite\": true"),
        ("Newton's law", "Hooke's law"),
    ];
    let edited = edits.map(|(from, to)| {
        assert!(original.1.contains(from), "{from}");
        original.1.replace(from, to)
    });
    for edited in edited.into_iter().chain([changed.to_string()]) {
        std::fs::write(&record, &edited).unwrap();
        assert_eq!(code(library.get("gravity")), "library-changed", "{edited}");
        assert_eq!(code(library.list()), "library-changed");
        assert!(value(&library, "(use gravity@1) (gravity 1 1 1)", &[]).unwrap_err().contains("not what was frozen"));
        assert!(library.test(&[]).unwrap()[0].wrong[0].contains("not what was frozen"));
    }
    // How the file is laid out says nothing.
    let laid_out: serde_json::Value = serde_json::from_str(&original.1).unwrap();
    std::fs::write(&record, laid_out.to_string()).unwrap();
    assert!(library.test(&[]).unwrap()[0].wrong.is_empty());
    std::fs::write(&record, "{").unwrap();
    assert_eq!(code(library.get("gravity")), "library-damaged");
    std::fs::write(&record, &original.1).unwrap();
    // The lock: two hashes for one name, or half a line.
    let lock = library.folder().join("library.lock");
    let lines = std::fs::read_to_string(&lock).unwrap();
    let other = "0".repeat(64);
    std::fs::write(&lock, format!("{lines}gravity@1 {other} {other}\n")).unwrap();
    assert_eq!(code(library.list()), "library-damaged");
    std::fs::write(&lock, &lines[..lines.len() - 9]).unwrap();
    assert_eq!(code(library.list()), "library-damaged");
}

#[test]
fn a_number_that_was_taken_stays_taken() {
    let (_folder, library) = library();
    library.add(&claim("f", "(* 2 x)")).unwrap();
    library.remove("f@1").unwrap();
    assert_eq!(code(library.get("f@1")), "unknown-module");
    assert_eq!(library.add(&claim("f", "(* 3 x)")).unwrap().module.version, 2);
    // The text that was removed comes back under its own number.
    assert_eq!(library.add(&claim("f", "(* 2 x)")).unwrap().module.version, 1);
    assert_eq!(library.get("f").unwrap().version, 2, "the newest");
    let lock = std::fs::read_to_string(library.folder().join("library.lock")).unwrap();
    assert_eq!(lock.lines().filter(|l| l.starts_with("f@1")).count(), 3, "lines are added, never changed: {lock}");
}

#[test]
fn modules_are_found() {
    let (_folder, library) = library();
    gravity(&library);
    library.add(&claim("energy", "; kinetic\n(input m :unit kg)(input v :unit m/s)(* 0.5 m (square v))")).unwrap();
    library.add(&claim("length", "(input v :size 3)\n(norm v)")).unwrap();
    let names = |query: Query| -> Vec<String> { library.search(&query).unwrap().into_iter().map(|f| f.module.id()).collect() };
    let text = |t: &str| names(Query { text: Some(t.into()), ..Query::default() });
    assert_eq!(text("NEWTON law"), ["gravity@1"]);
    assert_eq!(text("kinetic newton"), Vec::<String>::new());
    let shapes = |t: &str| names(Query { signature: Some(t.into()), ..Query::default() });
    assert_eq!(shapes("[3] -> scalar"), ["length@1"]);
    assert_eq!(shapes("scalar, _ -> _"), ["energy@1"]);
    assert_eq!(shapes("-> scalar").len(), 3);
    let units = |t: &str| names(Query { units: Some(t.into()), ..Query::default() });
    assert_eq!(units("m, kg, kg -> N"), ["gravity@1"]);
    assert_eq!(units("g, km/h -> kJ"), ["energy@1"], "of the same dimension");
    assert_eq!(units("-> m"), Vec::<String>::new());
    assert_eq!(code(library.search(&Query { units: Some("kgg".into()), ..Query::default() })), "bad-query");
}

#[test]
fn modules_are_found_by_what_they_do() {
    let (_folder, library) = library();
    library.add(&claim("energy", "(* 0.5 m (square v))")).unwrap();
    library.add(&claim("momentum", "(* m v)")).unwrap();
    let (a, b) = (vec![1.0, 2.0, 3.5], vec![4.0, -1.0, 0.25]);
    let energy: Vec<f64> = a.iter().zip(&b).map(|(a, b)| 0.5 * b * a * a).collect();
    let samples = |tolerance, noise: f64| Samples {
        columns: vec![
            ("speed".into(), a.clone()),
            ("other".into(), vec![1.0; 3]),
            ("mass".into(), b.clone()),
            ("E".into(), energy.iter().map(|e| e * (1.0 + noise)).collect()),
        ],
        target: "E".into(),
        tolerance,
    };
    let search = |s: Samples| library.search(&Query { samples: Some(s), ..Query::default() });
    let found = search(samples(1e-9, 0.0)).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].module.id(), found[0].error), ("energy@1".to_string(), Some(0.0)));
    assert_eq!((found[0].columns["m"].as_str(), found[0].columns["v"].as_str()), ("mass", "speed"));
    assert!(search(samples(1e-3, 0.01)).unwrap().is_empty());
    assert_eq!(search(samples(0.02, 0.01)).unwrap().len(), 1);
    assert_eq!(code(search(Samples { target: "F".into(), ..samples(1.0, 0.0) })), "unknown-column");
}

/// Units of headers count: what is in other units is converted, what measures something else is nothing to an input.
#[test]
fn samples_in_other_units_are_converted() {
    let (_folder, library) = library();
    library.add(&claim("energy", "(input m :unit kg)(input v :unit m/s)(* 0.5 m (square v))")).unwrap();
    library.add(&claim("product", "(* 0.5 a b b b)")).unwrap();
    // 3.6 km/h are 1 m/s: 0.5 * 2 * 1, 0.5 * 2 * 4 and 0.5 * 4 * 9 joules.
    let columns = |mass: &str, speed: &str, energy: &str| {
        let numbers = [vec![2000.0, 2000.0, 4000.0], vec![3.6, 7.2, 10.8], vec![0.001, 0.004, 0.018]];
        [mass, speed, energy].map(String::from).into_iter().zip(numbers).collect::<Vec<_>>()
    };
    let found = |columns: Vec<(String, Vec<f64>)>, target: &str| -> Vec<(String, String)> {
        let samples = Samples { columns, target: target.into(), tolerance: 1e-9 };
        let all = library.search(&Query { samples: Some(samples), ..Query::default() }).unwrap();
        all.iter().map(|f| (f.module.id(), f.columns.values().cloned().collect::<Vec<_>>().join(" "))).collect()
    };
    let energy = |columns: &str| vec![("energy@1".to_string(), columns.to_string())];
    assert_eq!(found(columns("m [g]", "v [km/h]", "E [kJ]"), "E"), energy("m [g] v [km/h]"));
    assert_eq!(found(columns("m [g]", "v [km/h]", "E [kJ]"), "E [kJ]"), energy("m [g] v [km/h]"));
    assert_eq!(found(columns("load (g)", "speed/(km/h)", "E [kJ]"), "E"), energy("load (g) speed/(km/h)"));
    let others = [("m [g]", "v [km]", "E [kJ]"), ("m [g]", "v [km/h]", "E [kW]"), ("m [kg]", "v [m/s]", "E [J]"), ("m", "v", "E")];
    for (mass, speed, joules) in others {
        assert_eq!(found(columns(mass, speed, joules), "E"), vec![], "{mass}, {speed}, {joules}");
    }
}

/// What is proved of a domain, and what is not: infinities are in the domain of most operations.
#[test]
fn overflow_is_told_apart_from_the_domain() {
    let (_folder, library) = library();
    let add = |name: &str, text: &str, range: Option<(f64, f64)>| {
        let ranges = range.into_iter().map(|r| ("x".to_string(), r)).collect();
        let module = library.add(&Claim { ranges, allow_equal: true, ..claim(name, text) }).expect("it holds").module;
        (module.domain.proved, module.domain.finite)
    };
    // exp overflows beyond 709.78.
    assert_eq!(add("law-a", "(exp x)", None), (true, false));
    assert_eq!(add("law-b", "(exp (* 1 x))", Some((-800.0, 709.0))), (true, true));
    assert_eq!(add("law-c", "(exp (* 2 x))", Some((0.0, 400.0))), (true, false));
    // A value that is finite again was infinite on the way.
    assert_eq!(add("law-d", "(tanh (exp x))", Some((0.0, 800.0))), (true, false));
    assert_eq!(add("law-e", "(tanh (exp x))", Some((0.0, 700.0))), (true, true));
    // Rounds of which the bound is not known.
    assert_eq!(add("law-f", "(loop ((i 0) (s 1)) (if (< i 9) (recur (+ i 1) (* s x)) s))", Some((2.0, 3.0))), (true, false));
    assert_eq!(add("law-g", "(if (< x 1) x (/ 1 x))", Some((-5.0, 5.0))), (true, true));
}

/// A module that does not come to an end is refused, wherever that is.
#[test]
fn what_does_not_end_is_refused() {
    let (_folder, library) = library();
    let endless = "(loop ((i 0)) (if (< i 0) i (recur (+ i 1))))";
    let at_large = "(loop ((i 0)) (if (> i x) i (recur (+ i 1e-9))))";
    let refused = library.add(&claim("f", at_large)).expect_err("it has no end");
    let error = &refused.errors.0[0];
    assert_eq!(error.code, "limit-steps", "{error:?}");
    assert!(error.message.contains("does not come to an end for x = ") && error.help.is_some(), "{error:?}");
    assert_eq!((refused.file.name.as_str(), error.span != Default::default()), ("f.scm", true));
    let example = format!("(if (> x 100) {endless} x)\n; with x = 200\n; => 1\n");
    let refused = library.add(&claim("f", &example)).expect_err("its example has no end");
    assert_eq!(refused.errors.0[0].code, "example-fails");
    assert!(library.list().unwrap().is_empty());
}

/// Numbers that JSON has not are kept as they are, and a text of a record is what it was.
#[test]
fn odd_numbers_are_kept() {
    let (_folder, library) = library();
    let examples = "; with x = +inf.0\n; => +inf.0\n; with x = -0.0\n; => -0.0\n; with x = +nan.0\n; => +nan.0\n";
    let text = format!("(param big +inf.0)\n(min big x)\n{examples}");
    library.add(&claim("f", &text)).unwrap();
    let module = library.get("f").unwrap();
    assert_eq!(module.params[0].value, [f64::INFINITY]);
    assert!(module.examples[1].value[0].is_sign_negative() && module.examples[2].value[0].is_nan());
    assert_eq!(library.test(&[]).unwrap()[0].wrong, Vec::<String>::new());
}

#[test]
fn two_writers_do_not_take_one_number() {
    let (_folder, library) = library();
    std::thread::scope(|scope| {
        for k in 0..8 {
            let library = &library;
            scope.spawn(move || library.add(&claim("f", &format!("(* {k}.5 x)"))).expect("a module"));
        }
    });
    let versions: Vec<u32> = library.list().unwrap().iter().map(|m| m.version).collect();
    assert_eq!(versions, (1..=8).collect::<Vec<u32>>());
    assert!(library.test(&[]).unwrap().iter().all(|v| v.wrong.is_empty()));
}

#[test]
fn a_saved_fit_brings_its_provenance() {
    let (_folder, library) = library();
    let record = r#"; fit: {"version":"0.1.0","data":{"name":"d.csv","rows":3,"sha256":"ab"},"options":{"seed":"7"},"fit":{"rmse":0.5}}"#;
    let text = format!("; decay\n(param k 2)\n(exp (- (* k t)))\n; Fitted by Neural Compiler 0.1.0 to d.csv: 3 rows\n{record}\n");
    let examples = vec![Example::parse("t = 0 => 1").unwrap()];
    let module = library.add(&Claim { examples, ..claim("decay", &text) }).unwrap().module;
    assert_eq!(module.provenance["data"]["sha256"], "ab");
    assert_eq!(module.provenance["options"]["seed"], "7");
    assert_eq!(module.provenance["fit"]["rmse"], 0.5);
}
