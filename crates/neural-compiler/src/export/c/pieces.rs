//! Pieces of C a program may need, each written once in a file of its own. In: a name; out: its text and the pieces it is made of.
//! Invariant: a piece does what the kernel of the same name does, in the same order, so with the same bits.

use crate::ops::{MINORS, OWN_FACTORS};
use neural_compiler_math::expand::{Table, table, two_over_pi};

macro_rules! pieces {
    ($($name:literal: [$($needs:literal),*];)*) => {
        /// A piece: its text, and what must come before it.
        pub(super) fn piece(name: &str) -> (&'static str, &'static [&'static str]) {
            match name {
                $($name => (include_str!(concat!("pieces/", $name, ".c")), &[$($needs),*]),)*
                other => unreachable!("there is no piece {other}"),
            }
        }
    };
}

pieces! {
    "bits": [];
    "bitsf": [];
    "min": [];
    "max": [];
    "sign": [];
    "relu": [];
    "square": [];
    "modulo": [];
    "quotient": [];
    "double": ["bits"];
    "inverse_part": ["double"];
    "words": ["double"];
    "gamma": ["words"];
    "gamma_function": ["gamma"];
    "lgamma": ["gamma"];
    "digamma_words": ["gamma"];
    "digamma": ["digamma_words"];
    "polygamma_words": ["gamma"];
    "polygamma": ["digamma", "polygamma_words"];
    "beta": ["gamma"];
    "beta_function": ["beta"];
    "lbeta": ["beta"];
    "gaps": ["beta", "digamma_words"];
    "digamma_gap": ["gaps"];
    "trigamma_gap": ["gaps", "polygamma"];
    "beta_slope": ["gaps"];
    "beta_mixed": ["gaps"];
    "incomplete": ["gamma"];
    "gamma_density": ["incomplete"];
    "gamma_p": ["incomplete", "digamma_words", "polygamma_words"];
    "voigt": ["words"];
    "erfc_words": ["words"];
    "erfc": ["erfc_words"];
    "erfcx": ["erfc_words"];
    "erfcx_of_order": ["erfcx"];
    "normal_cdf": ["erfc_words"];
    "normal_log_cdf": ["erfc_words"];
    "normal_quantile": ["erfc_words"];
    "normal_hazard": ["erfc_words"];
    "normal_excess": ["erfc_words"];
    "bessel": ["words"];
    "bessel_j": ["bessel", "reduce"];
    "bessel_i": ["bessel"];
    "bessel_k": ["bessel"];
    "reduce": ["bits"];
    "copy": [];
    "fill": [];
    "index": [];
    "halves": [];
    "sum": ["halves"];
    "dot": ["halves"];
    "product": [];
    "transpose": [];
    "outer": [];
    "cross": [];
    "eye": [];
    "norm": [];
    "lu": [];
    "det": ["lu"];
    "solve": ["lu"];
    "minor": ["det"];
    "cofactor": ["minor", "solve"];
    "cofactor_along": ["minor", "solve", "sum", "product"];
}

/// A number of the library by its name, as C writes it.
fn number(name: &str) -> String {
    let text = |x: f64| if x < 0.0 { format!("({x:?})") } else { format!("{x:?}") };
    let lines = |items: Vec<String>, width: usize| {
        let rows: Vec<String> = items.chunks(width).map(|row| row.join(", ")).collect();
        format!("\n        {}\n    ", rows.join(",\n        "))
    };
    match (name, table(name)) {
        ("OWN", _) => OWN_FACTORS.to_string(),
        ("MINORS", _) => MINORS.to_string(),
        ("TWO_OVER_PI", _) => lines(two_over_pi().iter().map(|w| format!("UINT64_C({w:#018x})")).collect(), 4),
        (_, Some(Table::Words(all))) if all.len() == 1 => format!("nc_pair({:?}, {:?})", all[0][0], all[0][1]),
        (_, Some(Table::Words(all))) => lines(all.iter().map(|[hi, lo]| format!("{{ {hi:?}, {lo:?} }}")).collect(), 2),
        (_, Some(Table::Numbers(all))) => all.into_iter().map(text).collect::<Vec<_>>().join(", "),
        (other, None) => unreachable!("there is no number {other}"),
    }
}

/// The text of a piece with the numbers of the library in place.
pub(super) fn text(name: &str) -> String {
    let mut parts = piece(name).0.split('@');
    let mut out = parts.next().unwrap_or_default().to_string();
    while let (Some(name), Some(rest)) = (parts.next(), parts.next()) {
        out += &number(name);
        out += rest;
    }
    out
}
