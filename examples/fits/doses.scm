; a two-compartment drug taken four times, each dose a short infusion: the law jumps with time
(param ka 1 :min 0 :max 10) (param CL 4 :min 0) (param V1 15 :min 0) (define Q 8) (define V2 40)
(state gut 0) (state conc 0) (state per 0)
(define (pulse t0) (if (and (>= t t0) (< t (+ t0 0.01))) 10000 0))
(define dose (+ (pulse 0) (pulse 12) (pulse 24) (pulse 36)))
(derive gut (- dose (* ka gut)))
(derive conc (/ (- (+ (* ka gut) (* Q (/ per V2))) (* (+ CL Q) conc)) V1))
(derive per (- (* Q conc) (* Q (/ per V2))))
