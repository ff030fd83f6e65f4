//! Calls of a function for rare lanes, in the middle of a fused loop. In: which registers hold the mask, the arguments and the results;
//! out: code that runs out of the loop's way, one detour for each place and one routine for all of them.
//!
//! The routine keeps every register a called function may use, in memory behind the pool, calls, and brings all of them back; so the
//! results are mended where the register was kept. The same way a loop that has run for a while asks whether it is still wanted.
//! Invariant: apart from the lanes the mask names, no register is different afterwards.

use super::assemble::{Address, Assembler, Label};
use super::ir::Class;
use crate::ops::real::{Dtype, Real};
use iced_x86::{Code, Instruction, MemoryOperand, Register};
use neural_compiler_math::{Binary, Unary};

/// Vectors of memory the routine needs: every vector register, then the masks.
pub(super) const SAVED_VECTORS: u32 = 33;

/// A function to call.
#[derive(Clone, Copy)]
pub(super) enum Callee {
    Unary(&'static Unary),
    Binary(&'static Binary),
}

/// What happens out of the loop's way.
pub(super) enum Detour {
    /// A function is called for some lanes.
    Call(Call),
    /// A quotient is divided after all.
    Division { in_f64: bool, x: u8, y: u8, out: u8, back: Label },
    /// A loop has run for a while: is it to go on where it starts?
    Look { start: Label },
}

/// A place where a function is called for some lanes.
pub(super) struct Call {
    pub(super) f: Callee,
    pub(super) mask: u8,
    pub(super) x: u8,
    /// The second argument, if the function has one.
    pub(super) y: u8,
    pub(super) out: u8,
    /// Where the loop goes on.
    pub(super) back: Label,
}

/// General registers a called function may change; the accumulator holds nothing here.
const GENERAL: [Register; 8] =
    [Register::RDI, Register::RSI, Register::RDX, Register::RCX, Register::R8, Register::R9, Register::R10, Register::R11];

const ACCUMULATOR: Register = Register::RAX;

/// A function generated code calls, with the calling convention it has.
macro_rules! called {
    ($(#[$doc:meta])* $name:ident($f:ident: *const $function:ty, $x:ident, $y:ident) = $value:expr) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// `f` must be a function's address, and arguments and results must hold a number for every lane of the mask.
        #[cfg(target_arch = "x86_64")]
        unsafe extern "sysv64" fn $name<T: Real>($f: *const $function, x: *const T, y: *const T, out: *mut T, mask: u64) {
            // SAFETY: by the caller's word.
            each_lane(mask, |lane| unsafe {
                let ($f, $x, $y) = (&*$f, *x.add(lane), *y.add(lane));
                *out.add(lane) = $value;
            });
        }

        /// No generated code runs on other machines.
        #[cfg(not(target_arch = "x86_64"))]
        unsafe extern "C" fn $name<T: Real>(_: *const $function, _: *const T, _: *const T, _: *mut T, _: u64) {}
    };
}

called! {
    /// Recomputes the lanes of the mask.
    apply(f: *const Unary, x, _y) = T::unary(f, x)
}

called! {
    /// The same for a function of two arguments.
    apply_pair(f: *const Binary, x, y) = T::binary(f, x, y)
}

fn each_lane(mut mask: u64, mut run: impl FnMut(usize)) {
    while mask != 0 {
        run(mask.trailing_zeros() as usize);
        mask &= mask - 1;
    }
}

fn saved(asm: &Assembler, save: i64, register: u8) -> i64 {
    save + i64::from(register) * asm.vector_bytes() as i64
}

/// Pushes what the routine needs and calls it.
pub(super) fn call(asm: &mut Assembler, detour: &Call, save: i64, routine: Label) {
    let (f, apply) = match (detour.f, asm.dtype()) {
        (Callee::Unary(f), Dtype::F32) => (std::ptr::from_ref(f) as i64, apply::<f32> as *const () as i64),
        (Callee::Unary(f), Dtype::F64) => (std::ptr::from_ref(f) as i64, apply::<f64> as *const () as i64),
        (Callee::Binary(f), Dtype::F32) => (std::ptr::from_ref(f) as i64, apply_pair::<f32> as *const () as i64),
        (Callee::Binary(f), Dtype::F64) => (std::ptr::from_ref(f) as i64, apply_pair::<f64> as *const () as i64),
    };
    let numbers = [apply, f, saved(asm, save, detour.x), saved(asm, save, detour.y), saved(asm, save, detour.out)];
    through(asm, numbers, routine, |asm| asm.mask_bits(ACCUMULATOR, detour.mask));
    asm.jump(Code::Jmp_rel32_64, detour.back);
}

/// Asks whether a loop may go on: with `counter` rounds more where it starts, or not at all. The question stands at `question` bytes of the
/// pool and is told which lanes ask, `at`.
pub(super) fn look(asm: &mut Assembler, question: i64, [counter, at]: [Register; 2], routine: Label, [start, bail]: [Label; 2]) {
    through(asm, [super::look::more_rounds(), 0, question, 0, 0], routine, |asm| asm.copy_general(ACCUMULATOR, at));
    asm.copy_general(counter, ACCUMULATOR);
    asm.emit(Instruction::with2(Code::Test_rm64_r64, ACCUMULATOR, ACCUMULATOR));
    asm.jump(Code::Jne_rel32_64, start);
    asm.jump(Code::Jmp_rel32_64, bail);
}

/// Calls the routine with five numbers (a function, what it is passed as it is, and three places in the pool) and what `last` puts into the
/// accumulator; the function's answer is there afterwards.
fn through(asm: &mut Assembler, numbers: [i64; 5], routine: Label, last: impl FnOnce(&mut Assembler)) {
    for number in numbers {
        asm.emit(Instruction::with2(Code::Mov_r64_imm64, ACCUMULATOR, number));
        asm.push(ACCUMULATOR);
    }
    last(asm);
    asm.push(ACCUMULATOR);
    asm.jump(Code::Call_rel32_64, routine);
    asm.add_general(Register::RSP, 8 * (numbers.len() as i32 + 1));
}

/// Keeps everything, calls, brings everything back.
pub(super) fn routine(asm: &mut Assembler, pool: Register, save: i64) {
    let frame = |offset: i64| Address { base: Register::RBP, index: None, offset };
    let masks = saved(asm, save, SAVED_VECTORS as u8 - 1);
    let place = |offset: i64| Address { base: pool, index: None, offset };
    asm.push(Register::RBP);
    asm.copy_general(Register::RBP, Register::RSP);
    GENERAL.iter().for_each(|&r| asm.push(r));
    let (vectors, mask_registers) = (asm.registers(Class::Number), asm.registers(Class::Mask));
    for r in vectors.clone() {
        let to = place(saved(asm, save, r));
        asm.store(Class::Number, to, r);
    }
    for r in mask_registers.clone() {
        asm.store(Class::Mask, place(masks + 8 * i64::from(r)), r);
    }
    // Above the frame: the return address, then the mask, where the results are kept, where the arguments are, the function, what
    // applies it.
    asm.load_general(Register::R8, frame(16));
    for (register, offset) in [(Register::RCX, 24), (Register::RDX, 32), (Register::RSI, 40)] {
        asm.load_general(register, frame(offset));
        asm.emit(Instruction::with2(Code::Add_r64_rm64, register, pool));
    }
    asm.load_general(Register::RDI, frame(48));
    asm.load_general(ACCUMULATOR, frame(56));
    asm.end();
    asm.emit(Instruction::with2(Code::And_rm64_imm8, Register::RSP, -16));
    asm.emit(Instruction::with1(Code::Call_rm64, ACCUMULATOR));
    let bottom = MemoryOperand::with_base_displ_size(Register::RBP, -8 * GENERAL.len() as i64, 1);
    asm.emit(Instruction::with2(Code::Lea_r64_m, Register::RSP, bottom));
    GENERAL.iter().rev().for_each(|&r| asm.pop(r));
    for r in vectors {
        let from = place(saved(asm, save, r));
        asm.load(Class::Number, r, from);
    }
    for r in mask_registers {
        asm.load(Class::Mask, r, place(masks + 8 * i64::from(r)));
    }
    asm.pop(Register::RBP);
    asm.ret();
}
