; folds, sharing and a constant
(/ (+ (* x x) (* x x) 1) (- y) 2)
