//! Elementary functions for f32 and f64 within 1 ULP, with the same bits at every SIMD level.
//!
//! In: numbers or slices of numbers. Out: function values; the largest error of each is in docs/accuracy.md.
//! Each function is written once as a branch-free kernel and compiled for every [`Level`]; see `dispatch.rs`.
//! No operation depends on the platform's mathematical library: besides + - * / and bit operations the kernels
//! use only operations IEEE 754 fixes to the last bit (fused multiply-add, square root, rounding to integer).

mod arithmetic;
mod bits;
mod coefficients;
pub mod dd;
mod dispatch;
mod division;
mod erf;
mod exp;
pub mod expand;
mod hyperbolic;
mod inverse_trig;
pub mod lanes;
mod level;
mod log;
pub mod matrix;
pub mod num;
pub mod over_lanes;
mod pow;
mod product;
mod reduce;
mod root;
mod rounding;
pub mod small;
mod special;
mod trig;
mod vector;

pub use dispatch::{Arg, Binary, Ternary, Unary};
pub use level::{LIMIT, Level};

macro_rules! functions {
    ($type:ident, $all:ident, $($(#[$doc:meta])* $upper:ident = $name:literal: $kernel:path;)*) => {
        $($(#[$doc])* pub static $upper: $type = $type::new::<$kernel>($name);)*
        #[doc = concat!("All functions of type [`", stringify!($type), "`].")]
        pub static $all: &[&$type] = &[$(&$upper),*];
    };
}

functions! { Unary, UNARY,
    /// Sine.
    SIN = "sin": trig::Sin;
    /// Cosine.
    COS = "cos": trig::Cos;
    /// Tangent.
    TAN = "tan": trig::Tan;
    /// Inverse sine.
    ASIN = "asin": inverse_trig::Asin;
    /// Inverse cosine.
    ACOS = "acos": inverse_trig::Acos;
    /// Inverse tangent.
    ATAN = "atan": inverse_trig::Atan;
    /// Hyperbolic sine.
    SINH = "sinh": hyperbolic::Sinh;
    /// Hyperbolic cosine.
    COSH = "cosh": hyperbolic::Cosh;
    /// Hyperbolic tangent.
    TANH = "tanh": hyperbolic::Tanh;
    /// e^x.
    EXP = "exp": exp::Exp;
    /// 2^x.
    EXP2 = "exp2": exp::Exp2;
    /// e^x - 1.
    EXPM1 = "expm1": exp::Expm1;
    /// Natural logarithm.
    LOG = "log": log::Log;
    /// Logarithm to base 2.
    LOG2 = "log2": log::Log2;
    /// Logarithm to base 10.
    LOG10 = "log10": log::Log10;
    /// log(1 + x).
    LOG1P = "log1p": log::Log1p;
    /// Square root.
    SQRT = "sqrt": root::Sqrt;
    /// Cube root.
    CBRT = "cbrt": root::Cbrt;
    /// x * x.
    SQUARE = "square": root::Square;
    /// Largest integer not above x.
    FLOOR = "floor": rounding::Floor;
    /// Smallest integer not below x.
    CEILING = "ceiling": rounding::Ceiling;
    /// Nearest integer, ties to even.
    ROUND = "round": rounding::Round;
    /// Integer part.
    TRUNCATE = "truncate": rounding::Truncate;
    /// -1, 0 or 1; zeros and NaN stay.
    SIGN = "sign": rounding::Sign;
    /// Absolute value.
    ABS = "abs": rounding::Abs;
    /// Opposite.
    NEG = "neg": rounding::Neg;
    /// 1/(1 + e^-x).
    SIGMOID = "sigmoid": exp::Sigmoid;
    /// log(1 + e^x).
    SOFTPLUS = "softplus": exp::Softplus;
    /// max(0, x).
    RELU = "relu": rounding::Relu;
    /// Error function.
    ERF = "erf": erf::Erf;
    /// e^(-x^2).
    BELL = "bell": exp::Bell;
    /// e^(-x^2/2).
    HALF_BELL = "half-bell": exp::HalfBell;
    /// e^(x^2/2).
    HALF_GROWTH = "half-growth": exp::HalfGrowth;
    /// 1 - erf(x).
    ERFC = "erfc": special::Erfc;
    /// e^(x^2) erfc(x).
    ERFCX = "erfcx": special::Erfcx;
    /// Its derivative.
    ERFCX_SLOPE = "erfcx-slope": special::ErfcxSlope;
    /// Gamma function.
    GAMMA = "gamma": special::Gamma;
    /// log |Gamma(x)|.
    LGAMMA = "lgamma": special::Lgamma;
    /// Derivative of log Gamma.
    DIGAMMA = "digamma": special::Digamma;
    /// Derivative of digamma.
    TRIGAMMA = "trigamma": special::Trigamma;
    /// Distribution function of the standard normal distribution.
    NORMAL_CDF = "normal-cdf": special::NormalCdf;
    /// Its logarithm.
    NORMAL_LOG_CDF = "normal-log-cdf": special::NormalLogCdf;
    /// Its inverse.
    NORMAL_QUANTILE = "normal-quantile": special::NormalQuantile;
    /// Density of the standard normal distribution over its distribution function.
    NORMAL_HAZARD = "normal-hazard": special::NormalHazard;
    /// x plus that.
    NORMAL_EXCESS = "normal-excess": special::NormalExcess;
    /// Bessel function of the first kind of order 0.
    BESSEL_J0 = "bessel-j0": special::BesselJ0;
    /// Bessel function of the first kind of order 1.
    BESSEL_J1 = "bessel-j1": special::BesselJ1;
    /// Modified Bessel function of the first kind of order 0.
    BESSEL_I0 = "bessel-i0": special::BesselI0;
    /// Modified Bessel function of the first kind of order 1.
    BESSEL_I1 = "bessel-i1": special::BesselI1;
    /// Modified Bessel function of the second kind of order 0.
    BESSEL_K0 = "bessel-k0": special::BesselK0;
    /// Modified Bessel function of the second kind of order 1.
    BESSEL_K1 = "bessel-k1": special::BesselK1;
}

functions! { Binary, BINARY,
    /// a + b.
    ADD = "add": arithmetic::Add;
    /// a - b.
    SUB = "sub": arithmetic::Sub;
    /// a * b.
    MUL = "mul": arithmetic::Mul;
    /// a / b.
    DIV = "div": arithmetic::Div;
    /// Angle of the point (second argument, first argument): atan2(y, x).
    ATAN2 = "atan2": inverse_trig::Atan2;
    /// a/(a^2 + b^2).
    INVERSE_PART = "inverse-part": special::InversePart;
    /// a^b.
    POW = "pow": pow::Pow;
    /// log(a)/log(b).
    LOG_BASE = "log_base": log::LogBase;
    /// a - b floor(a/b), with the sign of b.
    MODULO = "modulo": division::Modulo;
    /// a - b truncate(a/b), with the sign of a.
    REMAINDER = "remainder": division::Remainder;
    /// truncate(a/b).
    QUOTIENT = "quotient": division::Quotient;
    /// The derivative of digamma of a whole order (first argument).
    POLYGAMMA = "polygamma": special::Polygamma;
    /// Gamma(a) Gamma(b)/Gamma(a + b).
    BETA = "beta": special::Beta;
    /// Its derivative by a.
    BETA_SLOPE = "beta-slope": special::BetaSlope;
    /// Its derivative by a and b.
    BETA_MIXED = "beta-mixed": special::BetaMixed;
    /// log of beta(a, b).
    LBETA = "lbeta": special::Lbeta;
    /// digamma(a + b) - digamma(a).
    DIGAMMA_GAP = "digamma-gap": special::DigammaGap;
    /// trigamma(a) - trigamma(a + b).
    TRIGAMMA_GAP = "trigamma-gap": special::TrigammaGap;
    /// The derivative of erfcx of a whole order (first argument).
    ERFCX_OF_ORDER = "erfcx-of-order": special::ErfcxOfOrder;
    /// Bessel function of the first kind of a whole order (first argument).
    BESSEL_J = "bessel-j": special::BesselJ;
    /// Modified Bessel function of the first kind, likewise.
    BESSEL_I = "bessel-i": special::BesselI;
    /// Modified Bessel function of the second kind, likewise.
    BESSEL_K = "bessel-k": special::BesselK;
    /// The regularised lower incomplete gamma function P(a, x).
    GAMMA_P = "gamma-p": special::GammaP;
    /// The regularised upper incomplete gamma function Q(a, x) = 1 - P(a, x).
    GAMMA_Q = "gamma-q": special::GammaQ;
    /// Derivative of P by a.
    GAMMA_P_1 = "gamma-p-1": special::GammaP1;
    /// Second derivative of P by a.
    GAMMA_P_2 = "gamma-p-2": special::GammaP2;
    /// Third derivative of P by a.
    GAMMA_P_3 = "gamma-p-3": special::GammaP3;
    /// Derivative of P by x: x^(a-1) e^-x/Gamma(a).
    GAMMA_DENSITY = "gamma-density": special::GammaDensity;
    /// The smaller one; NaN wins, -0 < +0.
    MIN = "min": arithmetic::Min;
    /// The larger one; NaN wins, -0 < +0.
    MAX = "max": arithmetic::Max;
    /// 1 if a = b, else 0.
    EQ = "eq": arithmetic::Eq;
    /// 1 if a < b, else 0.
    LT = "lt": arithmetic::Lt;
    /// 1 if a > b, else 0.
    GT = "gt": arithmetic::Gt;
    /// 1 if a <= b, else 0.
    LE = "le": arithmetic::Le;
    /// 1 if a >= b, else 0.
    GE = "ge": arithmetic::Ge;
}

functions! { Ternary, TERNARY,
    /// The regularised incomplete beta function I_x(a, b), x the third argument.
    BETA_P = "beta-p": special::BetaP;
    /// 1 - I_x(a, b).
    BETA_Q = "beta-q": special::BetaQ;
    /// Derivative of I by x: x^(a-1) (1-x)^(b-1)/B(a, b).
    BETA_DENSITY = "beta-density": special::BetaDensity;
    /// Derivative of I by a.
    BETA_P_A = "beta-p-a": special::BetaPA;
    /// Derivative of I by b.
    BETA_P_B = "beta-p-b": special::BetaPB;
    /// Second derivative of I by a.
    BETA_P_AA = "beta-p-aa": special::BetaPAA;
    /// Derivative of I by a and b.
    BETA_P_AB = "beta-p-ab": special::BetaPAB;
    /// Second derivative of I by b.
    BETA_P_BB = "beta-p-bb": special::BetaPBB;
    /// The Voigt profile at x, of the widths sigma and gamma.
    VOIGT = "voigt": special::Voigt;
    /// Its derivative by x.
    VOIGT_X = "voigt-x": special::VoigtX;
    /// Its derivative by gamma.
    VOIGT_G = "voigt-g": special::VoigtG;
    /// Its second derivative by x, the opposite of that by gamma.
    VOIGT_XX = "voigt-xx": special::VoigtXX;
    /// Its derivative by x and gamma.
    VOIGT_XG = "voigt-xg": special::VoigtXG;
    /// Its third derivative by x.
    VOIGT_XXX = "voigt-xxx": special::VoigtXXX;
    /// Its derivative by x twice and gamma.
    VOIGT_XXG = "voigt-xxg": special::VoigtXXG;
    /// Its fourth derivative by x.
    VOIGT_XXXX = "voigt-xxxx": special::VoigtXXXX;
    /// Its derivative by x three times and gamma.
    VOIGT_XXXG = "voigt-xxxg": special::VoigtXXXG;
}
