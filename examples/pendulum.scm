; Energy of a pendulum released at angle theta, and how long one swing takes:
; the period by the arithmetic-geometric mean, which converges in a handful of rounds.
(param L 1.2 :min 0)                  ; length, m
(param g 9.81 :min 0)                 ; gravity, m/s^2

(define (agm a b)                     ; a loop: the call is in tail position
  (if (< (abs (- a b)) 1e-12)
      a
      (agm (/ (+ a b) 2) (sqrt (* a b)))))

(define (period theta)
  (/ (* 2 pi (sqrt (/ L g)))
     (agm 1 (cos (/ theta 2)))))

(period theta)
