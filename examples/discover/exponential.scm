; Hares and lynx that know nothing of each other: a wrong model to begin with.
;   neuralc refine examples/discover/exponential.scm --data examples/lynx-hare.csv --time year --journal examples/discover/lynx-hare
(param growth 0.1)
(param death -0.1)
(param hare0 30 :min 0)
(param lynx0 4 :min 0)
(state hare hare0)
(state lynx lynx0)
(derive hare (* growth hare))
(derive lynx (* death lynx))
