//! Programs for the suite: hard cases by hand, and the examples of the reference with their values.

use crate::case::{Case, CaseInput};
use neural_compiler::graph::Graph;
use neural_compiler::{Options, Tensor, compile, exec};
use std::path::Path;

/// The graph of a program.
///
/// # Panics
/// If it does not compile.
pub fn graph_of(source: &str) -> Graph {
    let program = compile(source, &Options::default()).and_then(|p| p.graph()).unwrap_or_else(|e| panic!("{source}: {e}"));
    (*program).clone()
}

/// Programs that need what generated ones rarely have: loops in loops, swapped values, many live values, masks as values.
pub fn hard() -> Vec<String> {
    let many = |n: usize| {
        let squares: Vec<String> = (0..n).map(|i| format!("(s{i} (* (+ x {i}) (- y {i})))")).collect();
        let forwards: Vec<String> = (0..n).map(|i| format!("s{i}")).collect();
        let backwards: Vec<String> = (0..n).rev().map(|i| format!("(/ s{i} 3)")).collect();
        format!("(let ({}) (/ (+ {}) (+ {})))", squares.join(" "), forwards.join(" "), backwards.join(" "))
    };
    let tree = |n: usize| {
        let mut level: Vec<String> = (0..n).map(|i| format!("(* a{i} b{i})")).collect();
        while level.len() > 1 {
            level = level.chunks(2).map(|c| if let [x, y] = c { format!("(+ {x} {y})") } else { c[0].clone() }).collect();
        }
        level.remove(0)
    };
    vec![
        "(loop ((i 0) (y 1)) (if (= i 20) y (recur (+ i 1) (* 0.5 (+ y (/ x y))))))".to_string(),
        "(loop ((i 0) (a x) (b y)) (if (not (< i (min 9 (abs (* 9 x))))) (- a b) (recur (+ i 1) b (+ a (* 0.5 b)))))".to_string(),
        "(loop ((i 0) (s 0)) (if (>= i 5) s (recur (+ i 1) (+ s (loop ((j 0) (t x)) (if (> j i) t (recur (+ j 1) (* t y))))))))"
            .to_string(),
        "(if (> x 0) (loop ((i 0) (s x)) (if (not (<= i (min 9 y))) s (recur (+ i 1) (/ s 2)))) (* x y))".to_string(),
        "(loop ((i 0) (s x)) (if (> i 3) s (recur (+ i 1) (if (> s y) y s))))".to_string(),
        "(if (or (< x 0) (and (> y 1) (not (= x y)))) (min x y) (max x y))".to_string(),
        "(clamp x -1 1)".to_string(),
        "(exp (/ (- 0 (pow x 2)) (* 2 (pow y 2))))".to_string(),
        "(+ (sin (cos x)) (sin (exp (- x y))) (pow (abs x) y))".to_string(),
        "(let ((s (sin x))) (* s s))".to_string(),
        "(+ (pow x 2) (pow x 0.5) (pow y -1.5) (pow x 3) (pow 2 y) (pow x y))".to_string(),
        "(+ (log x 2) (log x y) (atan x y) (atan x 1) (atan -1 y))".to_string(),
        "(loop ((i 0) (s x)) (if (>= i 300) s (recur (+ i 1) (log1p (abs (* s y))))))".to_string(),
        "(loop ((i 0) (s x)) (if (not (< i (min 9 (abs (* 9 y))))) s (recur (+ i 1) (pow (abs s) (atan s y)))))".to_string(),
        "(if (> x y) (+ (cosh x) (erf y) (cbrt x)) (softplus (* x (tan y))))".to_string(),
        "(- (max x 0) (min y -0.0))".to_string(),
        "(param k 0.1) (* (exp k) x (- 1 k) y)".to_string(),
        "(input v :size 3) (* x (norm v))".to_string(),
        "(norm [x y (* x y)])".to_string(),
        "(det (mat [x y 1] [2 (* x y) y] [y 0.3 x]))".to_string(),
        "(vsum (ref (cofactor (mat [x y 1 2] [2 (* x y) y 1] [y 0.3 x x] [1 2 3 y])) 1))".to_string(),
        "(ref [x y 3] (if (> x 1) 2 (if (< y 0.8) 1 0)))".to_string(),
        "(vsum (ref (mat [x y] [1 (sin x)]) (if (> x y) 1 0)))".to_string(),
        "(if (> x 1) 0 (ref [x y] (if (> x 1) 7 1)))".to_string(),
        "(loop ((i 0) (s x)) (if (>= i 3) s (recur (+ i 1) (+ s (ref [y x 2] i)))))".to_string(),
        "(vsum (solve (mat [x 1] [2 y]) [1 x]))".to_string(),
        "(vsum (solve (mat [x x] [x x]) [1 y]))".to_string(),
        "(trace (inv (mat [x y 1] [2 (* x y) y] [y 0.3 x])))".to_string(),
        "(trace (solve (mat [(- x 1) y] [y (- 1 x)]) (mat [x 0] [y 1])))".to_string(),
        "(det (mat [x x 0 1] [x x 1 0] [0 1 y x] [1 0 x y]))".to_string(),
        "(det (mat [x x 0 1] [x x 0 1] [0 1 y x] [1 0 x y]))".to_string(),
        "(det (mat [0 x 0 0] [0 1 0 y] [0 0 1 0] [0 0 0 1]))".to_string(),
        "(trace (inv (mat [0 x 1 2 y] [x 0 y 1 3] [1 y x 0 2] [y 2 1 x 0] [3 1 0 y x])))".to_string(),
        "(loop ((i 0) (s x)) (if (>= i 4) s (recur (+ i 1) (ref (solve (mat [s 2] [y s]) [1 s]) 0))))".to_string(),
        "(loop ((i 0) (s x)) (if (>= i 4) s (recur (+ i 1) (sin (* s y)))))".to_string(),
        "(loop ((i 0) (s x)) (if (>= i 300) s (recur (+ i 1) (+ y (* s 0.5)))))".to_string(),
        "(param n 5) (loop ((i 0) (s x)) (if (not (< i (min n 9))) s (recur (+ i 1) (+ y (* s s)))))".to_string(),
        "(sin x)".to_string(),
        "x".to_string(),
        "(/ x 8)".to_string(),
        "3".to_string(),
        many(12),
        many(60),
        tree(100),
    ]
}

