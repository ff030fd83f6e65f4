//! A LaTeX text: equations one below the other. In: a text; out: data. `y = …` defines a value and `f(x) = …` a function,
//! `\dot x = …` and `\frac{dx}{dt} = …` give the derivative of a state, `x(0) = 1` its start (`starts.rs`); a last line without `=` is
//! the value of the program, else the value defined last is. `x \leftarrow …` is the next value of a state; notes say in words what a
//! name is.

use super::lexer::{Kind, tokens};
use super::parser::{Parser, Read, Walk};
use crate::diagnostic::Diagnostic;
use crate::limits::Limits;
use crate::source::Span;
use crate::syntax::Syntax;
use crate::syntax::reader::{Data, DatumId, too_long};

/// What a line was.
enum Line {
    /// A value: its name and where it stands.
    Value(String, Span),
    Expression,
    Dynamics,
    Other,
}

/// Reads a LaTeX text. Errors are collected; the data are only meant for use when there are none.
pub(crate) fn read(source: &str, limits: &Limits) -> (Data, Vec<Diagnostic>) {
    let mut data = Data::default();
    data.syntax = Syntax::Latex;
    if let Some(error) = too_long(source, limits) {
        return (data, vec![error]);
    }
    let (tokens, errors) = tokens(source);
    if !errors.is_empty() {
        return (data, errors);
    }
    let mut parser = Parser::new(source, tokens, data, limits);
    parser.find_functions();
    let errors = parser.lines();
    (parser.data, errors)
}

/// The name of a function, and its parameters with where they stand.
pub(super) type Signature = (String, Vec<(String, Span)>);

