; 10 e^(-0.5 t), first measured at t = 1; the start holds at t = 0
(param k 0.3 :min 0)
(state x 10)
(derive x (- (* k x)))
