//! Events of models in infix: `event at 24, 48 { depot += dose }`, `event when h < 0 { v = -0.9*v }`. In: tokens; out: data as Scheme's
//! `(event (at 24 48) (add depot dose))` is read into; and back. Invariant: what is printed reads back to the same data; an event that is
//! not written as one is printed as a call.

use super::lexer::{Kind, Operator, Token};
use super::parser::strength::ANY;
use super::parser::{Item, Parser, Read};
use super::printer::Printer;
use super::statements::Line;
use crate::syntax::cursor::Walk;
use crate::syntax::reader::DatumId;

impl Parser<'_> {
    /// An event, whose word has been read.
    pub(super) fn event(&mut self, word: Token) -> Read<(Item, Line)> {
        let base = self.stack.len();
        let trigger = self.next();
        let what = match trigger.kind {
            Kind::Name(s) => self.data.names.text(s).to_string(),
            _ => String::new(),
        };
        match what.as_str() {
            "at" => loop {
                let time = self.event_time()?;
                self.stack.push(time);
                if self.peek().kind != Kind::Comma {
                    break;
                }
                self.next();
            },
            "when" => {
                let condition = self.expression(ANY)?;
                self.stack.push(condition);
            }
            _ => return Err(self.unexpected(trigger, "`at` and a time, or `when` and a condition")),
        }
        let span = trigger.span.join(self.before().span);
        let trigger = self.form(&what, trigger.span, base, span)?;
        self.stack.push(trigger);
        let open = self.expect(Kind::OpenBrace, "`{` and what the event does, as in { x = 0 } or { x += dose }")?;
        loop {
            while matches!(self.peek().kind, Kind::Semicolon | Kind::Comma) {
                self.next();
            }
            if matches!(self.peek().kind, Kind::CloseBrace | Kind::End) {
                break;
            }
            let action = self.action()?;
            self.stack.push(action);
            let end = self.peek();
            if !(end.newline || matches!(end.kind, Kind::Semicolon | Kind::Comma | Kind::CloseBrace)) {
                return Err(self.between_operands(end, "the end of the line or `}`"));
            }
        }
        let close = self.close(Kind::CloseBrace, open.span)?;
        Ok((self.form("event", word.span, base, word.span.join(close.span))?, Line::Dynamics))
    }

    /// An expression, or `every(period, from first, until last)`.
    fn event_time(&mut self) -> Read<Item> {
        let word = self.peek();
        let every = matches!(word.kind, Kind::Name(s) if self.data.names.text(s) == "every");
        let open = self.ahead(1);
        if !every || open.kind != Kind::Open || open.space {
            return self.expression(ANY);
        }
        self.next();
        self.next();
        let lines = std::mem::replace(&mut self.free_lines, true);
        let base = self.stack.len();
        let period = self.expression(ANY)?;
        self.stack.push(period);
        while self.peek().kind == Kind::Comma {
            self.next();
            let Some((word, token)) = self.name_at(0) else {
                return Err(self.unexpected(self.peek(), "`from` or `until` and a time, as in every(24, until 96)"));
            };
            self.next();
            let keyword = format!(":{}", self.data.names.text(word));
            let keyword = self.head(&keyword, token.span);
            self.stack.push(Item { id: keyword, depth: 0 });
            let time = self.expression(ANY)?;
            self.stack.push(time);
        }
        let close = self.close(Kind::Close, open.span)?;
        self.free_lines = lines;
        self.form("every", word.span, base, word.span.join(close.span))
    }

    /// `x = value` or `x += value`.
    fn action(&mut self) -> Read<Item> {
        let base = self.stack.len();
        let start = self.peek().span;
        let state = self.name("a state, as in x = 0 or x += dose")?;
        self.stack.push(state);
        let add = self.peek().kind == Kind::Operator(Operator::Plus) && self.ahead(1).kind == Kind::Equals;
        if add {
            self.next();
        }
        let sign = self.expect(Kind::Equals, "`=` or `+=`")?;
        let value = self.value()?;
        self.stack.push(value);
        let span = start.join(self.span(value));
        self.form(if add { "add" } else { "set" }, sign.span, base, span)
    }
}

/// A time of an event: an expression, or the numbers of a schedule with the words before them.
enum Time {
    Once(DatumId),
    Every(DatumId, Vec<(&'static str, DatumId)>),
}

impl Printer<'_> {
    /// An event; false where it is not written as one.
    pub(super) fn event(&mut self, rest: &[DatumId]) -> bool {
        let Some((trigger, times, actions)) = self.parts_of_event(rest) else { return false };
        self.say(&format!("event {trigger} "));
        for (i, time) in times.into_iter().enumerate() {
            if i > 0 {
                self.say(", ");
            }
            match time {
                Time::Once(time) => self.expression(time, ANY),
                Time::Every(period, options) => {
                    self.say("every(");
                    self.expression(period, ANY);
                    for (word, value) in options {
                        self.say(&format!(", {word} "));
                        self.expression(value, ANY);
                    }
                    self.say(")");
                }
            }
        }
        self.say(" ");
        self.between_braces(actions, |printer, d| {
            let [head, state, value] = *printer.data.children(d) else { return };
            printer.name(state);
            printer.say(if printer.is(head, "add") { " += " } else { " = " });
            printer.expression(value, ANY);
        });
        true
    }

    fn parts_of_event<'r>(&self, rest: &'r [DatumId]) -> Option<(&'static str, Vec<Time>, &'r [DatumId])> {
        let [trigger, actions @ ..] = rest else { return None };
        let [head, ref times @ ..] = *self.data.list(*trigger)? else { return None };
        let (what, times) = match (self.text(head)?, times) {
            ("at", times) if !times.is_empty() => ("at", times.iter().map(|&t| self.schedule(t)).collect::<Option<Vec<Time>>>()?),
            ("when", &[condition]) => ("when", vec![Time::Once(condition)]),
            _ => return None,
        };
        let is_action = |d: &DatumId| match self.data.list(*d) {
            Some([head, state, _]) => matches!(self.text(*head), Some("set" | "add")) && self.data.symbol(*state).is_some(),
            _ => false,
        };
        (!actions.is_empty() && actions.iter().all(is_action)).then_some((what, times, actions))
    }

    fn schedule(&self, d: DatumId) -> Option<Time> {
        let Some([head, period, options @ ..]) = self.data.list(d).filter(|l| l.first().is_some_and(|&h| self.is(h, "every"))) else {
            return Some(Time::Once(d));
        };
        debug_assert!(self.is(*head, "every"));
        let pair = |p: &[DatumId]| match *p {
            [word, value] => [":from", ":until"].into_iter().find(|w| self.is(word, w)).map(|w| (&w[1..], value)),
            _ => None,
        };
        Some(Time::Every(*period, options.chunks(2).map(pair).collect::<Option<_>>()?))
    }
}
