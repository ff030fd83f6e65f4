; a relaxation oscillator: the larger mu, the stiffer
(param mu 2 :min 0)
(state x 2)
(state y 0)
(derive x y)
(derive y (- (* mu (- 1 (square x)) y) x))
