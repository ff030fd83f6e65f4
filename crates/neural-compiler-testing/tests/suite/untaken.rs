//! A branch not taken does not exist: what it would have produced appears neither in the value nor in any derivative.

use neural_compiler::exec::interp;
use neural_compiler::{Options, Tensor, compile, diff};
use neural_compiler_testing::case::bits;
use neural_compiler_testing::generate::differentiable;
use neural_compiler_testing::{Case, oracle};

/// Value, gradient and second derivatives of a program of one scalar `x`.
fn derivatives(source: &str, x: f64) -> Vec<f64> {
    let program = compile(source, &Options::default()).unwrap_or_else(|e| panic!("{e}\n{source}"));
    let graph = program.graph().unwrap_or_else(|e| panic!("{e}\n{source}"));
    assert_eq!(graph.inputs.len(), 1, "{source}");
    let second = diff::hessian(&graph, &[0]).unwrap_or_else(|e| panic!("{e}\n{source}"));
    let reverse = interp::run(&second, &[Tensor::scalar(x)], &Default::default()).unwrap_or_else(|e| panic!("{e}\n{source}"));
    let along = interp::run(&diff::jvp(&graph, &[0]), &[Tensor::scalar(x), Tensor::scalar(1.0)], &Default::default())
        .unwrap_or_else(|e| panic!("{e}\n{source}"));
    let numbers: Vec<f64> = reverse.iter().flat_map(|t| t.data().to_vec()).collect();
    assert_eq!(numbers[1], along[1].data()[0], "forward and reverse differ for {source} at {x}");
    numbers
}

#[track_caller]
fn expect(source: &str, x: f64, wanted: [f64; 3]) {
    assert_eq!(derivatives(source, x), wanted, "{source} at {x}");
}

#[test]
fn a_quotient_that_is_not_taken() {
    expect("(if (> x 0) (/ 1 x) 0)", 0.0, [0.0, 0.0, 0.0]);
    expect("(if (> x 0) (/ 1 x) 0)", 0.5, [2.0, -4.0, 16.0]);
    expect("(if (= x 0) 1 (/ (sin x) x))", 0.0, [1.0, 0.0, 0.0]);
    expect("(cond ((= x 0) (* 3 x)) (else (/ 1 x)))", 0.0, [0.0, 3.0, 0.0]);
}

#[test]
fn a_logarithm_that_is_not_taken() {
    expect("(if (> x 0) (log x) x)", -1.0, [-1.0, 1.0, 0.0]);
    expect("(if (> x 0) (sqrt x) (* x x))", 0.0, [0.0, 0.0, 2.0]);
    expect("(if (< x 1) (* 2 x) (acos x))", -5.0, [-10.0, 2.0, 0.0]);
    expect("(and (> x 0) (log x))", -1.0, [0.0, 0.0, 0.0]);
    expect("(or (<= x 0) (log x))", 0.0, [1.0, 0.0, 0.0]);
}

#[test]
fn a_branch_in_a_branch() {
    expect("(if (> x 0) (if (> x 1) (log (- x 1)) (/ x)) (* x x))", -3.0, [9.0, -6.0, 2.0]);
    expect("(if (> x 0) (if (> x 1) (log (- x 1)) (* 2 x)) (/ 1 0))", 0.5, [1.0, 2.0, 0.0]);
    expect("(let ((y (if (> x 0) (log x) 0))) (if (> y 0) (/ x y) (* 3 x)))", -2.0, [-6.0, 3.0, 0.0]);
}

#[test]
fn a_branch_in_a_loop() {
    expect("(loop ((i 0) (s 0)) (if (= i 3) s (recur (+ i 1) (+ s (if (> x 0) (log x) x)))))", -1.0, [-3.0, 3.0, 0.0]);
    expect(
        "(loop ((i 0) (s x)) (if (= i 3) s (recur (+ i 1) (if (= i 0) (* 2 s) (if (> s 0) (sqrt s) (* 2 s))))))",
        -1.0,
        [-8.0, 8.0, 0.0],
    );
    // Behind the last round the step would divide by 0.
    expect("(loop ((i 2) (s x)) (if (= i 0) s (recur (- i 1) (* s (/ 2 i)))))", 3.0, [6.0, 2.0, 0.0]);
}

#[test]
fn a_branch_in_a_call() {
    expect("(define (f a) (if (> a 0) (log a) a)) (+ (f x) (f (* 2 x)))", -1.0, [-3.0, 3.0, 0.0]);
    expect("(define (f n a) (if (= n 0) a (* (if (> a 0) (/ 1 (- a a)) 2) (f (- n 1) a)))) (f 3 x)", -1.0, [-8.0, 8.0, 0.0]);
}

#[test]
fn an_index_that_is_not_taken() {
    expect("(let ((v [1 2 3])) (if (< x 3) (* x (ref v x)) x))", 7.0, [7.0, 1.0, 0.0]);
    expect("(let ((m [[x 0] [0 x]])) (if (= x 0) 5 (det (inv m))))", 0.0, [5.0, 0.0, 0.0]);
}

/// Value, gradient and Hessian of a case.
fn all(case: &Case) -> Vec<Tensor<f64>> {
    let compiled = case.compile().unwrap_or_else(|e| panic!("{e}\n{}", case.source));
    let wrt: Vec<usize> = (0..compiled.inputs.len()).collect();
    let second = diff::hessian(&compiled.graph, &wrt).unwrap_or_else(|e| panic!("{e}\n{}", case.source));
    interp::run(&second, &compiled.tensors(), &Default::default()).unwrap_or_else(|e| panic!("{e}\n{}", case.source))
}

/// What would go wrong in every way there is: NaN, infinity, a bad index, a singular matrix, a loop and a recursion without end.
const POISON: &[&str] = &[
    "(/ (log (- x x)) 0)",
    "(sqrt (- -1 (square x)))",
    "(ref [1 2] (+ 5 (abs x)))",
    "(det (inv (mat [x x] [x x])))",
    "(pow (- x x) -1)",
    "(loop ((i x)) (if (= i +inf.0) i (recur (+ i x))))",
    "(letrec ((f (lambda (n) (+ 1 (f (+ n x)))))) (f x))",
    "(norm (normalize [(- x x) 0]))",
];

#[test]
fn no_poison_reaches_a_generated_program() {
    for seed in 0..oracle::setting("UNTAKEN_PROGRAMS", 1500) {
        let case = differentiable(seed);
        let (inputs, body): (Vec<&str>, Vec<&str>) = case.source.lines().partition(|l| l.starts_with("(input"));
        let (inputs, body) = (inputs.join("\n"), body.join("\n"));
        let poison = POISON[seed as usize % POISON.len()];
        // `x` first, so that both programs take their inputs in the same order.
        let clean = Case { source: format!("{inputs}\n(if (< x 1000) (let () {body}) x)"), ..case.clone() };
        let poisoned = Case { source: format!("{inputs}\n(if (< x 1000) (let () {body}) {poison})"), ..case.clone() };
        assert_eq!(bits(&all(&clean)), bits(&all(&poisoned)), "{}", poisoned.source);
        let otherwise = Case { source: format!("{inputs}\n(if (> x 1000) {poison} (let () {body}))"), ..case };
        assert_eq!(bits(&all(&clean)), bits(&all(&otherwise)), "{}", otherwise.source);
    }
}
