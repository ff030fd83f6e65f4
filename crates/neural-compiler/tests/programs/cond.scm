(cond ((< x 0) (- x)) ((< x 1) (* x x)) (else (sqrt x)))
