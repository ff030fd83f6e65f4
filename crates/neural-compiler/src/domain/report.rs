//! What the check says. In: an operation and the intervals of its arguments; out: diagnostics, dangers as warnings, what only overflow
//! leads to as notes.

use super::{Analysis, Checked};
use crate::diagnostic::Diagnostic;
use crate::graph::{NodeId, Region};
use crate::ops::domain::Domain;
use crate::ops::interval::Interval;
use crate::ops::row::Row;
use crate::source::Span;
use std::collections::BTreeMap;

/// Findings by place and operation.
pub(super) type Found = BTreeMap<(u32, u32, &'static str), Diagnostic>;

/// Dangers are warnings; what is found neither without overflow nor on inputs of moderate size is a note.
pub(super) fn classify(everywhere: Found, mut without_overflow: Found, mut moderate: Found) -> Vec<Diagnostic> {
    let class = |(key, finding): ((u32, u32, &'static str), Diagnostic)| {
        without_overflow.remove(&key).or_else(|| moderate.remove(&key)).unwrap_or_else(|| {
            let message = format!("{}, but only where inputs without bounds make numbers overflow", finding.message);
            Diagnostic::note("may-overflow", finding.span, message).help("give the inputs bounds to prove that this does not happen")
        })
    };
    everywhere.into_iter().map(class).collect()
}

impl<T: Checked> Analysis<'_, T> {
    /// Notes that an operation may leave its domain or make a NaN of numbers in these intervals.
    pub(super) fn report(&mut self, region: &Region, id: NodeId, row: &'static Row, point: &[Interval<T>]) {
        if !self.reporting {
            return;
        }
        let span = region.node(id).span;
        let name = row.name.trim_start_matches('@');
        let name = if name == "cut-at" || name == "place-at" { "ref" } else { name };
        let text = |i: &Interval<T>| {
            if i.lo == i.hi {
                crate::number_text(i.lo.to_f64())
            } else {
                format!("{} … {}", crate::number_text(i.lo.to_f64()), crate::number_text(i.hi.to_f64()))
            }
        };
        let ranges = point.iter().map(text).collect::<Vec<_>>().join(", ");
        let at = if ranges.is_empty() { String::new() } else { format!(" on {ranges}") };
        let (why, help) = match row.domain {
            Domain::All => ("may not be a number".to_string(), None),
            Domain::Index => {
                let help = match point {
                    [i] if !i.whole => "make the index whole, as in (ref v (floor i)), and restrict it with ranges or `if`",
                    _ => "restrict the inputs with ranges, or guard the operation with `if`",
                };
                (format!("may leave its domain, {}", row.domain.text()), Some(help.to_string()))
            }
            domain => (
                format!("may leave its domain, {}", domain.text()),
                Some("restrict the inputs with ranges, or guard the operation with `if`".to_string()),
            ),
        };
        let message = format!("`{name}`{at} {why}");
        self.found
            .entry((span.start, span.end, row.name))
            .or_insert_with(|| Diagnostic::warning("domain-may-be-left", span, message).maybe_help(help));
    }

    /// Notes that nothing is known about a part of the program.
    pub(super) fn report_no_root(&mut self, span: Span) {
        if self.reporting {
            let message = "that there is a root is not proved: the signs at the ends of an interval would show it";
            let warning = Diagnostic::warning("domain-unknown", span, message)
                .help("write (root (x from to) …) with ends between which it changes its sign");
            self.found.entry((span.start, span.end, "root")).or_insert(warning);
        }
    }

    pub(super) fn report_unknown(&mut self, span: Span) {
        if self.reporting {
            let message = "what the derivative of a loop does is not followed, so it is not proved to stay in its domain";
            self.found.entry((span.start, span.end, "")).or_insert_with(|| Diagnostic::warning("domain-unknown", span, message));
        }
    }
}
