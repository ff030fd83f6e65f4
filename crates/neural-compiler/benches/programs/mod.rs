//! What the benchmarks compile and run. In: a name or a size; out: source text.

/// The paper's nine programs, by name.
pub(crate) const PAPER: [(&str, &str); 9] = [
    ("add", "(+ x y)"),
    ("square_plus", "(+ (* x x) y)"),
    ("four_ops", "(+ (* a b) (- c d))"),
    ("abs", "(if (> x 0) x (- 0 x))"),
    ("clamp", "(if (< x 0) 0 (if (> x 10) 10 x))"),
    ("quadratic", "(+ (+ (* a (* x x)) (* b x)) c)"),
    ("discriminant", "(let ((d (- (* b b) (* 4 (* a c))))) (if (>= d 0) 1 0))"),
    ("dist_sq", "(+ (* (- x1 x2) (- x1 x2)) (* (- y1 y2) (- y1 y2)))"),
    ("dot4", "(+ (+ (* a1 b1) (* a2 b2)) (+ (* a3 b3) (* a4 b4)))"),
];

/// `leaves` products of two inputs each, summed pairwise: `4 * leaves - 1` nodes.
pub(crate) fn tree(leaves: usize) -> String {
    let mut level: Vec<String> = (0..leaves).map(|i| format!("(* a{i} b{i})")).collect();
    while level.len() > 1 {
        level = level.chunks(2).map(|c| if let [x, y] = c { format!("(+ {x} {y})") } else { c[0].clone() }).collect();
    }
    level.remove(0)
}
