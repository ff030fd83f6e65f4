//! Units: numbers are converted as Pint converts them; laws of physics pass with their units and declare nothing twice; a law with one
//! mistake that changes a dimension is refused, with a span on the mistake; and a check leaves the graph as it is.

use neural_compiler::graph::print;
use neural_compiler::source::Span;
use neural_compiler::syntax::Syntax;
use neural_compiler::units::{Conversion, Mode, Unit, parse};
use neural_compiler::{Diagnostics, Options, Program, compile};
use serde_json::Value;
use std::collections::BTreeMap;

/// How many numbers lie between two.
fn apart(x: f64, y: f64) -> u64 {
    let order = |x: f64| if x.is_sign_negative() { -((x.to_bits() & (u64::MAX >> 1)) as i64) } else { x.to_bits() as i64 };
    order(x).abs_diff(order(y))
}

#[test]
fn numbers_are_converted_as_pint_does() {
    let (mut conversions, mut exact, mut wrong) = (0, 0, Vec::new());
    for line in include_str!("../../data/conversions.tsv").lines().filter(|l| !l.starts_with('#')) {
        let [from, to, x, wanted] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let scale = |text: &str| parse(text).unwrap_or_else(|e| panic!("{line}: {}", e.message));
        let conversion = Conversion::new(&scale(from), &scale(to)).unwrap_or_else(|| panic!("{line}"));
        let (x, wanted): (f64, f64) = (x.parse().expect("a number"), wanted.parse().expect("a number"));
        let found = conversion.apply(x);
        if apart(found, wanted) > 1 {
            wrong.push(format!("{line}: {found}"));
        }
        conversions += 1;
        exact += usize::from(found == wanted);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(conversions >= 500 && exact * 100 >= conversions * 95, "{exact} of {conversions}");
}

/// A unit from the exponents of m, s, kg, K and V.
fn unit(exponents: &Value) -> String {
    let factors = ["m", "s", "kg", "K", "V"].iter().zip(exponents.as_array().expect("exponents"));
    let factors: Vec<String> = factors.filter(|(_, e)| **e != 0).map(|(name, e)| format!("{name}^({e})")).collect();
    if factors.is_empty() { "1".into() } else { factors.join("*") }
}

/// The constants of the laws that are neither numbers nor quantities with units.
const CONSTANTS: &[(&str, &str)] = &[("c", "m/s"), ("G", "m^3/(kg*s^2)"), ("g", "m/s^2"), ("alpha", "1")];

/// The physical constants that the laws have as numbers.
const NUMBERS: &[(&str, &str, &str)] = &[
    ("6.626e-34", "planck", "J*s"),
    ("1.054571817e-34", "reduced_planck", "J*s"),
    ("8.854e-12", "permittivity", "F/m"),
    ("1.380649e-23", "boltzmann", "J/K"),
];

struct Law {
    name: String,
    raw: String,
    /// Declarations of all units, then `y = `, which the formula follows.
    before: String,
}

fn laws() -> Vec<Law> {
    let lines = include_str!("../../data/feynman-laws.jsonl").lines();
    let law = |line: &str| {
        let law: Value = serde_json::from_str(line).expect("a law is JSON");
        let raw = law["raw"].as_str().expect("a formula").to_string();
        let mut before = String::new();
        let named = law["units"].as_object().expect("units");
        named.iter().for_each(|(name, exponents)| before += &format!("input {name} (unit {})\n", unit(exponents)));
        let program = compile(&raw, &Options { syntax: Syntax::Infix, ..Options::default() }).expect("a law compiles");
        for (name, unit) in CONSTANTS {
            if !named.contains_key(*name) && program.inputs().iter().any(|i| i.name == *name) {
                before += &format!("input {name} (unit {unit})\n");
            }
        }
        let (_, output) = law["output"].as_object().and_then(|o| o.iter().next()).expect("an output");
        before += &format!("unit law_value = {}\nlaw_value = ", unit(output));
        Law { name: law["name"].as_str().expect("a name").into(), raw, before }
    };
    lines.map(law).collect()
}

fn compiled(text: &str, units: Mode) -> Result<Program, Diagnostics> {
    compile(text, &Options { syntax: Syntax::Infix, units, ..Options::default() })
}

#[test]
fn laws_pass_with_their_units_and_keep_their_graph() {
    for law in laws() {
        let text = format!("{}{}", law.before, law.raw);
        let program = compiled(&text, Mode::Refuse).unwrap_or_else(|e| panic!("{}: {e}\n{text}", law.name));
        let without = compiled(&text, Mode::Ignore).expect("a law without units");
        let graph = |p: &Program| print::to_text(&p.graph().expect("a graph"));
        assert_eq!(graph(&program), graph(&without), "{text}");
        assert!(program.units().names.iter().any(|n| n.0 == "law_value"), "{text}");
    }
}

/// Constants that declare no unit get one, where the law pins it.
#[test]
fn unknown_constants_get_their_units() {
    let inferred = |text: &str| -> BTreeMap<String, String> {
        compiled(text, Mode::Refuse).unwrap_or_else(|e| panic!("{e}\n{text}")).units().names.iter().cloned().collect()
    };
    let fall = inferred("input m (unit kg)\ninput z (unit m)\nunit U = J\nU = g*m*z");
    assert_eq!(parse(&fall["g"]).map(|s| s.unit), parse("m/s^2").map(|s| s.unit));
    let drug = inferred("input dose (unit mg)\ninput V (unit L)\ninput t (unit h)\nparam CL = 2\ndose/V*exp(-CL/V*t)");
    assert_eq!((drug["CL"].as_str(), drug["value"].as_str()), ("L/h", "mg/L"));
}

/// Single edits of a formula, as tokens: what it becomes, and where.
fn mutants(raw: &str, names: &[String]) -> Vec<(String, Span)> {
    let bytes = raw.as_bytes();
    let mut found = Vec::new();
    let mut edit = |start: usize, end: usize, new: &str| {
        let text = format!("{}{new}{}", &raw[..start], &raw[end..]);
        found.push((text, Span::new(start, start + new.len())));
    };
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        match bytes[at] {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                while at < bytes.len() && (bytes[at].is_ascii_alphanumeric() || bytes[at] == b'_') {
                    at += 1;
                }
                let word = &raw[start..at];
                if !names.iter().any(|n| n == word) {
                    continue;
                }
                names.iter().filter(|n| *n != word).for_each(|n| edit(start, at, n));
                edit(start, at, &format!("{word}^2"));
                edit(start, at, &format!("sqrt({word})"));
                edit(start, at, &format!("({word}*{})", names[0]));
                edit(start, at, &format!("(1/{word})"));
                edit(start, at, "1");
            }
            b'0'..=b'9' => {
                while at < bytes.len() && (bytes[at].is_ascii_alphanumeric() || bytes[at] == b'.' || bytes[at] == b'-') {
                    at += 1;
                }
                // An exponent, with blanks before it.
                if raw[..start].trim_end().ends_with('^') {
                    ["3", "4", "1.5"].iter().filter(|e| **e != &raw[start..at]).for_each(|e| edit(start, at, e));
                }
            }
            sign @ (b'*' | b'/' | b'+' | b'-') => {
                at += 1;
                b"*/+-".iter().filter(|s| **s != sign).for_each(|s| edit(start, at, &(*s as char).to_string()));
            }
            _ => at += 1,
        }
    }
    found
}

