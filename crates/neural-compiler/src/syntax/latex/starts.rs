//! When starts hold: `x(0) = 1` says it of the time 0, whatever the time of the first row of the data. In: lines that were read; out: the
//! declaration of the time, `(time t :start 0)`. Invariant: a text says one time, or there is an error.

use super::lexer::Kind;
use super::parser::{Item, Parser, Read, Walk};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::syntax::reader::{Datum, DatumId};

impl Parser<'_> {
    /// `(0)`, a number in parentheses behind the name of a state; nothing is read where something else stands.
    pub(super) fn start_time(&mut self) -> Option<f64> {
        let negative = self.ahead(1).kind == Kind::Sign('-');
        let number = if negative { 2 } else { 1 };
        let Kind::Number(at) = self.ahead(number).kind else { return None };
        if !self.is('(') || self.ahead(number + 1).kind != Kind::Sign(')') {
            return None;
        }
        for _ in 0..number + 2 {
            self.next();
        }
        Some(if negative { -at } else { at })
    }

    /// Declares the time at which the starts of the text hold, where they say one.
    pub(super) fn starts_hold(&mut self, declared: &mut Vec<DatumId>) -> Read<()> {
        let Some(&(at, span)) = self.starts.first() else { return Ok(()) };
        let differ = |other: f64, there: Span| {
            let message = format!("starts hold at one time, and these say {} and {}", crate::number_text(at), crate::number_text(other));
            let help = "write all starts at one time, as in x(0) = 1 \\\\ y(0) = 2";
            Err(Box::new(Diagnostic::error("bad-declaration", there, message).label(span, "the other one").help(help)))
        };
        if let Some(&(other, there)) = self.starts.iter().find(|s| s.0 != at) {
            return differ(other, there);
        }
        let text = |p: &Self, d: DatumId| p.data.symbol(d).map(|s| p.data.names.text(s).to_string());
        let time = declared.iter().position(|&d| self.data.children(d).first().is_some_and(|&h| text(self, h).as_deref() == Some("time")));
        let (mut items, place) = match time {
            Some(place) => (self.data.children(declared[place])[1..].to_vec(), Some(place)),
            None => {
                // The time is `t`, unless the text calls it `time`.
                let uses = |name: &str| self.data.names.find(name).is_some();
                let name = if uses("time") && !uses("t") { "time" } else { "t" };
                (vec![self.head(name, span)], None)
            }
        };
        let said = items.iter().position(|&d| text(self, d).as_deref() == Some(":start")).and_then(|k| items.get(k + 1).copied());
        if let Some(said) = said {
            return match self.data.get(said) {
                Datum::Number(other) if other != at => differ(other, self.data.span(said)),
                _ => Ok(()),
            };
        }
        let (key, value) = (self.head(":start", span), self.number(at, span).id);
        items.extend([key, value]);
        let items: Vec<Item> = items.into_iter().map(|id| Item { id, depth: 0, atomic: true, bold: false }).collect();
        let span = place.map_or(span, |place| self.data.span(declared[place]));
        let id = self.list(Some("time"), &items, span, false)?.id;
        match place {
            Some(place) => declared[place] = id,
            None => declared.insert(0, id),
        }
        Ok(())
    }
}
