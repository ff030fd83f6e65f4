//! Events of models: `(event (at 24) (add depot dose))`. In: data of such declarations; out: what they say, and the expressions that
//! compute their times, the levels whose change of sign is their condition, and the states behind them.
//! Invariants: the level of a condition is negative where the condition holds, and 0 where its sides are equal, as the condition itself, a
//! second number, says whether it holds there; the values of an event's actions are those of the states
//! before it, whatever the other actions do.

use crate::diagnostic::{Diagnostic, did_you_mean};
use crate::ops;
use crate::source::Span;
use crate::syntax::ast::{EventInfo, Expr, ExprId, InputKind, ModelKind, Moment, Part};
use crate::syntax::expand::{Expander, NOWHERE};
use crate::syntax::forms::Written;
use crate::syntax::reader::{DatumId, Symbol};

/// An event as it is declared.
pub(crate) struct Event {
    trigger: Trigger,
    actions: Vec<Action>,
    pub(crate) span: Span,
}

/// When it happens.
enum Trigger {
    /// At these times.
    At(Vec<Time>),
    /// When this condition becomes true.
    When(DatumId),
}

/// Times of an event.
enum Time {
    Once(DatumId),
    /// Period, first and last.
    Every(DatumId, Option<DatumId>, Option<DatumId>),
}

/// What it does to a state.
struct Action {
    add: bool,
    state: Symbol,
    place: DatumId,
    value: DatumId,
    span: Span,
}

impl Event {
    fn is_timed(&self) -> bool {
        matches!(self.trigger, Trigger::At(_))
    }
}

impl<'a> Expander<'a> {
    pub(crate) fn event(&mut self, written: Written<'_>) -> Option<Event> {
        let Written { form, args, span } = written;
        let wrong = |x: &mut Self, at: Span, what: &str| {
            x.error(Diagnostic::error("bad-declaration", at, what).help(format!("an event is written {}", form.usage)));
            None
        };
        let [trigger, actions @ ..] = args else { return wrong(self, span, "this event does not say when it happens") };
        let at = self.data.span(*trigger);
        let trigger = match self.headed(*trigger) {
            Some(("at", times)) if !times.is_empty() => Trigger::At(times.iter().map(|&t| self.event_time(t)).collect::<Option<_>>()?),
            Some(("when", &[condition])) => Trigger::When(condition),
            _ => return wrong(self, at, "an event begins with the times it happens at, or the condition"),
        };
        let mut found: Vec<Action> = Vec::new();
        for &action in actions {
            let span = self.data.span(action);
            let read = match self.headed(action) {
                Some((what @ ("set" | "add"), &[state, value])) => {
                    self.data.symbol(state).map(|s| Action { add: what == "add", state: s, place: state, value, span })
                }
                _ => None,
            };
            let Some(read) = read else { return wrong(self, span, "an action is (set state value) or (add state value)") };
            if let Some(first) = found.iter().find(|a| a.state == read.state).map(|a| a.span) {
                let message = format!("`{}` is changed twice by one event", self.name(read.state));
                self.error(Diagnostic::error("duplicate-name", span, message).label(first, "changed here first"));
            }
            found.push(read);
        }
        if found.is_empty() {
            return wrong(self, span, "this event does nothing");
        }
        Some(Event { trigger, actions: found, span })
    }

    /// A list with a name at its head.
    fn headed(&self, d: DatumId) -> Option<(&'a str, &'a [DatumId])> {
        let data = self.data;
        let [head, rest @ ..] = data.list(d)? else { return None };
        Some((self.name(self.data.symbol(*head)?), rest))
    }

    /// An expression, or `(every period :from first :until last)`.
    fn event_time(&mut self, d: DatumId) -> Option<Time> {
        let Some(("every", rest)) = self.headed(d) else { return Some(Time::Once(d)) };
        let wrong = |x: &mut Self, at: DatumId| {
            let error =
                Diagnostic::error("bad-declaration", x.data.span(at), "a schedule is written (every period :from first :until last)");
            x.error(error);
            None
        };
        let &[period, ref options @ ..] = rest else { return wrong(self, d) };
        let (mut from, mut until) = (None, None);
        for pair in options.chunks(2) {
            let &[word, value] = pair else { return wrong(self, pair[0]) };
            let place = match self.data.symbol(word).map(|s| self.name(s)) {
                Some(":from") => &mut from,
                Some(":until") => &mut until,
                _ => return wrong(self, word),
            };
            if place.replace(value).is_some() {
                return wrong(self, word);
            }
        }
        Some(Time::Every(period, from, until))
    }

    /// Checks events against the states of the model, and notes what they say.
    pub(crate) fn name_events(&mut self, events: &[Event], states: &[(String, Span)], kind: ModelKind) {
        let mut levels = 0;
        for event in events {
            if kind == ModelKind::Map {
                let help = "a map says in its `next` clauses what happens at a step";
                self.error(Diagnostic::error("bad-declaration", event.span, "only differential equations have events").help(help));
            }
            for action in &event.actions {
                let name = self.name(action.state).to_string();
                if states.iter().all(|s| s.0 != name) {
                    let help = did_you_mean(&name, states.iter().map(|s| s.0.as_str()));
                    self.error(Diagnostic::error("unknown-state", action.span, format!("`{name}` is not a state")).maybe_help(help));
                }
            }
            let times = match &event.trigger {
                Trigger::At(times) => times.iter().map(|t| if let Time::Once(_) = t { Moment::Once } else { Moment::Every }).collect(),
                Trigger::When(_) => vec![],
            };
            let level = (!event.is_timed()).then_some(levels);
            levels += usize::from(level.is_some());
            let actions = event.actions.iter().map(|a| (self.name(a.state).to_string(), a.span)).collect();
            self.ast.events.push(EventInfo { times, level, actions, span: event.span });
        }
    }