/// Whether a formula has a dimension at all, and that of the law: computed on a scale of its own, by numbers. If every base unit is made
/// smaller by some factor, a formula that fits changes by the factor of its unit, at every point.
fn fits(text: &str, units: &BTreeMap<String, Unit>, output: &Unit) -> Option<bool> {
    use neural_compiler::Tensor;
    use neural_compiler::exec::interp;
    let program = compiled(text, Mode::Ignore).ok()?;
    let graph = program.graph().ok()?;
    let factors = [2.0f64, 3.0, 5.0, 7.0, 11.0, 1.0, 1.0, 1.0];
    let scale = |unit: &Unit| -> f64 {
        let one = |&(part, k): &(neural_compiler::units::unit::Part, neural_compiler::units::ratio::Ratio)| match part {
            neural_compiler::units::unit::Part::Base(b) => factors[b as usize].powf(k.value()),
            _ => 1.0,
        };
        unit.parts().iter().map(one).product()
    };
    let mut agree = 0;
    for round in 0..6 {
        let values: Vec<f64> = (0..program.inputs().len()).map(|i| 0.37 + 0.21 * i as f64 + 0.113 * round as f64).collect();
        let at = |scaled: bool| {
            let inputs: Vec<Tensor<f64>> = program
                .inputs()
                .iter()
                .zip(&values)
                .map(|(input, x)| Tensor::scalar(if scaled { x * units.get(&input.name).map_or(1.0, scale) } else { *x }))
                .collect();
            interp::run(&graph, &inputs, &Default::default()).ok()?[0].as_scalar()
        };
        let (plain, scaled) = (at(false)?, at(true)?);
        if !plain.is_finite() || !scaled.is_finite() {
            continue;
        }
        if (scaled - plain * scale(output)).abs() > 1e-9 * scaled.abs() {
            return Some(false);
        }
        agree += 1;
    }
    (agree >= 3).then_some(true)
}

