//! Steps of elementary functions in C. In: a kernel, step by step; out: its C text.
//! Invariant: the text does what the kernel does, operation by operation; only the reduction of large angles is a piece written by hand.

use super::super::kernels::Kernels;
use super::super::record::{Class, Line, Listing, Step};
use super::super::spell::{Spelling, bare, spell};
use super::Needs;
use crate::ops::real::Dtype;
use crate::ops::recorder::Act;

/// The C type of a number.
pub(super) fn real(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::F32 => "float",
        Dtype::F64 => "double",
    }
}

/// What functions of the C library end with.
pub(super) fn suffix(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::F32 => "f",
        Dtype::F64 => "",
    }
}

/// A constant of a type.
pub(super) fn number(x: f64, dtype: Dtype) -> String {
    let rounded = if dtype == Dtype::F32 { f64::from(x as f32) } else { x };
    let magnitude = if rounded.is_nan() {
        return "NC_NAN".into();
    } else if rounded.is_infinite() {
        "NC_INFINITY".into()
    } else if dtype == Dtype::F32 {
        format!("{:?}f", (rounded as f32).abs())
    } else {
        format!("{:?}", rounded.abs())
    };
    if rounded.is_sign_negative() { format!("(-{magnitude})") } else { magnitude }
}

/// C's way of writing the steps of kernels; tells which pieces they need.
struct Steps<'n>(&'n mut Needs);

impl Steps<'_> {
    /// The bits of a number, as an expression.
    fn bits(&mut self, text: &str, dtype: Dtype) -> String {
        self.0.piece(if dtype == Dtype::F32 { "bitsf" } else { "bits" });
        format!("nc_bits{}({})", suffix(dtype), bare(text))
    }

    fn of_bits(&mut self, text: &str, dtype: Dtype) -> String {
        self.0.piece(if dtype == Dtype::F32 { "bitsf" } else { "bits" });
        format!("nc_of_bits{}({text})", suffix(dtype))
    }
}

