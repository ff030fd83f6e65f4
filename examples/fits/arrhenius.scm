; decays at many temperatures with one law of Arrhenius; every trajectory starts where its column says
(param lnA 10)
(param Ea 3000 :min 0)
(state x x0)
(derive x (* -1 (exp (- lnA (/ Ea T))) x))
