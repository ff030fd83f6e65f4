; the same from kinetic less potential energy: d/dt (dL/dv) = dL/dq, solved for the accelerations
(state q [0.4 0])
(state w [0 2])
(define L (+ (/ (dot w w) 2) (/ 1 (norm q))))
(define momentum (d L w))
(derive q w)
(derive w (solve (d momentum w) (- (d L q) (matvec (d momentum q) w))))
(observe energy (- (dot momentum w) L))
