//! Distributions by name: of the errors of observations, and of parameters before the data. In: a name; out: its row, in which everything
//! about a distribution stands.
//!
//! The logarithm of a density is a program of the language in `y` (the observation), `m` (its location: what the model predicts) and the
//! arguments by their names, so that its derivatives are those of every program. Invariant: a density is that of the whole line or of all
//! whole numbers, with every constant, so that likelihoods of different distributions can be compared.

/// What an observation may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Support {
    /// Any number.
    Line,
    /// A positive number.
    Positive,
    /// A whole number, 0 or more.
    Counts,
    /// 0 or 1.
    Bits,
}

impl Support {
    /// Whether a number can be an observation.
    pub fn holds(self, y: f64) -> bool {
        match self {
            Support::Line => true,
            Support::Positive => y > 0.0,
            Support::Counts => y >= 0.0 && y.fract() == 0.0,
            Support::Bits => y == 0.0 || y == 1.0,
        }
    }

    /// What an observation is, in words.
    pub fn words(self) -> &'static str {
        match self {
            Support::Line => "a number",
            Support::Positive => "a positive number",
            Support::Counts => "a whole number, 0 or more",
            Support::Bits => "0 or 1",
        }
    }

    /// Whether observations are whole numbers.
    pub fn is_whole(self) -> bool {
        matches!(self, Support::Counts | Support::Bits)
    }
}

/// Everything known about a distribution of errors.
#[derive(Debug)]
pub struct Distribution {
    /// Its name.
    pub name: &'static str,
    /// Its arguments besides the location, by name.
    pub arguments: &'static [&'static str],
    /// What it is.
    pub doc: &'static str,
    /// What its location is called.
    pub location: &'static str,
    /// What observations may be.
    pub support: Support,
    /// The logarithm of the density, or of the probability of a whole number.
    pub density: &'static str,
    /// The logarithm of the probability to lie below `y`, of whole numbers at or below it.
    pub below: Option<&'static str>,
    /// The logarithm of the probability to lie above `y`.
    pub above: Option<&'static str>,
    /// How sharply an observation determines the location and each argument, for the way to the maximum: the expected information, or a
    /// bound of the curvature. Empty: the square of the slope.
    pub curvature: &'static [&'static str],
    /// The expected information about the location, where the density has a kink there and therefore no curvature that tells.
    pub kinked: Option<&'static str>,
    /// Whether location and arguments are possible, given an observation; and what must hold, in words.
    pub possible: fn(y: f64, of: &[f64]) -> bool,
    /// What must hold of location and arguments, in words.
    pub rule: &'static str,
    /// What it becomes as its first argument grows without end, and what data are for which that is most probable.
    pub limit: Option<&'static str>,
    /// Of whole numbers: mean, variance and excess kurtosis by location and arguments, which say how far observations scatter; the last is
    /// NaN of two values, whose scatter follows from their mean and says nothing more.
    pub moments: Option<Moments>,
}

/// Mean, variance and excess kurtosis by location and arguments.
pub type Moments = fn(of: &[f64]) -> [f64; 3];

impl Distribution {
    /// How it is written.
    pub fn usage(&self) -> String {
        let words: Vec<&str> = std::iter::once(self.name).chain(self.arguments.iter().copied()).collect();
        format!("({})", words.join(" "))
    }
}

/// The distribution of errors of this name.
pub fn noise(name: &str) -> Option<&'static Distribution> {
    NOISES.iter().find(|d| d.name == name)
}

const SCALE: &[&str] = &["(/ 1 (square s))", "(/ 2 (square s))"];

/// The distribution of parameters of this name.
pub fn prior(name: &str) -> Option<&'static Distribution> {
    PRIORS.iter().find(|d| d.name == name)
}

impl PartialEq for Distribution {
    fn eq(&self, other: &Distribution) -> bool {
        std::ptr::eq(self, other) || (self.name, self.density) == (other.name, other.density)
    }
}

