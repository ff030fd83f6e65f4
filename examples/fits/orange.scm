; girth of orange trees over their age in days: logistic growth, all trees together
(param Asym 170 :min 0)
(param xmid 700)
(param scal 300 :min 0)
(/ Asym (+ 1 (exp (/ (- xmid age) scal))))
