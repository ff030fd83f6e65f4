(exp (/ (- 0 (pow theta 2)) (* 2 (pow sigma 2))))
