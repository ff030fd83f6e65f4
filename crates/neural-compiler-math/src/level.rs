//! SIMD levels. In: what the processor has, and what the environment allows; out: the level the loops run at.
//!
//! Invariant: the level is decided once per process, so that two calls never disagree; no level changes a bit of any result.

use std::sync::atomic::{AtomicU8, Ordering};

/// This environment variable keeps loops and generated code at a lower level than the processor has: `baseline`, `avx2` or `avx512`. It
/// makes the paths of other machines testable on this one.
pub const LIMIT: &str = "NEURAL_COMPILER_LEVEL";

/// A set of CPU instructions the loops are compiled for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Level {
    /// What every CPU of the target has (SSE2 on x86-64).
    Baseline,
    /// AVX2 and FMA.
    Avx2,
    /// AVX-512 F, VL, DQ, BW and CD.
    Avx512,
}

impl Level {
    const ALL: [Level; 3] = [Level::Baseline, Level::Avx2, Level::Avx512];

    /// The highest level this CPU has and the environment allows; decided once. A value of [`LIMIT`] that names no level allows all:
    /// [`Level::limit`] tells.
    #[inline]
    pub fn best() -> Level {
        static CACHE: AtomicU8 = AtomicU8::new(u8::MAX);
        match CACHE.load(Ordering::Relaxed) {
            0 => Level::Baseline,
            1 => Level::Avx2,
            2 => Level::Avx512,
            _ => {
                let level = Level::limit().unwrap_or(Level::Avx512).min(Level::detect());
                CACHE.store(level as u8, Ordering::Relaxed);
                level
            }
        }
    }

    /// The level the environment allows: all, where it says nothing; an error where it says what is no level.
    pub fn limit() -> Result<Level, String> {
        match std::env::var_os(LIMIT) {
            None => Ok(Level::Avx512),
            Some(value) => value.to_str().unwrap_or_default().parse().map_err(|()| {
                let names = Level::ALL.map(Level::name).join(", ");
                format!("{LIMIT} is `{}`, which is no level; the levels are {names}", value.to_string_lossy())
            }),
        }
    }

    /// Its name, as in [`LIMIT`].
    pub fn name(self) -> &'static str {
        match self {
            Level::Baseline => "baseline",
            Level::Avx2 => "avx2",
            Level::Avx512 => "avx512",
        }
    }

    /// All levels up to [`Level::best`], lowest first.
    pub fn available() -> &'static [Level] {
        &Self::ALL[..=Level::best() as usize]
    }

    #[cold]
    fn detect() -> Level {
        #[cfg(target_arch = "x86_64")]
        {
            if !(is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")) {
                return Level::Baseline;
            }
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512cd")
            {
                return Level::Avx512;
            }
            return Level::Avx2;
        }
        #[allow(unreachable_code)]
        Level::Baseline
    }
}

impl std::str::FromStr for Level {
    type Err = ();

    fn from_str(name: &str) -> Result<Level, ()> {
        Level::ALL.into_iter().find(|l| l.name() == name).ok_or(())
    }
}
