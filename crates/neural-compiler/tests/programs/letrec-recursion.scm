(letrec ((power (lambda (n) (if (= n 0) 1 (* x (power (- n 1))))))) (power n))
