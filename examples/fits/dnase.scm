; optical density of an assay over the logarithm of the concentration: four-parameter logistic without lower level
(param Asym 3)
(param xmid 0)
(param scal 1 :min 0)
(/ Asym (+ 1 (exp (/ (- xmid (log conc)) scal))))
