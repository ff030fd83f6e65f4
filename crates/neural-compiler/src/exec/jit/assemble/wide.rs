//! The operations in AVX-512: whole 512-bit vectors, masks in mask registers. In: an operation on registers and memory; out: its
//! instructions.

use super::super::ir::{Class, Half, Prim, Test};
use super::{Assembler, Operand, rounding};
use crate::ops::real::Dtype;
use iced_x86::{Code, Instruction, Register};

/// The register nobody else uses.
const SCRATCH: u8 = 31;

/// Classes of numbers, as the instruction numbers them: NaNs, zeros, infinities, subnormal numbers.
const UNUSUAL: u32 = 0b1011_1111;

/// The first half of a register.
fn half_of(r: u8) -> Register {
    Register::YMM0 + u32::from(r)
}

impl Assembler {
    pub(super) fn wide_operation(&mut self, prim: Prim, to: u8, args: &[Operand], register: impl Fn(usize) -> u8) {
        let out = self.vector(to);
        let arithmetic = match prim {
            Prim::Add => Some(typed!(self, EVEX_Vaddps_zmm_k1z_zmm_zmmm512b32_er, EVEX_Vaddpd_zmm_k1z_zmm_zmmm512b64_er)),
            Prim::Sub => Some(typed!(self, EVEX_Vsubps_zmm_k1z_zmm_zmmm512b32_er, EVEX_Vsubpd_zmm_k1z_zmm_zmmm512b64_er)),
            Prim::Mul => Some(typed!(self, EVEX_Vmulps_zmm_k1z_zmm_zmmm512b32_er, EVEX_Vmulpd_zmm_k1z_zmm_zmmm512b64_er)),
            Prim::Div => Some(typed!(self, EVEX_Vdivps_zmm_k1z_zmm_zmmm512b32_er, EVEX_Vdivpd_zmm_k1z_zmm_zmmm512b64_er)),
            Prim::Lower => Some(typed!(self, EVEX_Vminps_zmm_k1z_zmm_zmmm512b32_sae, EVEX_Vminpd_zmm_k1z_zmm_zmmm512b64_sae)),
            Prim::Upper => Some(typed!(self, EVEX_Vmaxps_zmm_k1z_zmm_zmmm512b32_sae, EVEX_Vmaxpd_zmm_k1z_zmm_zmmm512b64_sae)),
            Prim::And => Some(typed!(self, EVEX_Vandps_zmm_k1z_zmm_zmmm512b32, EVEX_Vandpd_zmm_k1z_zmm_zmmm512b64)),
            Prim::Scale => Some(typed!(self, EVEX_Vscalefps_zmm_k1z_zmm_zmmm512b32_er, EVEX_Vscalefpd_zmm_k1z_zmm_zmmm512b64_er)),
            Prim::AddBits => Some(typed!(self, EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32, EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64)),
            Prim::Or => Some(typed!(self, EVEX_Vorps_zmm_k1z_zmm_zmmm512b32, EVEX_Vorpd_zmm_k1z_zmm_zmmm512b64)),
            Prim::Xor => Some(typed!(self, EVEX_Vxorps_zmm_k1z_zmm_zmmm512b32, EVEX_Vxorpd_zmm_k1z_zmm_zmmm512b64)),
            _ => None,
        };
        if let Some(code) = arithmetic {
            let i = self.three(code, out, self.vector(register(0)), args[1]);
            return self.emit(i);
        }
        let compare = typed!(self, EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae, EVEX_Vcmppd_kr_k1_zmm_zmmm512b64_imm8_sae);
        let blend = typed!(self, EVEX_Vblendmps_zmm_k1z_zmm_zmmm512b32, EVEX_Vblendmpd_zmm_k1z_zmm_zmmm512b64);
        let masked = |i: Result<Instruction, iced_x86::IcedError>, k: Register| {
            i.map(|mut i| {
                i.set_op_mask(k);
                i
            })
        };
        let spare = Register::K7;
        let i = match prim {
            Prim::MulAdd => {
                self.fused(typed!(self, EVEX_Vfmadd213ps_zmm_k1z_zmm_zmmm512b32_er, EVEX_Vfmadd213pd_zmm_k1z_zmm_zmmm512b64_er), to, args)
            }
            Prim::ShiftLeft(by) => {
                let code = typed!(self, EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8, EVEX_Vpsllq_zmm_k1z_zmmm512b64_imm8);
                self.with_immediate(code, out, args[0], u32::from(by))
            }
            Prim::ShiftRight(by) => {
                let code = typed!(self, EVEX_Vpsrld_zmm_k1z_zmmm512b32_imm8, EVEX_Vpsrlq_zmm_k1z_zmmm512b64_imm8);
                self.with_immediate(code, out, args[0], u32::from(by))
            }
            Prim::HighBit => {
                Instruction::with2(typed!(self, EVEX_Vpmovd2m_kr_zmm, EVEX_Vpmovq2m_kr_zmm), self.mask(to), self.vector(register(0)))
            }
            Prim::Mend(_) | Prim::MendPair(_) | Prim::Refuse => return self.copied(to, args[1]),
            Prim::Widen(half) => {
                let mut from = half_of(register(0));
                if half == Half::Second {
                    self.emit(Instruction::with3(
                        Code::EVEX_Vextractf64x4_ymmm256_k1z_zmm_imm8,
                        half_of(SCRATCH),
                        self.vector(register(0)),
                        1,
                    ));
                    from = half_of(SCRATCH);
                }
                Instruction::with2(Code::EVEX_Vcvtps2pd_zmm_k1z_ymmm256b32_sae, out, from)
            }
            Prim::Quotient => {
                let multiply = typed!(self, EVEX_Vmulps_zmm_k1z_zmm_zmmm512b32_er, EVEX_Vmulpd_zmm_k1z_zmm_zmmm512b64_er);
                let subtract = typed!(self, EVEX_Vfnmadd231ps_zmm_k1z_zmm_zmmm512b32_er, EVEX_Vfnmadd231pd_zmm_k1z_zmm_zmmm512b64_er);
                let add = typed!(self, EVEX_Vfmadd231ps_zmm_k1z_zmm_zmmm512b32_er, EVEX_Vfmadd231pd_zmm_k1z_zmm_zmmm512b64_er);
                let [x, y, reciprocal, square] = [0, 1, 2, 3].map(|k| self.vector(register(k)));
                let rest = self.scratch();
                self.emit(Instruction::with3(multiply, out, x, reciprocal));
                for _ in 0..2 {
                    self.copy(Class::Number, SCRATCH, register(0));
                    self.emit(Instruction::with3(subtract, rest, out, y));
                    self.emit(Instruction::with3(add, out, rest, reciprocal));
                }
                // About x x, but it overflows or vanishes as well where the divisor or the quotient is too large or too small.
                self.emit(Instruction::with3(multiply, rest, out, out));
                self.emit(Instruction::with3(multiply, rest, rest, square));
                let class = typed!(self, EVEX_Vfpclassps_kr_k1_zmmm512b32_imm8, EVEX_Vfpclasspd_kr_k1_zmmm512b64_imm8);
                Instruction::with3(class, spare, rest, UNUSUAL)
            }
            Prim::Narrow => {
                let convert = Code::EVEX_Vcvtpd2ps_ymm_k1z_zmmm512b64_er;
                self.emit(Instruction::with2(convert, half_of(SCRATCH), self.vector(register(1))));
                self.emit(Instruction::with2(convert, half_of(to), self.vector(register(0))));
                Instruction::with4(Code::EVEX_Vinsertf64x4_zmm_k1z_zmm_ymmm256_imm8, out, out, half_of(SCRATCH), 1)
            }
            Prim::MulSub => {
                self.fused(typed!(self, EVEX_Vfmsub213ps_zmm_k1z_zmm_zmmm512b32_er, EVEX_Vfmsub213pd_zmm_k1z_zmm_zmmm512b64_er), to, args)
            }
            Prim::NegMulAdd => {
                self.fused(typed!(self, EVEX_Vfnmadd213ps_zmm_k1z_zmm_zmmm512b32_er, EVEX_Vfnmadd213pd_zmm_k1z_zmm_zmmm512b64_er), to, args)
            }
            Prim::Sqrt => {
                let code = typed!(self, EVEX_Vsqrtps_zmm_k1z_zmmm512b32_er, EVEX_Vsqrtpd_zmm_k1z_zmmm512b64_er);
                match args[0] {
                    Operand::Register(r) => Instruction::with2(code, out, self.vector(r)),
                    Operand::Memory(m) => Instruction::with2(code, out, m.operand()),
                }
            }
            Prim::Round(mode) => {
                let code = typed!(self, EVEX_Vrndscaleps_zmm_k1z_zmmm512b32_imm8_sae, EVEX_Vrndscalepd_zmm_k1z_zmmm512b64_imm8_sae);
                self.with_immediate(code, out, args[0], rounding(mode))
            }
            Prim::Max => {
                // The instruction prefers a number to NaN; where there is a NaN, the sum is one.
                let range = typed!(self, EVEX_Vrangeps_zmm_k1z_zmm_zmmm512b32_imm8_sae, EVEX_Vrangepd_zmm_k1z_zmm_zmmm512b64_imm8_sae);
                let a = self.vector(register(0));
                let i = self.four(range, out, a, args[1], 0b0101);
                self.emit(i);
                let i = self.four(compare, spare, a, args[1], Test::Unordered as u32);
                self.emit(i);
                let add = typed!(self, EVEX_Vaddps_zmm_k1z_zmm_zmmm512b32_er, EVEX_Vaddpd_zmm_k1z_zmm_zmmm512b64_er);
                masked(self.three(add, out, a, args[1]), spare)
            }
            Prim::Quiet => {
                let x = register(0);
                let i = self.four(compare, spare, self.vector(x), Operand::Register(x), Test::Unordered as u32);
                self.emit(i);
                masked(self.three(blend, out, self.vector(x), args[1]), spare)
            }
            Prim::Compare(test) => self.four(compare, self.mask(to), self.vector(register(0)), args[1], test as u32),
            Prim::Blend => masked(self.three(blend, out, self.vector(register(2)), args[1]), self.mask(register(0))),
            Prim::Keep => {
                let code = typed!(self, EVEX_Vmovups_zmm_k1z_zmmm512, EVEX_Vmovupd_zmm_k1z_zmmm512);
                let i = match args[1] {
                    Operand::Register(r) => Instruction::with2(code, out, self.vector(r)),
                    Operand::Memory(m) => Instruction::with2(code, out, m.operand()),
                };
                masked(i, self.mask(register(0))).map(|mut i| {
                    i.set_zeroing_masking(true);
                    i
                })
            }
            Prim::Not => Instruction::with2(typed!(self, VEX_Knotw_kr_kr, VEX_Knotb_kr_kr), self.mask(to), self.mask(register(0))),
            Prim::Both => Instruction::with3(
                typed!(self, VEX_Kandw_kr_kr_kr, VEX_Kandb_kr_kr_kr),
                self.mask(to),
                self.mask(register(0)),
                self.mask(register(1)),
            ),
            Prim::Either => Instruction::with3(
                typed!(self, VEX_Korw_kr_kr_kr, VEX_Korb_kr_kr_kr),
                self.mask(to),
                self.mask(register(0)),
                self.mask(register(1)),
            ),
            // The instruction negates its first operand.
            Prim::Without => Instruction::with3(
                typed!(self, VEX_Kandnw_kr_kr_kr, VEX_Kandnb_kr_kr_kr),
                self.mask(to),
                self.mask(register(1)),
                self.mask(register(0)),
            ),
            Prim::Always => {
                Instruction::with3(typed!(self, VEX_Kxnorw_kr_kr_kr, VEX_Kxnorb_kr_kr_kr), self.mask(to), self.mask(to), self.mask(to))
            }
            Prim::Add | Prim::Sub | Prim::Mul | Prim::Div | Prim::Lower | Prim::Upper => return,
            Prim::And | Prim::Or | Prim::Xor | Prim::Scale | Prim::AddBits => return,
        };
        self.emit(i);
    }
}
