//! Fits to rows that are read again and again instead of held in memory: what they say is what the fit in memory says, to rounding, and to
//! the bit whatever the parts the rows come in and the number of threads.

use neural_compiler::{Diagnostics, Program, compile};
use neural_compiler_fit::random::Stream;
use neural_compiler_fit::{Fit, Loss, Options, Part, Rows, Table, fit, fit_rows};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

fn program(text: &str) -> Program {
    compile(text, &Default::default()).unwrap_or_else(|e| panic!("{e}"))
}

/// A table that is handed on in parts of these sizes, over and over.
struct Cut<'a> {
    table: &'a Table,
    sizes: &'a [usize],
    passes: AtomicUsize,
}

impl<'a> Cut<'a> {
    fn new(table: &'a Table, sizes: &'a [usize]) -> Cut<'a> {
        Cut { table, sizes, passes: AtomicUsize::new(0) }
    }
}

impl Rows for Cut<'_> {
    fn pass(&self, columns: &[String], take: &mut dyn FnMut(Table) -> bool) -> Result<(), Diagnostics> {
        self.passes.fetch_add(1, Ordering::Relaxed);
        let (mut from, mut sizes) = (0, self.sizes.iter().cycle());
        while from < self.table.rows() {
            let to = (from + sizes.next().expect("a size")).min(self.table.rows());
            let part = columns.iter().map(|n| (n.clone(), self.table.column(n).expect("a column")[from..to].to_vec()));
            if !take(Table::new(part)?.part_of(Part { before: from, ..Part::default() })) {
                break;
            }
            from = to;
        }
        Ok(())
    }
}

fn streamed(program: &Program, table: &Table, sizes: &[usize], options: &Options<'_>) -> Result<Fit, Diagnostics> {
    fit_rows(program, &table.select(&[0, 1]), &Cut::new(table, sizes), options)
}

fn table(rows: usize, columns: impl Fn(f64, &mut Stream) -> Vec<(&'static str, f64)>) -> Table {
    let mut stream = Stream::new(7, 1);
    let mut all: Vec<(String, Vec<f64>)> = Vec::new();
    for i in 0..rows {
        for (k, (name, x)) in columns(i as f64 / rows as f64, &mut stream).into_iter().enumerate() {
            if i == 0 {
                all.push((name.to_string(), Vec::new()));
            }
            all[k].1.push(x);
        }
    }
    Table::new(all).expect("columns")
}

fn decay(rows: usize) -> Table {
    table(rows, |u, s| {
        let (t, sigma) = (4.0 * u, 0.05 + 0.1 * s.uniform());
        vec![
            ("t", t),
            ("s", sigma),
            ("w", if s.uniform() < 0.1 { 0.0 } else { s.uniform() }),
            ("y", 3.0 * (-0.7 * t).exp() + sigma * s.normal()),
        ]
    })
}

const DECAY: &str = "(param a 1) (param k 1) (* a (exp (- (* k t))))";

fn near(a: f64, b: f64, share: f64, what: &str) {
    assert!((a - b).abs() <= share * b.abs() || a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()), "{what}: {a:e} {b:e}");
}

