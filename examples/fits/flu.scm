; a box of 763 schoolboys, 1978: one of them ill at first
(param beta 1.5 :min 0)
(param gamma 0.4 :min 0)
(state S 762)
(state I 1)
(define infect (/ (* beta S I) 763))
(derive S (- infect))
(derive I (- infect (* gamma I)))
