//! Generated code as text, with the source beside each block. In: a program and its source; out: lines.

use super::Jit;
use super::assemble::Note;
use iced_x86::{Decoder, DecoderOptions, Formatter, IntelFormatter};

impl Jit {
    /// The machine code, an instruction a line, in Intel syntax, under the source expression it computes.
    pub fn to_text(&self, source: &str) -> String {
        let mut formatter = IntelFormatter::new();
        let options = formatter.options_mut();
        options.set_space_after_operand_separator(true);
        options.set_hex_prefix("0x");
        options.set_hex_suffix("");
        options.set_branch_leading_zeros(false);
        options.set_small_hex_numbers_in_decimal(true);
        let mut out = String::new();
        let mut notes = self.notes.iter().peekable();
        let mut shown = String::new();
        for instruction in &mut Decoder::with_ip(64, self.code.bytes(), 0, DecoderOptions::NONE) {
            while let Some((_, note)) = notes.next_if(|(at, _)| *at as u64 <= instruction.ip()) {
                let line = match note {
                    Note::Fused(part) => format!("fused loop {part}:\n"),
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
        out
    }
}
