//! Statements in Python. In: functions and how operations are written; out: the text of a function that runs them one by one.
//! Invariant: no value is changed in place, so names are all that is copied; a record is a tuple, and of a loop a list of them.

use crate::export::code::Code;
use crate::export::spell::bare;
use crate::export::structured::{Language, Named, Printer, called};
use crate::graph::Type;
use crate::ops::Op;
use crate::shape::Shape;

/// How operations are written.
pub(super) trait Spelling {
    /// A constant.
    fn constant(&mut self, x: f64) -> String;
    /// An elementwise operation on scalars.
    fn scalar(&mut self, op: Op, args: &[String]) -> String;
    /// Any other operation.
    fn whole(&mut self, to: &Named, op: Op, attribute: u32, args: &[Named]) -> String;
    /// A line that makes an argument what the text computes with.
    fn input(&self, name: &str, shape: Shape) -> String;
    /// A result as it is handed on.
    fn result(&self, text: &str, shape: Shape) -> String;
    /// A line that opens a block around the whole function.
    fn around(&self) -> Option<&'static str>;
}

struct Python<'s, S> {
    spelling: &'s mut S,
    /// What its functions are called, before a number.
    prefix: String,
}

/// A function and those it calls; of its results the first are the value, the others its gradient.
pub(super) fn function(code: &Code, name: &str, names: &[String], values: usize, spelling: &mut impl Spelling) -> String {
    let prefix = format!("f_{name}_");
    let mut language = Python { spelling, prefix: prefix.clone() };
    let open = |k: usize, params: &str| format!("def {prefix}{k}({params}):\n");
    let mut out = called(code, &mut language, open, tuple, "\n\n");
    let main = &code.functions[0];
    out += &format!("def {name}({}):\n", names.join(", "));
    let mut printer = Printer::new(&mut language, main, names, "    ", 1);
    for (name, ty) in names.iter().zip(&main.vars) {
        let line = printer.language.spelling.input(name, ty.shape());
        printer.line(&line);
    }
    if let Some(around) = printer.language.spelling.around() {
        printer.line(around);
        printer.deeper();
    }
    printer.body();
    let mut results = Vec::new();
    for (result, ty) in main.results.iter().zip(&main.result_types) {
        let text = printer.expr(result);
        results.push(printer.language.spelling.result(&text, ty.shape()));
    }
    let (value, rest) = results.split_at(values);
    let value = if value.len() == 1 { value[0].clone() } else { tuple(value) };
    let line = if name == "gradient" { format!("return {value}, {}", tuple(rest)) } else { format!("return {value}") };
    printer.line(&line);
    out += &printer.finish();
    out + "\n\n"
}

pub(super) fn tuple(items: &[String]) -> String {
    if items.len() == 1 { format!("({},)", items[0]) } else { format!("({})", items.join(", ")) }
}

impl<S: Spelling> Language for Python<'_, S> {
    fn number(&mut self, x: f64) -> String {
        self.spelling.constant(x)
    }

    fn apply(&mut self, op: Op, args: &[String]) -> String {
        self.spelling.scalar(op, args)
    }

    fn declare(&mut self, _: &Named) -> Vec<String> {
        Vec::new()
    }

    fn define(&mut self, var: &Named, value: &str) -> Vec<String> {
        vec![format!("{} = {}", var.text, bare(value))]
    }

    fn set(&mut self, var: &Named, value: &str) -> Vec<String> {
        self.define(var, value)
    }

    fn operation(&mut self, to: &Named, op: Op, attribute: u32, args: &[Named]) -> Vec<String> {
        let value = self.spelling.whole(to, op, attribute, args);
        vec![format!("{} = {}", to.text, bare(&value))]
    }

    fn unless_zero(&mut self, test: &str) -> String {
        format!("if {test} != 0:")
    }

    fn otherwise(&self) -> String {
        "else:".into()
    }

    fn end(&self) -> Option<String> {
        None
    }

    fn nothing(&self) -> Option<String> {
        Some("pass".into())
    }

    fn rounds(&mut self, stored: Option<(&Named, bool)>, _: bool) -> (Vec<String>, String) {
        (stored.map(|(record, _)| format!("{} = []", record.text)).into_iter().collect(), "while True:".into())
    }

    fn round(&mut self, stored: Option<(&Named, &[Named])>, _: bool) -> Vec<String> {
        let Some((record, values)) = stored else { return Vec::new() };
        let values: Vec<String> = values.iter().map(|v| v.text.clone()).collect();
        vec![format!("{}.append({})", record.text, tuple(&values))]
    }

    fn keep(&mut self, record: &Named, own: Option<&Named>) -> Vec<String> {
        own.map(|own| format!("{0}[-1] = {0}[-1] + ({1},)", record.text, own.text)).into_iter().collect()
    }

    fn if_zero(&mut self, proceed: &str) -> String {
        format!("if {proceed} == 0:")
    }

    fn leave(&self) -> String {
        "break".into()
    }

    fn back(&mut self, record: &Named, values: &[(Named, bool)], own: Option<&Named>) -> (Vec<String>, String, Vec<String>) {
        let mut parts: Vec<String> = values.iter().map(|(v, read)| if *read { v.text.clone() } else { "_".into() }).collect();
        // A round may have stored its own record without anybody reading it.
        parts.push(own.map_or("*_".into(), |o| o.text.clone()));
        (Vec::new(), format!("for {} in reversed({}):", tuple(&parts), record.text), Vec::new())
    }

    fn back_end(&mut self, _: &Named) -> Vec<String> {
        Vec::new()
    }

    fn call(&mut self, function: usize, args: &[Named], results: &[Named], _: bool) -> Vec<String> {
        let args: Vec<&str> = args.iter().map(|a| bare(&a.text)).collect();
        let results: Vec<String> = results.iter().map(|r| r.text.clone()).collect();
        vec![format!("{} = {}{function}({})", tuple(&results), self.prefix, args.join(", "))]
    }

    fn pack(&mut self, to: &Named, args: &[Named]) -> Vec<String> {
        let args: Vec<String> = args.iter().map(|a| bare(&a.text).to_string()).collect();
        vec![format!("{} = {}", to.text, tuple(&args))]
    }

    fn unpack(&mut self, to: &Named, from: &Named, index: u32) -> Vec<String> {
        debug_assert_eq!(from.ty, Type::Record);
        vec![format!("{} = {}[{index}]", to.text, from.text)]
    }
}
