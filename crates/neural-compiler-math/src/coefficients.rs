//! Polynomials and constants of the kernels, written by tests/make_coefficients.py; do not edit.
//! In: nothing. Out: coefficients, lowest degree first; each comment gives the largest weighted error left.
#![allow(clippy::excessive_precision, clippy::approx_constant, clippy::unreadable_literal)]

/// (cosh r - 1 - r^2/2)/r^4 in r^2, |r| <= ln(2)/2, absolute error of cosh; error 2^-70.0.
pub(crate) const EXP_EVEN: [f64; 5] =
    [0.041666666666666685, 0.0013888888888873472, 2.480158734877184e-05, 2.755725222574403e-07, 2.0921634124126245e-09];
/// (sinh r - r)/r^3 in r^2, |r| <= ln(2)/2, error relative to sinh; error 2^-61.7.
pub(crate) const EXP_ODD: [f64; 5] =
    [0.16666666666666677, 0.008333333333321636, 0.00019841269886107006, 2.755724423271859e-06, 2.5109027686046794e-08];
/// (cosh r - 1)/r^2 in r^2, for f32; error 2^-45.9.
pub(crate) const EXP_EVEN_F32: [f64; 4] = [0.49999999999598865, 0.04166666699112837, 0.001388880731880623, 2.4882380375340292e-05];
/// as EXP_ODD, for f32; error 2^-37.5.
pub(crate) const EXP_ODD_F32: [f64; 3] = [0.1666666675453094, 0.008333288963147372, 0.00019904953482738542];
/// (sin r - r)/r^3 in r^2, |r| <= pi/4, error relative to sin; error 2^-58.0.
pub(crate) const SIN: [f64; 6] = [
    -0.16666666666666632,
    0.008333333333322443,
    -0.00019841269829830237,
    2.755731369924743e-06,
    -2.5050759194107377e-08,
    1.5896854600696897e-10,
];
/// (cos r - 1 + r^2/2)/r^4 in r^2, |r| <= pi/4, absolute error; error 2^-64.2.
pub(crate) const COS: [f64; 6] = [
    0.0416666666666666,
    -0.0013888888888874138,
    2.480158728949056e-05,
    -2.7557314354759065e-07,
    2.08757236075411e-09,
    -1.1359665426462463e-11,
];
/// as SIN, for f32; error 2^-37.6.
pub(crate) const SIN_F32: [f64; 4] = [-0.16666666641637154, 0.008333329386943585, -0.0001983933504671181, 2.7183125478383316e-06];
/// as COS, for f32; error 2^-43.2.
pub(crate) const COS_F32: [f64; 4] = [0.04166666662283988, -0.0013888883754190357, 2.4799520179172554e-05, -2.7210249816359686e-07];
/// (e^r - 1 - r)/r^2 in r, |r| <= ln(2)/2, absolute error; error 2^-28.3.
pub(crate) const EXP_SINGLE: [f32; 5] = [0.5, 0.166665181517601, 0.04166620969772339, 0.008368884213268757, 0.0013950273860245943];
/// as EXP_EVEN, in f32; error 2^-33.2.
pub(crate) const EXP_EVEN_SINGLE: [f32; 2] = [0.041666459292173386, 0.001393539714626968];
/// as EXP_ODD, in f32; error 2^-37.5.
pub(crate) const EXP_ODD_SINGLE: [f32; 3] = [0.1666666716337204, 0.008333289064466953, 0.00019904953660443425];
/// Where the polynomial of tanh in f32 ends.
pub(crate) const NEAR_TANH: f32 = 0.96875;
/// (tanh x - x)/x^3 in x^2, |x| <= 0.96875, error relative to x, in f32; error 2^-32.1.
pub(crate) const TANH_SINGLE: [f32; 8] = [
    -0.3333333134651184,
    0.13333247601985931,
    -0.05395757406949997,
    0.021805066615343094,
    -0.00864429958164692,
    0.0031437105499207973,
    -0.0008856597705744207,
    0.0001337625435553491,
];
/// as SIN, in f32; error 2^-28.1.
pub(crate) const SIN_SINGLE: [f32; 3] = [-0.16666655242443085, 0.008332177996635437, -0.00019517273176461458];
/// as COS, in f32; error 2^-33.3.
pub(crate) const COS_SINGLE: [f32; 3] = [0.04166664555668831, -0.0013887366512790322, 2.4438366381218657e-05];
/// (2 atanh(s)/s - 2)/s^2 in s^2, s = f/(2+f), 1+f in [sqrt(1/2), sqrt(2)], error relative to the logarithm; error 2^-59.5.
pub(crate) const LOG: [f64; 7] = [
    0.6666666666666734,
    0.399999999994157,
    0.2857142874218702,
    0.2222219859067581,
    0.18183563575331,
    0.15314066057047512,
    0.14795827319728821,
];
/// as LOG, for f32; error 2^-44.9.
pub(crate) const LOG_F32: [f64; 5] = [0.666666666757844, 0.39999995627722607, 0.28572108571007493, 0.2217621093991071, 0.19583864080366667];
/// (2 atanh(s)/s - 2 - 2 s^2/3)/s^4 in s^2, same range, for pow; error 2^-73.5.
pub(crate) const LOG_POW: [f64; 8] = [
    0.3999999999999998,
    0.2857142857144505,
    0.2222222221755011,
    0.1818181886878701,
    0.1538455696598634,
    0.1333631408171536,
    0.11674880587530788,
    0.11988537428954973,
];
/// (atan t - t)/t^3 in t^2, |t| <= tan(pi/8), relative error; error 2^-59.5.
pub(crate) const ATAN: [f64; 11] = [
    -0.333333333333332,
    0.19999999999953683,
    -0.14285714280205972,
    0.11111110783903372,
    -0.09090897769416872,
    0.07692060400007783,
    -0.0666310585824056,
    0.058479001327685604,
    -0.050393425033966974,
    0.038065238230307365,
    -0.017907643013959227,
];
/// as ATAN, for f32; error 2^-40.2.
pub(crate) const ATAN_F32: [f64; 7] = [
    -0.33333333296237133,
    0.19999994380461658,
    -0.14285425531169882,
    0.11104034724881115,
    -0.0899709096658039,
    0.06992214668011927,
    -0.037939708990999,
];
/// (asin s - s)/s^3 in s^2, |s| <= 1/2, relative error; error 2^-59.8.
pub(crate) const ASIN: [f64; 13] = [
    0.16666666666666763,
    0.07499999999970075,
    0.04464285717530541,
    0.03038194267443533,
    0.022372215927800792,
    0.01735159513570133,
    0.013981022600779276,
    0.011397261966862313,
    0.010789484613819117,
    0.003671603429008778,
    0.021791985257069574,
    -0.021118515665957727,
    0.03270323081926806,
];
/// as ASIN, for f32; error 2^-39.9.
pub(crate) const ASIN_F32: [f64; 8] = [
    0.1666666662664792,
    0.07500005051677167,
    0.04464068378094814,
    0.030426917926311005,
    0.02186224132057764,
    0.02066323116443224,
    0.0019367356565170382,
    0.03295486594162065,
];
/// (erf(x)/x - 2/sqrt(pi))/x^2 in x^2, |x| <= 1, error relative to erf; error 2^-62.7.
pub(crate) const ERF: [f64; 12] = [
    -0.3761263890318375,
    0.11283791670954929,
    -0.026866170645084446,
    0.005223977624881563,
    -0.000854832698407152,
    0.00012055331218848597,
    -1.4925597643468865e-05,
    1.6461036060524103e-06,
    -1.6350667642694833e-07,
    1.4662036576986524e-08,
    -1.138116998580643e-09,
    5.970630973309169e-11,
];
/// What the rounding of ERF[0] dropped.
pub(crate) const ERF_1_LO: f64 = -1.346707949807515e-17;
/// erf(x)/x - 1 in x^2, for f32; error 2^-40.2.
pub(crate) const ERF_F32: [f64; 9] = [
    0.12837916709471278,
    -0.3761263889009336,
    0.11283791318162117,
    -0.02686613399539554,
    0.005223786448920414,
    -0.00085427010982306,
    0.00011957305063127775,
    -1.3913890448466429e-05,
    1.0600712168334753e-06,
];
/// exp(x^2) erfc(x) in v = (x-2)/(x+2), 1 <= x <= 6, error weighted by exp(-x^2); error 2^-60.7.
pub(crate) const ERFC: [f64; 13] = [
    0.25539567631050575,
    -0.4271858474139568,
    0.2416581942424688,
    -0.07897858101641567,
    0.0037328923985418755,
    0.006997461785692251,
    -0.0008471425904199209,
    -0.0009819764799283536,
    4.3536156353909804e-05,
    0.00017428846406655906,
    2.7623194471611543e-05,
    -2.6611440062641336e-05,
    -1.2644057576606822e-05,
];
/// as ERFC, for f32, 1 <= x <= 4; error 2^-41.1.
pub(crate) const ERFC_F32: [f64; 8] = [
    0.25539567633304405,
    -0.4271858471243971,
    0.24165818265801509,
    -0.07897876293389579,
    0.0037325991971863468,
    0.007004559310678319,
    -0.000804698897855614,
    -0.0009111297832996657,
];
/// m^(-1/3), 1 <= m <= 8, relative error; error 2^-7.2.
pub(crate) const CBRT: [f64; 5] =
    [1.3377051453240985, -0.44083036418196037, 0.1085030927983389, -0.012986567890798073, 0.0005852964570002852];