/// What both fits say, but for single rows and how often what was tried. Searches end where a step is a hundred-thousandth of a standard
/// error, so errors differ by that share of what they change within one.
fn alike(found: &Fit, memory: &Fit, share: f64) {
    for (a, b) in found.parameters.iter().zip(&memory.parameters) {
        // Beside its error, which is what the search ends by.
        let error = b.stderr.unwrap_or(b.value.abs());
        assert!((a.value - b.value).abs() <= 1e-5 * error, "{}: {} {} ± {error}", a.name, a.value, b.value);
        assert_eq!(a.stderr.is_some(), b.stderr.is_some(), "{}", a.name);
        near(a.stderr.unwrap_or(0.0), b.stderr.unwrap_or(0.0), 100.0 * share, "standard error");
        near(a.ci95.map_or(0.0, |c| c.1 - c.0), b.ci95.map_or(0.0, |c| c.1 - c.0), 100.0 * share, "interval");
    }
    near(found.cost, memory.cost, share, "cost");
    near(found.rmse, memory.rmse, share, "rmse");
    near(found.r2, memory.r2, share, "R2");
    near(found.likelihood.loglik, memory.likelihood.loglik, share, "log-likelihood");
    near(found.likelihood.aic(), memory.likelihood.aic(), share, "AIC");
    near(found.likelihood.bic(), memory.likelihood.bic(), share, "BIC");
    assert_eq!((found.observations, found.uncertainty.freedom), (memory.observations, memory.uncertainty.freedom));
    assert_eq!((&found.targets, found.converged, found.likelihood.k), (&memory.targets, memory.converged, memory.likelihood.k));
    for (a, b) in found.columns.iter().zip(&memory.columns) {
        assert_eq!((&a.name, a.n), (&b.name, b.n));
        near(a.rmse, b.rmse, share, "rmse of a column");
        near(a.r2, b.r2, share, "R2 of a column");
    }
    for (a, b) in found.errors.iter().zip(&memory.errors) {
        near(a.unwrap_or(f64::NAN), b.unwrap_or(f64::NAN), share, "error of a column");
    }
    for (a, b) in found.uncertainty.covariance.iter().zip(&memory.uncertainty.covariance) {
        near(*a, *b, 100.0 * share, "covariance");
    }
}

/// All numbers of a fit, as bits.
fn bits(fit: &Fit) -> Vec<u64> {
    let l = &fit.likelihood;
    let parameters = fit.parameters.iter().flat_map(|p| [p.value, p.stderr.unwrap_or(f64::NAN)]);
    let columns = fit.columns.iter().flat_map(|c| [c.rmse, c.r2]);
    let rest = [fit.cost, fit.rmse, fit.r2, l.loglik, l.aic(), fit.streamed.expect("passes").passes as f64];
    parameters.chain(columns).chain(rest).chain(fit.uncertainty.covariance.iter().copied()).map(f64::to_bits).collect()
}

#[test]
fn a_fit_that_streams_is_the_fit_in_memory() {
    let data = decay(40_000);
    let name = |s: &str| Some(s.to_string());
    let plain = Options { target: name("y"), ..Options::default() };
    let each = [
        plain.clone(),
        Options { sigma_column: name("s"), ..plain.clone() },
        Options { sigma: Some(0.1), ..plain.clone() },
        Options { weights_column: name("w"), ..plain.clone() },
        Options { loss: Some(Loss::Huber(0.15)), ..plain.clone() },
        Options { loss: Some(Loss::Cauchy(0.2)), starts: Some(3), ..plain.clone() },
    ];
    for options in &each {
        let found = streamed(&program(DECAY), &data, &[10_000], options).expect("a fit");
        alike(&found, &fit(&program(DECAY), &data, options).expect("a fit"), 1e-9);
        assert!(
            found.observed.is_empty() && found.streamed.is_some_and(|s| s.rows == 40_000 && (3..20).contains(&s.passes)),
            "{:?}",
            found.streamed
        );
    }
}

#[test]
fn the_bits_do_not_depend_on_parts_or_threads() {
    let data = decay(20_011);
    let options = |threads| Options { target: Some("y".into()), weights_column: Some("w".into()), threads, ..Options::default() };
    let one = bits(&streamed(&program(DECAY), &data, &[20_011], &options(1)).expect("a fit"));
    for (sizes, threads) in [(&[1][..], 1), (&[7, 4096, 1, 9000], 2), (&[8192], 4), (&[10_000], 3), (&[20_010, 1], 2)] {
        assert_eq!(bits(&streamed(&program(DECAY), &data, sizes, &options(threads)).expect("a fit")), one, "{sizes:?}");
    }
}

