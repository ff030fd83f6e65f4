; an if inside a test and inside a branch
(if (if (> x y) x 0) (if (> y 0) (/ x y) y) (* x y))
