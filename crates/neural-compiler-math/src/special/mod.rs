//! Special functions: gamma and its kin, the error function's complement and the normal distribution, Bessel functions.
//!
//! In: any f32 or f64. Out: function values; docs/accuracy.md gives the bound of each. They take hundreds of operations with branches, so
//! they run one value at a time, in numbers of two words (`double.rs`), the same code at every level and in every loop; generated code
//! calls them. f32 is the f64 result rounded.

mod bessel;
mod beta;
mod double;
mod erfc;
mod gamma;
mod incomplete;
mod incomplete_beta;
mod inverse;
mod tables;
mod voigt;

use crate::coefficients::{PIO2_HI, PIO2_LO, PIO2_LO2, TWO_OVER_PI_HI};
use crate::dispatch::{Map1, Map2, Map3};
use crate::level::Level;
use double::D;
use incomplete_beta::Function;
use voigt::Derivative;

/// Compiles a body twice, with fused instructions and without, and gives the one this processor has. The bits are the same.
macro_rules! one_at_a_time {
    ($name:ident($($x:ident),*) = $body:path) => {
        #[inline(never)]
        fn $name($($x: f64),*) -> f64 {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn fused($($x: f64),*) -> f64 {
                $body($($x),*)
            }
            #[cfg(target_arch = "x86_64")]
            if Level::best() >= Level::Avx2 {
                // SAFETY: this processor has the instructions.
                return unsafe { fused($($x),*) };
            }
            $body($($x),*)
        }
    };
}

macro_rules! special1 {
    ($($kernel:ident = $body:path;)*) => {$(
        pub(crate) struct $kernel;
        impl $kernel {
            one_at_a_time!(value(x) = $body);
        }
        impl Map1<f64> for $kernel {
            const CHEAP: bool = true;
            #[inline(always)]
            fn fast(x: f64) -> f64 {
                $kernel::value(x)
            }
        }
        impl Map1<f32> for $kernel {
            const CHEAP: bool = true;
            #[inline(always)]
            fn fast(x: f32) -> f32 {
                $kernel::value(f64::from(x)) as f32
            }
        }
    )*};
}

macro_rules! special2 {
    ($($kernel:ident = $body:path;)*) => {$(
        pub(crate) struct $kernel;
        impl $kernel {
            one_at_a_time!(value(x, y) = $body);
        }
        impl Map2<f64> for $kernel {
            const CHEAP: bool = true;
            #[inline(always)]
            fn fast(x: f64, y: f64) -> f64 {
                $kernel::value(x, y)
            }
        }
        impl Map2<f32> for $kernel {
            const CHEAP: bool = true;
            #[inline(always)]
            fn fast(x: f32, y: f32) -> f32 {
                $kernel::value(f64::from(x), f64::from(y)) as f32
            }
        }
    )*};
}

// One body for all of a kind: it is long.
one_at_a_time!(of_shapes(function, a, b, x) = incomplete_beta::of);
one_at_a_time!(of_widths(derivative, x, sigma, gamma) = voigt::of);

macro_rules! special3 {
    ($body:ident: $($kernel:ident = $function:path;)*) => {$(
        pub(crate) struct $kernel;
        impl Map3 for $kernel {
            fn value(a: f64, b: f64, x: f64) -> f64 {
                $body(f64::from($function as u8), a, b, x)
            }
        }
    )*};
}

/// The derivative of digamma.
#[inline(always)]
fn trigamma(x: f64) -> f64 {
    gamma::polygamma(1.0, x)
}

/// The derivative of erfcx.
#[inline(always)]
fn erfcx_slope(x: f64) -> f64 {
    erfc::erfcx_of_order(1.0, x)
}

/// Bessel functions of a fixed order.
macro_rules! of_order {
    ($($name:ident = $function:path, $order:literal;)*) => {$(
        #[inline(always)]
        fn $name(x: f64) -> f64 {
            $function($order, x)
        }
    )*};
}

of_order! {
    j0 = bessel::bessel_j, 0.0;
    j1 = bessel::bessel_j, 1.0;
    i0 = bessel::bessel_i, 0.0;
    i1 = bessel::bessel_i, 1.0;
    k0 = bessel::bessel_k, 0.0;
    k1 = bessel::bessel_k, 1.0;
}

special1! {
    Gamma = gamma::gamma;
    Lgamma = gamma::lgamma;
    Digamma = gamma::digamma;
    Trigamma = trigamma;
    Erfc = erfc::erfc;
    Erfcx = erfc::erfcx;
    ErfcxSlope = erfcx_slope;
    NormalCdf = erfc::normal_cdf;
    NormalLogCdf = erfc::normal_log_cdf;
    NormalQuantile = erfc::normal_quantile;
    NormalHazard = erfc::normal_hazard;
    NormalExcess = erfc::normal_excess;
    BesselJ0 = j0;
    BesselJ1 = j1;
    BesselI0 = i0;
    BesselI1 = i1;
    BesselK0 = k0;
    BesselK1 = k1;
}

