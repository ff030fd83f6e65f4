//! Instructions as bytes: the operations of `ir` in AVX-512 (whole 512-bit vectors, masks in mask registers) or AVX2 (256 bits, masks
//! as vectors). In: operations on registers and memory; out: machine code.
//! Invariants: one scratch register of each class belongs to this file, so that nobody else may hold a value there; no instruction
//! contracts a product and a sum, or rounds otherwise than the interpreter.

/// A pair of codes: f32, f64.
macro_rules! typed {
    ($self:ident, $single:ident, $double:ident) => {
        match $self.dtype {
            Dtype::F32 => Code::$single,
            Dtype::F64 => Code::$double,
        }
    };
}

mod narrow;
mod wide;

use super::Declined;
use super::ir::{Class, Prim};
use crate::ops::real::Dtype;
use crate::source::Span;
use iced_x86::{Code, Encoder, Instruction, MemoryOperand, Register};
use neural_compiler_math::Level;

/// Where memory is: `base + index + offset`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Address {
    pub(super) base: Register,
    pub(super) index: Option<Register>,
    pub(super) offset: i64,
}

impl Address {
    fn operand(self) -> MemoryOperand {
        match self.index {
            Some(index) => MemoryOperand::with_base_index_scale_displ_size(self.base, index, 1, self.offset, 1),
            None => MemoryOperand::with_base_displ_size(self.base, self.offset, 1),
        }
    }
}

/// An argument of an operation.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operand {
    Register(u8),
    Memory(Address),
}

/// A place in the code, known once it is bound.
#[derive(Clone, Copy, Debug)]
pub(super) struct Label(usize);

/// Notes and where in the code they stand.
pub(super) type Notes = Vec<(usize, Note)>;

/// Why bytes are where they are, for the listing.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Note {
    /// A fused loop begins.
    Fused,
    /// Instructions for a value with this source.
    Source(Span),
    /// Loads, stores and counting of the loop itself.
    Frame(&'static str),
}

/// A point in the code under construction.
pub(super) struct Mark {
    length: usize,
    labels: usize,
    jumps: usize,
    notes: usize,
}

pub(super) struct Assembler {
    encoder: Encoder,
    wide: bool,
    dtype: Dtype,
    length: usize,
    labels: Vec<Option<usize>>,
    /// Ends of jumps to labels: four bytes to fill in.
    jumps: Vec<(usize, usize)>,
    pub(super) notes: Vec<(usize, Note)>,
    /// The first thing that went wrong.
    failed: bool,
}

impl Assembler {
    pub(super) fn new(level: Level, dtype: Dtype) -> Assembler {
        Assembler {
            encoder: Encoder::new(64),
            wide: level == Level::Avx512,
            dtype,
            length: 0,
            labels: Vec::new(),
            jumps: Vec::new(),
            notes: Vec::new(),
            failed: false,
        }
    }

    /// Bytes of a vector.
    pub(super) fn vector_bytes(&self) -> usize {
        if self.wide { 64 } else { 32 }
    }

    /// Registers of a class that may hold values.
    pub(super) fn registers(&self, class: Class) -> std::ops::Range<u8> {
        match (self.wide, class) {
            (true, Class::Number) => 0..31,
            (true, Class::Mask) => 1..7,
            (false, Class::Number) => 0..15,
            (false, Class::Mask) => 0..0,
        }
    }

    /// The class of registers that holds values of a class.
    pub(super) fn held_in(&self, class: Class) -> Class {
        if self.wide { class } else { Class::Number }
    }

    fn vector(&self, r: u8) -> Register {
        let first = if self.wide { Register::ZMM0 } else { Register::YMM0 };
        first + u32::from(r)
    }

    fn mask(&self, r: u8) -> Register {
        Register::K0 + u32::from(r)
    }

    fn scratch(&self) -> Register {
        self.vector(if self.wide { 31 } else { 15 })
    }

    pub(super) fn position(&self) -> usize {
        self.length
    }

    pub(super) fn note(&mut self, note: Note) {
        self.notes.push((self.length, note));
    }

