; Hares and the lynx that hunt them (Lotka 1925, Volterra 1926), for the Hudson's Bay Company's record of pelts, 1900 to 1920.
; Units: thousands of pelts, years.
(param growth     0.5  :min 0)  ; of the hares, without lynx
(param predation  0.03 :min 0)  ; hares taken, per lynx
(param death      0.8  :min 0)  ; of the lynx, without hares
(param conversion 0.03 :min 0)  ; lynx gained, per hare
(param hare0 30 :min 0)         ; in 1900
(param lynx0 4  :min 0)
(state hare hare0)
(state lynx lynx0)
(derive hare (- (* growth hare) (* predation (* hare lynx))))
(derive lynx (- (* conversion (* hare lynx)) (* death lynx)))
