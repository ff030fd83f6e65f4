; a tank that empties through a hole in its floor: nothing is left after a while, and the law has no solution beyond
(param a 0.3 :min 0)
(state x 1)
(derive x (- (* a (sqrt x))))