/// All distributions of errors.
pub const NOISES: &[Distribution] = &[
    Distribution {
        name: "normal",
        arguments: &["s"],
        doc: "around the prediction, with the standard deviation s",
        location: "mean",
        support: Support::Line,
        density: "(- (* -0.5 (square (/ (- y m) s))) (+ (log s) 0.9189385332046727))",
        below: Some("(normal-log-cdf (/ (- y m) s))"),
        above: Some("(normal-log-cdf (/ (- m y) s))"),
        curvature: SCALE,
        kinked: None,
        possible: |_, of| of[1] > 0.0,
        rule: "the standard deviation is positive",
        limit: None,
        moments: None,
    },
    Distribution {
        name: "lognormal",
        arguments: &["s"],
        doc: "its logarithm is normal around that of the prediction, the median, with the standard deviation s",
        location: "median",
        support: Support::Positive,
        density: "(- (* -0.5 (square (/ (log (/ y m)) s))) (+ (log s) (log y) 0.9189385332046727))",
        below: Some("(normal-log-cdf (/ (log (/ y m)) s))"),
        above: Some("(normal-log-cdf (/ (log (/ m y)) s))"),
        curvature: &["(/ 1 (square (* s m)))", "(/ 2 (square s))"],
        kinked: None,
        possible: |_, of| of[0] > 0.0 && of[1] > 0.0,
        rule: "the prediction and the standard deviation of the logarithm are positive",
        limit: None,
        moments: None,
    },
    Distribution {
        name: "student-t",
        arguments: &["nu", "s"],
        doc: "around the prediction, with nu degrees of freedom and the scale s",
        location: "centre",
        support: Support::Line,
        density: "(- (- (lbeta (/ nu 2) 0.5)) (* 0.5 (log nu)) (log s) (* 0.5 (+ nu 1) (log1p (/ (square (/ (- y m) s)) nu))))",
        below: Some(
            "(let* ((z (/ (- y m) s)) (tail (* 0.5 (beta-p (/ nu 2) 0.5 (/ nu (+ nu (square z)))))))
               (if (< z 0) (log tail) (log (- 1 tail))))",
        ),
        above: Some(
            "(let* ((z (/ (- m y) s)) (tail (* 0.5 (beta-p (/ nu 2) 0.5 (/ nu (+ nu (square z)))))))
               (if (< z 0) (log tail) (log (- 1 tail))))",
        ),
        curvature: &["(/ (+ nu 1) (* (+ nu 3) (square s)))", "", "(/ (* 2 nu) (* (+ nu 3) (square s)))"],
        kinked: None,
        possible: |_, of| of[1] > 0.0 && of[2] > 0.0,
        rule: "the degrees of freedom and the scale are positive",
        limit: Some("the normal distribution: the tails of the data are no heavier"),
        moments: None,
    },
    Distribution {
        name: "laplace",
        arguments: &["s"],
        doc: "around the prediction, the median, with the mean absolute deviation s",
        location: "median",
        support: Support::Line,
        density: "(- (/ (- (abs (- y m))) s) (log (* 2 s)))",
        below: Some("(let ((z (/ (- y m) s))) (if (< z 0) (- z (log 2)) (log (- 1 (* 0.5 (exp (- z)))))))"),
        above: Some("(let ((z (/ (- m y) s))) (if (< z 0) (- z (log 2)) (log (- 1 (* 0.5 (exp (- z)))))))"),
        // The parabola around the kink that touches the density at the prediction: steps along it never make the likelihood smaller.
        curvature: &["(/ 1 (* s (max (abs (- y m)) (* 1e-12 s))))", "(/ 1 (square s))"],
        kinked: Some("(/ 1 (square s))"),
        possible: |_, of| of[1] > 0.0,
        rule: "the mean absolute deviation is positive",
        limit: None,
        moments: None,
    },
    Distribution {
        name: "poisson",
        arguments: &[],
        doc: "a count whose mean is the prediction",
        location: "mean",
        support: Support::Counts,
        density: "(if (= y 0) (- m) (- (* y (log m)) (+ m (lgamma (+ y 1)))))",
        below: Some("(log (gamma-q (+ y 1) m))"),
        above: Some("(log (gamma-p (+ y 1) m))"),
        curvature: &["(/ 1 m)"],
        kinked: None,
        possible: |y, of| of[0] > 0.0 || (of[0] == 0.0 && y == 0.0),
        rule: "the mean of a count is positive",
        limit: None,
        moments: Some(|of| [of[0], of[0], 1.0 / of[0]]),
    },
    Distribution {
        name: "negative-binomial",
        arguments: &["k"],
        doc: "a count whose mean is the prediction m and whose variance is m + m^2/k",
        location: "mean",
        support: Support::Counts,
        // By the beta function, whose logarithm keeps its digits where k is large and two gammas would cancel.
        density: "(- (if (= y 0) 0 (- (* y (log (/ m (+ k m)))) (+ (log (+ y k)) (lbeta k (+ y 1))))) (* k (log1p (/ m k))))",
        below: Some("(log (beta-p k (+ y 1) (/ k (+ k m))))"),
        above: Some("(log (beta-p (+ y 1) k (/ m (+ k m))))"),
        curvature: &["(/ k (* m (+ k m)))", ""],
        kinked: None,
        possible: |y, of| (of[0] > 0.0 || (of[0] == 0.0 && y == 0.0)) && of[1] > 0.0,
        rule: "the mean of a count and the size k are positive",
        limit: Some("Poisson's distribution: the counts scatter no more than its"),
        moments: Some(|of| {
            let variance = of[0] + of[0] * of[0] / of[1];
            [of[0], variance, 6.0 / of[1] + 1.0 / variance]
        }),
    },
    Distribution {
        name: "bernoulli",
        arguments: &[],
        doc: "1 with the probability that is the prediction, else 0",
        location: "probability",
        support: Support::Bits,
        density: "(if (= y 0) (log (- 1 m)) (log m))",
        below: None,
        above: None,
        curvature: &["(/ 1 (* m (- 1 m)))"],
        kinked: None,
        possible: |y, of| (0.0..=1.0).contains(&of[0]) && of[0] != 1.0 - y,
        rule: "a probability lies between 0 and 1",
        limit: None,
        moments: Some(|of| [of[0], of[0] * (1.0 - of[0]), f64::NAN]),
    },
    Distribution {
        name: "binomial",
        arguments: &["n"],
        doc: "how many of n trials succeed, each with the probability that is the prediction",
        location: "probability",
        support: Support::Counts,
        density: "(+ (- (lgamma (+ n 1)) (+ (lgamma (+ y 1)) (lgamma (+ (- n y) 1))))
                     (if (= y 0) 0 (* y (log m))) (if (= y n) 0 (* (- n y) (log (- 1 m)))))",
        below: Some("(if (>= y n) 0 (log (beta-p (- n y) (+ y 1) (- 1 m))))"),
        above: Some("(log (beta-p (+ y 1) (- n y) m))"),
        curvature: &["(/ n (* m (- 1 m)))", ""],
        kinked: None,
        possible: |y, of| {
            let inside = (0.0..=1.0).contains(&of[0]) && of[1].fract() == 0.0 && of[1] >= y;
            inside && (of[0] > 0.0 || y == 0.0) && (of[0] < 1.0 || y == of[1])
        },
        rule: "a probability lies between 0 and 1, and the number of trials is a whole number of at least as many as succeeded",
        limit: None,
        moments: Some(|of| {
            let variance = of[1] * of[0] * (1.0 - of[0]);
            [of[1] * of[0], variance, if of[1] > 1.0 { 1.0 / variance - 6.0 / of[1] } else { f64::NAN }]
        }),
    },
];