#[test]
fn columns_that_are_nearly_dependent() {
    // Powers up to the sixth over [0, 1]: products of columns tell nothing of the smallest direction any more.
    let text = "(param a 0) (param b 0) (param c 0) (param d 0) (param e 0) (param f 0) (param g 0) \
                (+ a (* b x) (* c x x) (* d x x x) (* e x x x x) (* f x x x x x) (* g x x x x x x))";
    let data = table(30_000, |x, s| vec![("x", x), ("y", 1.0 + x * (2.0 - x * (3.0 - x * x)) + 0.01 * s.normal())]);
    let options = Options::default();
    let found = streamed(&program(text), &data, &[5000], &options).expect("a fit");
    alike(&found, &fit(&program(text), &data, &options).expect("a fit"), 1e-7);
    assert_eq!(bits(&found), bits(&streamed(&program(text), &data, &[123, 4567], &Options { threads: 3, ..options }).expect("a fit")));
}

#[test]
fn parameters_the_data_do_not_determine() {
    let text = "(param a 1) (param b 2) (param c 3) (+ (* a b t) (* 0 c))";
    let found =
        streamed(&program(text), &decay(9000), &[1000], &Options { target: Some("y".into()), ..Options::default() }).expect("a fit");
    let memory = fit(&program(text), &decay(9000), &Options { target: Some("y".into()), ..Options::default() }).expect("a fit");
    let open = |fit: &Fit| fit.undetermined.iter().map(|u| (u.parameters.clone(), u.determined.len())).collect::<Vec<_>>();
    assert_eq!(open(&found), open(&memory));
    assert_eq!(found.undetermined[0].determined[0].text, "a*b");
    near(found.undetermined[0].determined[0].value, memory.undetermined[0].determined[0].value, 1e-9, "a*b");
}

#[test]
fn vectors_are_explained_number_by_number() {
    let text = "(param a 1) (param b 1) [(* a t) (* b t t)]";
    let data = table(12_000, |t, s| vec![("t", t), ("y[0]", 2.0 * t + 0.1 * s.normal()), ("y[1]", 3.0 * t * t + 0.1 * s.normal())]);
    let found = streamed(&program(text), &data, &[777], &Options::default()).expect("a fit");
    alike(&found, &fit(&program(text), &data, &Options::default()).expect("a fit"), 1e-9);
    assert_eq!(found.columns.len(), 2);
}

#[test]
fn few_rows_and_rows_without_a_value() {
    let mut y: Vec<f64> = (0..50).map(|i| 2.0 + 3.0 * f64::from(i) + f64::from(i * i % 7)).collect();
    (y[4], y[49]) = (f64::NAN, f64::NAN);
    let mut x: Vec<f64> = (0..50).map(f64::from).collect();
    x[4] = f64::NAN;
    let data = Table::new([("x".to_string(), x), ("y".to_string(), y)]).expect("columns");
    let line = program("(param a 1) (param b 1) (+ a (* b x))");
    let found = streamed(&line, &data, &[3], &Options::default()).expect("a fit");
    alike(&found, &fit(&line, &data, &Options::default()).expect("a fit"), 1e-9);
    assert!(found.warnings.iter().any(|w| w == "2 of 50 rows have no value of `y` and were left out"), "{:?}", found.warnings);
    // One row less than parameters, and none at all.
    let code = |table: &Table| streamed(&line, table, &[3], &Options::default()).map_or_else(|e| e.0[0].code, |_| "fine");
    assert_eq!(code(&data.select(&[0, 4])), "too-few-rows");
    assert_eq!(code(&data.select(&[4, 49])), "no-target");
}

