; a drug after one injection: two exponentials
(param A1 2 :min 0)
(param k1 2 :min 0)
(param A2 0.5 :min 0)
(param k2 0.2 :min 0)
(+ (* A1 (exp (- (* k1 time)))) (* A2 (exp (- (* k2 time)))))
