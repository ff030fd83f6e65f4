; a map in steps of one, observed now and then
(param a 1.5)
(state x 1)
(next x (* a x))