impl Spelling for Steps<'_> {
    fn step(&mut self, line: &Line, class: Class, args: &[String]) -> String {
        let of = |class| if let Class::Number(dtype) = class { dtype } else { Dtype::F64 };
        let (dtype, compared) = (of(line.class), of(class));
        let f = suffix(dtype);
        let mut on_bits = |operator: &str| {
            let (x, y) = (self.bits(&args[0], dtype), self.bits(&args[1], dtype));
            self.of_bits(&format!("{x} {operator} {y}"), dtype)
        };
        match line.step {
            Step::Argument(_) => unreachable!("arguments have names"),
            Step::Constant(bits) => {
                let x = if dtype == Dtype::F32 { f64::from(f32::from_bits(bits as u32)) } else { f64::from_bits(bits) };
                // Numbers that stand for bits: NaNs and the smallest ones.
                let odd =
                    x.is_nan() && bits != f64::NAN.to_bits() && bits != u64::from(f32::NAN.to_bits()) || (x != 0.0 && x.abs() < 1e-300);
                match (odd, dtype) {
                    (true, Dtype::F64) => self.of_bits(&format!("UINT64_C({bits:#x})"), dtype),
                    (true, Dtype::F32) => self.of_bits(&format!("{bits:#x}u"), dtype),
                    (false, _) => number(x, dtype),
                }
            }
            Step::Act(Act::Add) => format!("({} + {})", args[0], args[1]),
            Step::Act(Act::Sub) => format!("({} - {})", args[0], args[1]),
            Step::Act(Act::Mul) => format!("({} * {})", args[0], args[1]),
            Step::Act(Act::Div) => format!("({} / {})", args[0], args[1]),
            Step::Act(Act::MulAdd) => format!("fma{f}({}, {}, {})", bare(&args[0]), bare(&args[1]), bare(&args[2])),
            Step::Act(Act::NegMulAdd) => format!("fma{f}(-{}, {}, {})", args[0], bare(&args[1]), bare(&args[2])),
            Step::Act(Act::MulSub) => format!("fma{f}({}, {}, -{})", bare(&args[0]), bare(&args[1]), args[2]),
            Step::Act(Act::Abs) => format!("fabs{f}({})", bare(&args[0])),
            Step::Act(Act::Sqrt) => format!("sqrt{f}({})", bare(&args[0])),
            Step::Act(Act::Floor) => format!("floor{f}({})", bare(&args[0])),
            Step::Act(Act::AtMost) | Step::Act(Act::AtLeast) => {
                let (name, sign) = if line.step == Step::Act(Act::AtMost) { ("nc_at_most", '<') } else { ("nc_at_least", '>') };
                self.0.own(&format!("{name}{f}"), || {
                    let t = real(dtype);
                    format!("static {t} {name}{f}({t} x, {t} limit)\n{{\n    return limit {sign} x ? limit : x;\n}}\n")
                });
                format!("{name}{f}({}, {})", bare(&args[0]), bare(&args[1]))
            }
            Step::Act(Act::And) => on_bits("&"),
            Step::Act(Act::Or) => on_bits("|"),
            Step::Act(Act::Xor) => on_bits("^"),
            Step::Act(Act::AddBits) => on_bits("+"),
            Step::Act(Act::ShiftLeft(by)) => {
                let x = self.bits(&args[0], dtype);
                self.of_bits(&format!("{x} << {by}"), dtype)
            }
            Step::Act(Act::ShiftRight(by)) => {
                let x = self.bits(&args[0], dtype);
                self.of_bits(&format!("{x} >> {by}"), dtype)
            }
            Step::Act(Act::Less) => format!("({} < {})", args[0], args[1]),
            Step::Act(Act::Equal) => format!("({} == {})", args[0], args[1]),
            Step::Act(Act::HighBit) => {
                let (x, top) = (self.bits(&args[0], compared), if compared == Dtype::F32 { 31 } else { 63 });
                format!("(int)({x} >> {top})")
            }
            Step::Act(Act::Both) => format!("({} && {})", args[0], args[1]),
            Step::Act(Act::Either) => format!("({} || {})", args[0], args[1]),
            Step::Act(Act::Not) => format!("!{}", args[0]),
            Step::Act(Act::Select) => format!("({} ? {} : {})", args[0], args[1], args[2]),
            Step::Widen => format!("(double){}", args[0]),
            Step::Narrow => format!("(float){}", args[0]),
        }
    }

    fn define(&mut self, class: Class, name: &str, value: &str) -> String {
        let ty = match class {
            Class::Number(dtype) => real(dtype),
            Class::Flag => "int",
        };
        format!("    const {ty} {name} = {};\n", bare(value))
    }
}

impl Kernels for Needs {
    fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    fn add(&mut self, name: &str, text: String) {
        self.own(name, || text);
    }

    fn name(&self, function: &str, dtype: Dtype) -> String {
        format!("nc_{}{}", function.replace('-', "_"), suffix(dtype))
    }

    fn definition(&mut self, name: &str, dtype: Dtype, listing: &Listing, params: &[&str], slow: Option<String>) -> String {
        let spelled = spell(listing, params, &mut Steps(self));
        let ty = real(dtype);
        let typed: Vec<String> = params.iter().map(|p| format!("{ty} {p}")).collect();
        let mut text = format!("static {ty} {name}({})\n{{\n{}", typed.join(", "), spelled.before.concat());
        let used = |k: usize| listing.lines.iter().any(|l| l.step == Step::Argument(k as u32));
        text.extend(params.iter().enumerate().filter(|(k, _)| !used(*k)).map(|(_, p)| format!("    (void){p};\n")));
        if let (Some(rare), Some(slow)) = (&spelled.rare, slow) {
            text += &format!("    if ({}) return {slow};\n", bare(rare));
        }
        text + &spelled.lines.concat() + &format!("    return {};\n}}\n", bare(&spelled.result))
    }

    fn widened(&self, text: &str) -> String {
        text.to_string()
    }

    fn narrowed(&self, text: &str) -> String {
        format!("(float){text}")
    }

    fn large(&mut self, name: &str, reduced: &str) -> String {
        self.piece("reduce");
        format!(
            "static double {name}(double x)\n{{\n    double r, lo, q;\n    if (!(fabs(x) <= DBL_MAX)) return NC_NAN;\n    \
             q = nc_reduce(fabs(x), &r, &lo);\n    \
             return {reduced}(q, r, lo, signbit(x) ? -0.0 : 0.0);\n}}\n"
        )
    }
}
