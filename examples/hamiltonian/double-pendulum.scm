; two pendulums of length and mass 1, the second on the bob of the first: the energy is the model
(param g 9.81)
(state q1 2)                          ; angles from below
(state q2 1)
(state p1 0)
(state p2 0)
(define apart (- q1 q2))
(define kinetic
  (/ (+ (square p1) (* 2 (square p2)) (* -2 p1 p2 (cos apart)))
     (* 2 (+ 1 (square (sin apart))))))
(define H (- kinetic (* g (+ (* 2 (cos q1)) (cos q2)))))
(derive q1 (d H p1))
(derive q2 (d H p2))
(derive p1 (- (d H q1)))
(derive p2 (- (d H q2)))
(observe energy H)
