; Hamiltonian of the circular restricted three-body problem, Earth and Moon
(define mu 0.01215)
(define (distance dx) (sqrt (+ (* dx dx) (* y y) (* z z))))
(+ (* 0.5 (+ (* px px) (* py py) (* pz pz)))
   (- (* y px) (* x py))
   (- 0 (/ (- 1 mu) (distance (+ x mu))) (/ mu (distance (- x (- 1 mu))))))
