//! Generated code as text, with the source beside each block. In: a program and its source; out: lines.

use super::allocate::{COLUMNS, POOL};
use super::assemble::Note;
use super::homes::Home;
use super::{Declined, Jit, Part};
use crate::graph::Graph;
use crate::ops::real::Dtype;
use iced_x86::{Code, Decoder, DecoderOptions, Formatter, Instruction, IntelFormatter, Register};
use neural_compiler_math::{self as math, Level};

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
        out.push_str(
            "rdi: pool of constants, then what was driven from registers; \
                      rsi: addresses of columns; rdx: byte of a column; rcx: where it ends\n",
        );
        self.instructions(source, &mut out);
        out
    }

    fn place(&self, home: Home) -> String {
        match home {
            Home::Pool(v) => format!("pool {v}"),
            Home::Slot(s) => format!("slot {s}"),
            Home::Column(c) if (c as usize) < self.columns => format!("input column {c}"),
            Home::Column(c) => format!("result column {}", c as usize - self.columns),
            Home::Nowhere => "nowhere".to_string(),
        }
    }

    fn part_text(&self, part: &Part) -> String {
        let place = |home: Home| self.place(home);
        match part {
            Part::Fused(entry) => format!("fused loop at {entry:x}"),
            Part::Unary(f, x, to) => format!("{} of {} to {}", f.name, place(*x), place(*to)),
            Part::Binary(f, [x, y], to) => format!("{} of {} and {} to {}", f.name, place(*x), place(*y), place(*to)),
            Part::Ternary(f, [x, y, z], to) => format!("{} of {}, {} and {} to {}", f.name, place(*x), place(*y), place(*z), place(*to)),
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
            // What only aligns the next instruction.
            if instruction.code() == Code::Nopd {
                continue;
            }
            let mut text = String::new();
            formatter.format(&instruction, &mut text);
            let line = match self.remark(&instruction) {
                Some(Remark::Instead(operand)) => {
                    format!("{:6x}    mov {:?}, {operand}", instruction.ip(), instruction.op0_register()).to_lowercase()
                }
                Some(Remark::Beside(what)) => format!("{:6x}    {text:<40} ; {what}", instruction.ip()),
                None => format!("{:6x}    {text}", instruction.ip()),
            };
            out.push_str(&line);
            out.push('\n');
        }
    }

    /// What an address or a number in an instruction means.
    fn remark(&self, instruction: &Instruction) -> Option<Remark> {
        if instruction.code() == Code::Mov_r64_imm64 {
            let number = instruction.immediate64();
            let names = math::UNARY
                .iter()
                .map(|f| (std::ptr::from_ref(*f).addr(), f.name))
                .chain(math::BINARY.iter().map(|f| (std::ptr::from_ref(*f).addr(), f.name)));
            let name = names.into_iter().find(|(address, _)| *address as u64 == number).map(|n| format!("the function {}", n.1));
            // Offsets are small, addresses are not and differ from run to run.
            let apply = (number > 1 << 32).then(|| "what applies a function".to_string());
            return name.or(apply).map(Remark::Instead);
        }
        let offset = instruction.memory_displacement64();
        let plain = instruction.memory_index() == Register::None;
        match instruction.memory_base() {
            POOL if plain => {
                let at = (offset / self.vector_bytes() as u64) as u32;
                let shared = self.shared.iter().find(|s| s.0 == at).map(|s| format!("shared input {}", s.1));
                let constant = || self.constants.iter().find(|c| c.0 == at).map(|c| self.constant_text(c.1));
                shared.or_else(constant).map(Remark::Beside)
            }
            COLUMNS if plain => Some(Remark::Beside(self.place(Home::Column((offset / 8) as u32)))),
            _ => None,
        }
    }

    /// A constant of the pool by 8 of its bytes: a number of the program's type, or an f64 in an f32 program.
    fn constant_text(&self, pattern: u64) -> String {
        match self.dtype {
            Dtype::F32 if pattern >> 32 == pattern & u64::from(u32::MAX) => format!("{:?}", f32::from_bits(pattern as u32)),
            Dtype::F32 | Dtype::F64 => format!("{:?}", f64::from_bits(pattern)),
        }
    }
}

/// Words about an instruction: beside it, or instead of its second operand.
enum Remark {
    Beside(String),
    Instead(String),
}
