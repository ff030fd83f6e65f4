; height of a pine over its age in years: from a start towards a level
(param Asym 100)
(param R0 -8)
(param lrc -3)
(+ Asym (* (- R0 Asym) (exp (- (* (exp lrc) age)))))
