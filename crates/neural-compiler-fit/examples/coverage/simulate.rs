//! Simulated data sets and how often intervals cover the truth. In: a model with its true constants, how many sets, which loss, which
//! noise; out: for each constant how many of the 95 % intervals contain its true value.
//! Invariant: the same seed, the same data, on every machine.

use neural_compiler::ode::Scheme;
use neural_compiler::{Program, Shape};
use neural_compiler_fit::random::Stream;
use neural_compiler_fit::{Loss, Options, Table, fit, predict};
use rayon::iter::{IntoParallelIterator, ParallelIterator};

/// How far, as a logarithm, fits start from the truth.
const OFF: f64 = 0.22;

/// A model whose constants are known.
pub(crate) struct Model {
    pub(crate) name: &'static str,
    /// Declared with the true values.
    text: &'static str,
    /// The column of times or of the only input, and its numbers.
    along: (&'static str, Vec<f64>),
    /// What is observed, and the standard deviation of its errors.
    observed: Vec<(&'static str, f64)>,
    scheme: Option<Scheme>,
}

/// Errors of the data.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Noise {
    /// Normal.
    Normal,
    /// Normal, but one in ten ten times as large.
    Contaminated,
    /// Counts.
    Poisson,
}

/// A count with a mean (Knuth's product of uniform numbers).
fn count(mean: f64, stream: &mut Stream) -> f64 {
    let (mut left, mut found) = ((-mean).exp(), 0.0);
    left = stream.uniform() / left;
    while left > 1.0 {
        left *= stream.uniform();
        found += 1.0;
    }
    found
}

fn evenly(from: f64, to: f64, count: usize) -> Vec<f64> {
    (0..count).map(|i| from + (to - from) * i as f64 / (count - 1) as f64).collect()
}

/// The decay the robust losses are tried on, and the first of the six.
pub(crate) fn decay() -> Model {
    let text = "(param a 3) (param k 0.7) (* a (exp (- (* k t))))";
    Model { name: "decay", text, along: ("t", evenly(0.0, 5.0, 25)), observed: vec![("y", 0.1)], scheme: None }
}

/// Counts that grow with an input, by maximum likelihood.
pub(crate) fn counts() -> Model {
    let text = "(param a 0.5) (param b 0.6) (observe y (exp (+ a (* b x))) :noise (poisson))";
    Model { name: "counts", text, along: ("x", evenly(0.0, 4.0, 25)), observed: vec![("y", 0.0)], scheme: None }
}

/// Growth of groups that begin at random: a linear model with a random effect. The groups, and the standard deviation of their effect.
const GROUPS: usize = 30;
const OMEGA: f64 = 1.0;

/// How often intervals of a model with a random effect cover.
pub(crate) fn effects(sets: usize) -> Coverage {
    let text = "(param a 2) (param b 0.5) (param omega 1 :min 0) (param s 0.5 :min 0) (param eta 0 :per g :effect (normal 0 omega)) \
                (observe y (+ a eta (* b x)) :noise (normal s))";
    let program = neural_compiler::compile(text, &Default::default()).unwrap_or_else(|e| panic!("{e}"));
    let truth = [("a", 2.0), ("b", 0.5), ("omega", OMEGA), ("s", 0.5)];
    let one = |set: usize| -> Vec<Option<bool>> {
        let mut stream = Stream::new(set as u32, 0xEFFEC7);
        let mut columns = vec![("g".to_string(), vec![]), ("x".to_string(), vec![]), ("y".to_string(), vec![])];
        for g in 0..GROUPS {
            let eta = OMEGA * stream.normal();
            for x in 0..5 {
                let y = 2.0 + eta + 0.5 * f64::from(x) + 0.5 * stream.normal();
                columns.iter_mut().zip([g as f64, f64::from(x), y]).for_each(|(c, value)| c.1.push(value));
            }
        }
        let table = Table::new(columns).expect("columns of one length");
        let found = fit(&program, &table, &Options { threads: 1, starts: Some(1), ..Options::default() }).unwrap_or_else(|e| panic!("{e}"));
        let inside = |(name, x): &(&str, f64)| found.parameter(name).and_then(|p| p.ci95).map(|(lo, hi)| lo <= *x && *x <= hi);
        truth.iter().map(inside).collect()
    };
    let all: Vec<Vec<Option<bool>>> = (0..sets).into_par_iter().map(one).collect();
    counted(&truth.iter().map(|t| t.0.to_string()).collect::<Vec<_>>(), &all)
}

/// The intervals of constants of these names in all data sets.
fn counted(names: &[String], all: &[Vec<Option<bool>>]) -> Coverage {
    let count = |(j, name): (usize, &String)| {
        let given: Vec<bool> = all.iter().filter_map(|set| set[j]).collect();
        Intervals { name: name.clone(), given: given.len(), cover: given.into_iter().filter(|&c| c).count() }
    };
    Coverage { constants: names.iter().enumerate().map(count).collect(), sets: all.len() }
}

/// Eight models: four formulas, four with states, the last of them stiff (Robertson 1966).
pub(crate) fn models() -> Vec<Model> {
    let saturation = "(param vmax 2) (param km 0.5) (/ (* vmax s) (+ km s))";
    let peak = "(param a 5) (param m 1) (param w 0.6) (param b 1) (+ b (* a (exp (- (square (/ (- x m) w))))))";
    let chain = "(param k1 0.8) (param k2 0.3) (param dose 10) (state gut dose) (state blood 0) \
                 (derive gut (- (* k1 gut))) (derive blood (- (* k1 gut) (* k2 blood)))";
    let hunt = "(param growth 0.5) (param predation 0.025) (param death 0.9) (param conversion 0.027) (param h0 34) (param l0 4) \
                (state hare h0) (state lynx l0) (derive hare (- (* growth hare) (* predation hare lynx))) \
                (derive lynx (- (* conversion hare lynx) (* death lynx)))";
    let stiff = "(param k1 0.04) (param k2 3e7) (param k3 1e4) (state a 1) (state b 0) (state c 0) \
                 (derive a (- (* k3 b c) (* k1 a))) (derive b (- (* k1 a) (* k3 b c) (* k2 (square b)))) (derive c (* k2 (square b)))";
    let decades = std::iter::once(0.0).chain((0..24).map(|i| 10f64.powf(-3.0 + 0.25 * f64::from(i)))).collect();
    let line = "(param a 1) (param b 2) (+ a (* b x))";
    let logistic = "(param r 0.8) (param K 10) (param n0 0.5) (state n n0) (derive n (* r n (- 1 (/ n K))))";
    let model = |name, text, along, observed, scheme| Model { name, text, along, observed, scheme };
    vec![
        model("line", line, ("x", evenly(0.0, 5.0, 20)), vec![("y", 0.5)], None),
        decay(),
        model("saturation", saturation, ("s", evenly(0.1, 3.0, 15)), vec![("y", 0.05)], None),
        model("peak", peak, ("x", evenly(-1.5, 3.5, 40)), vec![("y", 0.3)], None),
        model("logistic growth", logistic, ("t", evenly(0.0, 12.0, 25)), vec![("n", 0.3)], "dopri5".parse().ok()),
        model("dose, blood alone observed", chain, ("t", evenly(0.0, 12.0, 20)), vec![("blood", 0.3)], "dopri5".parse().ok()),
        model("hares and lynx", hunt, ("t", evenly(0.0, 20.0, 41)), vec![("hare", 3.0), ("lynx", 2.0)], "dopri5".parse().ok()),
        model("Robertson, stiff", stiff, ("t", decades), vec![("a", 0.01), ("b", 5e-7), ("c", 0.01)], "rosenbrock".parse().ok()),
    ]
}

/// The intervals of a constant.
pub(crate) struct Intervals {
    pub(crate) name: String,
    /// How many were given, one per data set unless the fit said that the data do not determine the constant.
    pub(crate) given: usize,
    /// How many of these contain the true value.
    pub(crate) cover: usize,
}

/// The intervals of every constant.
pub(crate) struct Coverage {
    pub(crate) constants: Vec<Intervals>,
    pub(crate) sets: usize,
}

impl Coverage {
    /// The share of all intervals given that contain their true value.
    pub(crate) fn pooled(&self) -> f64 {
        self.constants.iter().map(|c| c.cover).sum::<usize>() as f64 / self.constants.iter().map(|c| c.given).sum::<usize>() as f64
    }

