//! Roots: derivatives to the third order against 40-digit references, in forward, reverse and mixed mode; every executor with the same
//! bits; lanes without a root; hard equations. References: tests/data/roots.py.

use neural_compiler::exec::interp::RunOptions;
use neural_compiler::exec::lanes::{BatchOptions, Column, Engine, Workspace};
use neural_compiler::exec::{Tensor, interp};
use neural_compiler::graph::Graph;
use neural_compiler::{Options, compile, diff};

fn graph(text: &str) -> Graph {
    let program = compile(text, &Options::default()).unwrap_or_else(|e| panic!("{text}: {e}"));
    Graph::clone(&*program.graph().unwrap_or_else(|e| panic!("{text}: {e}")))
}

fn run(graph: &Graph, inputs: &[f64]) -> Result<Vec<f64>, String> {
    let inputs: Vec<Tensor<f64>> = inputs.iter().map(|&x| Tensor::scalar(x)).collect();
    let found = interp::run(graph, &inputs, &RunOptions::default()).map_err(|e| format!("{}: {}", e.code, e.message))?;
    Ok(found.iter().flat_map(|t| t.data().to_vec()).collect())
}

fn close(found: &[f64], expected: &[f64], within: f64) {
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() <= within * b.abs().max(1e-300), "{found:?}, not {expected:?}");
    }
}

const KEPLER: &str = "(input M) (input e) (root (E M) (- E (* e (sin E)) M))";
/// E, then its derivatives by M and e, to the third order: (1,0) (0,1) (2,0) (1,1) (0,2) (3,0) (2,1) (1,2) (0,3).
const OF_KEPLER: [f64; 10] = [
    1.498_701_133_517_848_3,
    1.037_362_021_893_646,
    1.034_667_232_373_456_4,
    -0.556_713_032_668_587_8,
    -0.477_750_955_724_713,
    -0.399_195_366_741_149_4,
    0.854_592_403_818_338_3,
    -0.385_853_211_467_53,
    -1.608_275_300_005_589,
    -2.812_789_225_318_690_4,
];

#[test]
fn derivatives_to_the_third_order_in_every_mode() {
    let k = OF_KEPLER;
    let at = [1.0, 0.5];
    // From a start and within an interval.
    for text in [KEPLER, "(input M) (input e) (root (E (- M 1) (+ M 1)) (- E (* e (sin E)) M))"] {
        let g = graph(text);
        let gradient = diff::gradient(&g, &[0, 1]).unwrap();
        close(&run(&gradient, &at).unwrap(), &k[..3], 1e-14);
        close(&run(&diff::jacobian(&g, &[0, 1]).unwrap(), &at).unwrap(), &k[..3], 1e-14);
        let hessian = diff::hessian(&g, &[0, 1]).unwrap();
        close(&run(&hessian, &at).unwrap(), &[k[0], k[1], k[2], k[3], k[4], k[4], k[5]], 1e-13);
        // Forward over the Hessian, and reverse over reverse.
        let third = run(&diff::jacobian(&hessian, &[0, 1]).unwrap(), &at).unwrap();
        let of = |result: usize| [third[7 + 2 * result], third[8 + 2 * result]];
        close(&[of(3), of(4), of(6)].concat(), &[k[6], k[7], k[7], k[8], k[8], k[9]], 1e-12);
        let second = diff::vjp(&gradient, &[0, 1]).unwrap();
        let twice = run(&second, &[at[0], at[1], 0.0, 1.0, 0.0]).unwrap();
        close(&twice[3..], &[k[3], k[4]], 1e-13);
    }
    // Inside the text.
    let d = "(input M) (input e) (d (d (d (root (E M) (- E (* e (sin E)) M)) M) e) e)";
    close(&run(&graph(d), &at).unwrap(), &[k[8]], 1e-12);
}

#[test]
fn van_der_waals_volumes() {
    let text = "(input T) (input p) (input a) (input b)
        (root (V (/ (* 8.314462618 T) p)) (- (* (+ p (/ a (* V V))) (- V b)) (* 8.314462618 T)))";
    let found = run(&diff::gradient(&graph(text), &[0, 1, 2, 3]).unwrap(), &[350.0, 1e6, 0.364, 4.267e-5]).unwrap();
    let expected = [
        0.002_825_866_890_487_684,
        8.699_010_295_981_934e-6,
        -2.911_921_012_631_975e-9,
        -0.000_364_649_975_169_510_2,
        1.093_941_148_755_803_5,
    ];
    close(&found, &expected, 1e-12);
}

