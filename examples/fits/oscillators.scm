; three masses between four springs
(param k1 1 :min 0) (param k2 1 :min 0) (param k3 1 :min 0) (param k4 1 :min 0) (param c 0.05 :min 0)
(define K [[(+ k1 k2) (- k2) 0] [(- k2) (+ k2 k3) (- k3)] [0 (- k3) (+ k3 k4)]])
(state q [1 0 0])
(state v [0 0 0])
(derive q v)
(derive v (- (+ (matvec K q) (* c v))))
