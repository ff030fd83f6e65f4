; velocity of an enzyme over the concentration of its substrate: Michaelis and Menten
(param Vm 160 :min 0)
(param K 0.05 :min 0)
(/ (* Vm conc) (+ K conc))
