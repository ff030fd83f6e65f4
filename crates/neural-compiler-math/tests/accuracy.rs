//! Errors in ULP: f64 against the committed multiprecision values, f32 over a stride of all bit patterns against
//! the f64 kernels.

use neural_compiler_math::{BINARY, TERNARY, UNARY};

/// 2^n, also subnormal.
fn pow2(n: i32) -> f64 {
    if n >= -1022 { f64::from_bits(((1023 + n) as u64) << 52) } else { f64::from_bits(1u64 << (n + 1074)) }
}

/// Exponent of a nonzero finite number.
fn exponent(x: f64) -> i32 {
    let e = ((x.to_bits() >> 52) & 0x7ff) as i32 - 1023;
    if e == -1023 { exponent(x * pow2(60)) - 60 } else { e }
}

/// |got - (hi + lo) 2^e| in units of the f64 spacing at the true value.
fn ulp_error(got: f64, hi: f64, lo: f64, e: i32) -> f64 {
    if got.is_nan() {
        return f64::INFINITY;
    }
    // got 2^-e, an infinity counting as 2^1024
    let scaled = if got.is_infinite() && e > 0 { pow2(1024 - e).copysign(got) } else { got * pow2(-e) };
    if hi.is_infinite() {
        return if scaled == hi || got.is_infinite() { 0.0 } else { f64::INFINITY };
    }
    let ulp_exponent = if hi == 0.0 { -1074 } else { (exponent(hi) + e).max(-1022) - 52 };
    ((scaled - hi) - lo).abs() / pow2(ulp_exponent - e)
}

fn parse(name: &str, text: &str, arguments: usize, f: impl Fn(&[f64]) -> f64) -> f64 {
    let mut worst = (0.0, String::new());
    let mut lines = 0;
    for line in text.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let bits = |i: usize| f64::from_bits(u64::from_str_radix(fields[i], 16).unwrap());
        let args: Vec<f64> = (0..arguments).map(bits).collect();
        let (hi, lo) = (bits(arguments), bits(arguments + 1));
        let e = fields[arguments + 2].parse().unwrap();
        let got = f(&args);
        let small = e == 0 && ((got - hi) - lo).abs() <= near_zeros(name);
        let error = if small { 0.0 } else { ulp_error(got, hi, lo, e) };
        if error > worst.0 {
            worst = (error, format!("{args:?}: got {:e}, true {hi:e}", f(&args)));
        }
        lines += 1;
    }
    println!("{name}: {:.4} ULP over {lines} points, {}", worst.0, worst.1);
    assert!(worst.0 <= bound(name), "{name}: {} ULP at {}", worst.0, worst.1);
    worst.0
}

/// What a function may be off, in ULP: high derivatives of the Voigt profile cancel.
fn bound(name: &str) -> f64 {
    match name {
        "voigt-xxx" | "voigt-xxg" => 64.0,
        "voigt-xxxx" | "voigt-xxxg" => 8192.0,
        _ => 1.0,
    }
}

/// What a function may be off beside 1 ULP, absolutely: next to a zero that is no number of the type, a result has fewer digits.
fn near_zeros(name: &str) -> f64 {
    match name {
        "lgamma" | "digamma" | "trigamma" | "polygamma" | "lbeta" | "bessel-j0" | "bessel-j1" | "bessel-j" => 1e-20,
        "gamma-p" | "gamma-q" | "beta-p" | "beta-q" => 1e-20,
        "gamma-p-1" | "gamma-p-2" | "gamma-p-3" => 1e-18,
        _ if name.starts_with("beta-p-") => 1e-18,
        _ => 0.0,
    }
}