impl Parser<'_> {
    /// Whether a line ends here; alignment and punctuation behind it are passed over.
    fn at_line_end(&mut self) -> bool {
        while self.peek().kind == Kind::Tab
            || (self.is(',') || self.is(';')) && matches!(self.ahead(1).kind, Kind::Row | Kind::Break | Kind::End)
        {
            self.next();
        }
        matches!(self.peek().kind, Kind::Row | Kind::Break | Kind::End)
    }

    /// Names that stand left of `=` with parameters in parentheses.
    fn find_functions(&mut self) {
        let (mut start, mut inside) = (true, false);
        for at in 0..self.cursor.tokens.len() {
            if start {
                self.cursor.at = at;
                self.skip_tabs();
                if self.name_starts()
                    && let Ok(Some((name, _))) = self.signature()
                {
                    self.functions.insert(name);
                }
            }
            inside |= self.behind_where(at);
            let kind = self.cursor.tokens[at].kind;
            start = matches!(kind, Kind::Row | Kind::Break) || self.behind_where(at) || inside && kind == Kind::Sign(',');
        }
        self.cursor.at = 0;
    }

    /// `f(x, y) =` or `f() =`, where it stands here: the name and the parameters.
    pub(super) fn signature(&mut self) -> Read<Option<Signature>> {
        let name = self.name()?.text;
        if !self.is('(') {
            return Ok(None);
        }
        self.next();
        let mut parameters = Vec::new();
        while !(parameters.is_empty() && self.is(')')) {
            if !self.name_starts() {
                return Ok(None);
            }
            let parameter = self.name()?;
            parameters.push((parameter.text, parameter.span));
            if !self.is(',') {
                break;
            }
            self.next();
        }
        if !self.is(')') {
            return Ok(None);
        }
        self.next();
        self.skip_tabs();
        Ok(self.is('=').then_some((name, parameters)))
    }

    fn lines(&mut self) -> Vec<Diagnostic> {
        let mut errors = Vec::new();
        let (mut last, mut has_value) = (None, false);
        let (mut states, mut rest): (Vec<DatumId>, Vec<DatumId>) = (Vec::new(), Vec::new());
        loop {
            while matches!(self.peek().kind, Kind::Row | Kind::Break | Kind::Tab) {
                self.next();
            }
            if self.peek().kind == Kind::End || errors.len() >= 20 {
                break;
            }
            (self.bars, self.equals) = (0, false);
            self.indices.clear();
            let found =
                self.line(&mut states, &mut rest).and_then(|line| if self.at_line_end() { Ok(line) } else { Err(self.left_over()) });
            match found {
                Ok(line) => {
                    has_value |= matches!(line, Line::Expression | Line::Dynamics);
                    last = Some(line);
                }
                Err(e) => {
                    errors.push(*e);
                    while !matches!(self.peek().kind, Kind::Row | Kind::Break | Kind::End) {
                        self.next();
                    }
                }
            }
        }
        if let (Some(Line::Value(name, span)), false) = (&last, has_value) {
            let value = self.symbol(name, *span);
            rest.push(value.id);
        }
        if let Err(e) = self.starts_hold(&mut states) {
            errors.push(*e);
        }
        states.extend(rest);
        self.data.top = states;
        errors
    }

    fn left_over(&self) -> Box<Diagnostic> {
        let token = self.peek();
        if token.kind == Kind::Sign('=') {
            let message = "an equation is a name or a function of names, one `=`, and what it is equal to";
            return Box::new(
                Diagnostic::error("unexpected-token", token.span, message)
                    .help("solve it for one quantity; put several equations below each other, with \\\\ between them"),
            );
        }
        self.unexpected(token, "the end of the line")
    }

    fn line(&mut self, states: &mut Vec<DatumId>, rest: &mut Vec<DatumId>) -> Read<Line> {
        let start = self.peek().span;
        let from = self.cursor.at;
        if let Some((state, at)) = self.derivative()? {
            let state = self.symbol(&state, at);
            let value = self.right_side()?;
            let span = start.join(self.before().span);
            rest.push(self.list(Some("derive"), &[state, value], span, false)?.id);
            return Ok(Line::Dynamics);
        }
        self.cursor.at = from;
        if let Some(line) = self.declaration(states, rest)? {
            return Ok(line);
        }
        self.cursor.at = from;
        if self.name_starts() {
            if let Ok(Some((name, parameters))) = self.signature() {
                let head_span = start.join(self.before().span);
                let mut items = vec![self.symbol(&name, head_span)];
                for (parameter, span) in parameters {
                    items.push(self.symbol(&parameter, span));
                }
                let signature = self.list(None, &items, head_span, false)?;
                let value = self.right_side()?;
                let span = start.join(self.before().span);
                rest.push(self.list(Some("define"), &[signature, value], span, false)?.id);
                return Ok(Line::Other);
            }
            self.cursor.at = from;
            if let Some(line) = self.definition(states, rest)? {
                return Ok(line);
            }
            self.cursor.at = from;
        }
        let value = self.with_where()?;
        rest.push(value.id);
        Ok(Line::Expression)
    }

    fn right_side(&mut self) -> Read<super::parser::Item> {
        self.skip_tabs();
        self.expect_sign('=')?;
        self.skip_tabs();
        self.with_where()
    }

    /// `x \leftarrow …`: the next value of a state; `x & \text{(input)}` and the like: what a name is, in words.
    fn declaration(&mut self, states: &mut Vec<DatumId>, rest: &mut Vec<DatumId>) -> Read<Option<Line>> {
        let start = self.peek().span;
        if let Some((word, options)) = self.note()? {
            if word != "constants" {
                return Err(self.unknown(start, "this note", "a note stands behind the name it is about"));
            }
            let span = start.join(self.before().span);
            states.push(self.list(Some("constants"), &options, span, false)?.id);
            return Ok(Some(Line::Other));
        }
        if !self.name_starts() {
            return Ok(None);
        }
        let Ok(name) = self.name() else { return Ok(None) };
        let target = self.symbol(&name.text, name.span);
        let mut inputs = Vec::new();
        if self.is('(') {
            self.next();
            while self.name_starts() {
                let input = self.name()?;
                inputs.push(self.symbol(&input.text, input.span));
                if self.is(',') {
                    self.next();
                }
            }
            if !self.is(')') {
                return Ok(None);
            }
            self.next();
        }
        self.skip_tabs();
        if self.command() == "leftarrow" && inputs.is_empty() {
            self.next();
            let value = self.with_where()?;
            let span = start.join(self.before().span);
            rest.push(self.list(Some("next"), &[target, value], span, false)?.id);
            return Ok(Some(Line::Dynamics));
        }
        let Some((word, options)) = self.note()? else { return Ok(None) };
        let span = start.join(self.before().span);
        let declared = match (word.as_str(), inputs.is_empty()) {
            ("input" | "time", true) => self.declared(&word, &[target], options, span)?,
            ("in", true) => self.list(Some("unit"), &[&[target][..], &options[..]].concat(), span, false)?,
            _ => return Err(self.unknown(span, "this note", "notes are those that `neuralc show --format latex` writes")),
        };
        states.push(declared.id);
        Ok(Some(Line::Other))
    }

    /// `y = …`, or `x(0) = 1`, the start of a state.
    fn definition(&mut self, states: &mut Vec<DatumId>, rest: &mut Vec<DatumId>) -> Read<Option<Line>> {
        let Ok(name) = self.name() else { return Ok(None) };
        let at = self.start_time();
        self.skip_tabs();
        if !self.is('=') {
            return Ok(None);
        }
        let target = self.symbol(&name.text, name.span);
        if let Some(at) = at {
            let value = self.right_side()?;
            let noted = self.note()?;
            let span = name.span.join(self.before().span);
            let options = match noted {
                None => Vec::new(),
                Some((word, options)) if word == "state" => options,
                Some(_) => return Err(self.unknown(span, "this note", "the start of a state is noted as (state, …)")),
            };
            states.push(self.declared("state", &[target, value], options, span)?.id);
            self.starts.push((at, span));
            return Ok(Some(Line::Dynamics));
        }
        let value = self.right_side()?;
        let noted = self.note()?;
        let span = name.span.join(self.before().span);
        match noted {
            None => {}
            Some((word, options)) if word == "parameter" => {
                states.push(self.declared("param", &[target, value], options, span)?.id);
                return Ok(Some(Line::Other));
            }
            Some((word, options)) if word == "state" => {
                states.push(self.declared("state", &[target, value], options, span)?.id);
                return Ok(Some(Line::Dynamics));
            }
            Some((word, options)) if word == "observed" => {
                rest.push(self.declared("observe", &[target, value], options, span)?.id);
                return Ok(Some(Line::Dynamics));
            }
            Some(_) => return Err(self.unknown(span, "this note", "notes are those that `neuralc show --format latex` writes")),
        }
        rest.push(self.list(Some("define"), &[target, value], span, false)?.id);
        Ok(Some(Line::Value(name.text, name.span)))
    }

    /// `\dot x`, `\frac{dx}{dt}` or `x'`, where it stands left of `=`.
    fn derivative(&mut self) -> Read<Option<(String, Span)>> {
        let command = self.command();
        let found = if command == "dot" {
            self.next();
            let mut name = self.braced(|p| p.name())?;
            if self.peek().kind == Kind::Lower {
                self.next();
                name.text = format!("{}_{}", name.text, self.subscript()?);
            }
            Some((name.text, name.span))
        } else if command == "ddot" {
            let help = "write two equations of first order: \\dot x = v \\\\ \\dot v = …";
            return Err(self.unknown(self.peek().span, "a second derivative", help));
        } else if matches!(command, "frac" | "dfrac" | "tfrac") {
            self.next();
            let Some(name) = self.differential()? else { return Ok(None) };
            match self.differential()? {
                Some((time, _)) if time == "t" => Some(name),
                Some((_, span)) => return Err(self.unknown(span, "a derivative by something else than t", "call the time t")),
                None => return Ok(None),
            }
        } else if self.name_starts() {
            let Ok(name) = self.name() else { return Ok(None) };
            if !self.is('\'') {
                return Ok(None);
            }
            self.next();
            Some((name.text, name.span))
        } else {
            None
        };
        let mut n = 0;
        while self.ahead(n).kind == Kind::Tab {
            n += 1;
        }
        Ok(found.filter(|_| self.ahead(n).kind == Kind::Sign('=')))
    }

    /// `{dx}`, `{\mathrm{d} x}`: the name behind the `d`.
    fn differential(&mut self) -> Read<Option<(String, Span)>> {
        if self.peek().kind != Kind::Open {
            return Ok(None);
        }
        self.next();
        match self.peek().kind {
            Kind::Letter('d') => {
                self.next();
            }
            Kind::Command if self.command() == "mathrm" => {
                self.next();
                if self.word()? != "d" {
                    return Ok(None);
                }
            }
            _ => return Ok(None),
        }
        if !self.name_starts() {
            return Ok(None);
        }
        let name = self.name()?;
        if self.peek().kind != Kind::Close {
            return Ok(None);
        }
        self.next();
        Ok(Some((name.text, name.span)))
    }
}
