; a tank that empties through a hole in its floor, and stays empty
(param a 0.3 :min 0)
(state x 1)
(derive x (if (> x 0) (- (* a (sqrt x))) 0))
