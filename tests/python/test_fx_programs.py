"""Programs with branches, loops, recursion, vectors and matrices: the torch lowering and the native backend agree."""

from __future__ import annotations

import pytest
from fx_compare import agree

N = [0.0, 1.0, 2.0, 5.0, 3.0]
X = [-1.5, 0.0, 0.5, 1.0, 2.25]
Y = [0.3, -0.7, 0.0, 4.0, 1.0]

SCALAR = {
    "branch": "(if (> x 0) (/ (log x) (+ 1 y)) (* x y))",
    "guarded pole": "(if (= x 0) y (/ (sin x) x))",
    "nested": "(if (> x 0) (if (> y 0) (/ (log x) (sqrt y)) (log x)) (* x y))",
    "deep": "(if (< x 0) (sqrt (- x)) (if (= x 0) 0 (if (< y 0) (log (- y)) (if (= y 0) (/ 1 x) (/ (sqrt x) y)))))",
    "test as number": "(* y (+ (< x y) (<= x 1 y) (not x)))",
    "and or": "(+ (and x y (* x y)) (or (< x 0) y 3))",
    "select": "(select (> x 0) (* x y) (- y x))",
    "cond": "(cond ((< x 0) (exp x)) ((< x 1) (square x)) (else (sqrt (* x 4))))",
    "loop": "(loop ((i 0) (s y)) (if (>= i n) s (recur (+ i 1) (+ (* s x) i))))",
    "guard in loop": "(loop ((i 0) (s 0)) (if (>= i n) s (recur (+ i 1) (+ s (if (= i 0) x (/ x i))))))",
    "loop on values": "(loop ((a (+ 1 (abs x))) (b 1)) (if (< (abs (- a b)) 1e-3) (* y a) (recur (/ (+ a b) 2) (sqrt (* a b)))))",
    "loop in loop": "(loop ((i 0) (s x)) (if (>= i n) s (recur (+ i 1) (loop ((j 0) (t s)) (if (>= j i) t (recur (+ j 1) (* 0.5 (+ t "
    "y))))))))",
    "newton": "(loop ((r 1) (k 0)) (if (> k 30) r (recur (- r (/ (- (* r r r) (+ 2 (square x))) (* 3 r r))) (+ k 1))))",
    "recursion": "(define (f k) (if (<= k 0) 1 (+ (* x (f (- k 1))) (/ y k)))) (f n)",
    "two calls": "(define (f k) (if (< k 2) (+ x k) (+ (f (- k 1)) (* 0.5 y (f (- k 2)))))) (f n)",
    "mutual": "(define (even k) (if (<= k 0) x (* y (odd (- k 1))))) (define (odd k) (if (<= k 0) y (+ x (even (- k 1))))) (even n)",
    "mutual tail": "(define (up k s) (if (<= k 0) s (down (- k 1) (* s x)))) (define (down k s) (if (<= k 0) s (up (- k 1) (+ s y)))) "
    "(up n 1)",
    "recursion with a branch": "(define (f k s) (if (<= k 0) s (if (> s 1) (+ 1 (f (- k 1) (/ s 2))) (* 2 (f (- k 1) (+ s (square "
    "x))))))) (+ y (f n x))",
    "recursion in a loop": "(define (f k s) (if (<= k 0) s (* x (f (- k 1) (+ s y))))) (loop ((i 0) (s 0)) (if (>= i n) s (recur (+ i "
    "1) (f i s))))",
    "function twice": "(define (g a b) (if (> a b) (* a (sin b)) (+ b (cos (* a b))))) (+ (g x y) (* 2 (g y x)) (g (g x 1) y))",
    "only constants": "(if (> x 0) 2 3)",
    "unused input": "(if (> x 0) x (* 2 x))",
}


@pytest.mark.parametrize("name", SCALAR)
def test_scalar_programs(name: str) -> None:
    source = SCALAR[name]
    used = {"x": X, "y": Y} | ({"n": N} if " n" in source else {})
    agree(source, used, second=True, rounding=256)


@pytest.mark.parametrize("name", SCALAR)
def test_without_batch(name: str) -> None:
    for x, y, n in zip(X[::2], Y[::2], N[::2]):
        agree(SCALAR[name], {"x": x, "y": y} | ({"n": n} if " n" in SCALAR[name] else {}), rounding=256)


