; the same as differential equations: the fit must be the same
(param ka 1.5 :min 0)
(param ke 0.08 :min 0)
(param V 0.5 :min 0)
(state gut Dose)
(state conc 0)
(derive gut (- (* ka gut)))
(derive conc (- (/ (* ka gut) V) (* ke conc)))
