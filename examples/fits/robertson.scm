; three reactions of Robertson: time scales from microseconds to days
(param k1 0.1 :min 0)
(param k2 1e7 :min 0)
(param k3 1e3 :min 0)
(state A 1) (state B 0) (state C 0)
(define r1 (* k1 A)) (define r2 (* k2 B B)) (define r3 (* k3 B C))
(derive A (- r3 r1))
(derive B (- r1 r2 r3))
(derive C r2)