#[test]
fn mistakes_name_their_rows() {
    let message = |data: &Table, options: &Options<'_>| {
        let e = streamed(&program(DECAY), data, &[1000], options).map_or_else(|e| e, |_| panic!("a fit"));
        (e.0[0].code, e.0[0].message.clone())
    };
    let options = Options { target: Some("y".into()), ..Options::default() };
    let with = |name: &str, row: usize, x: f64| {
        let data = decay(5000);
        let changed = data.names().iter().map(|n| {
            let mut column = data.column(n).expect("a column").to_vec();
            if n == name {
                column[row] = x;
            }
            (n.clone(), column)
        });
        Table::new(changed).expect("columns")
    };
    assert_eq!(
        message(&with("t", 3456, f64::NAN), &options),
        ("bad-value", "row 3457, column `t`: the value is missing or not a number".into())
    );
    assert_eq!(message(&with("y", 4999, f64::INFINITY), &options).1, "row 5000, column `y`: the value is infinite");
    let sigma = Options { sigma_column: Some("s".into()), ..options.clone() };
    assert_eq!(
        message(&with("s", 2000, -1.0), &sigma),
        ("bad-sigma", "row 2001, column `s`: a standard deviation must be positive, -1 is not".into())
    );
    // Where the model has no value the row is that of the table, whatever rows before it are left out.
    let mut gone = with("y", 17, f64::NAN);
    let mut columns: Vec<(String, Vec<f64>)> =
        gone.names().iter().map(|n| (n.clone(), gone.column(n).expect("a column").to_vec())).collect();
    columns[0].1[4321] = -2.0;
    gone = Table::new(columns).expect("columns");
    let log = program("(param a 1) (* a (log (+ 1 t)))");
    for found in [streamed(&log, &gone, &[1000], &options), fit(&log, &gone, &options)] {
        let e = found.map_or_else(|e| e.0[0].message.clone(), |_| "a fit".into());
        assert_eq!(e, "no start leads anywhere: the prediction for row 4322 is not finite");
    }
}

#[test]
fn what_needs_all_rows_is_refused() {
    let data = decay(100);
    let refused = |text: &str, options: Options<'_>| {
        let rows = Cut::new(&data, &[10]);
        let e = fit_rows(&program(text), &data.select(&[0]), &rows, &options).map_or_else(|e| e, |_| panic!("a fit"));
        assert_eq!(rows.passes.load(Ordering::Relaxed), 0, "nothing is read for nothing");
        assert!(e.0.iter().all(|d| d.code == "needs-rows"), "{e}");
        e.0.len()
    };
    let plain = || Options { target: Some("y".into()), ..Options::default() };
    assert_eq!(refused(DECAY, Options { profile: true, holdout: Some(0.1), ..plain() }), 2);
    assert_eq!(refused(DECAY, Options { bootstrap: Some(20), ..plain() }), 1);
    assert_eq!(refused(DECAY, Options { loss: Some(Loss::Huber(0.0)), ..plain() }), 1);
    assert_eq!(refused(DECAY, Options { group: Some("w".into()), ..plain() }), 1);
    assert_eq!(refused("(param k 1) (state y 3) (derive y (- (* k y)))", plain()), 1);
    assert_eq!(refused("(param a 1) (observe y (* a t) :noise (poisson))", plain()), 1);
}

/// Rows that become fewer.
struct Fewer<'a>(Cut<'a>);

impl Rows for Fewer<'_> {
    fn pass(&self, columns: &[String], take: &mut dyn FnMut(Table) -> bool) -> Result<(), Diagnostics> {
        let last = self.0.passes.load(Ordering::Relaxed) > 3;
        let mut parts = 0;
        self.0.pass(columns, &mut |part| {
            parts += 1;
            (last && parts > 3) || take(part)
        })
    }
}

#[test]
fn a_table_that_changes_is_no_table() {
    let data = decay(5000);
    let options = Options { target: Some("y".into()), ..Options::default() };
    let e =
        fit_rows(&program(DECAY), &data.select(&[0]), &Fewer(Cut::new(&data, &[1000])), &options).map_or_else(|e| e, |_| panic!("a fit"));
    assert_eq!(e.0[0].code, "table-changed", "{e}");
    assert_eq!(e.0[0].message, "the table changed while it was read: it had 5000 rows, and now 3000");
}

/// Rows in parts of a thousand, of which in one pass another table is handed on.
struct Other<'a> {
    rows: Cut<'a>,
    other: Cut<'a>,
    pass: usize,
}