/// What most priors have in common.
const PRIOR: Distribution = Distribution {
    name: "",
    arguments: &[],
    doc: "",
    location: "value",
    support: Support::Line,
    density: "",
    below: None,
    above: None,
    curvature: &[],
    kinked: None,
    possible: |_, _| true,
    rule: "",
    limit: None,
    moments: None,
};

/// All distributions of parameters: of the value `m` of a parameter, given numbers. Their `possible` takes NaN for any value.
pub const PRIORS: &[Distribution] = &[
    Distribution {
        name: "normal",
        arguments: &["mean", "s"],
        doc: "around the mean, with the standard deviation s",
        density: "(- (* -0.5 (square (/ (- m mean) s))) (+ (log s) 0.9189385332046727))",
        curvature: &["(/ 1 (square s))", "0", "0"],
        possible: |_, of| of[2] > 0.0,
        rule: "the standard deviation is positive",
        ..PRIOR
    },
    Distribution {
        name: "lognormal",
        arguments: &["mean", "s"],
        doc: "its logarithm is normal around the mean, with the standard deviation s",
        density: "(- (* -0.5 (square (/ (- (log m) mean) s))) (+ (log s) (log m) 0.9189385332046727))",
        curvature: &["(/ 1 (square (* s m)))", "0", "0"],
        possible: |_, of| of[2] > 0.0 && (of[0].is_nan() || of[0] > 0.0),
        rule: "the value and the standard deviation are positive",
        ..PRIOR
    },
    Distribution {
        name: "uniform",
        arguments: &["a", "b"],
        doc: "anywhere between a and b",
        density: "(- (log (- b a)))",
        possible: |_, of| of[1] < of[2] && (of[0].is_nan() || (of[1]..=of[2]).contains(&of[0])),
        rule: "the value lies between a and b",
        ..PRIOR
    },
    Distribution {
        name: "half-normal",
        arguments: &["s"],
        doc: "the size of a normal number around 0 with the standard deviation s",
        density: "(- (* -0.5 (square (/ m s))) (+ (log s) 0.22579135264472744))",
        curvature: &["(/ 1 (square s))", "0"],
        possible: |_, of| of[1] > 0.0 && (of[0].is_nan() || of[0] >= 0.0),
        rule: "the value is not negative, the standard deviation positive",
        ..PRIOR
    },
    Distribution {
        name: "cauchy",
        arguments: &["centre", "s"],
        doc: "around the centre, with the scale s: half of it lies within that",
        density: "(- (- (log (+ 1 (square (/ (- m centre) s))))) (log (* pi s)))",
        curvature: &["(/ 2 (+ (square s) (square (- m centre))))", "0", "0"],
        possible: |_, of| of[2] > 0.0,
        rule: "the scale is positive",
        ..PRIOR
    },
    Distribution {
        name: "half-cauchy",
        arguments: &["s"],
        doc: "the size of a Cauchy number around 0 with the scale s",
        density: "(- (log 2) (+ (log (+ 1 (square (/ m s)))) (log (* pi s))))",
        curvature: &["(/ 2 (+ (square s) (square m)))", "0"],
        possible: |_, of| of[1] > 0.0 && (of[0].is_nan() || of[0] >= 0.0),
        rule: "the value is not negative, the scale positive",
        ..PRIOR
    },
    Distribution {
        name: "gamma",
        arguments: &["shape", "rate"],
        doc: "of this shape and rate: its mean is shape/rate",
        density: "(- (+ (* shape (log rate)) (* (- shape 1) (log m))) (+ (lgamma shape) (* rate m)))",
        curvature: &["(/ shape (square m))", "0", "0"],
        possible: |_, of| of[1] > 0.0 && of[2] > 0.0 && (of[0].is_nan() || of[0] > 0.0),
        rule: "the value, the shape and the rate are positive",
        ..PRIOR
    },
    Distribution {
        name: "exponential",
        arguments: &["rate"],
        doc: "of this rate: its mean is 1/rate",
        density: "(- (log rate) (* rate m))",
        possible: |_, of| of[1] > 0.0 && (of[0].is_nan() || of[0] >= 0.0),
        rule: "the value is not negative, the rate positive",
        ..PRIOR
    },
    Distribution {
        name: "beta",
        arguments: &["a", "b"],
        doc: "between 0 and 1, of the shapes a and b: its mean is a/(a+b)",
        density: "(- (+ (* (- a 1) (log m)) (* (- b 1) (log (- 1 m)))) (lbeta a b))",
        curvature: &["(+ (/ a (square m)) (/ b (square (- 1 m))))", "0", "0"],
        possible: |_, of| of[1] > 0.0 && of[2] > 0.0 && (of[0].is_nan() || (of[0] > 0.0 && of[0] < 1.0)),
        rule: "the value lies between 0 and 1, and the shapes are positive",
        ..PRIOR
    },
    Distribution {
        name: "student-t",
        arguments: &["nu", "centre", "s"],
        doc: "around the centre, with nu degrees of freedom and the scale s",
        density: "(- (- (lbeta (/ nu 2) 0.5)) (* 0.5 (log nu)) (log s) (* 0.5 (+ nu 1) (log1p (/ (square (/ (- m centre) s)) nu))))",
        curvature: &["(/ (+ nu 1) (+ (* nu (square s)) (square (- m centre))))", "0", "0", "0"],
        possible: |_, of| of[1] > 0.0 && of[3] > 0.0,
        rule: "the degrees of freedom and the scale are positive",
        ..PRIOR
    },
    Distribution {
        name: "laplace",
        arguments: &["centre", "s"],
        doc: "around the centre, with the mean absolute deviation s",
        density: "(- (/ (- (abs (- m centre))) s) (log (* 2 s)))",
        curvature: &["(/ 1 (* s (max (abs (- m centre)) (* 1e-12 s))))", "0", "0"],
        possible: |_, of| of[2] > 0.0,
        rule: "the mean absolute deviation is positive",
        ..PRIOR
    },
];
