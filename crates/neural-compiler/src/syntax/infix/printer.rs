//! Data to infix text. In: data, their source (for the spelling of numbers) and its comments; out: infix text that reads back to the same
//! data. Invariant: every datum has a spelling. What no form of infix writes is a call with its head in backquotes, so that nothing a
//! Scheme text can hold is lost, mistakes included.

use super::lexer::{spelled, spelled_function};
use super::parser::strength::{ADD, ANY, NEGATE, NOT, OR, PRIMARY};
use super::shape::Shape;
use crate::syntax::comments::{Comment, blank_before};
use crate::syntax::forms::{self, Form};
use crate::syntax::layout::Layout;
use crate::syntax::reader::{Data, DatumId};

pub(crate) struct Printer<'a> {
    pub(super) data: &'a Data,
    pub(super) source: &'a str,
    comments: &'a [Comment],
    /// Comments already put.
    put: usize,
    layout: Layout,
    /// What the model calls its time.
    time: String,
}

/// A whole program as text.
pub(crate) fn print(data: &Data, source: &str, comments: &[Comment]) -> String {
    let mut printer = Printer { data, source, comments, put: 0, layout: Layout::default(), time: "t".into() };
    let time = data.top.iter().find_map(|&d| match data.list(d)? {
        [head, name, rest @ ..] if printer.is(*head, "time") && printer.value_and_options(rest, false).is_some() => printer.text(*name),
        _ => None,
    });
    printer.time = time.unwrap_or("t").to_string();
    printer.program();
    printer.layout.finish()
}

/// One datum as text, on one line where it fits.
pub(crate) fn print_datum(data: &Data, source: &str, d: DatumId) -> String {
    let mut printer = Printer { data, source, comments: &[], put: 0, layout: Layout::default(), time: "t".into() };
    if !printer.declaration(d) {
        printer.statement(d, true);
    }
    printer.layout.finish().trim_end().to_string()
}

fn text(data: &Data, d: DatumId) -> Option<&str> {
    data.symbol(d).map(|s| data.names.text(s))
}