    pub(super) fn emit(&mut self, instruction: Result<Instruction, iced_x86::IcedError>) {
        match instruction.and_then(|i| self.encoder.encode(&i, self.length as u64)) {
            Ok(n) => self.length += n,
            Err(_) => self.failed = true,
        }
    }

    /// A point to come back to.
    pub(super) fn mark(&self) -> Mark {
        Mark { length: self.length, labels: self.labels.len(), jumps: self.jumps.len(), notes: self.notes.len() }
    }

    /// Forgets everything since.
    pub(super) fn rewind(&mut self, mark: &Mark) {
        let mut bytes = self.encoder.take_buffer();
        bytes.truncate(mark.length);
        self.encoder.set_buffer(bytes);
        self.length = mark.length;
        self.labels.truncate(mark.labels);
        self.jumps.truncate(mark.jumps);
        self.notes.truncate(mark.notes);
    }

    // General registers and jumps.

    pub(super) fn push(&mut self, r: Register) {
        self.emit(Instruction::with1(Code::Push_r64, r));
    }

    pub(super) fn pop(&mut self, r: Register) {
        self.emit(Instruction::with1(Code::Pop_r64, r));
    }

    pub(super) fn copy_general(&mut self, to: Register, from: Register) {
        self.emit(Instruction::with2(Code::Mov_r64_rm64, to, from));
    }

    pub(super) fn load_general(&mut self, to: Register, from: Address) {
        self.emit(Instruction::with2(Code::Mov_r64_rm64, to, from.operand()));
    }

    pub(super) fn add_general(&mut self, to: Register, x: i32) {
        self.emit(Instruction::with2(Code::Add_rm64_imm32, to, x));
    }

    pub(super) fn compare_general(&mut self, a: Register, b: Register) {
        self.emit(Instruction::with2(Code::Cmp_r64_rm64, a, b));
    }

    pub(super) fn count_down(&mut self, r: Register) {
        self.emit(Instruction::with1(Code::Dec_rm64, r));
    }

    pub(super) fn set(&mut self, r: Register, x: u32) {
        self.emit(Instruction::with2(Code::Mov_r32_imm32, r, x));
    }

    pub(super) fn end(&mut self) {
        self.emit(Ok(Instruction::with(Code::VEX_Vzeroupper)));
    }

    pub(super) fn ret(&mut self) {
        self.emit(Ok(Instruction::with(Code::Retnq)));
    }

    pub(super) fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    pub(super) fn bind(&mut self, label: Label) {
        self.labels[label.0] = Some(self.length);
    }

    pub(super) fn jump(&mut self, code: Code, to: Label) {
        // The distance is filled in at the end.
        self.emit(Instruction::with_branch(code, self.length as u64));
        self.jumps.push((self.length, to.0));
    }

    /// Aligns what follows, with instructions that do nothing.
    pub(super) fn align(&mut self, to: usize) {
        while !self.length.is_multiple_of(to) {
            self.emit(Ok(Instruction::with(Code::Nopd)));
        }
    }

    /// The finished code.
    pub(super) fn finish(mut self) -> Result<(Vec<u8>, Notes), Declined> {
        let mut bytes = self.encoder.take_buffer();
        for (at, label) in self.jumps {
            match self.labels[label] {
                Some(to) => bytes[at - 4..at].copy_from_slice(&(to as i64 - at as i64).to_le_bytes()[..4]),
                None => self.failed = true,
            }
        }
        if self.failed { Err(Declined::Encoding) } else { Ok((bytes, self.notes)) }
    }

    pub(super) fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// The bits of a mask, a lane each, in a general register.
    pub(super) fn mask_bits(&mut self, to: Register, mask: u8) {
        let i = if self.wide {
            Instruction::with2(Code::VEX_Kmovq_r64_kr, to, self.mask(mask))
        } else {
            Instruction::with2(typed!(self, VEX_Vmovmskps_r64_ymm, VEX_Vmovmskpd_r64_ymm), to, self.vector(mask))
        };
        self.emit(i);
    }

    // Vectors and masks.