/// What a literal of the reference stands for.
fn value(text: &str) -> Option<Tensor<f64>> {
    let graph = compile(text, &Options::default()).and_then(|p| p.graph()).ok()?;
    exec::interp::run(&graph, &[], &Default::default()).ok()?.into_iter().next()
}

/// Splits at commas outside of brackets.
fn parts(list: &str) -> Vec<&str> {
    let (mut out, mut depth, mut from) = (Vec::new(), 0, 0);
    for (i, c) in list.char_indices() {
        match c {
            '[' | '(' => depth += 1,
            ']' | ')' => depth -= 1,
            ',' if depth == 0 => {
                out.push(&list[from..i]);
                from = i + 1;
            }
            _ => {}
        }
    }
    out.push(&list[from..]);
    out
}

/// The examples of `spec/*.md` with all their inputs given, each with its first values. Those that speak of limits run for long on purpose.
///
/// # Panics
/// If the reference cannot be read.
pub fn examples() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec");
    let mut pages: Vec<_> = std::fs::read_dir(folder).expect("the reference").map(|e| e.expect("an entry").path()).collect();
    pages.retain(|p| p.extension().is_some_and(|e| e == "md"));
    pages.sort();
    let mut cases = Vec::new();
    for page in pages {
        let text = std::fs::read_to_string(page).expect("a readable page");
        for block in text.split("```scheme\n").skip(1).filter_map(|rest| rest.split("```").next()) {
            if block.contains("; limits ") || block.contains("; error") || block.contains("; inputs ") || block.contains("; input ") {
                continue;
            }
            let given = block.lines().find_map(|l| l.strip_prefix("; with ")).map(parts).unwrap_or_default();
            let inputs = given.iter().filter_map(|g| g.split_once('=')).filter_map(|(name, text)| {
                let tensor = value(text.trim())?;
                Some(CaseInput { name: name.trim().into(), shape: tensor.shape(), data: tensor.data().to_vec() })
            });
            let case = Case { source: block.to_string(), inputs: inputs.collect() };
            let complete =
                compile(block, &Options::default()).is_ok_and(|p| p.inputs().iter().all(|i| case.inputs.iter().any(|c| c.name == i.name)));
            if complete {
                cases.push(case);
            }
        }
    }
    cases
}