    /// The share of constants that were given no interval.
    pub(crate) fn without(&self) -> f64 {
        1.0 - self.constants.iter().map(|c| c.given).sum::<usize>() as f64 / (self.sets * self.constants.len()) as f64
    }
}

impl Model {
    /// The predictions at the true values, column by column.
    fn truth(&self, program: &Program, options: &Options<'_>) -> Vec<(&'static str, Vec<f64>, f64)> {
        let table = Table::new([(self.along.0.to_string(), self.along.1.clone())]).expect("a column");
        let all = predict(program, &table, options).unwrap_or_else(|e| panic!("{}: {e}", self.name));
        let find = |name: &str| all.iter().find(|(n, _)| n.strip_suffix(".predicted").unwrap_or("y") == name).map(|(_, c)| c.clone());
        self.observed.iter().map(|&(name, sigma)| (name, find(name).expect("an observed column is predicted"), sigma)).collect()
    }

    /// How often the intervals cover.
    pub(crate) fn coverage(&self, sets: usize, loss: Option<Loss>, noise: Noise) -> Coverage {
        let program = neural_compiler::compile(self.text, &Default::default()).unwrap_or_else(|e| panic!("{}: {e}", self.name));
        // As it comes, from values up to a quarter off the truth.
        let options = Options { threads: 1, scheme: self.scheme, loss, ..Options::default() };
        let layout = neural_compiler_fit::layout::Layout::new(&program, &[]).expect("it was compiled");
        let truth = self.truth(&program, &options);
        // Whether each interval contains the true value, if there is one.
        let one = |set: usize| -> Vec<Option<bool>> {
            let mut stream = Stream::new(set as u32, 0xC0FFEE);
            let mut columns = vec![(self.along.0.to_string(), self.along.1.clone())];
            for (name, values, sigma) in &truth {
                let mut observed = |x: &f64| {
                    if noise == Noise::Poisson {
                        return count(*x, &mut stream);
                    }
                    let wild = noise == Noise::Contaminated && stream.uniform() < 0.1;
                    x + sigma * stream.normal() * if wild { 10.0 } else { 1.0 }
                };
                columns.push((name.to_string(), values.iter().map(&mut observed).collect()));
            }
            let table = Table::new(columns).expect("columns of one length");
            let mut off = |x: &f64| x * (OFF * (2.0 * stream.uniform() - 1.0)).exp();
            let values = layout.names.iter().zip(&layout.start).map(|(name, x)| (name.clone(), Shape::Scalar, vec![off(x)])).collect();
            let found = fit(&program, &table, &Options { values, ..options.clone() }).unwrap_or_else(|e| panic!("{}: {e}", self.name));
            let covers =
                |(p, true_value): (&neural_compiler_fit::Parameter, &f64)| p.ci95.map(|(lo, hi)| lo <= *true_value && *true_value <= hi);
            found.parameters.iter().zip(&layout.start).map(covers).collect()
        };
        let all: Vec<Vec<Option<bool>>> = (0..sets).into_par_iter().map(one).collect();
        counted(&layout.names, &all)
    }
}
