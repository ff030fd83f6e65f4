//! Robust losses. In: residuals; out: their cost, and residuals and derivatives rescaled so that a Gauss-Newton step on them is a
//! step on the robust cost (Triggs, McLauchlan, Hartley, Fitzgibbon 2000).

/// How a residual counts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Loss {
    /// Its square.
    Squares,
    /// Its square up to the scale, then linear.
    Huber(f64),
    /// A smooth version of the same.
    SoftL1(f64),
    /// Logarithmic: far outliers hardly count.
    Cauchy(f64),
}

impl Loss {
    /// `rho(z)` and its first two derivatives, at the squared scaled residual.
    fn rho(self, z: f64) -> (f64, f64, f64) {
        match self {
            Loss::Squares => (z, 1.0, 0.0),
            Loss::Huber(_) if z <= 1.0 => (z, 1.0, 0.0),
            Loss::Huber(_) => {
                let root = z.sqrt();
                (2.0 * root - 1.0, 1.0 / root, -0.5 / (z * root))
            }
            Loss::SoftL1(_) => {
                let root = (1.0 + z).sqrt();
                (2.0 * (root - 1.0), 1.0 / root, -0.5 / (root * root * root))
            }
            Loss::Cauchy(_) => (z.ln_1p(), 1.0 / (1.0 + z), -1.0 / ((1.0 + z) * (1.0 + z))),
        }
    }

    /// The scale beyond which a residual is an outlier.
    pub fn scale(self) -> f64 {
        match self {
            Loss::Squares => 1.0,
            Loss::Huber(c) | Loss::SoftL1(c) | Loss::Cauchy(c) => c,
        }
    }

    /// The same loss with another scale.
    pub fn with_scale(self, c: f64) -> Loss {
        match self {
            Loss::Squares => Loss::Squares,
            Loss::Huber(_) => Loss::Huber(c),
            Loss::SoftL1(_) => Loss::SoftL1(c),
            Loss::Cauchy(_) => Loss::Cauchy(c),
        }
    }

    /// The cost of residuals; for squares their sum.
    pub fn cost(self, residuals: &[f64]) -> f64 {
        if self == Loss::Squares {
            return super::dot(residuals, residuals);
        }
        let c = self.scale();
        residuals.iter().map(|r| c * c * self.rho((r / c) * (r / c)).0).sum()
    }

    /// How strongly a residual pulls (half the derivative of its cost), and how that changes with it; for squares the residual and 1.
    pub fn pull(self, residual: f64) -> (f64, f64) {
        let c = self.scale();
        let z = (residual / c) * (residual / c);
        let (_, first, second) = self.rho(z);
        (residual * first, first + 2.0 * second * z)
    }

    /// Rescales residuals and derivatives in place.
    pub(crate) fn rescale(self, residuals: &mut [f64], jacobian: &mut [f64]) {
        if self == Loss::Squares {
            return;
        }
        let (c, m) = (self.scale(), residuals.len());
        for (i, r) in residuals.iter_mut().enumerate() {
            let z = (*r / c) * (*r / c);
            let (_, first, second) = self.rho(z);
            let scale = (first + 2.0 * second * z).max(f64::EPSILON).sqrt();
            *r *= first / scale;
            jacobian.iter_mut().skip(i).step_by(m).for_each(|x| *x *= scale);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derivatives_of_losses() {
        for loss in [Loss::Huber(1.0), Loss::SoftL1(1.0), Loss::Cauchy(1.0), Loss::Squares] {
            for z in [0.3, 2.0, 50.0] {
                let h = 1e-5 * z;
                let (lo, mid, hi) = (loss.rho(z - h), loss.rho(z), loss.rho(z + h));
                assert!(((hi.0 - lo.0) / (2.0 * h) - mid.1).abs() < 1e-8, "{loss:?} at {z}");
                assert!(((hi.1 - lo.1) / (2.0 * h) - mid.2).abs() < 1e-7, "{loss:?} at {z}");
                let wide = loss.with_scale(3.0);
                let (lo, mid, hi) = (wide.pull(z - h), wide.pull(z), wide.pull(z + h));
                assert!(((wide.cost(&[z + h]) - wide.cost(&[z - h])) / (4.0 * h) - mid.0).abs() < 1e-8, "{loss:?} at {z}");
                assert!(((hi.0 - lo.0) / (2.0 * h) - mid.1).abs() < 1e-7, "{loss:?} at {z}");
            }
        }
    }
}
