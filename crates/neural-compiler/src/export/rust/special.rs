//! Special functions in Rust. In: a function of the math crate; out: a call, and the parts of the crate's own source that it is made of.
//!
//! The parts are plain Rust on f64, so the text carries them along as they are: there is nothing to keep equal.

use super::Needs;
use crate::export::kernels::unary;
use crate::ops::real::Dtype;
use neural_compiler_math as math;
use neural_compiler_math::expand::source;

/// Functions by their names in the math crate: the part that has them, and the call, `@` standing for the arguments.
const CALLS: &[(&str, &str, &str)] = &[
    ("gamma", "gamma", "gamma(@)"),
    ("lgamma", "gamma", "lgamma(@)"),
    ("digamma", "gamma", "digamma(@)"),
    ("trigamma", "gamma", "polygamma(1.0, @)"),
    ("polygamma", "gamma", "polygamma(@)"),
    ("erfc", "erfc", "erfc(@)"),
    ("erfcx", "erfc", "erfcx(@)"),
    ("erfcx-slope", "erfc", "erfcx_of_order(1.0, @)"),
    ("erfcx-of-order", "erfc", "erfcx_of_order(@)"),
    ("normal-cdf", "erfc", "normal_cdf(@)"),
    ("normal-log-cdf", "erfc", "normal_log_cdf(@)"),
    ("normal-quantile", "erfc", "normal_quantile(@)"),
    ("normal-hazard", "erfc", "normal_hazard(@)"),
    ("normal-excess", "erfc", "normal_excess(@)"),
    ("bessel-j0", "bessel", "bessel_j(0.0, @)"),
    ("bessel-j1", "bessel", "bessel_j(1.0, @)"),
    ("bessel-j", "bessel", "bessel_j(@)"),
    ("bessel-i0", "bessel", "bessel_i(0.0, @)"),
    ("bessel-i1", "bessel", "bessel_i(1.0, @)"),
    ("bessel-i", "bessel", "bessel_i(@)"),
    ("bessel-k0", "bessel", "bessel_k(0.0, @)"),
    ("bessel-k1", "bessel", "bessel_k(1.0, @)"),
    ("bessel-k", "bessel", "bessel_k(@)"),
    ("inverse-part", "inverse", "inverse_part(@)"),
    ("beta", "beta", "beta(@)"),
    ("lbeta", "beta", "lbeta(@)"),
    ("beta-slope", "beta", "beta_slope(@)"),
    ("beta-mixed", "beta", "beta_mixed(@)"),
    ("digamma-gap", "beta", "digamma_gap(@)"),
    ("trigamma-gap", "beta", "trigamma_gap(@)"),
    ("gamma-p", "incomplete", "gamma_p(@)"),
    ("gamma-q", "incomplete", "gamma_q(@)"),
    ("gamma-p-1", "incomplete", "gamma_p_1(@)"),
    ("gamma-p-2", "incomplete", "gamma_p_2(@)"),
    ("gamma-p-3", "incomplete", "gamma_p_3(@)"),
    ("gamma-density", "incomplete", "gamma_density(@)"),
    ("beta-p", "incomplete_beta", "of(0.0, @)"),
    ("beta-q", "incomplete_beta", "of(1.0, @)"),
    ("beta-density", "incomplete_beta", "of(7.0, @)"),
    ("beta-p-a", "incomplete_beta", "of(2.0, @)"),
    ("beta-p-b", "incomplete_beta", "of(3.0, @)"),
    ("beta-p-aa", "incomplete_beta", "of(4.0, @)"),
    ("beta-p-ab", "incomplete_beta", "of(5.0, @)"),
    ("beta-p-bb", "incomplete_beta", "of(6.0, @)"),
    ("voigt", "voigt", "of(0.0, @)"),
    ("voigt-x", "voigt", "of(1.0, @)"),
    ("voigt-g", "voigt", "of(2.0, @)"),
    ("voigt-xx", "voigt", "of(3.0, @)"),
    ("voigt-xg", "voigt", "of(4.0, @)"),
    ("voigt-xxx", "voigt", "of(5.0, @)"),
    ("voigt-xxg", "voigt", "of(6.0, @)"),
    ("voigt-xxxx", "voigt", "of(7.0, @)"),
    ("voigt-xxxg", "voigt", "of(8.0, @)"),
];

/// The parts a part names.
fn parts(part: &str) -> &'static [&'static str] {
    match part {
        "tables" => &[],
        "double" | "inverse" | "erfc" | "bessel" | "gamma" | "voigt" => &["double", "tables"],
        "beta" | "incomplete" => &["gamma"],
        "incomplete_beta" => &["beta", "incomplete"],
        other => unreachable!("there is no part {other}"),
    }
}

fn part(name: &'static str, needs: &mut Needs) {
    if !needs.parts.contains(name) {
        needs.parts.insert(name);
        parts(name).iter().for_each(|p| part(p, needs));
    }
}

/// The text of a part, naming what it needs besides by its place in the exported text.
pub(super) fn text(name: &str) -> String {
    let source = source(name).expect("parts are sources of the math crate").split("#[cfg(test)]").next().unwrap_or_default();
    let mut out = source.to_string();
    for f in ["GAMMA_Q", "GAMMA_P_1", "GAMMA_P_2", "GAMMA_P"] {
        out = out.replace(&format!("crate::{f}.f64("), &format!("super::incomplete::{}(", f.to_lowercase()));
    }
    out.replace("crate::", "super::super::").replace("pub(super)", "pub(crate)")
}

/// A call, in the number type of the program; all compute in f64.
pub(super) fn call(name: &str, args: &[String], dtype: Dtype, needs: &mut Needs) -> Option<String> {
    let (_, module, call) = CALLS.iter().find(|c| c.0 == name)?;
    for f in [&math::LOG, &math::LOG1P] {
        unary(f, Dtype::F64, needs)?;
    }
    ["words", "logarithms"].into_iter().for_each(|p| needs.piece(p));
    if *module == "erfc" {
        unary(&math::EXP, Dtype::F64, needs)?;
        needs.piece("exponentials");
    }
    if *module == "bessel" {
        ["reduce", "angles"].into_iter().for_each(|p| needs.piece(p));
    }
    part(module, needs);
    let wide: Vec<String> = args.iter().map(|a| if dtype == Dtype::F32 { format!("f64::from({a})") } else { a.clone() }).collect();
    let call = format!("nc::special::{module}::{}", call.replace('@', &wide.join(", ")));
    Some(if dtype == Dtype::F32 { format!("({call} as f32)") } else { call })
}
