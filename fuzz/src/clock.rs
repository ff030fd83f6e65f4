//! Time a text takes. On a busy machine a waiting process looks like a hanging one, so the processor's time counts.

use std::time::{Duration, Instant};

/// A moment, in time on the wall and time of this process.
#[derive(Clone, Copy)]
pub(crate) struct Moment {
    wall: Instant,
    processor: Option<Duration>,
}

/// The processor time of this process, where the system tells (Linux; its clock ticks are hundredths of a second).
fn processor() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = text.rsplit(')').next()?.split_whitespace().collect();
    let ticks: u64 = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
    Some(Duration::from_millis(10 * ticks))
}

impl Moment {
    pub(crate) fn now() -> Moment {
        Moment { wall: Instant::now(), processor: processor() }
    }

    /// Whether more time has passed: of the processor where that is known, or far more on the wall.
    pub(crate) fn exceeds(self, patience: Duration) -> bool {
        let wall = self.wall.elapsed();
        match (self.processor, processor()) {
            (Some(then), Some(now)) if wall < 30 * patience => now - then > patience,
            _ => wall > patience,
        }
    }
}