#[test]
fn systems_and_roots_inside_roots() {
    // x + y = s, x y = p: x = (s - sqrt(s² - 4 p))/2.
    let text = "(input s) (input p) (ref (root (v [0.5 3]) [(- (+ (ref v 0) (ref v 1)) s) (- (* (ref v 0) (ref v 1)) p)]) 0)";
    let hessian = run(&diff::hessian(&graph(text), &[0, 1]).unwrap(), &[5.0, 6.0]).unwrap();
    // With D = s² - 4 p = 1: x_s = (1 - s/√D)/2, x_p = 1/√D, x_ss = 2 p/D^1.5, x_sp = -s/D^1.5, x_pp = 2/D^1.5.
    close(&hessian, &[2.0, -2.0, 1.0, 12.0, -5.0, -5.0, 2.0], 1e-12);
    // The cube root of the square root.
    let nested = "(input a) (root (x 1) (- (* x x x) (root (y 1) (- (* y y) a))))";
    let found = run(&diff::hessian(&graph(nested), &[0]).unwrap(), &[64.0]).unwrap();
    close(&found, &[2.0, 2.0 / (6.0 * 64.0), -5.0 / 36.0 * 2.0 / 4096.0], 1e-12);
    let looped = "(input a) (loop ((i 0) (s 0)) (if (= i 3) s (recur (+ i 1) (+ s (root (x 1) (- (* x x) (+ a i)))))))";
    let found = run(&diff::gradient(&graph(looped), &[0]).unwrap(), &[1.0]).unwrap();
    close(&found, &[1.0 + 2f64.sqrt() + 3f64.sqrt(), 0.5 + 0.5 / 2f64.sqrt() + 0.5 / 3f64.sqrt()], 1e-14);
}

#[test]
fn lanes_have_the_bits_of_the_interpreter_and_say_where_there_is_no_root() {
    for text in [
        KEPLER,
        "(input M) (input e) (root (E -3 9) (- E (* e (sin E)) M))",
        "(input M) (input e) (ref (root (v [0.5 3]) [(- (+ (ref v 0) (ref v 1)) M) (- (* (ref v 0) (ref v 1)) e)]) 1)",
    ] {
        for g in [graph(text), diff::gradient(&graph(text), &[0, 1]).unwrap()] {
            let lanes = 40_000;
            let m: Vec<f64> = (0..lanes).map(|i| -2.0 + 1e-4 * f64::from(i)).collect();
            let e: Vec<f64> = (0..lanes).map(|i| 0.9 - 2e-5 * f64::from(i % 1000)).collect();
            let engine = Engine::new(&g, &[false, false]);
            let mut out = vec![vec![0.0; lanes as usize]; g.outputs().len()];
            let mut workspace = Workspace::new();
            // The second run is that of generated code, where there is such.
            for _ in 0..2 {
                let mut outputs: Vec<&mut [f64]> = out.iter_mut().map(|o| &mut o[..]).collect();
                let inputs = [Column::rows(&m, 1), Column::rows(&e, 1)];
                let failed = engine.run(&mut workspace, &inputs, lanes as usize, &mut outputs, &BatchOptions::default()).unwrap();
                for lane in (0..lanes as usize).step_by(397) {
                    match run(&g, &[m[lane], e[lane]]) {
                        Ok(found) => {
                            let here: Vec<u64> = out.iter().map(|o| o[lane].to_bits()).collect();
                            assert_eq!(here, found.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), "{text}, lane {lane}");
                        }
                        Err(error) => {
                            assert!(error.starts_with("no-root") && failed.iter().any(|f| f.lane == lane), "{text}, {lane}: {error}")
                        }
                    }
                }
            }
        }
    }
    let g = graph("(input a) (root (x 1) (- (* x x) a))");
    let engine = Engine::new(&g, &[false]);
    let (a, mut x) = (vec![4.0, -1.0, 9.0, -2.0], vec![0.0; 4]);
    let failed = engine.run(&mut Workspace::new(), &[Column::rows(&a, 1)], 4, &mut [&mut x], &BatchOptions::default()).unwrap();
    assert_eq!(failed.iter().map(|f| (f.lane, f.error.code)).collect::<Vec<_>>(), [(1, "no-root"), (3, "no-root")]);
    close(&[x[0], x[2]], &[2.0, 3.0], 1e-15);
}

