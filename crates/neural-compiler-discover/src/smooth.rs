//! A smooth course through noisy samples. In: times and values; out: values anywhere between, by a Gaussian process whose length,
//! roughness and noise are the most probable ones (Rasmussen and Williams 2006, chapter 5).
//! What comes out screens hypotheses; none is judged by it. Invariant: the same data give the same course.

use neural_compiler_fit::optimise::linalg::symmetric_eigen;

/// Samples kept at most: the work grows with their cube. More are averaged with their neighbours.
const MOST: usize = 240;

/// A smooth course.
#[derive(Clone, Debug)]
pub(crate) struct Course {
    times: Vec<f64>,
    weights: Vec<f64>,
    kernel: Kernel,
    length: f64,
    mean: f64,
    scale: f64,
    span: (f64, f64),
}

/// How two samples at a distance, in lengths, belong together.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kernel {
    /// Infinitely smooth.
    Squared,
    /// Twice differentiable: Matérn's with 5/2.
    Matern,
}

impl Kernel {
    fn at(self, d: f64) -> f64 {
        match self {
            Kernel::Squared => (-0.5 * d * d).exp(),
            Kernel::Matern => {
                let r = 5f64.sqrt() * d.abs();
                (1.0 + r + r * r / 3.0) * (-r).exp()
            }
        }
    }
}

impl Course {
    /// Through these samples, in the order of time.
    pub(crate) fn new(times: &[f64], values: &[f64]) -> Course {
        let span = (times.first().copied().unwrap_or(0.0), times.last().copied().unwrap_or(1.0));
        let width = if span.1 > span.0 { span.1 - span.0 } else { 1.0 };
        let (times, values) = thinned(times, values);
        let n = times.len().max(1);
        let t: Vec<f64> = times.iter().map(|t| (t - span.0) / width).collect();
        let mean = values.iter().sum::<f64>() / n as f64;
        let spread = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n as f64).sqrt();
        let scale = if spread > 0.0 { spread } else { 1.0 };
        let y: Vec<f64> = values.iter().map(|v| (v - mean) / scale).collect();
        let shortest = 1.5 / n as f64;
        let mut best: Option<(f64, Course)> = None;
        let kernels: &[Kernel] = if times.len() > 2 { &[Kernel::Squared, Kernel::Matern] } else { &[] };
        for &kernel in kernels {
            for step in 0..12 {
                let length = shortest * (1.5 / shortest).powf(f64::from(step) / 11.0);
                let Some(eigen) = symmetric_eigen(n, |i, j| kernel.at((t[i] - t[j]) / length)) else { continue };
                let (vectors, lambda) = (eigen.vectors, eigen.values);
                let z: Vec<f64> = vectors.iter().map(|v| v.iter().zip(&y).map(|(v, y)| v * y).sum()).collect();
                for power in 0..22 {
                    let ratio = 10f64.powf(-9.0 + 0.5 * f64::from(power));
                    let d: Vec<f64> = (0..n).map(|k| lambda[k].max(0.0) + ratio).collect();
                    let variance = z.iter().zip(&d).map(|(z, d)| z * z / d).sum::<f64>() / n as f64;
                    let cost = n as f64 * variance.max(1e-300).ln() + d.iter().map(|d| d.ln()).sum::<f64>();
                    if best.as_ref().is_none_or(|b| cost < b.0) {
                        let weights = (0..n).map(|i| (0..n).map(|k| vectors[k][i] * z[k] / d[k]).sum()).collect();
                        best = Some((cost, Course { times: t.clone(), weights, kernel, length, mean, scale, span }));
                    }
                }
            }
        }
        let flat = Course { times: vec![], weights: vec![], kernel: Kernel::Squared, length: 1.0, mean, scale, span };
        best.map_or(flat, |b| b.1)
    }

    /// The value at a time.
    pub(crate) fn at(&self, time: f64) -> f64 {
        let width = if self.span.1 > self.span.0 { self.span.1 - self.span.0 } else { 1.0 };
        let t = (time - self.span.0) / width;
        let near = self.times.iter().zip(&self.weights).map(|(s, w)| w * self.kernel.at((t - s) / self.length)).sum::<f64>();
        self.mean + self.scale * near
    }
}

/// Neighbours averaged until there are few enough.
fn thinned(times: &[f64], values: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let size = times.len().div_ceil(MOST).max(1);
    let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
    (times.chunks(size).map(mean).collect(), values.chunks(size).map(mean).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use neural_compiler_fit::random::Stream;

    #[test]
    fn finds_the_course_under_noise() {
        let mut stream = Stream::new(1, 2);
        let times: Vec<f64> = (0..120).map(|i| f64::from(i) / 12.0).collect();
        let noisy: Vec<f64> = times.iter().map(|t| t.sin() + 0.1 * stream.normal()).collect();
        let course = Course::new(&times, &noisy);
        let worst = times.iter().map(|&t| (course.at(t) - t.sin()).abs()).fold(0.0, f64::max);
        assert!(worst < 0.12, "{worst}");
    }

    #[test]
    fn clean_samples_are_met() {
        let times: Vec<f64> = (0..60).map(|i| f64::from(i) / 6.0).collect();
        let clean: Vec<f64> = times.iter().map(|t| (-t).exp()).collect();
        let course = Course::new(&times, &clean);
        assert!(times.iter().all(|&t| (course.at(t) - (-t).exp()).abs() < 1e-3));
    }
}
