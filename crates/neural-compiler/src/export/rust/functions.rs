//! Steps of elementary functions in Rust. In: a kernel, step by step; out: its text.
//! Invariant: the text does what the kernel does, operation by operation.

use super::Needs;
use crate::export::kernels::Kernels;
use crate::export::record::{Class, Line, Listing, Step};
use crate::export::spell::{Spelling, bare, spell};
use crate::ops::real::Dtype;
use crate::ops::recorder::Act;

/// The type of a number.
pub(super) fn real(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::F32 => "f32",
        Dtype::F64 => "f64",
    }
}

/// A constant of a type.
pub(super) fn number(x: f64, dtype: Dtype) -> String {
    let ty = real(dtype);
    let rounded = if dtype == Dtype::F32 { f64::from(x as f32) } else { x };
    let magnitude = if rounded.is_nan() {
        return format!("{ty}::NAN");
    } else if rounded.is_infinite() {
        format!("{ty}::INFINITY")
    } else if dtype == Dtype::F32 {
        format!("{:?}_f32", (rounded as f32).abs())
    } else {
        format!("{:?}_f64", rounded.abs())
    };
    if rounded.is_sign_negative() { format!("(-{magnitude})") } else { magnitude }
}

/// Rust's way of writing the steps of kernels.
struct Steps;

impl Spelling for Steps {
    fn step(&mut self, line: &Line, class: Class, args: &[String]) -> String {
        let of = |class| if let Class::Number(dtype) = class { dtype } else { Dtype::F64 };
        let (dtype, compared) = (of(line.class), of(class));
        let ty = real(dtype);
        let method = |name: &str| format!("{}.{name}()", args[0]);
        let on_bits = |operator: &str| format!("{ty}::from_bits({}.to_bits() {operator} {}.to_bits())", args[0], args[1]);
        match line.step {
            Step::Argument(_) => unreachable!("arguments have names"),
            Step::Constant(bits) => {
                let x = if dtype == Dtype::F32 { f64::from(f32::from_bits(bits as u32)) } else { f64::from_bits(bits) };
                // Numbers that stand for bits: NaNs and the smallest ones.
                let odd = x.is_nan() || (x != 0.0 && x.abs() < 1e-300);
                if odd { format!("{ty}::from_bits({bits:#x})") } else { number(x, dtype) }
            }
            Step::Act(Act::Add) => format!("({} + {})", args[0], args[1]),
            Step::Act(Act::Sub) => format!("({} - {})", args[0], args[1]),
            Step::Act(Act::Mul) => format!("({} * {})", args[0], args[1]),
            Step::Act(Act::Div) => format!("({} / {})", args[0], args[1]),
            Step::Act(Act::MulAdd) => format!("{}.mul_add({}, {})", args[0], bare(&args[1]), bare(&args[2])),
            Step::Act(Act::NegMulAdd) => format!("(-{}).mul_add({}, {})", args[0], bare(&args[1]), bare(&args[2])),
            Step::Act(Act::MulSub) => format!("{}.mul_add({}, -{})", args[0], bare(&args[1]), args[2]),
            Step::Act(Act::Abs) => method("abs"),
            Step::Act(Act::Sqrt) => method("sqrt"),
            Step::Act(Act::Floor) => method("floor"),
            Step::Act(Act::AtMost) => format!("(if {1} < {0} {{ {1} }} else {{ {0} }})", args[0], args[1]),
            Step::Act(Act::AtLeast) => format!("(if {1} > {0} {{ {1} }} else {{ {0} }})", args[0], args[1]),
            Step::Act(Act::And) => on_bits("&"),
            Step::Act(Act::Or) => on_bits("|"),
            Step::Act(Act::Xor) => on_bits("^"),
            Step::Act(Act::AddBits) => format!("{ty}::from_bits({}.to_bits().wrapping_add({}.to_bits()))", args[0], args[1]),
            Step::Act(Act::ShiftLeft(by)) => format!("{ty}::from_bits({}.to_bits() << {by})", args[0]),
            Step::Act(Act::ShiftRight(by)) => format!("{ty}::from_bits({}.to_bits() >> {by})", args[0]),
            Step::Act(Act::Less) => format!("({} < {})", args[0], args[1]),
            Step::Act(Act::Equal) => format!("({} == {})", args[0], args[1]),
            Step::Act(Act::HighBit) => format!("({}.to_bits() >> {} != 0)", args[0], if compared == Dtype::F32 { 31 } else { 63 }),
            Step::Act(Act::Both) => format!("({} && {})", args[0], args[1]),
            Step::Act(Act::Either) => format!("({} || {})", args[0], args[1]),
            Step::Act(Act::Not) => format!("!{}", args[0]),
            Step::Act(Act::Select) => format!("(if {} {{ {} }} else {{ {} }})", bare(&args[0]), bare(&args[1]), bare(&args[2])),
            Step::Widen => format!("f64::from({})", bare(&args[0])),
            Step::Narrow => format!("({} as f32)", args[0]),
        }
    }

    fn define(&mut self, class: Class, name: &str, value: &str) -> String {
        let ty = match class {
            Class::Number(dtype) => real(dtype),
            Class::Flag => "bool",
        };
        format!("        let {name}: {ty} = {};\n", bare(value))
    }
}

impl Kernels for Needs {
    fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    fn add(&mut self, name: &str, text: String) {
        if self.names.insert(name.to_string()) {
            self.texts.push(text);
        }
    }

    fn name(&self, function: &str, dtype: Dtype) -> String {
        format!("{}{}", function.replace('-', "_"), if dtype == Dtype::F32 { "_f32" } else { "" })
    }

    fn definition(&mut self, name: &str, dtype: Dtype, listing: &Listing, params: &[&str], slow: Option<String>) -> String {
        let spelled = spell(listing, params, &mut Steps);
        let ty = real(dtype);
        let typed: Vec<String> = params.iter().map(|p| format!("{p}: {ty}")).collect();
        let mut text = format!("    pub fn {name}({}) -> {ty} {{\n{}", typed.join(", "), spelled.before.concat());
        if let (Some(rare), Some(slow)) = (&spelled.rare, slow) {
            text += &format!("        if {} {{\n            return {slow};\n        }}\n", bare(rare));
        }
        text + &spelled.lines.concat() + &format!("        {}\n    }}\n", bare(&spelled.result))
    }

    fn widened(&self, text: &str) -> String {
        format!("f64::from({text})")
    }

    fn narrowed(&self, text: &str) -> String {
        format!("{text} as f32")
    }

    fn large(&mut self, name: &str, reduced: &str) -> String {
        self.piece("reduce");
        format!(
            "    fn {name}(x: f64) -> f64 {{\n        if !x.is_finite() {{\n            return f64::NAN;\n        }}\n        \
             let (q, r, lo) = reduce::reduce_large(x.abs());\n        \
             {reduced}(q, r, lo, if x.is_sign_negative() {{ -0.0 }} else {{ 0.0 }})\n    }}\n"
        )
    }
}