special2! {
    Polygamma = gamma::polygamma;
    InversePart = inverse::inverse_part;
    ErfcxOfOrder = erfc::erfcx_of_order;
    Beta = beta::beta;
    BetaSlope = beta::beta_slope;
    BetaMixed = beta::beta_mixed;
    Lbeta = beta::lbeta;
    DigammaGap = beta::digamma_gap;
    TrigammaGap = beta::trigamma_gap;
    BesselJ = bessel::bessel_j;
    BesselI = bessel::bessel_i;
    BesselK = bessel::bessel_k;
    GammaP = incomplete::gamma_p;
    GammaQ = incomplete::gamma_q;
    GammaP1 = incomplete::gamma_p_1;
    GammaP2 = incomplete::gamma_p_2;
    GammaP3 = incomplete::gamma_p_3;
    GammaDensity = incomplete::gamma_density;
}

special3! {
    of_shapes:
    BetaP = Function::Value;
    BetaQ = Function::Complement;
    BetaDensity = Function::Density;
    BetaPA = Function::ByA;
    BetaPB = Function::ByB;
    BetaPAA = Function::ByAA;
    BetaPAB = Function::ByAB;
    BetaPBB = Function::ByBB;
}

special3! {
    of_widths:
    Voigt = Derivative::Value;
    VoigtX = Derivative::ByX;
    VoigtG = Derivative::ByG;
    VoigtXX = Derivative::ByXX;
    VoigtXG = Derivative::ByXG;
    VoigtXXX = Derivative::ByXXX;
    VoigtXXG = Derivative::ByXXG;
    VoigtXXXX = Derivative::ByXXXX;
    VoigtXXXG = Derivative::ByXXXG;
}

/// Numbers the special functions are made of.
pub enum Table {
    /// Of two words each.
    Words(Vec<[f64; 2]>),
    /// Of one.
    Numbers(Vec<f64>),
}

/// A constant or series by its name here, for functions that are written out in another language.
pub fn table(name: &str) -> Option<Table> {
    let words = |all: &[D]| Some(Table::Words(all.iter().map(|d| [d.hi, d.lo]).collect()));
    let numbers = |all: &[f64]| Some(Table::Numbers(all.to_vec()));
    match name {
        "LN2" => words(&[tables::LN2]),
        "PI" => words(&[tables::PI]),
        "HALF_LN_2PI" => words(&[tables::HALF_LN_2PI]),
        "EULER" => words(&[tables::EULER]),
        "INV_SQRT_PI" => words(&[tables::INV_SQRT_PI]),
        "SQRT_HALF" => words(&[tables::SQRT_HALF]),
        "SIXTH" => words(&[tables::SIXTH]),
        "LGAMMA_NEAR_2" => words(&tables::LGAMMA_NEAR_2),
        "STIRLING" => words(&tables::STIRLING),
        "BERNOULLI" => words(&tables::BERNOULLI),
        "DIGAMMA_NEAR_ROOT" => words(&tables::DIGAMMA_NEAR_ROOT),
        "BELL_WHOLE" => words(&tables::BELL_WHOLE),
        "COSH_LESS_ONE" => words(&tables::COSH_LESS_ONE),
        "BELL_HALF" => words(&tables::BELL_HALF),
        "FALLING" => words(&tables::FALLING.map(|(place, weight)| [place, weight]).concat()),
        "DIGAMMA_ROOT" => numbers(&tables::DIGAMMA_ROOT),
        "STEP" => numbers(&[tables::STEP]),
        "COSH_STEP" => numbers(&[tables::COSH_STEP]),
        "TWO_OVER_PI_HI" => numbers(&[TWO_OVER_PI_HI]),
        "PIO2_HI" => numbers(&[PIO2_HI]),
        "PIO2_LO" => numbers(&[PIO2_LO]),
        "PIO2_LO2" => numbers(&[PIO2_LO2]),
        _ => None,
    }
}

/// The text of a part of the special functions, or of the reduction of large angles: plain Rust on f64, for programs that carry the
/// functions along. Parts name each other by `super`, what they need besides (sums without error, logarithms) by `crate`.
pub fn source(part: &str) -> Option<&'static str> {
    Some(match part {
        "bessel" => include_str!("bessel.rs"),
        "beta" => include_str!("beta.rs"),
        "double" => include_str!("double.rs"),
        "erfc" => include_str!("erfc.rs"),
        "gamma" => include_str!("gamma.rs"),
        "incomplete" => include_str!("incomplete.rs"),
        "incomplete_beta" => include_str!("incomplete_beta.rs"),
        "inverse" => include_str!("inverse.rs"),
        "tables" => include_str!("tables.rs"),
        "voigt" => include_str!("voigt.rs"),
        "reduce" => include_str!("../reduce.rs"),
        _ => return None,
    })
}
