(if (> x 0) x (- 0 x))
