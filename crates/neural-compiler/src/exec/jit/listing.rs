//! Generated code as text, with the source beside each block. In: a program and its source; out: lines.

use super::assemble::Note;
use super::homes::Home;
use super::{Declined, Jit, Part};
use crate::graph::Graph;
use crate::ops::real::Dtype;
use iced_x86::{Decoder, DecoderOptions, Formatter, IntelFormatter};
use neural_compiler_math::Level;

/// The machine code of a program all of whose inputs vary, for this CPU.
pub fn listing(graph: &Graph, dtype: Dtype, source: &str) -> Result<String, Declined> {
    Jit::new(graph, &vec![false; graph.inputs.len()], dtype, Level::best()).map(|jit| jit.to_text(source))
}

impl Jit {
    /// The order of fused loops and calls, then the machine code, an instruction a line, in Intel syntax, under the source expression
    /// it computes.
    pub fn to_text(&self, source: &str) -> String {
        let mut out = String::new();
        for (title, parts) in [("once", &self.once), ("for every block of lanes", &self.lanes)] {
            if !parts.is_empty() {
                out.push_str(&format!("{title}:\n"));
                parts.iter().for_each(|part| out.push_str(&format!("  {}\n", self.part_text(part))));
            }
        }
        self.instructions(source, &mut out);
        out
    }

    fn part_text(&self, part: &Part) -> String {
        let place = |home: Home| match home {
            Home::Pool(v) => format!("pool {v}"),
            Home::Slot(s) => format!("slot {s}"),
            Home::Column(c) if (c as usize) < self.columns => format!("input column {c}"),
            Home::Column(c) => format!("result column {}", c as usize - self.columns),
            Home::Nowhere => "nowhere".to_string(),
        };
        match part {
            Part::Fused(entry) => format!("fused loop at {entry:x}"),
            Part::Unary(f, x, to) => format!("{} of {} to {}", f.name, place(*x), place(*to)),
            Part::Binary(f, [x, y], to) => format!("{} of {} and {} to {}", f.name, place(*x), place(*y), place(*to)),
        }
    }

    fn instructions(&self, source: &str, out: &mut String) {
        let mut formatter = IntelFormatter::new();
        let options = formatter.options_mut();
        options.set_space_after_operand_separator(true);
        options.set_hex_prefix("0x");
        options.set_hex_suffix("");
        options.set_branch_leading_zeros(false);
        options.set_small_hex_numbers_in_decimal(true);
        let mut notes = self.notes.iter().peekable();
        let mut shown = String::new();
        let code = &self.code.bytes()[..self.length];
        for instruction in &mut Decoder::with_ip(64, code, 0, DecoderOptions::NONE) {
            while let Some((_, note)) = notes.next_if(|(at, _)| *at as u64 <= instruction.ip()) {
                let line = match note {
                    Note::Fused => "fused loop:\n".to_string(),
                    Note::Source(span) => format!("; {}\n", span.text(source).split_whitespace().collect::<Vec<_>>().join(" ")),
                    Note::Frame(what) => format!("; -- {what}\n"),
                };
                if line != shown {
                    out.push_str(&line);
                    shown = line;
                }
            }
            let mut text = String::new();
            formatter.format(&instruction, &mut text);
            out.push_str(&format!("{:6x}    {text}\n", instruction.ip()));
        }
    }
}