    pub(super) fn load(&mut self, class: Class, to: u8, from: Address) {
        let i = match self.held_in(class) {
            Class::Number if self.wide => Instruction::with2(
                typed!(self, EVEX_Vmovups_zmm_k1z_zmmm512, EVEX_Vmovupd_zmm_k1z_zmmm512),
                self.vector(to),
                from.operand(),
            ),
            Class::Number => {
                Instruction::with2(typed!(self, VEX_Vmovups_ymm_ymmm256, VEX_Vmovupd_ymm_ymmm256), self.vector(to), from.operand())
            }
            Class::Mask => Instruction::with2(Code::VEX_Kmovq_kr_km64, self.mask(to), from.operand()),
        };
        self.emit(i);
    }

    pub(super) fn store(&mut self, class: Class, to: Address, from: u8) {
        let i = match self.held_in(class) {
            Class::Number if self.wide => Instruction::with2(
                typed!(self, EVEX_Vmovups_zmmm512_k1z_zmm, EVEX_Vmovupd_zmmm512_k1z_zmm),
                to.operand(),
                self.vector(from),
            ),
            Class::Number => {
                Instruction::with2(typed!(self, VEX_Vmovups_ymmm256_ymm, VEX_Vmovupd_ymmm256_ymm), to.operand(), self.vector(from))
            }
            Class::Mask => Instruction::with2(Code::VEX_Kmovq_m64_kr, to.operand(), self.mask(from)),
        };
        self.emit(i);
    }

    /// Stores a vector past the caches; the address must be a multiple of its size.
    pub(super) fn stream(&mut self, to: Address, from: u8) {
        let code = if self.wide { Code::EVEX_Vmovntps_m512_zmm } else { Code::VEX_Vmovntps_m256_ymm };
        self.emit(Instruction::with2(code, to.operand(), self.vector(from)));
    }

    /// What was stored past the caches is seen before anything stored behind.
    pub(super) fn fence(&mut self) {
        self.emit(Ok(Instruction::with(Code::Sfence)));
    }

    pub(super) fn copy(&mut self, class: Class, to: u8, from: u8) {
        let i = match self.held_in(class) {
            Class::Number if self.wide => Instruction::with2(Code::EVEX_Vmovaps_zmm_k1z_zmmm512, self.vector(to), self.vector(from)),
            Class::Number => Instruction::with2(Code::VEX_Vmovaps_ymm_ymmm256, self.vector(to), self.vector(from)),
            Class::Mask => Instruction::with2(Code::VEX_Kmovq_kr_km64, self.mask(to), self.mask(from)),
        };
        self.emit(i);
    }

    fn three(&mut self, code: Code, to: Register, a: Register, b: Operand) -> Result<Instruction, iced_x86::IcedError> {
        match b {
            Operand::Register(r) => Instruction::with3(code, to, a, self.vector(r)),
            Operand::Memory(m) => Instruction::with3(code, to, a, m.operand()),
        }
    }

    fn four(&mut self, code: Code, to: Register, a: Register, b: Operand, immediate: u32) -> Result<Instruction, iced_x86::IcedError> {
        match b {
            Operand::Register(r) => Instruction::with4(code, to, a, self.vector(r), immediate),
            Operand::Memory(m) => Instruction::with4(code, to, a, m.operand(), immediate),
        }
    }

    /// An operation. Which arguments may be in memory says `memory_argument`. `in_f64`: on halves of the lanes of an f32 program.
    pub(super) fn operation(&mut self, prim: Prim, in_f64: bool, to: u8, args: &[Operand]) {
        let register = |k: usize| if let Operand::Register(r) = args[k] { r } else { 0 };
        let program = self.dtype;
        if in_f64 {
            self.dtype = Dtype::F64;
        }
        if self.wide {
            self.wide_operation(prim, to, args, register);
        } else {
            self.narrow_operation(prim, to, args, register);
        }
        self.dtype = program;
    }

    fn with_immediate(&mut self, code: Code, out: Register, x: Operand, immediate: u32) -> Result<Instruction, iced_x86::IcedError> {
        match x {
            Operand::Register(r) => Instruction::with3(code, out, self.vector(r), immediate),
            Operand::Memory(m) => Instruction::with3(code, out, m.operand(), immediate),
        }
    }

