(+ (and (> x 0) (log x)) (or (< x 0) (sqrt x)))