#[test]
fn mistakes_that_change_a_dimension_are_refused_where_they_are() {
    let (mut wrong, mut refused, mut placed) = (0, 0, 0);
    let (mut missed, mut elsewhere) = (Vec::new(), Vec::new());
    for law in laws() {
        let text = format!("{}{}", law.before, law.raw);
        let program = compiled(&text, Mode::Refuse).expect("a law");
        let known = |unit: &str| parse(unit).expect("a unit").unit;
        let mut units: BTreeMap<String, Unit> = program.units().names.iter().map(|(n, u)| (n.clone(), known(u))).collect();
        units.extend(NUMBERS.iter().map(|(_, name, unit)| (name.to_string(), known(unit))));
        let names: Vec<String> = program.inputs().iter().map(|i| i.name.clone()).collect();
        let offset = law.before.len() as u32;
        for (mutant, at) in mutants(&law.raw, &names) {
            let text = format!("{}{mutant}", law.before);
            // Numbers that are physical constants have units of their own: for the independent look they are quantities.
            let plain = NUMBERS.iter().fold(text.clone(), |text, (number, name, _)| text.replace(number, name));
            if fits(&plain, &units, &units["law_value"]) != Some(false) {
                continue;
            }
            wrong += 1;
            match compiled(&text, Mode::Refuse) {
                Err(e) if e.0[0].code == "unit-mismatch" => {
                    refused += 1;
                    let on = |s: Span| s.start <= at.end + offset && at.start + offset <= s.end;
                    let is_placed = e.0.iter().any(|d| d.code == "unit-mismatch" && on(d.span));
                    placed += usize::from(is_placed);
                    if !is_placed {
                        elsewhere.push(format!("{}: {mutant}: {}", law.name, e.0[0].span.text(&text)));
                    }
                }
                _ => missed.push(format!("{}: {mutant}", law.name)),
            }
        }
    }
    assert!(wrong >= 2000, "only {wrong} mutants");
    assert!(refused * 1000 >= wrong * 990, "{refused} of {wrong} refused; missed: {missed:#?}");
    assert!(placed * 1000 >= wrong * 990, "{placed} of {wrong} with a span on the edit; elsewhere: {elsewhere:#?}");
    println!("{wrong} mutants, {refused} refused, {placed} with a span on the edit");
}
