//! Calls of a function for rare lanes, in the middle of a fused loop. In: which registers hold the mask, the arguments and the results;
//! out: code that runs out of the loop's way, one detour for each place and one routine for all of them.
//!
//! The routine keeps every register a called function may use, in memory behind the pool, calls, and brings all of them back; so the
//! results are mended where the register was kept.
//! Invariant: apart from the lanes the mask names, no register is different afterwards.

use super::assemble::{Address, Assembler, Label};
use super::ir::Class;
use crate::ops::real::{Dtype, Real};
use iced_x86::{Code, Instruction, MemoryOperand, Register};
use neural_compiler_math::Unary;

/// Vectors of memory the routine needs: every vector register, then the masks.
pub(super) const SAVED_VECTORS: u32 = 33;

/// A place where a function is called for some lanes.
pub(super) struct Detour {
    pub(super) f: &'static Unary,
    pub(super) mask: u8,
    pub(super) x: u8,
    pub(super) out: u8,
    /// Where the loop goes on.
    pub(super) back: Label,
}

/// General registers a called function may change; the accumulator holds nothing here.
const GENERAL: [Register; 8] = [Register::RDI, Register::RSI, Register::RDX, Register::RCX, Register::R8, Register::R9, Register::R10, Register::R11];

const ACCUMULATOR: Register = Register::RAX;

/// What generated code calls.
///
/// # Safety
/// As for `recompute`.
#[cfg(target_arch = "x86_64")]
unsafe extern "sysv64" fn apply<T: Real>(f: *const Unary, x: *const T, out: *mut T, mask: u64) {
    // SAFETY: by the caller's word.
    unsafe { recompute(f, x, out, mask) }
}

/// No generated code runs on other machines.
///
/// # Safety
/// As for `recompute`.
#[cfg(not(target_arch = "x86_64"))]
unsafe extern "C" fn apply<T: Real>(f: *const Unary, x: *const T, out: *mut T, mask: u64) {
    // SAFETY: by the caller's word.
    unsafe { recompute(f, x, out, mask) }
}

/// Recomputes the lanes of the mask.
///
/// # Safety
/// `f` must be a function's address, and `x` and `out` must hold a number for every lane of the mask.
unsafe fn recompute<T: Real>(f: *const Unary, x: *const T, out: *mut T, mut mask: u64) {
    while mask != 0 {
        let lane = mask.trailing_zeros() as usize;
        mask &= mask - 1;
        // SAFETY: by the caller's word.
        unsafe { *out.add(lane) = T::unary(&*f, *x.add(lane)) };
    }
}

fn saved(asm: &Assembler, save: i64, register: u8) -> i64 {
    save + i64::from(register) * asm.vector_bytes() as i64
}

/// Pushes what the routine needs and calls it.
pub(super) fn detour(asm: &mut Assembler, detour: &Detour, save: i64, routine: Label) {
    for number in [std::ptr::from_ref(detour.f) as i64, saved(asm, save, detour.x), saved(asm, save, detour.out)] {
        asm.emit(Instruction::with2(Code::Mov_r64_imm64, ACCUMULATOR, number));
        asm.push(ACCUMULATOR);
    }
    asm.mask_bits(ACCUMULATOR, detour.mask);
    asm.push(ACCUMULATOR);
    asm.jump(Code::Call_rel32_64, routine);
    asm.add_general(Register::RSP, 32);
    asm.jump(Code::Jmp_rel32_64, detour.back);
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
    // Above the frame: the return address, then the mask, where the results are kept, where the arguments are, the function.
    asm.load_general(Register::RCX, frame(16));
    for (register, offset) in [(Register::RDX, 24), (Register::RSI, 32)] {
        asm.load_general(register, frame(offset));
        asm.emit(Instruction::with2(Code::Add_r64_rm64, register, pool));
    }
    asm.load_general(Register::RDI, frame(40));
    asm.end();
    asm.emit(Instruction::with2(Code::And_rm64_imm8, Register::RSP, -16));
    let apply = match asm.dtype() {
        Dtype::F32 => apply::<f32> as *const () as i64,
        Dtype::F64 => apply::<f64> as *const () as i64,
    };
    asm.emit(Instruction::with2(Code::Mov_r64_imm64, ACCUMULATOR, apply));
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