def test_batch_sizes_broadcast() -> None:
    agree(SCALAR["recursion"], {"x": [[0.5], [2.0]], "y": [0.3, -1.0, 2.0], "n": 3.0})
    agree(SCALAR["loop"], {"x": [[0.5], [2.0]], "y": [0.3, -1.0, 2.0], "n": [[1.0, 2.0, 4.0]]})
    agree(SCALAR["nested"], {"x": [[0.5], [2.0]], "y": 0.3})


A = [[2.0, 0.3, -1.0], [0.5, 1.5, 0.25], [-0.75, 0.1, 3.0]]
B = [[1.0, 2.0, 0.5], [0.0, -1.0, 1.0], [2.0, 0.25, 1.0]]
SINGULAR = [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [0.5, 1.0, -1.0]]
U = [[1.0, -2.0, 0.5], [0.25, 3.0, 2.0]]
V = [0.5, 1.0, -1.5]

WHOLE = {
    "dot": ("(dot u v)", {"u": U, "v": V}),
    "cross": ("(cross u v)", {"u": U, "v": V}),
    "norm": ("(norm (+ u v))", {"u": U, "v": V}),
    "norm of zero": ("(norm u)", {"u": [[0.0, 0.0, 0.0], [3.0, 4.0, 0.0]]}),
    "normalize": ("(normalize u)", {"u": U}),
    "scalar and vector": ("(* s (+ u (sin v)))", {"s": [2.0, -1.0], "u": U, "v": V}),
    "elements": ("(+ (* (ref u 0) (ref v 2)) (ref u 1))", {"u": U, "v": V}),
    "vec": ("[s (* 2 s) (ref u 1)]", {"s": [2.0, -1.0], "u": U}),
    "concat": ("(concat s u (slice v 0 2) 7)", {"s": [2.0, -1.0], "u": U, "v": V}),
    "computed index": ("(ref v i)", {"v": V, "i": [2.0, 0.0, 1.0]}),
    "computed row": ("(dot (ref (transpose a) i) v)", {"a": A, "i": [2.0, 0.0, 1.0], "v": V}),
    "matvec": ("(matvec a u)", {"a": A, "u": U}),
    "matmul": ("(matmul a (matmul b (transpose a)))", {"a": [A, B], "b": B}),
    "trace": ("(trace (matmul a b))", {"a": [A, B], "b": B}),
    "outer": ("(outer u v)", {"u": U, "v": V}),
    "det": ("(det a)", {"a": [A, B, SINGULAR]}),
    "cofactor": ("(cofactor a)", {"a": [A, B, SINGULAR]}),
    "inv": ("(inv a)", {"a": [A, B]}),
    "solve": ("(solve a u)", {"a": A, "u": U}),
    "solve matrix": ("(solve a b)", {"a": [A, B], "b": B}),
    "rows": ("(det (mat u v [s 1 2]))", {"u": U, "v": V, "s": [2.0, -1.0]}),
    "fill": ("(+ (* s (eye 3)) (fill s 3 3) (ones 3 3))", {"s": [2.0, -1.0]}),
    "vector branch": ("(if (> (vsum u) 0) (/ u (norm u)) (* 2 v))", {"u": U, "v": V}),
    "vector loop": ("(loop ((i 0) (w v)) (if (>= i s) w (recur (+ i 1) (matvec a w))))", {"a": A, "v": V, "s": [0.0, 3.0, 1.0]}),
    "vector recursion": ("(define (f k w) (if (<= k 0) w (+ v (f (- k 1) (* 0.5 w))))) (vsum (f s u))", {"u": U, "v": V, "s": [0.0, 3.0]}),
    "index in a branch": ("(if (< i 2) (ref v i) (* s i))", {"v": V, "i": [2.0, 0.0, 1.0, 7.0], "s": 2.0}),
}


@pytest.mark.parametrize("name", WHOLE)
def test_vectors_and_matrices(name: str) -> None:
    source, values = WHOLE[name]
    sizes = {"u": 3, "v": 3, "a": (3, 3), "b": (3, 3)}
    agree(source, values, sizes, rounding=512)


@pytest.mark.parametrize("n", [1, 2, 4, 5, 6, 7])
def test_determinants_of_all_sizes(n: int) -> None:
    a = [[[((7 * i + 3 * j + 5 * k) % 11 - 4) / 3 + (2.0 if i == j else 0.0) for j in range(n)] for i in range(n)] for k in range(2)]
    agree("(det a)", {"a": a}, {"a": (n, n)}, rounding=1e4)
    agree("(total (cofactor a))", {"a": a}, {"a": (n, n)}, rounding=1e5)