impl<'a> Printer<'a> {
    pub(super) fn text(&self, d: DatumId) -> Option<&'a str> {
        text(self.data, d)
    }

    pub(super) fn is(&self, d: DatumId, name: &str) -> bool {
        self.text(d) == Some(name)
    }

    pub(super) fn name(&mut self, d: DatumId) {
        let name = spelled(self.text(d).unwrap_or(""));
        self.layout.text(name);
    }

    pub(super) fn function_name(&mut self, d: DatumId) {
        let name = spelled_function(self.text(d).unwrap_or(""));
        self.layout.text(name);
    }

    /// Comments that stand before this byte, where an expression goes on.
    pub(super) fn comments_before(&mut self, start: u32) {
        while let Some(c) = self.comments.get(self.put).filter(|c| c.start < start) {
            self.put += 1;
            if c.line {
                self.layout.remark(&c.infix, c.trailing);
            } else {
                self.layout.text(&c.infix);
                self.layout.text(" ");
            }
        }
    }

    /// Comments that stand before a line, each on a line of its own unless it stands behind the line before.
    /// Says whether one of them stands on the line that follows.
    pub(super) fn comments_between(&mut self, start: u32) -> bool {
        let mut beside = false;
        while let Some(c) = self.comments.get(self.put).filter(|c| c.start < start) {
            self.put += 1;
            let start_of_text = self.layout.at_line_start();
            if c.trailing && !start_of_text {
                self.layout.text("  ");
            } else if !start_of_text {
                self.layout.hard();
                if c.blank_before {
                    self.layout.hard();
                }
            }
            self.layout.text(&c.infix);
            let between = self.source.get(c.start as usize..start as usize);
            beside = !c.line && (!c.trailing || start_of_text) && between.is_some_and(|t| !t.contains('\n'));
            if beside {
                self.layout.text(" ");
            }
        }
        beside
    }

    pub(super) fn program(&mut self) {
        let data = self.data;
        let mut items = &data.top[..];
        // A last line that names a value is its value, too.
        if let [.., before, last] = items
            && let [head, name, _] = *self.data.children(*before)
            && self.is(head, "define")
            && self.data.symbol(name).is_some_and(|s| self.data.symbol(*last) == Some(s))
            && items[..items.len() - 1].iter().all(|&d| self.gives_no_value(d))
        {
            items = &items[..items.len() - 1];
        }
        for (i, &d) in items.iter().enumerate() {
            self.next_line(d, i == 0);
            if !self.declaration(d) {
                self.statement(d, i == 0);
            }
        }
        self.comments_between(u32::MAX);
    }

    /// What stands between two lines.
    pub(super) fn next_line(&mut self, d: DatumId, first: bool) {
        let start = self.data.span(d).start;
        let beside = self.comments_between(start);
        if !beside && !self.layout.at_line_start() {
            self.layout.hard();
            if !first && blank_before(self.source, start) || first && self.put > 0 && blank_before(self.source, start) {
                self.layout.hard();
            }
        }
    }

    /// A declaration of a model; false where it is none, or none that infix can write.
    pub(super) fn declaration(&mut self, d: DatumId) -> bool {
        let Some([head, rest @ ..]) = self.data.list(d) else { return false };
        let Some(keyword) = self.text(*head) else { return false };
        if keyword == "event" {
            return self.event(rest);
        }
        let [name, rest @ ..] = rest else { return false };
        if self.data.symbol(*name).is_none() {
            return false;
        }
        match (keyword, rest) {
            ("net", [inputs, widths @ ..]) if self.names(*inputs).is_some() && widths.iter().all(|&w| self.is_literal(w)) => {
                self.layout.text("net ");
                self.function_name(*name);
                self.parameters(*inputs);
                if !widths.is_empty() {
                    let widths: Vec<String> = widths.iter().map(|&w| self.literal(w)).collect();
                    self.layout.text(format!(" (layers {})", widths.join(", ")));
                }
            }
            ("constants", names) if names.iter().all(|&n| self.data.symbol(n).is_some()) => {
                self.layout.text("constants ");
                self.name(*name);
                if !names.is_empty() {
                    let names: Vec<String> = names.iter().filter_map(|&n| self.text(n)).map(spelled).collect();
                    self.layout.text(format!(" ({})", names.join(", ")));
                }
            }
            ("next" | "observe", [value]) => {
                self.layout.text(format!("{keyword} "));
                self.name(*name);
                self.layout.text(" = ");
                self.expression(*value, ANY);
            }
            ("observe", [value, options @ ..]) if !options.is_empty() && !self.is_keyword(*value) => {
                let Some(options) = self.options(options) else { return false };
                self.layout.text("observe ");
                self.name(*name);
                self.layout.text(" = ");
                self.expression(*value, ADD);
                self.layout.text(options);
            }
            ("unit", [unit]) if self.is_literal(*unit) => {
                self.layout.text("unit ");
                self.name(*name);
                let unit = self.unit(*unit);
                self.layout.text(format!(" = {unit}"));
            }
            ("derive", [value]) => {
                let state = self.text(*name).unwrap_or("").to_string();
                let left = format!("{}/{} = ", differential(&state), differential(&self.time));
                self.layout.text(left);
                self.expression(*value, ANY);
            }
            ("net" | "constants" | "next" | "observe" | "loglik" | "derive" | "unit", _) => return false,
            _ => return self.declared(keyword, *name, rest),
        }
        true
    }

    /// `param k = 1 (min 0)`: a word, a name, a value where there is one, options.
    pub(super) fn declared(&mut self, keyword: &str, name: DatumId, rest: &[DatumId]) -> bool {
        if !forms::form(keyword).is_some_and(Form::is_declaration) {
            return false;
        }
        let Some((value, options)) = self.value_and_options(rest, keyword == "state") else { return false };
        self.layout.text(format!("{keyword} "));
        self.name(name);
        if let Some(value) = value {
            self.layout.text(" = ");
            self.expression(value, ADD);
        }
        self.layout.text(options);
        true
    }

    pub(super) fn parameters(&mut self, names: DatumId) {
        let names: Vec<String> = self.data.children(names).iter().filter_map(|&n| self.text(n)).map(spelled).collect();
        self.layout.text(format!("({})", names.join(", ")));
    }

    /// A definition or an expression on a line.
    pub(super) fn statement(&mut self, d: DatumId, first: bool) {
        if let [head, target, ref rest @ ..] = *self.data.children(d)
            && self.data.list(d).is_some()
            && self.is(head, "define")
        {
            match *rest {
                [value] if self.data.symbol(target).is_some() => {
                    self.function_name(target);
                    self.layout.text(" = ");
                    return self.expression(value, ANY);
                }
                [_, ..] if self.names(target).is_some_and(|l| !l.is_empty()) => {
                    let names: Vec<String> = self.data.children(target).iter().filter_map(|&n| self.text(n)).map(spelled).collect();
                    self.function_name(self.data.children(target)[0]);
                    self.layout.text(format!("({}) = ", names[1..].join(", ")));
                    let start = self.data.span(rest[0]).start;
                    let remarked = self.comments.get(self.put).is_some_and(|c| c.start < start);
                    self.layout.begin(if remarked { 4 } else { 0 });
                    self.comments_before(start);
                    self.body(rest);
                    return self.layout.end();
                }
                _ => {}
            }
        }
        self.line_expression(d, first);
    }

    /// An expression at the start of a line. One that starts with a sign could go on with the line before, and is put in parentheses.
    pub(super) fn line_expression(&mut self, d: DatumId, first: bool) {
        let sign = !first && self.starts_with_sign(d);
        if sign {
            self.layout.text("(");
        }
        self.expression(d, ANY);
        if sign {
            self.layout.text(")");
        }
    }

    /// What a function or a binding form computes.
    pub(super) fn body(&mut self, items: &[DatumId]) {
        match *items {
            [one] if self.shape(one) == Shape::Block => {
                self.layout.text("(");
                self.expression(one, ANY);
                self.layout.text(")");
            }
            [one] if self.is_definition(one) => self.lines(items),
            [one] => self.expression(one, ANY),
            _ => self.lines(items),
        }
    }

    pub(super) fn say(&mut self, words: &str) {
        self.layout.text(words);
    }

    /// Lines between braces.
    pub(super) fn lines(&mut self, items: &[DatumId]) {
        let mut first = true;
        self.between_braces(items, |printer, d| printer.statement(d, std::mem::take(&mut first)));
    }

    /// Lines between braces, each printed by a function.
    pub(super) fn between_braces(&mut self, items: &[DatumId], mut line: impl FnMut(&mut Self, DatumId)) {
        self.layout.text("{");
        self.layout.begin(4);
        self.layout.hard();
        for (i, &d) in items.iter().enumerate() {
            if i > 0 {
                self.next_line(d, false);
            } else {
                self.comments_before(self.data.span(d).start);
            }
            line(self, d);
        }
        self.layout.end();
        self.layout.hard();
        self.layout.text("}");
    }

    /// An expression, in parentheses where it binds less strongly than this.
    pub(super) fn expression(&mut self, d: DatumId, least: u8) {
        crate::deep(|| {
            let shape = self.shape(d);
            self.grouped(d, shape, self.strength(d, shape) < least);
        });
    }

    pub(super) fn grouped(&mut self, d: DatumId, shape: Shape, parentheses: bool) {
        if matches!(shape, Shape::Number | Shape::Name) {
            self.comments_before(self.data.span(d).start);
        }
        if parentheses {
            self.layout.text("(");
        }
        self.bare(d, shape);
        if parentheses {
            self.layout.text(")");
        }
    }

    pub(super) fn bare(&mut self, d: DatumId, shape: Shape) {
        let children = self.data.children(d);
        match shape {
            Shape::Number => {
                let number = self.number(d);
                self.layout.text(number);
            }
            Shape::Name => self.name(d),
            Shape::Vector => {
                self.layout.text("[");
                self.separated(children);
                self.layout.text("]");
            }
            Shape::Nothing => self.layout.text("()"),
            Shape::Call => {
                self.comments_before(self.data.span(children[0]).start);
                self.function_name(children[0]);
                self.layout.text("(");
                self.separated(&children[1..]);
                self.layout.text(")");
            }
            Shape::Apply => {
                self.layout.text("(");
                self.expression(children[0], ANY);
                self.layout.text(")(");
                self.separated(&children[1..]);
                self.layout.text(")");
            }
            Shape::Negate => {
                self.layout.text("-");
                let operand = self.shape(children[1]);
                let number = operand == Shape::Number && !self.number(children[1]).starts_with('-');
                crate::deep(|| self.grouped(children[1], operand, number || self.strength(children[1], operand) < NEGATE));
            }
            Shape::Between(sign, strength) => self.between(children, sign, strength),
            Shape::Power => {
                self.expression(children[1], PRIMARY);
                self.layout.text("^");
                self.expression(children[2], NEGATE);
            }
            Shape::Unequal => {
                let sides = self.data.children(children[1]);
                self.expression(sides[1], ADD);
                self.layout.text(" != ");
                self.expression(sides[2], ADD);
            }
            Shape::Not => {
                self.layout.text("not ");
                self.expression(children[1], NOT);
            }
            Shape::If => {
                self.layout.begin(4);
                self.layout.text("if ");
                self.expression(children[1], OR);
                self.layout.or_break(" ");
                self.layout.text("then ");
                self.expression(children[2], OR);
                self.layout.or_break(" ");
                self.layout.text("else ");
                self.expression(children[3], ANY);
                self.layout.end();
            }
            Shape::Cases => self.cases(&children[1..]),
            Shape::Let => self.let_form(children),
            Shape::Loop => {
                self.layout.begin(0);
                self.layout.text("loop ");
                self.bindings(children[1]);
                self.in_body(&children[2..]);
                self.layout.end();
            }
            Shape::Root => {
                self.layout.begin(0);
                self.layout.text("root ");
                let [name, starts @ ..] = self.data.children(children[1]) else { return };
                self.comments_before(self.data.span(*name).start);
                self.function_name(*name);
                self.layout.text(" = ");
                for (k, &start) in starts.iter().enumerate() {
                    if k > 0 {
                        self.layout.text(", ");
                    }
                    self.expression(start, ANY);
                }
                self.in_body(&children[2..]);
                self.layout.end();
            }
            Shape::NamedLoop => {
                self.layout.begin(0);
                self.layout.text("loop ");
                self.function_name(children[1]);
                self.layout.text("(");
                self.bindings(children[2]);
                self.layout.text(")");
                self.in_body(&children[3..]);
                self.layout.end();
            }
            Shape::Function => {
                self.layout.text("function");
                self.parameters(children[1]);
                self.layout.text(" ");
                self.body(&children[2..]);
            }
            Shape::Index | Shape::Slice => {
                self.indexed(children[1]);
                self.layout.text("[");
                for (i, &c) in children[2..].iter().enumerate() {
                    if i > 0 {
                        self.layout.text(if shape == Shape::Slice { ":" } else { ", " });
                    }
                    self.expression(c, ANY);
                }
                self.layout.text("]");
            }
            Shape::Block => match children[2..] {
                [] => self.layout.text("{ }"),
                [one] if !self.is_definition(one) => {
                    self.layout.text("{ ");
                    self.expression(one, ANY);
                    self.layout.text(" }");
                }
                _ => self.lines(&children[2..]),
            },
        }
    }

    /// What an index stands behind: a name, a call or another index as it is, all else in parentheses.
    pub(super) fn indexed(&mut self, d: DatumId) {
        let shape = self.shape(d);
        let bare = matches!(shape, Shape::Name | Shape::Call | Shape::Apply | Shape::Index | Shape::Slice | Shape::Vector);
        crate::deep(|| self.grouped(d, shape, !bare));
    }

    /// Operands with a sign between them; lines break behind the sign.
    pub(super) fn between(&mut self, children: &[DatumId], sign: &'static str, strength: u8) {
        // `dx/dt` would be taken for a derivative.
        let named = |d: &DatumId| self.text(*d).is_some_and(|t| t.starts_with('d'));
        let differentials = sign == "/" && children[1..].windows(2).any(|pair| pair.iter().all(named));
        self.layout.begin(4);
        for (i, &c) in children[1..].iter().enumerate() {
            if i > 0 {
                self.layout.text(sign.trim_end());
                self.layout.or_break(if sign.starts_with(' ') { " " } else { "" });
            }
            let shape = self.shape(c);
            let parentheses = differentials || self.in_parentheses(c, shape, strength, children[0], i == 0);
            crate::deep(|| self.grouped(c, shape, parentheses));
        }
        self.layout.end();
    }

    /// Expressions between commas.
    pub(super) fn separated(&mut self, items: &[DatumId]) {
        self.layout.begin(4);
        for (i, &d) in items.iter().enumerate() {
            if i > 0 {
                self.layout.text(",");
                self.layout.or_break(" ");
            }
            self.expression(d, ANY);
        }
        self.layout.end();
    }

    pub(super) fn cases(&mut self, clauses: &[DatumId]) {
        self.layout.begin(0);
        self.layout.text("cases {");
        self.layout.begin(4);
        for (i, &clause) in clauses.iter().enumerate() {
            self.layout.or_break(if i > 0 { "; " } else { " " });
            let parts = self.data.children(clause);
            self.comments_before(self.data.span(parts[0]).start);
            if self.is(parts[0], "else") {
                self.layout.text("else");
            } else {
                self.line_expression(parts[0], i == 0);
            }
            self.layout.text(": ");
            self.body(&parts[1..]);
        }
        self.layout.end();
        self.layout.or_break(" ");
        self.layout.text("}");
        self.layout.end();
    }

    pub(super) fn let_form(&mut self, children: &[DatumId]) {
        let pairs = self.pairs(children[1]).unwrap_or_default();
        let word = self.text(children[0]).unwrap_or("let");
        self.layout.begin(0);
        if word == "let" && pairs.len() > 1 {
            let names: Vec<String> = pairs.iter().filter_map(|p| self.text(p.0)).map(spelled).collect();
            self.layout.text(format!("let {} = ", names.join(", ")));
            let values: Vec<DatumId> = pairs.iter().map(|p| p.1).collect();
            self.separated(&values);
        } else {
            // Several bindings one after the other are what `let` alone says.
            self.layout.text(if word == "let*" && pairs.len() > 1 { "let" } else { word });
            self.layout.text(" ");
            self.bindings(children[1]);
        }
        self.in_body(&children[2..]);
        self.layout.end();
    }

    pub(super) fn in_body(&mut self, body: &[DatumId]) {
        self.layout.or_break(" ");
        self.layout.text("in ");
        self.body(body);
    }

    /// `a = 1, f(x) = x^2`
    pub(super) fn bindings(&mut self, list: DatumId) {
        self.layout.begin(4);
        for (i, (name, value)) in self.pairs(list).unwrap_or_default().into_iter().enumerate() {
            if i > 0 {
                self.layout.text(",");
                self.layout.or_break(" ");
            }
            self.comments_before(self.data.span(name).start);
            self.function_name(name);
            if self.shape(value) == Shape::Function {
                let parts = self.data.children(value);
                self.parameters(parts[1]);
                self.layout.text(" = ");
                crate::deep(|| self.body(&parts[2..]));
            } else {
                self.layout.text(" = ");
                self.expression(value, ANY);
            }
        }
        self.layout.end();
    }
}

/// `dx`, with the name in backquotes where it is no plain word.
fn differential(name: &str) -> String {
    let word = spelled(name);
    let plain = spelled(&format!("d{name}"));
    if word.starts_with('`') || plain.starts_with('`') || word != name { format!("d`{}`", name.replace('`', "``")) } else { plain }
}