#[test]
fn f64_within_one_ulp_of_the_reference() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reference/");
    let mut files = 0;
    for f in UNARY {
        if let Ok(text) = std::fs::read_to_string(format!("{folder}{}.txt", f.name)) {
            parse(f.name, &text, 1, |a| f.f64(a[0]));
            files += 1;
        }
    }
    for f in BINARY {
        if let Ok(text) = std::fs::read_to_string(format!("{folder}{}.txt", f.name)) {
            parse(f.name, &text, 2, |a| f.f64(a[0], a[1]));
            files += 1;
        }
    }
    for f in TERNARY {
        if let Ok(text) = std::fs::read_to_string(format!("{folder}{}.txt", f.name)) {
            parse(f.name, &text, 3, |a| f.f64(a[0], a[1], a[2]));
            files += 1;
        }
    }
    assert_eq!(files, 80, "a reference file is missing or has no function");
}

/// |got - want| in units of the f32 spacing at want.
fn ulp_error_f32(got: f32, want: f64) -> f64 {
    if want.is_nan() || got.is_nan() {
        return if want.is_nan() && got.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if want.is_infinite() {
        return if got as f64 == want { 0.0 } else { f64::INFINITY };
    }
    let ulp = if want == 0.0 { pow2(-149) } else { pow2(exponent(want).clamp(-126, 127) - 23) };
    let got = if got.is_infinite() { pow2(128).copysign(got as f64) } else { got as f64 };
    if want.abs() >= pow2(128) && got.abs() == pow2(128) && got * want > 0.0 {
        return 0.0;
    }
    (got - want).abs() / ulp
}

/// What an f32 kernel may be off at the inputs taken here. Kernels that compute in f64 round once at the end. Those that compute in f32
/// have their largest error, rounded up to two digits: worse than that is another kernel. Over all inputs it may be a little more
/// (docs/accuracy.md), but never 1.
fn f32_bound(name: &str) -> f64 {
    match name {
        "exp" => 0.78,
        "sin" => 0.90,
        "cos" => 0.85,
        "cosh" => 0.88,
        "tanh" => 0.95,
        "sigmoid" => 0.76,
        _ => 0.51,
    }
}

#[test]
fn f32_within_its_bound_over_a_stride_of_all_inputs() {
    for f in UNARY {
        let mut worst = (0.0, 0.0f32);
        let mut bits = 0u32;
        loop {
            let x = f32::from_bits(bits);
            let error = ulp_error_f32(f.f32(x), f.f64(x as f64));
            if error > worst.0 {
                worst = (error, x);
            }
            bits = match bits.checked_add(4099) {
                Some(b) => b,
                None => break,
            };
        }
        println!("{}: {:.5} ULP at {:e}", f.name, worst.0, worst.1);
        assert!(worst.0 <= f32_bound(f.name), "{}: {} ULP at {:e}", f.name, worst.0, worst.1);
    }
}

#[test]
fn f32_functions_of_two_arguments_within_one_ulp() {
    // a spread of bit patterns against each other, moderate pairs among them
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 32) as u32
    };
    for f in BINARY {
        let mut worst = (0.0, 0.0f32, 0.0f32);
        // Functions of the kind that takes tens of microseconds a value have fewer points.
        let slow = ["gamma-", "bessel-", "polygamma"].iter().any(|kind| f.name.starts_with(kind));
        for i in 0..if slow { 20_000 } else { 400_000 } {
            let (mut a, mut b) = (f32::from_bits(next()), f32::from_bits(next()));
            if i % 2 == 0 {
                a = (next() as f32 / u32::MAX as f32 - 0.25) * 20.0;
                b = (next() as f32 / u32::MAX as f32 - 0.5) * 20.0;
            }
            let error = ulp_error_f32(f.f32(a, b), f.f64(a as f64, b as f64));
            if error > worst.0 {
                worst = (error, a, b);
            }
        }
        println!("{}: {:.5} ULP at {:e}, {:e}", f.name, worst.0, worst.1, worst.2);
        assert!(worst.0 <= 0.51, "{}: {} ULP at {:e}, {:e}", f.name, worst.0, worst.1, worst.2);
    }
}