    fn copied(&mut self, to: u8, from: Operand) {
        match from {
            Operand::Register(r) if r == to => {}
            Operand::Register(r) => self.copy(Class::Number, to, r),
            Operand::Memory(m) => self.load(Class::Number, to, m),
        }
    }

    /// An instruction that multiplies its first operand, which it overwrites, by the second and adds the third.
    fn fused(&mut self, code: Code, to: u8, args: &[Operand]) -> Result<Instruction, iced_x86::IcedError> {
        let (Operand::Register(a), Operand::Register(b)) = (args[0], args[1]) else {
            self.failed = true;
            return Ok(Instruction::with(Code::Nopd));
        };
        self.copied(to, Operand::Register(a));
        self.three(code, self.vector(to), self.vector(b), args[2])
    }

    /// `x / y` in a register of its own, divided.
    pub(super) fn divide(&mut self, in_f64: bool, to: u8, x: u8, y: u8) {
        self.operation(Prim::Div, in_f64, to, &[Operand::Register(x), Operand::Register(y)]);
    }

    fn blended(
        &mut self,
        code: Code,
        out: Register,
        no: Register,
        yes: Operand,
        mask: Register,
    ) -> Result<Instruction, iced_x86::IcedError> {
        match yes {
            Operand::Register(r) => Instruction::with4(code, out, no, self.vector(r), mask),
            Operand::Memory(m) => Instruction::with4(code, out, no, m.operand(), mask),
        }
    }

    /// Sets the flags: zero when no lane of the mask register of this file holds.
    pub(super) fn test_spare(&mut self, in_f64: bool) {
        let wide = in_f64 || self.dtype == Dtype::F64;
        let test = if wide { Code::VEX_Kortestb_kr_kr } else { Code::VEX_Kortestw_kr_kr };
        self.emit(Instruction::with2(test, Register::K7, Register::K7));
    }

    /// Sets the flags: zero when no lane of any of the masks holds.
    pub(super) fn test_any(&mut self, masks: &[u8]) {
        if self.wide {
            let (or, test) = match self.dtype {
                Dtype::F32 => (Code::VEX_Korw_kr_kr_kr, Code::VEX_Kortestw_kr_kr),
                Dtype::F64 => (Code::VEX_Korb_kr_kr_kr, Code::VEX_Kortestb_kr_kr),
            };
            let mut all = self.mask(masks[0]);
            for &m in &masks[1..] {
                self.emit(Instruction::with3(or, Register::K7, all, self.mask(m)));
                all = Register::K7;
            }
            self.emit(Instruction::with2(test, all, all));
        } else {
            let mut all = self.vector(masks[0]);
            let scratch = self.scratch();
            for &m in &masks[1..] {
                self.emit(Instruction::with3(Code::VEX_Vorps_ymm_ymm_ymmm256, scratch, all, self.vector(m)));
                all = scratch;
            }
            self.emit(Instruction::with2(Code::VEX_Vptest_ymm_ymmm256, all, all));
        }
    }
}

/// Which argument of an operation may be read from memory, as the machine has it.
pub(super) fn memory_argument(prim: Prim) -> Option<usize> {
    match prim {
        Prim::Add | Prim::Sub | Prim::Mul | Prim::Div | Prim::Lower | Prim::Upper | Prim::And | Prim::Or | Prim::Xor => Some(1),
        Prim::Quiet
        | Prim::Compare(_)
        | Prim::Blend
        | Prim::Keep
        | Prim::Mend(_)
        | Prim::MendPair(_)
        | Prim::Refuse
        | Prim::Scale
        | Prim::AddBits => Some(1),
        Prim::MulAdd | Prim::MulSub | Prim::NegMulAdd => Some(2),
        Prim::Sqrt | Prim::Round(_) => Some(0),
        // Not in AVX2.
        Prim::ShiftLeft(_) | Prim::ShiftRight(_) | Prim::HighBit => None,
        Prim::Widen(_) | Prim::Narrow | Prim::Quotient => None,
        Prim::Max | Prim::Not | Prim::Both | Prim::Either | Prim::Without | Prim::Always => None,
    }
}

/// The operand of a rounding instruction; bit 3: no exception flags.
fn rounding(mode: u8) -> u32 {
    u32::from(mode | 8)
}
