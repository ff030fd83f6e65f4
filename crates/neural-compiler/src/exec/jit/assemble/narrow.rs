//! The operations in AVX2: 256 bits, masks as vectors. In: an operation on registers and memory; out: its instructions.

use super::super::ir::{Half, Prim, Test};
use super::{Assembler, Operand, rounding};
use crate::ops::real::Dtype;
use iced_x86::{Code, Instruction, Register};

/// The register nobody else uses.
const SCRATCH: u8 = 15;

/// The first half of a register.
fn half_of(r: u8) -> Register {
    Register::XMM0 + u32::from(r)
}

impl Assembler {
    pub(super) fn narrow_operation(&mut self, prim: Prim, to: u8, args: &[Operand], register: impl Fn(usize) -> u8) {
        let out = self.vector(to);
        let and = typed!(self, VEX_Vandps_ymm_ymm_ymmm256, VEX_Vandpd_ymm_ymm_ymmm256);
        let or = typed!(self, VEX_Vorps_ymm_ymm_ymmm256, VEX_Vorpd_ymm_ymm_ymmm256);
        let xor = typed!(self, VEX_Vxorps_ymm_ymm_ymmm256, VEX_Vxorpd_ymm_ymm_ymmm256);
        let andn = typed!(self, VEX_Vandnps_ymm_ymm_ymmm256, VEX_Vandnpd_ymm_ymm_ymmm256);
        let compare = typed!(self, VEX_Vcmpps_ymm_ymm_ymmm256_imm8, VEX_Vcmppd_ymm_ymm_ymmm256_imm8);
        let blend = typed!(self, VEX_Vblendvps_ymm_ymm_ymmm256_ymm, VEX_Vblendvpd_ymm_ymm_ymmm256_ymm);
        /// The comparison that always holds.
        const TRUE: u32 = 0x0f;
        let two = |code| Some((code, 0usize, 1usize));
        let plain = match prim {
            Prim::Add => two(typed!(self, VEX_Vaddps_ymm_ymm_ymmm256, VEX_Vaddpd_ymm_ymm_ymmm256)),
            Prim::Sub => two(typed!(self, VEX_Vsubps_ymm_ymm_ymmm256, VEX_Vsubpd_ymm_ymm_ymmm256)),
            Prim::Mul => two(typed!(self, VEX_Vmulps_ymm_ymm_ymmm256, VEX_Vmulpd_ymm_ymm_ymmm256)),
            Prim::Div => two(typed!(self, VEX_Vdivps_ymm_ymm_ymmm256, VEX_Vdivpd_ymm_ymm_ymmm256)),
            Prim::Lower => two(typed!(self, VEX_Vminps_ymm_ymm_ymmm256, VEX_Vminpd_ymm_ymm_ymmm256)),
            Prim::Upper => two(typed!(self, VEX_Vmaxps_ymm_ymm_ymmm256, VEX_Vmaxpd_ymm_ymm_ymmm256)),
            Prim::And | Prim::Keep | Prim::Both => two(and),
            Prim::AddBits => two(typed!(self, VEX_Vpaddd_ymm_ymm_ymmm256, VEX_Vpaddq_ymm_ymm_ymmm256)),
            Prim::Or | Prim::Either => two(or),
            Prim::Xor => two(xor),
            // The instruction negates its first operand.
            Prim::Without => Some((andn, 1, 0)),
            _ => None,
        };
        if let Some((code, a, b)) = plain {
            let i = self.three(code, out, self.vector(register(a)), args[b]);
            return self.emit(i);
        }
        let scratch = self.scratch();
        let i = match prim {
            Prim::MulAdd => self.fused(typed!(self, VEX_Vfmadd213ps_ymm_ymm_ymmm256, VEX_Vfmadd213pd_ymm_ymm_ymmm256), to, args),
            Prim::ShiftLeft(by) => Instruction::with3(
                typed!(self, VEX_Vpslld_ymm_ymm_imm8, VEX_Vpsllq_ymm_ymm_imm8),
                out,
                self.vector(register(0)),
                u32::from(by),
            ),
            Prim::ShiftRight(by) => Instruction::with3(
                typed!(self, VEX_Vpsrld_ymm_ymm_imm8, VEX_Vpsrlq_ymm_ymm_imm8),
                out,
                self.vector(register(0)),
                u32::from(by),
            ),
            // Whether zero is above, as whole numbers.
            Prim::HighBit => {
                self.emit(Instruction::with3(xor, scratch, scratch, scratch));
                Instruction::with3(
                    typed!(self, VEX_Vpcmpgtd_ymm_ymm_ymmm256, VEX_Vpcmpgtq_ymm_ymm_ymmm256),
                    out,
                    scratch,
                    self.vector(register(0)),
                )
            }
            Prim::Mend(_) | Prim::MendPair(_) | Prim::Refuse => return self.copied(to, args[1]),
            Prim::Widen(half) => {
                let mut from = half_of(register(0));
                if half == Half::Second {
                    self.emit(Instruction::with3(Code::VEX_Vextractf128_xmmm128_ymm_imm8, half_of(SCRATCH), self.vector(register(0)), 1));
                    from = half_of(SCRATCH);
                }
                Instruction::with2(Code::VEX_Vcvtps2pd_ymm_xmmm128, out, from)
            }
            Prim::Narrow => {
                let convert = Code::VEX_Vcvtpd2ps_xmm_ymmm256;
                self.emit(Instruction::with2(convert, half_of(SCRATCH), self.vector(register(1))));
                self.emit(Instruction::with2(convert, half_of(to), self.vector(register(0))));
                Instruction::with4(Code::VEX_Vinsertf128_ymm_ymm_xmmm128_imm8, out, out, half_of(SCRATCH), 1)
            }
            Prim::MulSub => self.fused(typed!(self, VEX_Vfmsub213ps_ymm_ymm_ymmm256, VEX_Vfmsub213pd_ymm_ymm_ymmm256), to, args),
            Prim::NegMulAdd => self.fused(typed!(self, VEX_Vfnmadd213ps_ymm_ymm_ymmm256, VEX_Vfnmadd213pd_ymm_ymm_ymmm256), to, args),
            Prim::Sqrt => {
                let code = typed!(self, VEX_Vsqrtps_ymm_ymmm256, VEX_Vsqrtpd_ymm_ymmm256);
                match args[0] {
                    Operand::Register(r) => Instruction::with2(code, out, self.vector(r)),
                    Operand::Memory(m) => Instruction::with2(code, out, m.operand()),
                }
            }
            Prim::Round(mode) => {
                let code = typed!(self, VEX_Vroundps_ymm_ymmm256_imm8, VEX_Vroundpd_ymm_ymmm256_imm8);
                self.with_immediate(code, out, args[0], rounding(mode))
            }
            Prim::Quiet => {
                let x = register(0);
                let i = self.four(compare, scratch, self.vector(x), Operand::Register(x), Test::Unordered as u32);
                self.emit(i);
                self.blended(blend, out, self.vector(x), args[1], scratch)
            }
            Prim::Compare(test) => self.four(compare, out, self.vector(register(0)), args[1], test as u32),
            Prim::Blend => self.blended(blend, out, self.vector(register(2)), args[1], self.vector(register(0))),
            Prim::Not => {
                self.emit(Instruction::with4(compare, scratch, scratch, scratch, TRUE));
                Instruction::with3(xor, out, self.vector(register(0)), scratch)
            }
            Prim::Always => Instruction::with4(compare, out, out, out, TRUE),
            Prim::Max
            | Prim::Quotient
            | Prim::Scale
            | Prim::AddBits
            | Prim::Add
            | Prim::Sub
            | Prim::Mul
            | Prim::Div
            | Prim::Lower
            | Prim::Upper
            | Prim::And
            | Prim::Or
            | Prim::Xor
            | Prim::Keep
            | Prim::Both
            | Prim::Either
            | Prim::Without => {
                self.failed = true;
                return;
            }
        };
        self.emit(i);
    }
}
