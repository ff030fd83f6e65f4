; a drug swallowed at time 0, four people: absorbed and eliminated at rates proportional to what there is
(param ka 1.5 :min 0)
(param ke 0.08 :min 0)
(param V 0.5 :min 0)
(* (/ Dose V) (/ ka (- ka ke)) (- (exp (- (* ke Time))) (exp (- (* ka Time)))))
