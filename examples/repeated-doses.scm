; Tablets and an infusion, whose times and amounts are the rows of a table: absorption from the gut, elimination from the blood.
;   neuralc fit examples/repeated-doses.scm --data examples/repeated-doses.csv --group patient --events examples/repeated-doses-given.csv
(time t :start 0)
(param ka 1 :min 0)
(param CL 2 :min 0)
(param V 20 :min 0)
(state gut 0)
(state blood 0)
(derive gut (* (- ka) gut))
(derive blood (- (* ka gut) (* (/ CL V) blood)))
(observe conc (/ blood V))