impl Rows for Other<'_> {
    fn pass(&self, columns: &[String], take: &mut dyn FnMut(Table) -> bool) -> Result<(), Diagnostics> {
        if self.rows.passes.load(Ordering::Relaxed) + 1 == self.pass {
            return self.other.pass(columns, take);
        }
        self.rows.pass(columns, take)
    }
}

/// The table with two numbers of a column exchanged: as many rows, and the same sums.
fn exchanged(data: &Table, name: &str) -> Table {
    let columns = data.names().iter().map(|n| {
        let mut column = data.column(n).expect("a column").to_vec();
        if n == name {
            column.swap(1234, 4321);
        }
        (n.clone(), column)
    });
    Table::new(columns).expect("columns")
}

#[test]
fn a_table_of_as_many_rows_that_changes_is_no_table_either() {
    let data = decay(5000);
    let options = Options { target: Some("y".into()), sigma_column: Some("s".into()), ..Options::default() };
    for (name, pass) in [("y", 2), ("y", 4), ("t", 4), ("s", 3)] {
        let other = exchanged(&data, name);
        let rows = Other { rows: Cut::new(&data, &[1000]), other: Cut::new(&other, &[1000]), pass };
        let e =
            fit_rows(&program(DECAY), &data.select(&[0]), &rows, &options).map_or_else(|e| e, |_| panic!("a fit: {name} in pass {pass}"));
        assert_eq!(e.0[0].code, "table-changed", "{e}");
        assert!(e.0[0].message.ends_with("5000 rows as before, but other numbers in them"), "{e}");
    }
}

/// Rows during which a fit is stopped: in one pass, behind its first part, the stop is asked for, and nothing more comes until it is seen.
struct Stopping<'a> {
    rows: Cut<'a>,
    stop: &'a AtomicBool,
    pass: usize,
}

impl<'a> Stopping<'a> {
    fn new(data: &'a Table, stop: &'a AtomicBool, pass: usize) -> Stopping<'a> {
        Stopping { rows: Cut::new(data, &[1000]), stop, pass }
    }
}

impl Rows for Stopping<'_> {
    fn pass(&self, columns: &[String], take: &mut dyn FnMut(Table) -> bool) -> Result<(), Diagnostics> {
        let now = self.rows.passes.load(Ordering::Relaxed) + 1 == self.pass;
        let mut first = now;
        self.rows.pass(columns, &mut |part| {
            let nothing = part.select(&[]);
            let more = take(part);
            if !std::mem::take(&mut first) {
                return more;
            }
            self.stop.store(true, Ordering::Relaxed);
            // Parts without rows until one is refused; a fit that does not stop goes on after a while.
            (0..600_000).all(|_| {
                std::thread::sleep(Duration::from_millis(1));
                take(nothing.clone())
            })
        })
    }
}

#[test]
fn a_stop_keeps_the_best_so_far() {
    let data = decay(20_000);
    // Whatever the loss: those that are robust need one more pass for the errors.
    for loss in [None, Some(Loss::Huber(0.15)), Some(Loss::Cauchy(0.2))] {
        let stop = AtomicBool::new(false);
        let options = Options { target: Some("y".into()), loss, cancel: Some(&stop), ..Options::default() };
        let found = fit_rows(&program(DECAY), &data.select(&[0]), &Stopping::new(&data, &stop, 4), &options).expect("a fit");
        assert!(!found.converged && found.message == "stopped on request; these are the best values so far", "{}", found.message);
        assert!(found.warnings.iter().all(|w| !w.contains("stopped")) && found.failed == 0, "{:?}", found.warnings);
        // The search on some of the rows came near before.
        assert!((found.parameters[1].value - 0.7).abs() < 0.05 && found.rmse < 0.2, "{:?}", found.parameters);
        assert_eq!(found.streamed.expect("passes").passes, if loss.is_none() { 4 } else { 5 });
    }
}

