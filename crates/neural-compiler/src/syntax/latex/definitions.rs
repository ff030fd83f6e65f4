//! What stands behind `\text{where}`, and notes such as `\text{(parameter, min $0$)}`. In: tokens; out: data. Behind `where` a value sees
//! what stands before it and functions see all, behind `where at once` neither sees the others; a function called `recur` is a loop.

use super::environments::said;
use super::lexer::Kind;
use super::names::UPRIGHT;
use super::parser::{Item, Parser, Read, Walk};
use crate::source::Span;
use crate::syntax::Syntax;
use crate::syntax::reader::{Datum, DatumId};

/// One definition: a name, the parameters of a function, where both stand, and the value.
type Definition = (String, Option<Vec<(String, Span)>>, Span, Item);

impl Parser<'_> {
    /// A condition, and what is defined behind it.
    pub(super) fn with_where(&mut self) -> Read<Item> {
        let value = self.condition()?;
        let Some(at_once) = self.at_where() else { return Ok(value) };
        said(self)?;
        let mut all: Vec<Definition> = Vec::new();
        loop {
            let start = self.peek().span;
            let from = self.cursor.at;
            let (name, parameters) = match self.signature() {
                Ok(Some((name, parameters))) => (name, Some(parameters)),
                _ => {
                    self.cursor.at = from;
                    let name = self.name()?;
                    self.skip_tabs();
                    (name.text, None)
                }
            };
            let span = start.join(self.before().span);
            self.expect_sign('=')?;
            self.skip_tabs();
            let value = self.enclosed(|p| p.condition())?;
            all.push((name, parameters, span, value));
            if !self.is(',') {
                break;
            }
            self.next();
        }
        let span = self.span(value).join(self.before().span);
        if let [(name, Some(variables), _, body)] = &all[..]
            && name == "recur"
            && let Some(starts) = self.starts(value, variables.len())
        {
            return self.rounds(variables.clone(), &starts, *body, span);
        }
        let mut items = Vec::new();
        for (name, parameters, at, value) in all {
            let target = self.symbol(&name, at);
            let mut names = Vec::new();
            for (parameter, span) in parameters.iter().flatten() {
                names.push(self.symbol(parameter, *span));
            }
            let item = match (at_once, parameters.is_none()) {
                (true, true) => self.list(None, &[target, value], at, false)?,
                (true, false) => {
                    let names = self.list(None, &names, at, false)?;
                    let lambda = self.list(Some("lambda"), &[names, value], at, false)?;
                    self.list(None, &[target, lambda], at, false)?
                }
                (false, true) => self.list(Some("define"), &[target, value], at, false)?,
                (false, false) => {
                    let head = self.list(None, &[&[target][..], &names[..]].concat(), at, false)?;
                    self.list(Some("define"), &[head, value], at, false)?
                }
            };
            items.push(item);
        }
        let bound = if at_once { std::mem::take(&mut items) } else { Vec::new() };
        let bound = self.list(None, &bound, span, false)?;
        self.list(Some("let"), &[&[bound][..], &items[..], &[value][..]].concat(), span, false)
    }

    /// Whether `\text{where}` stands here, and whether it says `at once`.
    pub(super) fn at_where(&self) -> Option<bool> {
        let token = self.peek();
        if token.kind != Kind::Command || !UPRIGHT.contains(&self.command()) {
            return None;
        }
        let rest = self.source[token.span.end as usize..].trim_start();
        match rest.strip_prefix('{')?.split_once('}')?.0.trim() {
            "where" => Some(false),
            "where at once" => Some(true),
            _ => None,
        }
    }

    /// Whether the token before ends `\text{where}`.
    pub(super) fn behind_where(&self, at: usize) -> bool {
        let token = self.cursor.tokens[at];
        if token.kind != Kind::Close {
            return false;
        }
        let text = &self.source[..token.span.start as usize];
        matches!(text.rfind('{').map_or("", |n| text[n + 1..].trim()), "where" | "where at once")
    }

    /// The arguments of the first call of a loop.
    fn starts(&self, value: Item, count: usize) -> Option<Vec<DatumId>> {
        let [head, starts @ ..] = self.data.list(value.id)? else { return None };
        let recur = self.data.symbol(*head).is_some_and(|s| self.data.names.text(s) == "recur");
        (recur && starts.len() == count).then(|| starts.to_vec())
    }

    fn rounds(&mut self, variables: Vec<(String, Span)>, starts: &[DatumId], body: Item, span: Span) -> Read<Item> {
        let mut pairs = Vec::new();
        for ((variable, at), &start) in variables.into_iter().zip(starts) {
            let name = self.symbol(&variable, at);
            let start = Item { id: start, depth: body.depth, atomic: false, bold: false };
            pairs.push(self.list(None, &[name, start], at, false)?);
        }
        let pairs = self.list(None, &pairs, span, false)?;
        self.list(Some("loop"), &[pairs, body], span, false)
    }

    pub(super) fn skip_tabs(&mut self) {
        while self.peek().kind == Kind::Tab {
            self.next();
        }
    }

    /// A note behind a line: its first word, and the options behind the comma as data.
    pub(super) fn note(&mut self) -> Read<Option<(String, Vec<Item>)>> {
        let token = self.peek();
        if token.kind != Kind::Note {
            return Ok(None);
        }
        let unknown = || self.unknown(token.span, "this note", "notes are those that `neuralc show --format latex` writes");
        let text = token.span.text(self.source);
        let inner = text.strip_prefix("\\text{(").and_then(|t| t.strip_suffix(")}")).ok_or_else(unknown)?;
        let (word, rest) = inner.split_once([',', ' ']).unwrap_or((inner, ""));
        let mut parts: Vec<(bool, String)> = Vec::new();
        for (k, part) in rest.split('$').enumerate() {
            match k % 2 {
                0 => parts.extend(part.split_whitespace().map(|w| (false, w.trim_matches(',').replace("\\_", "_")))),
                _ => parts.push((true, part.to_string())),
            }
        }
        let mut items = Vec::new();
        for (math, part) in parts {
            let item = match (math, part.strip_prefix("\\mathrm{").and_then(|t| t.strip_suffix('}'))) {
                (false, _) => self.symbol(&part, token.span),
                (true, Some(unit)) => self.symbol(&unit_text(unit), token.span),
                (true, None) => self
                    .constant(&part, token.span)
                    .ok_or_else(|| self.unknown(token.span, "this note", "notes are those that `neuralc show --format latex` writes"))?,
            };
            items.push(item);
        }
        self.next();
        Ok(Some((word.to_string(), items)))
    }

    /// A number, or numbers in a column, of a note.
    fn constant(&mut self, text: &str, span: Span) -> Option<Item> {
        let (data, errors) = crate::syntax::read(text, Syntax::Latex, self.cursor.limits);
        let [top] = data.top[..] else { return None };
        if !errors.is_empty() {
            return None;
        }
        match data.get(top) {
            Datum::Number(x) => Some(self.number(x, span)),
            Datum::Bracket(..) => {
                let numbers = data.children(top).iter().map(|&c| if let Datum::Number(x) = data.get(c) { Some(x) } else { None });
                let numbers: Vec<f64> = numbers.collect::<Option<_>>()?;
                let items: Vec<Item> = numbers.into_iter().map(|x| self.number(x, span)).collect();
                self.list(None, &items, span, true).ok()
            }
            Datum::Symbol(_) | Datum::List(..) => None,
        }
    }

    /// A declaration: its word, its first parts, and the options of a note, whose words are those of the declaration.
    pub(super) fn declared(&mut self, word: &str, parts: &[Item], options: Vec<Item>, span: Span) -> Read<Item> {
        let mut items = parts.to_vec();
        let mut named = false;
        for option in options {
            let name = self.data.symbol(option.id).map(|s| self.data.names.text(s).to_string());
            items.push(match name {
                Some(name) if !named => {
                    named = NAMED.contains(&&name[..]);
                    self.symbol(&format!(":{name}"), span)
                }
                _ => {
                    named = false;
                    option
                }
            });
        }
        self.list(Some(word), &items, span, false)
    }
}

/// Options whose value is a name, not an option.
const NAMED: [&str; 3] = ["interpolate", "per", "unit"];

/// A unit as it was before it was set: `m/s^{2}` is `m/s^2`.
fn unit_text(set: &str) -> String {
    set.replace("\\,", "*").replace("^{", "^").replace(['}', '\\'], "")
}