/// 2/sqrt(pi) - 1, word by word.
pub(crate) const ERF_0_HI: f64 = 0.1283791670955126;
pub(crate) const ERF_0_LO: f64 = -1.2420116002463032e-17;
/// ln 2, word by word.
pub(crate) const LN2_HI: f64 = 0.6931471805599453;
pub(crate) const LN2_LO: f64 = 2.3190468138462996e-17;
/// 1/ln 2, word by word.
pub(crate) const LOG2E_HI: f64 = 1.4426950408889634;
pub(crate) const LOG2E_LO: f64 = 2.0355273740931033e-17;
/// 1/ln 10, word by word.
pub(crate) const LOG10E_HI: f64 = 0.4342944819032518;
pub(crate) const LOG10E_LO: f64 = 1.098319650216765e-17;
/// log10 2, word by word.
pub(crate) const LOG10_2_HI: f64 = 0.3010299956639812;
/// 2/pi, word by word.
pub(crate) const TWO_OVER_PI_HI: f64 = 0.6366197723675814;
/// pi/2, word by word.
pub(crate) const PIO2_HI: f64 = 1.5707963267948966;
pub(crate) const PIO2_LO: f64 = 6.123233995736766e-17;
pub(crate) const PIO2_LO2: f64 = -1.4973849048591698e-33;
/// pi/4, word by word.
pub(crate) const PIO4_HI: f64 = 0.7853981633974483;
pub(crate) const PIO4_LO: f64 = 3.061616997868383e-17;
/// 3 pi/4, word by word.
pub(crate) const THREE_PIO4_HI: f64 = 2.356194490192345;
pub(crate) const THREE_PIO4_LO: f64 = 9.184850993605148e-17;
/// pi, word by word.
pub(crate) const PI_HI: f64 = 3.141592653589793;
pub(crate) const PI_LO: f64 = 1.2246467991473532e-16;
/// 2/3, word by word.
pub(crate) const TWO_THIRDS_HI: f64 = 0.6666666666666666;
pub(crate) const TWO_THIRDS_LO: f64 = 3.700743415417188e-17;
/// ln 2, first 42 bits: its product with any exponent is exact.
pub(crate) const LN2_SHORT: f64 = 0.6931471805598903;
/// ln 2 - LN2_SHORT.
pub(crate) const LN2_REST: f64 = 5.497923018708371e-14;
/// log10 2, first 42 bits.
pub(crate) const LOG10_2_SHORT: f64 = 0.30102999566383914;
/// log10 2 - LOG10_2_SHORT.
pub(crate) const LOG10_2_REST: f64 = 1.42050232272661e-13;
/// 1/ln 2 in f32.
pub(crate) const LOG2E_SINGLE: f32 = 1.4426950216293335;
/// ln 2, first 15 bits: its product with any exponent of an f32 is exact.
pub(crate) const LN2_SHORT_SINGLE: f32 = 0.693145751953125;
/// ln 2 - LN2_SHORT_SINGLE.
pub(crate) const LN2_REST_SINGLE: f32 = 1.428606765330187e-06;
/// 2/pi in f32.
pub(crate) const TWO_OVER_PI_SINGLE: f32 = 0.6366197466850281;
/// pi/2 in f32, the next 10 bits, and the rest.
pub(crate) const PIO2_HI_SINGLE: f32 = 1.5707963705062866;
pub(crate) const PIO2_MID_SINGLE: f32 = -4.371395334601402e-08;
pub(crate) const PIO2_LO_SINGLE: f32 = 2.5633440682570896e-12;
/// The first 1280 bits of 2/pi after the binary point, most significant word first.
pub(crate) const TWO_OVER_PI: [u64; 20] = [
    0xa2f9836e4e441529,
    0xfc2757d1f534ddc0,
    0xdb6295993c439041,
    0xfe5163abdebbc561,
    0xb7246e3a424dd2e0,
    0x06492eea09d1921c,
    0xfe1deb1cb129a73e,
    0xe88235f52ebb4484,
    0xe99c7026b45f7e41,
    0x3991d639835339f4,
    0x9c845f8bbdf9283b,
    0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f,
    0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea,
    0x6bfb5fb11f8d5d08,
    0x56033046fc7b6bab,
    0xf0cfbc209af4361d,
];
