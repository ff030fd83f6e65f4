//! How long the next step may be. In: the error of a step as a share of what is allowed, and the scheme's order; out: the factor by which
//! the next step is longer or shorter. The same numbers rule in fits and, by way of the extension, in PyTorch's `odeint`.

use super::schemes::Scheme;

/// The share of the best guess that is taken.
pub const SAFETY: f64 = 0.9;
/// A step shrinks to this share at most.
pub const SHRINK: f64 = 0.2;
/// A step grows by this factor at most.
pub const GROW: f64 = 5.0;
/// The share to which a step shrinks that has left the numbers.
pub const FAILED: f64 = 0.1;

/// The choice of steps for a scheme.
#[derive(Clone, Copy, Debug)]
pub struct Control {
    order: f64,
    /// Smaller errors let a step grow as much as it may, whatever their root is.
    tiny: f64,
}

impl Control {
    /// `None` for a scheme without an error estimate.
    pub fn new(scheme: Scheme) -> Option<Control> {
        let order = scheme.error_order()?;
        Some(Control { order, tiny: 0.99 * (SAFETY / GROW).powf(order) })
    }

    /// The factor for the next step, or for the same step again, behind a step of this error; `fine`: its numbers are finite.
    pub fn factor(self, error: f64, fine: bool) -> f64 {
        if !fine {
            FAILED
        } else if error <= self.tiny {
            GROW
        } else {
            (SAFETY * error.powf(-1.0 / self.order)).clamp(SHRINK, GROW)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_follow_the_root_of_the_error_within_bounds() {
        let control = Control::new("dopri5".parse().unwrap()).unwrap();
        assert_eq!(control.factor(1.0, true), SAFETY);
        assert_eq!(control.factor(32.0, true), 0.45);
        assert_eq!((control.factor(0.0, true), control.factor(1e-30, true)), (GROW, GROW));
        assert_eq!((control.factor(1e30, true), control.factor(f64::NAN, false)), (SHRINK, FAILED));
        assert!(Control::new("rk4".parse().unwrap()).is_none());
    }
}
