; pH while a base is added to a weak acid: the charges in the flask cancel at every volume
(param pKa 4 :min 1 :max 12)
(param acid 0.05 :min 0)              ; mol/l in 25 ml before the titration
(define base (/ (* 0.1 volume) (+ 25 volume)))
(define total (/ (* acid 25) (+ 25 volume)))
(root (pH 0 14)
  (- (+ (pow 10 (- pH)) base)
     (pow 10 (- pH 14))
     (/ total (+ 1 (pow 10 (- pKa pH))))))