#[test]
fn hard_equations_have_their_root_or_none() {
    let solve = |text: &str| run(&graph(text), &[]);
    for (text, root) in [
        ("(root (x 700) (- (exp x) 1))", 0.0),
        ("(root (x 0.1) (- (exp x) 1e10))", 1e10f64.ln()),
        ("(root (x 3) (atan x))", 0.0),
        ("(root (x 1e10) (- (* x x) 2))", 2f64.sqrt()),
        ("(root (x 0 1e300) (- (* x x x) 27))", 3.0),
        ("(root (x -1 1) (* x x x))", 0.0),
        ("(root (x 1 0) (- x 0.3))", 0.3),
        ("(root (x 0 1) (- (tanh (* 1e9 (- x 0.3))) 0))", 0.3),
        ("(root (x 0 2) x)", 0.0),
        ("(root (x -2 0) x)", 0.0),
        ("(root (x 1e-9 1) (log (/ x 1e-7)))", 1e-7),
        // The law of mass action of water: h² = 1e-14.
        ("(root (h 1e-14 1) (- (* h h) 1e-14))", 1e-7),
        ("(root (x 1) (- (log x) -40))", (-40f64).exp()),
    ] {
        let found = solve(text).unwrap_or_else(|e| panic!("{text}: {e}"))[0];
        // Near 0 the expression itself is known to a rounding of 1.
        let within = if root == 0.0 { 2.3e-16 } else { 4e-15 * root };
        assert!((found - root).abs() <= within, "{text}: {found}, not {root}");
    }
    for text in [
        "(root (x 1) (exp (- x)))",
        "(root (x 1) (/ 1 x))",
        "(root (x 1) (+ 1e-12 (* x x)))",
        "(root (x 0) (cosh x))",
        "(root (x 1) 3)",
        "(root (x 1) (sqrt (- -1 (* x x))))",
        "(root (x -1 2) (/ 1 x))",
        "(root (x 0 1) (if (< x 0.3) (- x 2) (+ x 1)))",
        "(root (x 0 1) (if (< x 0.3) -1 1))",
        "(root (x 2 3) (- x 1))",
    ] {
        let error = solve(text).expect_err(text);
        assert!(error.starts_with("no-root"), "{text}: {error}");
    }
}

#[test]
fn an_infinite_slope_is_no_root() {
    for (text, expected) in [
        ("(root (x 0 4) (- (+ x (sqrt x)) 1))", 0.381_966_011_250_105_15),
        ("(root (h 0 2) (- (sqrt h) (* 0.5 (- 2 h))))", 0.535_898_384_862_245_4),
        ("(root (x 0 5) (- (pow x x) 10))", 2.506_184_145_588_769),
        ("(root (x 0 10) (- (* 2 (sqrt x)) (- x 1)))", 5.828_427_124_746_19),
        ("(root (x -1 1) (asin x))", 0.0),
        ("(root (x -1 1) (- (asin x) 0.5))", 0.479_425_538_604_203),
        ("(root (x -1 1) (- (acos x) 1))", 0.540_302_305_868_139_8),
        ("(root (x 0 1) (- x (sqrt (- 1 (* x x)))))", std::f64::consts::FRAC_1_SQRT_2),
        ("(root (x 0 1) (- (asin (- 1 x)) 1))", 0.158_529_015_192_103_5),
        // The slope at the root itself is infinite.
        ("(root (x -1 2) (cbrt x))", 0.0),
        ("(root (x -1 2) (cbrt (- x 0.5)))", 0.5),
        ("(root (x 0 3) (sqrt x))", 0.0),
        ("(root (x 0) (cbrt x))", 0.0),
    ] {
        let found = run(&graph(text), &[]).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert!((found[0] - expected).abs() <= 1e-15, "{text}: {found:?}, not {expected}");
    }
    for text in [
        "(root (x 1) (- (sqrt x) -1))",
        "(root (x 1) (+ (sqrt x) 1e-9))",
        "(root (x 1) (- (log x) -800))",
        "(root (x 1) (+ (square x) 1e-30))",
        "(root (x 0 1) (+ (sqrt x) 1e-9))",
        // No number is between ends that lie further apart than the largest one.
        "(root (x 0 +inf.0) (- x 2))",
        "(root (x -inf.0 +inf.0) (- x 2))",
        "(root (x -1e308 1e308) (- x 2))",
        "(ref (root (v [1 1]) [(+ (sqrt (ref v 0)) 1) (- (ref v 1) 2)]) 0)",
    ] {
        let found = run(&graph(text), &[]);
        assert!(found.as_ref().is_err_and(|e| e.starts_with("no-root")), "{text}: {found:?}");
    }
}

#[test]
fn the_root_is_where_the_sign_changes() {
    // Nearly 0 at an end, and steep where it passes 0: the end has the smaller value, and is no root.
    let text = "(root (x 0 1) (- (+ (tanh (* 1e17 (- x 0.7))) (- 1 1e-7)) (* 1e-2 x)))";
    let found = run(&graph(text), &[]).unwrap();
    assert!((found[0] - 0.7).abs() < 1e-15, "{found:?}");
}