#[test]
fn a_stop_before_the_search_says_so_at_once() {
    let data = decay(20_000);
    for pass in [1, 2] {
        for budget in [None, Some(1e-9)] {
            let stop = AtomicBool::new(false);
            let rows = Stopping::new(&data, &stop, pass);
            let cancel = budget.is_none().then_some(&stop);
            let options = Options { target: Some("y".into()), cancel, budget, ..Options::default() };
            let e = fit_rows(&program(DECAY), &data.select(&[0]), &rows, &options).map_or_else(|e| e, |_| panic!("a fit"));
            assert_eq!(e.0[0].code, if budget.is_none() { "stopped" } else { "budget-ended" }, "{e}");
            assert!(e.0[0].message.contains("before the search began") && e.0[0].help.is_some(), "{e}");
            let read = rows.rows.passes.load(Ordering::Relaxed);
            assert!(read == pass || budget.is_some() && read < pass, "{read} passes");
        }
    }
}

#[test]
fn residuals_that_are_no_noise_are_told_as_in_memory() {
    let line = program("(param a 1) (param b 1) (+ a (* b x))");
    let wave = table(20_000, |x, s| vec![("x", x), ("y", x + 0.1 * (30.0 * x).sin() + 0.02 * s.normal())]);
    let noise = table(20_000, |x, s| vec![("x", x), ("y", x + 0.1 * s.normal())]);
    let nothing = table(20_000, |x, s| vec![("x", x), ("y", s.normal())]);
    for loss in [None, Some(Loss::Huber(0.2))] {
        let options = Options { loss, ..Options::default() };
        for (data, describes) in [(&wave, false), (&noise, true)] {
            let (found, memory) = (streamed(&line, data, &[1000], &options).expect("a fit"), fit(&line, data, &options).expect("a fit"));
            assert_eq!((found.describes_data, memory.describes_data), (Some(describes), Some(describes)), "{:?}", found.warnings);
        }
        let told = streamed(&line, &nothing, &[1000], &options).expect("a fit");
        assert!(told.describes_data == Some(false) && told.warnings.iter().any(|w| w.contains("of what varies in")), "{:?}", told.warnings);
        let told = streamed(&line, &wave, &[1000], &options).expect("a fit").warnings;
        assert!(told.iter().any(|w| w.contains("neighbours along `x` are alike")), "{told:?}");
    }
}

#[test]
fn numbers_whose_squares_leave_the_range_but_for_their_errors() {
    for size in [1e200, 1e-200] {
        let data = table(9000, |t, s| vec![("t", 4.0 * t), ("y", size * (3.0 * (-2.8 * t).exp() + 0.05 * s.normal()))]);
        let text = format!("(param a {size:e}) (param k 1) (* a (exp (- (* k t))))");
        let options = Options { sigma: Some(0.05 * size), ..Options::default() };
        let found = streamed(&program(&text), &data, &[1000], &options).expect("a fit");
        alike(&found, &fit(&program(&text), &data, &options).expect("a fit"), 1e-9);
        assert!((0.9..1.0).contains(&found.r2) && (0.04..0.06).contains(&(found.rmse / size)), "{} {}", found.r2, found.rmse);
    }
}

/// Data that are met but for rounding far from 0, where they vary little beside how large they are; and a constant that ran off: told as in
/// memory.
#[test]
fn what_is_met_exactly_is_told_as_in_memory() {
    let far = table(400, |share, _| vec![("x", share), ("y", 1e6 + 2.0 * share)]);
    let idle = table(400, |share, _| vec![("x", share), ("y", 2.0 * share)]);
    for (text, data) in [("(param a 0) (param b 1) (+ a (* b x))", &far), ("(param a 1) (param k 1) (+ (* a x) (exp (* -30 k)))", &idle)] {
        let program = program(text);
        let options = Options { target: Some("y".into()), ..Options::default() };
        let whole = fit(&program, data, &options).expect("a fit in memory");
        let parts = streamed(&program, data, &[37, 100], &options).expect("a fit of rows");
        assert!(whole.exact && parts.exact, "{text}: {} {}", whole.exact, parts.exact);
        assert_eq!(whole.message, parts.message);
        assert_eq!(whole.uncertainty.certainty, parts.uncertainty.certainty, "{text}");
    }
}
