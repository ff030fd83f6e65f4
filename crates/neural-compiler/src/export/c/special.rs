//! Special functions in C. In: a function of the math crate; out: a call of a piece written by hand, and what it needs.
//!
//! Their kernels have branches and loops that depend on values, so they cannot be recorded; the pieces are their text once more, kept equal
//! by the tests, which compare them to the bit at every probe and in generated programs.

use super::Needs;
use crate::export::kernels::unary;
use crate::ops::real::Dtype;
use neural_compiler_math as math;

/// Functions by their names in the math crate: the piece, and the call of it, `@` standing for the arguments.
const CALLS: &[(&str, &str, &str)] = &[
    ("gamma", "gamma_function", "nc_gamma(@)"),
    ("lgamma", "lgamma", "nc_lgamma(@)"),
    ("digamma", "digamma", "nc_digamma(@)"),
    ("trigamma", "polygamma", "nc_polygamma(1, @)"),
    ("polygamma", "polygamma", "nc_polygamma(@)"),
    ("erfc", "erfc", "nc_erfc(@)"),
    ("erfcx", "erfcx", "nc_erfcx(@)"),
    ("erfcx-slope", "erfcx_of_order", "nc_erfcx_of_order(1, @)"),
    ("erfcx-of-order", "erfcx_of_order", "nc_erfcx_of_order(@)"),
    ("normal-cdf", "normal_cdf", "nc_normal_cdf(@)"),
    ("normal-log-cdf", "normal_log_cdf", "nc_normal_log_cdf(@)"),
    ("normal-quantile", "normal_quantile", "nc_normal_quantile(@)"),
    ("normal-hazard", "normal_hazard", "nc_normal_hazard(@)"),
    ("normal-excess", "normal_excess", "nc_normal_excess(@)"),
    ("bessel-j0", "bessel_j", "nc_bessel_j(0, @)"),
    ("bessel-j1", "bessel_j", "nc_bessel_j(1, @)"),
    ("bessel-j", "bessel_j", "nc_bessel_j(@)"),
    ("bessel-i0", "bessel_i", "nc_bessel_i(0, @)"),
    ("bessel-i1", "bessel_i", "nc_bessel_i(1, @)"),
    ("bessel-i", "bessel_i", "nc_bessel_i(@)"),
    ("bessel-k0", "bessel_k", "nc_bessel_k(0, @)"),
    ("bessel-k1", "bessel_k", "nc_bessel_k(1, @)"),
    ("bessel-k", "bessel_k", "nc_bessel_k(@)"),
    ("beta", "beta_function", "nc_beta(@)"),
    ("lbeta", "lbeta", "nc_lbeta(@)"),
    ("beta-slope", "beta_slope", "nc_beta_slope(@)"),
    ("beta-mixed", "beta_mixed", "nc_beta_mixed(@)"),
    ("digamma-gap", "digamma_gap", "nc_digamma_gap(@)"),
    ("trigamma-gap", "trigamma_gap", "nc_trigamma_gap(@)"),
    ("gamma-p", "gamma_p", "nc_gamma_regularised(0, 0, @)"),
    ("gamma-q", "gamma_p", "nc_gamma_regularised(0, 1, @)"),
    ("gamma-p-1", "gamma_p", "nc_gamma_regularised(1, 0, @)"),
    ("gamma-p-2", "gamma_p", "nc_gamma_regularised(2, 0, @)"),
    ("gamma-p-3", "gamma_p", "nc_gamma_regularised(3, 0, @)"),
    ("gamma-density", "gamma_density", "nc_gamma_density(@)"),
    ("voigt", "voigt", "nc_voigt(0, @)"),
    ("voigt-x", "voigt", "nc_voigt(1, @)"),
    ("voigt-g", "voigt", "nc_voigt(2, @)"),
    ("voigt-xx", "voigt", "nc_voigt(3, @)"),
    ("voigt-xg", "voigt", "nc_voigt(4, @)"),
    ("voigt-xxx", "voigt", "nc_voigt(5, @)"),
    ("voigt-xxg", "voigt", "nc_voigt(6, @)"),
    ("voigt-xxxx", "voigt", "nc_voigt(7, @)"),
    ("voigt-xxxg", "voigt", "nc_voigt(8, @)"),
];

/// A call, in the number type of the program; all compute in f64.
pub(super) fn call(name: &str, args: &str, dtype: Dtype, needs: &mut Needs) -> Option<String> {
    let (_, piece, call) = CALLS.iter().find(|c| c.0 == name)?;
    for f in [&math::LOG, &math::LOG1P] {
        unary(f, Dtype::F64, needs)?;
    }
    if *piece == "normal_quantile" {
        unary(&math::EXP, Dtype::F64, needs)?;
    }
    needs.piece(piece);
    let call = call.replace('@', args);
    Some(if dtype == Dtype::F32 { format!("(float){call}") } else { call })
}