    /// The values of a part of the program that concerns events.
    pub(crate) fn event_part(&mut self, part: Part, events: &[Event], end: Span) -> Vec<ExprId> {
        match part {
            Part::EventTimes => events.iter().flat_map(|e| self.times_of(e, end)).collect(),
            Part::EventTime(event, k) => self.times_of_one(&events[event], k, end),
            Part::Levels => {
                let conditions = events.iter().filter_map(|e| if let Trigger::When(c) = e.trigger { Some(c) } else { None });
                let conditions: Vec<DatumId> = conditions.collect();
                let mut all: Vec<ExprId> = conditions.iter().map(|&c| self.level(c)).collect();
                // Mistakes are told once.
                if self.errors.is_empty() {
                    all.extend(conditions.iter().map(|&c| self.expr(c, NOWHERE)));
                }
                all
            }
            Part::Action(event, k) => vec![self.changed(&events[event].actions[k])],
            Part::Jump(event) => {
                let inputs = self.ast.inputs.iter().enumerate().filter(|(_, i)| matches!(i.kind, InputKind::State(_)));
                let states: Vec<(usize, String)> = inputs.map(|(place, i)| (place, i.name.clone())).collect();
                let mut after = Vec::with_capacity(states.len());
                for (place, name) in states {
                    let action = events[event].actions.iter().find(|a| self.name(a.state) == name);
                    let var = self.ast.funs[0].params[place];
                    after.push(match action {
                        Some(action) => self.changed(action),
                        None => self.push(Expr::Var(var), end),
                    });
                }
                after
            }
            _ => vec![],
        }
    }

    fn times_of(&mut self, event: &Event, end: Span) -> Vec<ExprId> {
        let Trigger::At(times) = &event.trigger else { return vec![] };
        (0..times.len()).flat_map(|k| self.times_of_one(event, k, end)).collect()
    }

    /// A time, or the period, the first and the last time of a schedule.
    fn times_of_one(&mut self, event: &Event, k: usize, end: Span) -> Vec<ExprId> {
        let Trigger::At(times) = &event.trigger else { return vec![] };
        match times[k] {
            Time::Once(time) => vec![self.expr(time, NOWHERE)],
            Time::Every(period, from, until) => {
                let (first, step) = (self.expr(from.unwrap_or(period), NOWHERE), self.expr(period, NOWHERE));
                let last = match until {
                    Some(until) => self.expr(until, NOWHERE),
                    // Without an end: a number like any other, later than all there are.
                    None => self.push(Expr::Number(f64::MAX), end),
                };
                vec![step, first, last]
            }
        }
    }

    /// The state behind an action.
    fn changed(&mut self, action: &Action) -> ExprId {
        let value = self.expr(action.value, NOWHERE);
        if !action.add {
            return value;
        }
        let before = self.expr(action.place, NOWHERE);
        self.apply("+", &[before, value], action.span)
    }

    fn apply(&mut self, operation: &str, args: &[ExprId], span: Span) -> ExprId {
        let surface = ops::surface(operation).expect("an operation");
        let from = self.ast.args.len() as u32;
        self.ast.args.extend(args);
        self.push(Expr::Op(surface, (from, self.ast.args.len() as u32)), span)
    }

    /// What is negative where a condition holds.
    fn level(&mut self, condition: DatumId) -> ExprId {
        crate::deep(|| self.level_here(condition))
    }

    fn level_here(&mut self, condition: DatumId) -> ExprId {
        let span = self.data.span(condition);
        let known = match self.data.list(condition) {
            Some([head, rest @ ..]) if !rest.is_empty() => {
                self.data.symbol(*head).filter(|&s| !self.is_bound(s)).map(|s| (self.name(s).to_string(), rest.to_vec()))
            }
            _ => None,
        };
        let (parts, joined) = match known.as_ref().map(|(head, rest)| (head.as_str(), &rest[..])) {
            Some(("<" | "<=" | ">" | ">=", args)) if args.len() > 1 => {
                let less = known.as_ref().is_some_and(|k| k.0.starts_with('<'));
                let sides: Vec<ExprId> = args.iter().map(|&a| self.expr(a, NOWHERE)).collect();
                let apart = |x: &mut Self, w: &[ExprId]| x.apply("-", &if less { [w[0], w[1]] } else { [w[1], w[0]] }, span);
                (sides.windows(2).map(|w| apart(self, w)).collect::<Vec<ExprId>>(), "max")
            }
            Some(("and", args)) => (args.iter().map(|&a| self.level(a)).collect(), "max"),
            Some(("or", args)) => (args.iter().map(|&a| self.level(a)).collect(), "min"),
            Some(("not", &[inner])) => {
                let level = self.level(inner);
                return self.apply("-", &[level], span);
            }
            _ => {
                let message = "the condition of an event is a comparison, or several joined by `and`, `or`, `not`";
                return self.error(Diagnostic::error("bad-declaration", span, message).help("as in (event (when (< C 0.1)) (set C 1))"));
            }
        };
        parts.into_iter().reduce(|a, b| self.apply(joined, &[a, b], span)).expect("there is a part")
    }
}
