(let ((x y) (y x)) (- x (* 2 y)))
