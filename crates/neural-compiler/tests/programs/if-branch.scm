(if (> x 0) (log x) (* 2 x))
